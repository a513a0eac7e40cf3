package controller

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A planner creates a plan.
type planner struct {
	// out is the resulting plan, with the request in it.
	out *Prepared
	req *Request
	// env is the environment of head's cases.
	env *plan.Environment
	// outside are files named by definitions outside of their folders.
	outside []string
	// storing guards the stored decisions while they are read.
	storing sync.Mutex
	// read are the cases that were compiled for their notes; nil if none are kept.
	read *readCases
}

// always returns a function that selects cases to judge even if base has them
// unchanged.
func (p *planner) always(key string) (plan.Reason, bool) {
	if p.req.All {
		return plan.Reason{Part: plan.AllAsked, Message: "all cases were asked for"}, true
	}
	if since, why := p.out.ignoreBefore(key); !since.IsZero() {
		return why, true
	}
	for _, glob := range p.req.Head.Config.Gate.Required {
		if wildcard.Match(glob, key) {
			return plan.Reason{Part: "required", File: p.req.ConfigFile, Message: "the gate requires " + glob}, true
		}
	}
	return plan.Reason{}, false
}

// planHead plans head without a comparison.
func (p *planner) planHead(ctx context.Context) error {
	head, err := p.loadHead(ctx)
	if err != nil {
		return err
	}
	p.out.Problems, head.snapshot = head.problems, nil // its memory is for the rows
	p.comparePlan(nil, head.Side, nil)
	return nil
}

// planDrift plans every case of head against itself.
func (p *planner) planDrift(ctx context.Context) error {
	head, err := p.loadHead(ctx)
	if err != nil {
		return err
	}
	p.req.Base, p.out.Problems = &p.req.Head, head.problems
	p.comparePlan(&head.Side, head.Side, nil)
	p.out.Plan.Again = true
	return nil
}

// planFull plans every case of head. It loads only base's cases that the change can
// affect, if both sides are read with the same settings.
func (p *planner) planFull(ctx context.Context) error {
	head, err := p.loadHead(ctx)
	if err != nil {
		return err
	}
	p.out.Problems = head.problems
	changed, err := p.changes(ctx, head.snapshot)
	if err != nil {
		return err
	}
	baseEnv, err := p.environment(ctx, *p.req.Base)
	if err != nil {
		return err
	}
	if !p.sameSettings() {
		was, err := p.loadFiles(ctx, *p.req.Base, nil)
		if err != nil {
			return err
		}
		p.nameGone(was.Problems)
		base, err := p.side(ctx, *p.req.Base, was, &baseEnv)
		if err != nil {
			return err
		}
		p.comparePlan(&base, head.Side, changed)
		return nil
	}
	change, err := head.snapshot.Update(ctx, p.req.Base.FS, p.req.Base.loading(), changed)
	if err != nil {
		return fmt.Errorf("load the definitions of %s: %w", p.req.Base.Commit, err)
	}
	alike := head.env.Equal(baseEnv)
	if head.brief && (change.Files == nil || !alike) {
		return errChanged // nearly all cases are needed
	}
	if err := p.complete(ctx, head, change.Files); err != nil {
		return err
	}
	p.nameGone(change.Result.Problems)
	base, err := p.side(ctx, *p.req.Base, change.Result, &baseEnv)
	if err != nil {
		return err
	}
	switch {
	case change.Files == nil:
	case alike:
		share(&base, head.Side, change.Files, nil)
	default:
		share(&base, head.Side, change.Files, &baseEnv)
	}
	head.snapshot = nil // its memory is for the rows
	p.comparePlan(&base, head.Side, changed)
	return nil
}

// nameGone adds a notice for each file that was invalid at base and is missing at head:
// nobody knows which cases went with it.
func (p *planner) nameGone(problems []schema.Problem) {
	named := map[string]bool{}
	for _, problem := range problems {
		if problem.Severity != schema.Error || named[problem.File] {
			continue
		}
		named[problem.File] = true
		if !isMissing(p.req.Head.FS, problem.File) || isMissing(p.req.Base.FS, problem.File) {
			continue // it is there, or never was: a folder of definitions
		}
		p.out.notices = append(p.out.notices, report.Notice{
			File: problem.File, Line: problem.Line, AtBase: true,
			Message: "the file was invalid at base and is gone: cases that it may have had do not count as removed (" + problem.Message + ")",
		})
	}
}

// isMissing reports whether a file or a folder does not exist.
func isMissing(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return errors.Is(err, fs.ErrNotExist)
}

// share adds the cases that no changed file can affect to base, as they are at head;
// env is their environment if it differs.
func share(base *plan.Side, head plan.Side, affected []string, env *plan.Environment) {
	for key, c := range head.Cases {
		if _, loaded := slices.BinarySearch(affected, definition(c.CaseInfo)); loaded {
			continue
		}
		if env != nil {
			c = plan.NewEntry(c.Case, env)
		}
		base.Cases[key] = c
	}
}

// definition returns the file whose loading creates a case. The case itself may be in
// another file: a definition may name files of tests.
func definition(c *schema.CaseInfo) string {
	for _, in := range c.Inputs {
		if in.Role == "definition" {
			return in.File
		}
	}
	return c.Origin.File
}

// canPlanAffected reports whether planning the affected cases is enough: base is known,
// and only changed files make cases count as affected.
func (p *planner) canPlanAffected() bool {
	return p.req.Snapshot != nil && p.req.IgnoreBefore == nil && p.req.Select == nil && len(p.req.Statuses) == 0 && !p.req.All && !p.req.asks() && len(p.req.Head.Config.Gate.Required) == 0 && !p.req.Head.Config.Gate.BoundsCosts() && p.sameSettings()
}

// planAffected plans the cases that the changed files can affect and counts the rest.
// Its cost follows the change and not the size of the repository.
func (p *planner) planAffected(ctx context.Context) error {
	headEnv, err := p.environment(ctx, p.req.Head)
	if err != nil {
		return err
	}
	baseEnv, err := p.environment(ctx, *p.req.Base)
	if err != nil {
		return err
	}
	if !headEnv.Equal(baseEnv) {
		return p.planFull(ctx)
	}
	changed, err := p.changes(ctx, p.req.Snapshot)
	if err != nil {
		return err
	}
	opts, err := p.req.options(ctx, p.req.Head)
	if err != nil {
		return err
	}
	change, err := p.req.Snapshot.Update(ctx, p.req.Head.FS, opts, slices.Concat(changed, p.req.Pinned))
	if err != nil {
		return fmt.Errorf("load the definitions of %s: %w", p.req.Head.Commit, err)
	}
	opts = p.req.Base.loading()
	opts.Files = change.Files
	was, err := load.Load(ctx, p.req.Base.FS, opts)
	if err != nil {
		return fmt.Errorf("load the definitions of %s: %w", p.req.Base.Commit, err)
	}
	p.env = &headEnv
	p.nameGone(was.Problems)
	base, err := p.side(ctx, *p.req.Base, was, &baseEnv)
	if err != nil {
		return err
	}
	head, err := p.side(ctx, p.req.Head, change.Result, &headEnv)
	if err != nil {
		return err
	}
	p.out.Problems = change.Problems()
	head.Strays = setOf(change.Strays())
	invalidate(&head, p.out.Problems) // an invalid file may affect any case
	p.comparePlan(&base, head, changed)
	total, before := p.req.Snapshot.Totals(), change.Before()
	p.out.Plan.Rest = plan.Rest{Cases: total.Cases - before.Cases, Skipped: total.Skipped - before.Skipped}
	return nil
}

// changes lists the files that differ between the sides, and records the files named by
// definitions.
func (p *planner) changes(ctx context.Context, s *load.Snapshot) ([]string, error) {
	p.outside = s.Outside(p.req.Head.Config.Settings())
	return p.req.changes(ctx, s)
}

// changes lists the files that differ between the sides.
func (r *Request) changes(ctx context.Context, s *load.Snapshot) ([]string, error) {
	changed, err := r.Changed(ctx, s.Outside(r.Head.Config.Settings()))
	if err != nil {
		return nil, fmt.Errorf("compare %s with %s: %w", r.Base.Commit, r.Head.Commit, err)
	}
	return changed, nil
}

// sameSettings reports whether both sides' definitions are read with the same settings.
func (p *planner) sameSettings() bool {
	return p.req.Base.Config.Digest == p.req.Head.Config.Digest ||
		reflect.DeepEqual(p.req.Base.Config.Settings(), p.req.Head.Config.Settings())
}

func (p *planner) comparePlan(base *plan.Side, head plan.Side, changed []string) {
	opts := plan.Options{Always: p.always}
	if base != nil {
		set := setOf(changed)
		opts.Changed = func(file string) bool { return set[file] }
	}
	p.out.Plan = plan.Compare(base, head, opts)
}

// loadFiles reads the definitions of one checkout; nil reads all.
func (p *planner) loadFiles(ctx context.Context, s Checkout, files []string) (*load.Result, error) {
	opts, err := p.req.options(ctx, s)
	if err != nil {
		return nil, err
	}
	opts.Files = files
	loaded, err := load.Load(ctx, s.FS, opts)
	if err != nil {
		return nil, fmt.Errorf("load the definitions of %s: %w", s.Commit, err)
	}
	return loaded, nil
}

// options returns the load options of a checkout: its settings and, for head, the bound
// on new cases.
func (r *Request) options(ctx context.Context, s Checkout) (load.Options, error) {
	opts := s.loading()
	if r.MaxNew > 0 && r.Changed != nil && s.Commit == r.Head.Commit {
		changed, err := r.changes(ctx, &load.Snapshot{})
		if err != nil {
			return opts, err
		}
		set := setOf(changed)
		opts.New, opts.MaxNew = func(file string) bool { return set[file] }, r.MaxNew
	}
	return opts, nil
}

// side computes the digests of the selected cases.
func (p *planner) side(ctx context.Context, s Checkout, loaded *load.Result, env *plan.Environment) (plan.Side, error) {
	cases := loaded.Cases
	if p.req.Select != nil {
		cases = slices.DeleteFunc(slices.Clone(cases), func(c *schema.Case) bool { return !p.req.Select(&c.CaseInfo) })
	}
	if len(p.req.Statuses) > 0 {
		cases = withStatus(cases, p.req.Statuses)
	}
	if p.req.Repeat > 0 {
		cases = withSamples(cases, p.req.Repeat)
	}
	entries := make([]*plan.Entry, len(cases))
	for i, c := range cases {
		if err := ctx.Err(); err != nil {
			return plan.Side{}, err
		}
		entries[i] = plan.NewEntry(c, env)
	}
	side := plan.NewSide(s.Commit, env.DefaultTarget, entries)
	invalidate(&side, loaded.Problems)
	side.Strays = setOf(loaded.Strays())
	// If the file is unreadable, no definition was loaded either.
	if ignored, err := wildcard.IgnoreMatcher(s.FS); err == nil {
		side.Ignored = func(file string) bool { return ignored(file, false) }
	}
	return side, nil
}

// invalidate records the files that did not load.
func invalidate(side *plan.Side, problems []schema.Problem) {
	for _, problem := range problems {
		switch {
		case problem.Severity != schema.Error:
		case problem.Rule != schema.RuleWaits:
			side.Invalid[problem.File] = plan.IsInvalid
		case side.Invalid[problem.File] == "":
			side.Invalid[problem.File] = plan.Waits
		}
	}
}
func setOf(files []string) map[string]bool {
	set := make(map[string]bool, len(files))
	for _, f := range files {
		set[f] = true
	}
	return set
}
