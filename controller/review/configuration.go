package review

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/configchange"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/constraint"
	"github.com/gavel-evals/gavel/schema/cuefile"
)

// configuration says what happens to gavel.yaml in the pull request. Without
// one at base nothing is run. The configuration of a base branch decides for
// itself.
func (r *Review) configuration(p *controller.Prepared, e *controller.RunOptions) error {
	_, problems, found, err := r.decides(
		func() (fs.FS, error) { return p.Base().FS, nil }, func() (fs.FS, error) { return p.Head().FS, nil })
	if err != nil {
		return err
	}
	e.NotRun = r.notRun(problems, found)
	if r.accepted() {
		e.ConfigDiff = p.ConfigChange()
		p.Problems = slices.Concat(problems, p.Problems)
		return nil
	}
	baseCfg, _, baseFound, err := configfile.Read(p.Base().FS, r.ConfigFile, nil)
	if err != nil {
		return err
	}
	headCfg, headProblems, headFound, err := configfile.Read(p.Head().FS, r.ConfigFile, nil)
	if err != nil {
		return err
	}
	p.Problems = slices.Concat(headProblems, p.Problems)
	e.ConfigDiff = report.ConfigChange{File: r.ConfigFile, DecidedBy: r.decider}
	changed := baseCfg.ChangedFiles(headCfg, r.ConfigFile)
	if baseFound != headFound && !slices.Contains(changed, r.ConfigFile) {
		changed = slices.Insert(changed, 0, r.ConfigFile)
	}
	e.ConfigDiff.Files = append(changed, constraintChange(baseCfg, headCfg, p)...)
	if !slices.Contains(changed, r.ConfigFile) {
		return nil
	}
	if baseFound && headFound {
		base, head := configchange.Gate(baseCfg.Gate), configchange.Gate(headCfg.Gate)
		e.ConfigDiff.Base, e.ConfigDiff.Head = &base, &head
		e.ConfigDiff.Looser = baseCfg.Looser(headCfg)
		e.ConfigDiff.Later = afterMerge(baseCfg, headCfg)
	}
	return nil
}

// decides reads the configuration that decides: that of base, or where base has
// none that of an approved head. The configuration of a base branch decides for
// itself.
func (r *Review) decides(base, head func() (fs.FS, error)) (cfg *config.Config, problems []schema.Problem, found bool, err error) {
	read := func(decider string, side func() (fs.FS, error)) {
		var files fs.FS
		if files, err = side(); err == nil {
			r.decider = decider
			cfg, problems, found, err = configfile.Read(files, r.ConfigFile, nil)
		}
	}
	if r.accepted() {
		read("this commit", head)
		return cfg, problems, found, err
	}
	if read("base", base); err == nil && !found && r.approved {
		read("the approved head", head)
	}
	return cfg, problems, found, err
}

// notRun returns why nothing is run, by the configuration that decides; empty
// where it is run.
func (r *Review) notRun(problems []schema.Problem, found bool) string {
	switch {
	case !r.trust.Run && (r.Forks == ForksPlan || !r.follows):
		return r.trust.Reason + ": validated and planned only"
	case !r.trust.Run:
		return r.trust.Reason + ": validated and planned only, until somebody with write permission approves"
	case !found && r.approved:
		return fmt.Sprintf("neither base nor head has a %s: validated and planned only", r.ConfigFile)
	case !found && r.follows:
		return fmt.Sprintf("base has no %s: validated and planned only, until somebody with write permission approves", r.ConfigFile)
	case !found:
		return fmt.Sprintf("%s has no %s: validated and planned only", r.decider, r.ConfigFile)
	case schema.HasErrors(problems):
		return fmt.Sprintf("%s is invalid at %s: %s", r.ConfigFile, r.decider, problems[0])
	}
	return ""
}

// constraintChange lists the files of constraints that a pull request changes.
// Those at base decide. That one of them cannot be used is not the fault of the pull
// request, which may fix it; that one of head's cannot is.
func constraintChange(base, head *config.Config, p *controller.Prepared) []string {
	for i := range p.Problems {
		if rule := p.Problems[i].Rule; rule == constraint.RuleFile || rule == constraint.RuleLimit {
			p.Problems[i].Severity = schema.Warning
			p.Problems[i].Message = "at base: " + p.Problems[i].Message
		}
	}
	var changed []string
	roots := map[string]bool{}
	for _, pair := range [][2][]schema.ConstraintFile{{base.Constraints, head.Constraints}, {head.Constraints, base.Constraints}} {
		for _, f := range pair[0] {
			if !slices.Contains(pair[1], f) {
				changed = append(changed, f.File)
				roots[f.Root()] = true
			}
		}
	}
	budget := cuefile.NewBudget()
	for root := range roots {
		files := slices.DeleteFunc(slices.Clone(head.Constraints), func(f schema.ConstraintFile) bool { return f.Root() != root })
		if len(files) > 0 {
			_, problems := constraint.New(files, budget)
			p.Problems = append(p.Problems, problems...)
		}
	}
	p.Problems = schema.SortProblems(p.Problems)
	slices.Sort(changed)
	return slices.Compact(changed)
}
