package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// The snapshot's digests of an unchanged definition are enough to plan its cases: they
// are loaded only for judging.

// errChanged means that a definition differs from its remembered version.
var errChanged = errors.New("a definition changed while it was planned")

// canUseRemembered reports whether head can be planned from remembered definitions.
func (p *planner) canUseRemembered() bool {
	return p.req.Remembered != nil && !p.lifts() && !p.req.All && p.req.IgnoreBefore == nil && p.req.Fresh == nil && p.req.Before.IsZero() &&
		len(p.req.Statuses)+len(p.req.Targets) == 0 && (p.req.Base == nil || p.sameSettings())
}

// A loadedSide is one side of a plan with its source.
type loadedSide struct {
	plan.Side
	env      *plan.Environment
	snapshot *load.Snapshot
	problems []schema.Problem
	// brief says that cases are missing from the entries.
	brief bool
}

// loadHead returns head from remembered definitions, if they are enough, and else with
// all of its cases.
func (p *planner) loadHead(ctx context.Context) (*loadedSide, error) {
	env, err := p.environment(ctx, p.req.Head)
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
	side, err := p.side(ctx, p.req.Head, loaded, &env)
	if err != nil {
		return nil, err
	}
	return &loadedSide{Side: side, env: &env, snapshot: loaded.Snapshot(), problems: loaded.Problems}, nil
}

// rememberedHead returns head from remembered definitions, or nil.
func (p *planner) rememberedHead(ctx context.Context, env *plan.Environment) (*loadedSide, error) {
	if !p.req.Brief && !p.req.scanned {
		p.read = &readCases{wanted: p.req.Select}
	}
	notes, err := notesIn(env, p.read)
	if err != nil {
		return nil, err
	}
	known, err := p.req.Remembered(ctx, notes)
	if known == nil || err != nil {
		return nil, err
	}
	entries, damaged := make([]*plan.Entry, 0, known.Totals().Cases), false
	complete := known.Cases(func(c load.StoredCase) {
		entry := &plan.Entry{CaseInfo: &c.Info}
		rest, ok := entry.ReadNote(c.Note)
		damaged = damaged || !ok
		if p.req.Select == nil || p.req.Select(entry.CaseInfo) {
			if p.req.Brief || env.Unconfined { // warnings concern programs
				entry.Noted = strings.Clone(rest) // the digests before it are read
			}
			entries = append(entries, entry)
		}
	})
	if !complete || damaged {
		return nil, nil
	}
	head := &loadedSide{env: env, snapshot: known, problems: known.Problems(), brief: true}
	head.Side = plan.NewSide(p.req.Head.Commit, env.DefaultTarget, entries)
	head.Strays = setOf(known.Strays())
	invalidate(&head.Side, head.problems)
	return head, nil
}

// ScanHead plans head in one pass with notes on its cases. Then the cases that are not
// judged take little memory.
func (r *Request) ScanHead() {
	r.makers()
	head := *r
	r.scanned = true
	r.Remembered = func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
		opts, err := head.options(ctx, head.Head)
		if err != nil {
			return nil, err
		}
		opts.Note = notes.Take
		return load.Scan(ctx, head.Head.FS, opts)
	}
}

// notesIn returns the notes that planning takes about cases in an environment: digests,
// and data for an estimate. It keeps the cases in read, which may be nil.
func notesIn(env *plan.Environment, read *readCases) (snapshot.Notes, error) {
	digest, err := env.Digest()
	return snapshot.Notes{Environment: digest, Take: func(c *schema.Case) string {
		entry := plan.NewEntry(c, env)
		read.keep(entry)
		return entry.Note() + remeasure.NewWorkload(c).Text()
	}}, err
}

// readCases are cases that were compiled for their notes. Those to be judged are not
// compiled again. Its methods are safe for concurrent use, also on nil.
type readCases struct {
	wanted  func(*schema.CaseInfo) bool // nil for all
	mu      sync.Mutex
	entries map[string]*plan.Entry // by ID; guarded by mu
}

// keep keeps the latest case of an ID.
func (r *readCases) keep(e *plan.Entry) {
	if r == nil || r.wanted != nil && !r.wanted(e.CaseInfo) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = map[string]*plan.Entry{}
	}
	r.entries[e.ID()] = e
}

// entry returns the case that a row was planned from, or nil if it is not kept.
func (r *readCases) entry(row *plan.Row) *plan.Entry {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[row.Head.ID()]
	if e == nil || e.Origin.File != row.Head.Origin.File || e.Digests.D != row.HeadDigests.D {
		return nil
	}
	return e
}

// complete adds the files' cases to the entries of a side.
func (p *planner) complete(ctx context.Context, side *loadedSide, files []string) error {
	if !side.brief || len(files) == 0 {
		return nil
	}
	loaded, err := p.loadFiles(ctx, p.req.Head, files)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for id, e := range side.Cases {
		if _, is := slices.BinarySearch(files, e.Origin.File); is {
			known[id] = true
			delete(side.Cases, id)
		}
	}
	read, err := p.side(ctx, p.req.Head, loaded, side.env)
	if err != nil {
		return err
	}
	for id, e := range read.Cases {
		switch {
		case known[id]:
			side.Cases[id] = e
		case side.Invalid[e.Origin.File] == "": // else another file has a case of that name
			return errChanged
		}
	}
	return nil
}

// batch is the number of definitions processed together if their cases are not kept.
const batch = 512

// settle decides the action of each row. If the plan is brief, cases to be judged and
// their stored results are read in batches.
func (p *planner) settle(ctx context.Context) error {
	p.ask()
	rows := p.out.Plan.Rows
	p.out.executed, p.out.counted, p.out.answered = map[string]bool{}, map[string]bool{}, map[string]int{}
	var due []int
	for i := range rows {
		if row := &rows[i]; row.Head != nil && row.Action == plan.Run && row.Known.Decided == nil {
			due = append(due, i)
			p.out.executed[row.HeadDigests.E] = true
			continue
		}
		rows[i].Settle(rows[i].Known)
	}
	file := func(i int) string { return rows[i].Head.Origin.File }
	slices.SortStableFunc(due, func(a, b int) int { return strings.Compare(file(a), file(b)) })
	for len(due) > 0 {
		n := len(due)
		if p.req.Brief && n > batch {
			// The cases of one file are loaded together.
			for n = batch; n < len(due) && file(due[n]) == file(due[n-1]); n++ {
			}
		}
		if err := p.settleDue(ctx, due[:n]); err != nil {
			return err
		}
		due = due[n:]
	}
	return nil
}

// settleDue decides about rows with cases to be judged, in the order of their files.
// Cases are loaded, and kept unless the plan is brief. A brief plan only counts cases
// with enough notes.
func (p *planner) settleDue(ctx context.Context, due []int) error {
	last, err := p.lastParts(ctx, due)
	if err != nil {
		return err
	}
	var load []int
	for k, i := range due {
		row := &p.out.Plan.Rows[i]
		row.Known.Last = last[k]
		subject, noted := remeasure.ReadWorkload(row.Noted)
		switch {
		case row.HeadCase != nil:
		case noted && p.req.Brief && row.Base == nil && last[k] == nil && !subject.HasKept():
			row.Settle(row.Known)
			p.count(row, subject)
		default:
			load = append(load, i)
		}
	}
	if err := p.loadDue(ctx, load); err != nil {
		return err
	}
	if err := p.addAnswered(ctx, due); err != nil {
		return err
	}
	for _, i := range due {
		row := &p.out.Plan.Rows[i]
		if row.HeadCase == nil {
			continue
		}
		row.Settle(row.Known)
		row.Known.Last = nil                // the reasons describe the difference
		if p.req.Brief && row.Base == nil { // others are compared later
			p.count(row, remeasure.NewWorkload(row.HeadCase))
			p.out.addAnswers(&p.out.left.Total, row.HeadCase, row.HeadDigests.Kept(), p.out.counted)
			info := row.HeadCase.CaseInfo
			info.Inputs, info.Labels.Description, info.Labels.Facts = nil, "", schema.Facts{}
			row.Head, row.HeadCase, row.HeadDigests = &info, nil, row.HeadDigests.Bare()
		}
	}
	return nil
}

// addAnswered counts the stored answers of other cases that loaded rows have.
func (p *planner) addAnswered(ctx context.Context, rows []int) error {
	digests := map[scopeKey][]plan.Digests{}
	for _, i := range rows {
		row := &p.out.Plan.Rows[i]
		for _, k := range row.HeadDigests.Kept() {
			for _, answer := range k.All() {
				key := p.out.scopeKeyOf(*row)
				digests[key] = append(digests[key], plan.Digests{E: answer.E})
			}
		}
	}
	for key, all := range digests {
		if p.req.Ledger == nil {
			return nil
		}
		found, err := p.req.Ledger.Samples(ctx, p.out.headScope(key), all, nil)
		if err != nil {
			return err
		}
		for i, d := range all {
			p.out.answered[d.E] = max(p.out.answered[d.E], found[i].Executed)
		}
	}
	return nil
}

// count adds a row whose case a brief plan does not keep to the estimate.
func (p *planner) count(row *plan.Row, s remeasure.Workload) {
	p.out.left.Add(s, row.Head.Origin, s.Against(p.req.Head.Config, row.Target, row.Known))
	row.Noted = ""
}

// loadDue loads the cases of rows, which are in the order of their files.
func (p *planner) loadDue(ctx context.Context, due []int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var rows []int
	for _, i := range due {
		row := &p.out.Plan.Rows[i]
		e := p.read.entry(row)
		if e == nil {
			rows = append(rows, i)
			continue
		}
		if err := fill(row, e); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	files := make([]string, len(rows))
	for k, i := range rows {
		files[k] = p.out.Plan.Rows[i].Head.Origin.File
	}
	loaded, err := p.loadFiles(ctx, p.req.Head, slices.Compact(files))
	if err != nil {
		return err
	}
	cases := make(map[string]*schema.Case, len(loaded.Cases))
	for _, c := range loaded.Cases {
		cases[c.ID()] = c
	}
	for _, i := range rows {
		row := &p.out.Plan.Rows[i]
		c := cases[row.Head.ID()]
		if c == nil {
			return errChanged
		}
		if err := fill(row, plan.NewEntry(c, p.env)); err != nil {
			return err
		}
	}
	return nil
}

// fill adds the case to a row that was planned without it. Base is the same case if its
// digest is equal.
func fill(row *plan.Row, e *plan.Entry) error {
	if e.Digests.D != row.HeadDigests.D {
		return errChanged
	}
	digests := e.Digests.Sharing(row.HeadDigests)
	row.Head, row.HeadCase, row.HeadDigests = e.CaseInfo, e.Case, digests
	if row.Base != nil && row.BaseCase == nil {
		row.Base, row.BaseCase, row.BaseDigests = e.CaseInfo, e.Case, digests
	}
	return nil
}
