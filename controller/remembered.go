package controller

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/controller/estimate"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// What is remembered of a definition that did not change is enough to plan its
// cases: they are loaded only where they have to be judged. Digests are the
// notes that a snapshot keeps of them.

// errChanged means that a definition is not what was remembered of it.
var errChanged = errors.New("a definition changed while it was planned")

// canUseRemembered reports whether head can be planned from what is remembered.
func (p *planner) canUseRemembered() bool {
	return p.req.Remembered != nil && !p.req.All && p.req.IgnoreBefore == nil && p.req.Fresh == nil && p.req.Before.IsZero() &&
		len(p.req.Statuses)+len(p.req.Targets) == 0 && (p.req.Base == nil || p.sameSettings())
}

// A loadedSide is one side of a plan with what it was made from.
type loadedSide struct {
	plan.Side
	env      *plan.Environment
	snapshot *load.Snapshot
	problems []schema.Problem
	// brief says that cases are missing from the entries.
	brief bool
}

// loadHead returns head from what is remembered, where that is enough, and else
// with all of its cases.
func (p *planner) loadHead(ctx context.Context) (*loadedSide, error) {
	env, err := p.environment(p.req.Head)
	if err != nil {
		return nil, err
	}
	p.env = &env
	if p.canUseRemembered() {
		head, err := p.rememberedHead(ctx, &env)
		if head != nil || err != nil {
			return head, err
		}
	}
	loaded, err := p.loadFiles(ctx, p.req.Head, nil)
	if err != nil {
		return nil, err
	}
	return &loadedSide{Side: p.side(p.req.Head, loaded, &env), env: &env, snapshot: loaded.Snapshot(), problems: loaded.Problems}, nil
}

// rememberedHead returns head as it is remembered; nil where it is not.
func (p *planner) rememberedHead(ctx context.Context, env *plan.Environment) (*loadedSide, error) {
	notes, err := notesIn(env)
	if err != nil {
		return nil, err
	}
	known, err := p.req.Remembered(ctx, notes)
	if known == nil || err != nil {
		return nil, err
	}
	entries := make([]*plan.Entry, 0, known.Totals().Cases)
	complete := known.Cases(func(c load.Remembered) {
		entry := &plan.Entry{CaseInfo: &c.Info}
		if entry.ReadNote(c.Note) && (p.req.Select == nil || p.req.Select(entry.CaseInfo)) {
			entries = append(entries, entry)
		}
	})
	if !complete {
		return nil, nil
	}
	head := &loadedSide{env: env, snapshot: known, problems: known.Problems(), brief: true}
	head.Side = plan.NewSide(p.req.Head.Commit, env.DefaultTarget, entries)
	invalidate(&head.Side, head.problems)
	return head, nil
}

// scanHead has head planned from the notes that are taken of its cases in one go.
// Then the cases that are not judged take little memory.
func (r *Request) scanHead() {
	head := *r
	r.Remembered = func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
		opts, err := head.options(ctx, head.Head)
		if err != nil {
			return nil, err
		}
		opts.Note = notes.Take
		return load.Scan(ctx, head.Head.FS, opts)
	}
}

// notesIn are the notes that planning takes of cases in an environment.
func notesIn(env *plan.Environment) (snapshot.Notes, error) {
	digest, err := env.Digest()
	return snapshot.Notes{Environment: digest, Take: func(c *schema.Case) string { return plan.NewEntry(c, env).Note() }}, err
}

// complete puts the cases of the files into the entries of a side.
func (p *planner) complete(ctx context.Context, side *loadedSide, files []string) error {
	if !side.brief || len(files) == 0 {
		return nil
	}
	loaded, err := p.loadFiles(ctx, p.req.Head, files)
	if err != nil {
		return err
	}
	for id, e := range side.Cases {
		if _, is := slices.BinarySearch(files, e.Origin.File); is {
			delete(side.Cases, id)
		}
	}
	for id, e := range p.side(p.req.Head, loaded, side.env).Cases {
		side.Cases[id] = e
	}
	return nil
}

// batch is how many definitions are loaded at a time where their cases are not
// kept.
const batch = 512

// settle decides what is done with each row. The cases that are judged are loaded
// for it, and kept unless the plan is brief.
func (p *planner) settle(ctx context.Context, known []plan.Known) error {
	due := map[string][]int{}
	for i := range p.out.Plan.Rows {
		row := &p.out.Plan.Rows[i]
		if row.Head != nil && row.HeadCase == nil && row.Action == plan.Run && known[i].Decided == nil {
			due[row.Head.Origin.File] = append(due[row.Head.Origin.File], i)
			continue
		}
		row.Settle(known[i])
	}
	files := slices.Sorted(maps.Keys(due))
	size := max(len(files), 1)
	if p.req.Brief {
		size = batch
	}
	for some := range slices.Chunk(files, size) {
		if err := p.loadDue(ctx, some, due); err != nil {
			return err
		}
		for _, file := range some {
			for _, i := range due[file] {
				p.out.Plan.Rows[i].Settle(known[i])
			}
		}
		if p.req.Brief {
			p.out.left.take(p.out, some, due)
		}
	}
	return nil
}

// loadDue puts the cases of the files into their rows.
func (p *planner) loadDue(ctx context.Context, files []string, due map[string][]int) error {
	loaded, err := p.loadFiles(ctx, p.req.Head, files)
	if err != nil {
		return err
	}
	cases := make(map[string]*schema.Case, len(loaded.Cases))
	for _, c := range loaded.Cases {
		cases[c.ID()] = c
	}
	for _, file := range files {
		for _, i := range due[file] {
			row := &p.out.Plan.Rows[i]
			c := cases[row.Head.ID()]
			if c == nil {
				return errChanged
			}
			if err := fill(row, plan.NewEntry(c, p.env)); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill puts the case into a row that was planned without it. Base is the same
// case where its digest is.
func fill(row *plan.Row, e *plan.Entry) error {
	if e.Digests.D != row.HeadDigests.D {
		return errChanged
	}
	row.Head, row.HeadCase, row.HeadDigests = e.CaseInfo, e.Case, e.Digests
	if row.Base != nil && row.BaseCase == nil {
		row.Base, row.BaseCase, row.BaseDigests = e.CaseInfo, e.Case, e.Digests
	}
	return nil
}

// leftOut is what a brief plan counts of the cases that it does not keep.
type leftOut struct {
	estimate estimate.Sum
	needs    []load.Need
}

// take counts the rows of the files and leaves their cases out. Those that are
// compared with base stay.
func (l *leftOut) take(p *Prepared, files []string, due map[string][]int) {
	var cases []*schema.Case
	for _, file := range files {
		for _, i := range due[file] {
			row := &p.Plan.Rows[i]
			if row.Base != nil {
				continue
			}
			cases = append(cases, row.HeadCase)
			l.estimate.AddHead(p.estimateHead(row, p.headJob(*row)))
			info := row.HeadCase.CaseInfo
			info.Inputs, info.Labels.Description = nil, ""
			row.Head, row.HeadCase, row.HeadDigests = &info, nil, row.HeadDigests.Bare()
		}
	}
	l.needs = load.MergeNeeds(l.needs, load.NeedsOf(cases))
}
