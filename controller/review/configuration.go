package review

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile"
	"github.com/gavel-evals/gavel/schema/document"
)

// configuration reports the pull request's changes of gavel.yaml, and whose file
// decides. Without a deciding file nothing is run. The configuration of a base branch
// decides for itself.
func (r *Review) configuration(ctx context.Context, at sides, p *controller.Prepared, e *controller.RunOptions) error {
	rules := at.decision
	e.NotRun = r.notRun(at)
	if r.accepted() {
		e.ConfigDiff = p.ConfigChange()
		p.Problems = slices.Concat(rules.problems, p.Problems)
		return nil
	}
	base, _, baseFound, err := configfile.Read(p.Base().FS, r.ConfigFile, nil)
	if err != nil {
		return err
	}
	head, headProblems, headFound, err := configfile.Read(p.Head().FS, r.ConfigFile, nil)
	if err != nil {
		return err
	}
	p.Problems = slices.Concat(headProblems, p.Problems)
	e.ConfigDiff = report.ConfigChange{File: r.ConfigFile, DecidedBy: rules.by, Rules: r.decided(at)}
	if rules.by == at.rules.Branch {
		e.ConfigDiff.Since = append(base.ChangedFiles(rules.cfg, r.ConfigFile), constraintFiles(base, rules.cfg)...)
		if err := r.unread(ctx, p, base, rules.cfg); err != nil {
			return err
		}
	}
	constraintsAtRules(rules.by, p)
	if rules.cfg.Digest == head.Digest && rules.found == headFound {
		return nil // the merge does not change it
	}
	changed := base.ChangedFiles(head, r.ConfigFile)
	if baseFound != headFound && !slices.Contains(changed, r.ConfigFile) {
		changed = slices.Insert(changed, 0, r.ConfigFile)
	}
	e.ConfigDiff.Files = append(changed, constraintChange(base, head, p)...)
	e.ConfigDiff.Added, e.ConfigDiff.Removed = headFound && !rules.found, baseFound && !headFound
	if !slices.Contains(changed, r.ConfigFile) {
		return nil
	}
	if baseFound && headFound {
		was, is := report.NewGateSettings(base.Gate), report.NewGateSettings(head.Gate)
		e.ConfigDiff.Base, e.ConfigDiff.Head = &was, &is
		e.ConfigDiff.Looser, e.ConfigDiff.Dearer = base.Looser(head), base.Skills.Dearer(head.Skills)
	}
	return nil
}

// unread adds a problem for each changed file that is a definition by base's
// configuration but not by the rules: its cases are judged nowhere until the head is
// updated.
func (r *Review) unread(ctx context.Context, p *controller.Prepared, base, rules *config.Config) error {
	was, is := slices.Concat(base.Definitions, base.RootFiles), slices.Concat(rules.Definitions, rules.RootFiles)
	if slices.Equal(was, is) {
		return nil
	}
	changed, err := p.Changed(ctx)
	if err != nil {
		return fmt.Errorf("compare %s with %s: %w", p.Base().Commit, p.Head().Commit, err)
	}
	in := func(folders []string, name string) bool {
		return slices.ContainsFunc(folders, func(dir string) bool { return gitrepo.Covers(path.Clean(dir), name) })
	}
	for _, name := range changed {
		if in(was, name) && !in(is, name) {
			p.Problems = append(p.Problems, schema.Problem{
				Position: schema.Position{File: name, Line: 1, Column: 1}, Severity: schema.Error, Rule: "definitions-moved",
				Message: fmt.Sprintf("the definitions of %s are in %s by now, and this file is not read there", r.rules.Branch, strings.Join(is, ", ")),
				Hint:    fmt.Sprintf("merge %s, or rebase onto it", r.rules.Branch),
			})
		}
	}
	return nil
}

// notRun returns the reason why nothing is run, by the deciding configuration; empty if
// it is run.
func (r *Review) notRun(at sides) string {
	rules := at.decision
	switch {
	case !r.trust.Run && (r.Forks == ForksPlan || !r.follows):
		return r.trust.Reason + ": validated and planned only"
	case !r.trust.Run:
		return r.trust.Reason + ": validated and planned only, until somebody with write permission approves"
	case !rules.found && r.approved:
		return fmt.Sprintf("neither %s nor head has a %s: validated and planned only", at.rules.Branch, r.ConfigFile)
	case !rules.found && r.follows:
		return fmt.Sprintf("%s has no %s yet: validated and planned only, until somebody with write permission approves or it is merged", rules.by, r.ConfigFile)
	case !rules.found:
		return fmt.Sprintf("%s has no %s yet: validated and planned only, until it is merged", rules.by, r.ConfigFile)
	case schema.HasErrors(rules.problems):
		return fmt.Sprintf("%s is invalid at %s: %s", r.ConfigFile, rules.by, rules.problems[0])
	}
	return ""
}

// constraintsAtRules marks problems of the deciding constraints as not head's. decider
// names their source. An unusable one is not the fault of the pull request, which may
// repair it.
func constraintsAtRules(decider string, p *controller.Prepared) {
	for i := range p.Problems {
		if rule := p.Problems[i].Rule; rule == document.RuleConstraintFile || rule == document.RuleConstraintLimit {
			p.Problems[i].Severity = schema.Warning
			p.Problems[i].Message = "at " + decider + ": " + p.Problems[i].Message
		}
	}
	p.Problems = schema.SortProblems(p.Problems)
}

// constraintFiles lists the constraint files that differ between two states.
func constraintFiles(was, is *config.Config) []string {
	var changed []string
	for _, pair := range [][2][]schema.ConstraintFile{{was.Constraints, is.Constraints}, {is.Constraints, was.Constraints}} {
		for _, f := range pair[0] {
			if !slices.Contains(pair[1], f) {
				changed = append(changed, f.File)
			}
		}
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}

// constraintChange lists the constraint files that a pull request changes. An unusable
// one is its fault.
func constraintChange(base, head *config.Config, p *controller.Prepared) []string {
	changed := constraintFiles(base, head)
	roots := map[string]bool{}
	for _, f := range slices.Concat(base.Constraints, head.Constraints) {
		if slices.Contains(changed, f.File) {
			roots[f.Root()] = true
		}
	}
	budget := cuefile.NewBudget()
	for root := range roots {
		files := slices.DeleteFunc(slices.Clone(head.Constraints), func(f schema.ConstraintFile) bool { return f.Root() != root })
		if len(files) > 0 {
			_, problems := document.NewConstraints(files, budget)
			p.Problems = append(p.Problems, problems...)
		}
	}
	p.Problems = schema.SortProblems(p.Problems)
	return changed
}
