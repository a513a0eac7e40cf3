package remeasure

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// An entry is a compared case.
type entry struct {
	row   *Row
	known confirm.Case
	// collected counts the measurements in its history that were taken only for the
	// history.
	collected int
}

// entries returns the cases with meaningful first outcomes, with their history.
func (c *Comparison) entries(ctx context.Context) ([]*entry, error) {
	var entries []*entry
	for i := range c.Rows {
		if e := c.entry(&c.Rows[i]); e != nil {
			entries = append(entries, e)
		}
	}
	return entries, c.addHistory(ctx, entries)
}

// entry returns nil for a case that is not compared: its definition is the same on both
// sides, was removed or renamed, or a side has no outcome.
func (c *Comparison) entry(row *Row) *entry {
	if !c.compared(row) {
		return nil
	}
	head, ok := c.Head[row.Head.Case.ID()]
	if !ok || head.Unrun != "" {
		return nil
	}
	e := &entry{row: row}
	e.known = confirm.Case{
		Head:     firstOutcome(row.Target, head),
		Required: c.Required(row.Key), Weight: row.Row.Head.Weight, Conversation: report.Cluster(row.Row, c.HeadConfig.Noise.Cluster),
		Accepted: c.Accepted != nil && c.Accepted(row.Row),
	}
	if row.Row.Base != nil {
		e.known.Weight = row.Row.Base.Weight
	}
	if !active(row.Row.Base) {
		e.known.Certain = Deterministic(c.HeadConfig, row.Head.Case, row.Target, true)
		return e
	}
	base, ok := c.Base[row.Row.Base.ID()]
	same := row.HeadDigests.D == row.BaseDigests.D
	if !ok || base.Unrun != "" || same && !row.Unversioned {
		return nil
	}
	e.known.Base = []confirm.Outcome{firstOutcome(row.Base.Target, base)}
	e.known.Gone = row.Base.Case == nil || same
	e.known.Certain = c.certain(row)
	return e
}

// job returns the job that measures the case on a side.
func (e *entry) job(side confirm.Side) run.Job {
	head, base := e.row.Head, e.row.Base
	switch {
	case side == confirm.Head:
		return head
	case base == nil:
		return run.Job{}
	case len(e.known.Base) == 0:
		return *base
	}
	job := *base
	// Both sides are measured under the newest digests: an old measurement of one side
	// cannot be paired with a new one of the other.
	if kept(e.row.Row) == plan.KeptNothing {
		job.Scope.Nothing = head.Scope.Nothing || base.Scope.Nothing
		if head.Scope.NotBefore.After(base.Scope.NotBefore) {
			job.Scope.NotBefore = head.Scope.NotBefore
		}
	}
	return job
}

// compared reports whether a row's case is at head and may be measured.
func (c *Comparison) compared(row *Row) bool {
	return row.Row.Head != nil && row.Row.Head.Skip == "" && row.Head.Case != nil && row.MovedFrom == "" && row.Action != plan.Skip
}

func active(c *schema.CaseInfo) bool { return c != nil && c.Skip == "" }

// outcome converts a measurement.
func outcome(target string, r verdict.Result) confirm.Outcome {
	return confirm.Outcome{Verdict: r.Verdict, Score: r.Score, Source: target}
}

// firstOutcome converts a first measurement. Errors with the same text may have a cause
// outside of the cases; numbers in the text may differ.
func firstOutcome(target string, o *report.Outcome) confirm.Outcome {
	out := outcome(target, o.Result)
	out.Took = o.Duration
	if o.Result.Verdict == verdict.Error {
		out.Symptom, out.Retry, out.At, out.Took = run.Symptom(o.Result.Reason), o.Retry, o.Failed, 0
	}
	return out
}

// certain reports whether the sides of a row differ without any chance: both decide
// about the same measurements, or all called models are deterministic. If head was
// executed again, its target counts, although the execution is the same.
func (c *Comparison) certain(row *Row) bool {
	if row.HeadDigests.J == row.BaseDigests.J && row.HeadDigests.D != row.BaseDigests.D && !row.Repeated {
		return true
	}
	whole := row.HeadDigests.E != row.BaseDigests.E || row.Repeated
	return Deterministic(c.HeadConfig, row.Head.Case, row.Head.Target, whole) &&
		(row.Base.Case == nil || Deterministic(c.BaseConfig, row.Base.Case, row.Base.Target, whole))
}

// Deterministic reports whether a case always has the same result: its judges answer
// the same, and if it is executed as a whole, so do all others.
func Deterministic(cfg *config.Config, c *schema.Case, target string, whole bool) bool {
	return !slices.ContainsFunc(Asked(cfg, c, target, whole), func(name string) bool {
		t, ok := cfg.Targets[name]
		return ok && !t.Deterministic()
	})
}

// Asked returns the names of the targets called for a case: its judges, and if it is
// executed as a whole, all others, too.
func Asked(cfg *config.Config, c *schema.Case, target string, whole bool) []string {
	roles := cfg.Roles.Targets()
	var names []string
	if whole {
		if c.Drive.Given == nil {
			names = append(names, target)
		}
		for _, peer := range c.Answering() {
			if peer.Drive.Given == nil {
				names = append(names, cmp.Or(peer.Target, cfg.DefaultTarget))
			}
		}
		for _, role := range c.Roles() {
			names = append(names, roles[role])
		}
	}
	specs := make([]schema.Spec, 0, len(c.Evaluators)+1)
	for _, ev := range c.Evaluators {
		specs = append(specs, ev.Spec)
	}
	if c.Alternative != nil && c.Alternative.Comparison != nil {
		specs = append(specs, c.Alternative.Comparison)
	}
	for _, spec := range specs {
		if own, ok := spec.(interface{ Targets() []string }); ok {
			names = append(names, own.Targets()...)
		}
		for _, role := range spec.Roles() {
			if name, ok := evaluator.JudgedBy(role); ok {
				names = append(names, name)
			} else {
				names = append(names, roles[role])
			}
		}
	}
	return names
}

// addHistory puts base's earlier results before its first outcome. It counts up to
// head's first measurement, so that a repeated comparison has the same history.
func (c *Comparison) addHistory(ctx context.Context, entries []*entry) error {
	window := c.HeadConfig.Noise.Defaulted().History
	times, err := c.times(ctx, entries)
	if err != nil {
		return err
	}
	for i, e := range entries {
		e.known.Head.At = cmp.Or(e.known.Head.At, times[confirm.Head][i].sampled)
		if n := len(e.known.Base); n > 0 {
			e.known.Base[n-1].At = cmp.Or(e.known.Base[n-1].At, times[confirm.Base][i].sampled)
		}
	}
	asks, of := map[ledger.Scope][]ledger.HistoryAsk{}, map[ledger.Scope][]int{}
	for i, e := range entries {
		if !e.hasPast() {
			continue
		}
		scope, until := e.row.Base.Scope, times[confirm.Head][i].sampled
		since := until.Add(-window)
		if scope.NotBefore.After(since) {
			since = scope.NotBefore
		}
		asks[scope] = append(asks[scope], ledger.HistoryAsk{Case: e.row.BaseCase, Digests: e.row.BaseDigests, Since: since, Until: until})
		of[scope] = append(of[scope], i)
	}
	for scope, some := range asks {
		found, err := ledger.ReadHistories(ctx, c.Ledger, scope, some)
		if err != nil {
			return err
		}
		for k, i := range of[scope] {
			entries[i].setHistory(found[k], times[confirm.Base][i], times[confirm.Head][i], cmp.Or(c.Apart, run.Apart))
		}
	}
	return nil
}

// addFailures adds the stored errors of earlier tries of the first outcomes, such as those
// of an interrupted run: the outcomes that took their place do not show an outage.
func (c *Comparison) addFailures(ctx context.Context, entries []*entry) error {
	for side := range confirm.Side(2) {
		asks := map[ledger.Scope][]string{}
		for _, e := range entries {
			if job := e.first(side); job.Digests.E != "" {
				asks[job.Scope] = append(asks[job.Scope], job.Digests.E)
			}
		}
		found := map[ledger.Scope]map[string][]ledger.Failure{}
		for scope, digests := range asks {
			var err error
			if found[scope], err = c.Ledger.Failures(ctx, scope, digests); err != nil {
				return err
			}
		}
		for _, e := range entries {
			job := e.first(side)
			e.setFailures(side, found[job.Scope][job.Digests.E])
		}
	}
	return nil
}

// setFailures sets the earlier errors of a side whose first outcome is none any more,
// without those that came of trying again at once.
func (e *entry) setFailures(side confirm.Side, found []ledger.Failure) {
	if e.failed(side) {
		return
	}
	var last time.Time
	for _, f := range found {
		isRepeated := !last.IsZero() && f.At.Sub(last) <= time.Minute
		if last = f.At; isRepeated {
			continue
		}
		e.known.Failures[side] = append(e.known.Failures[side], confirm.Outcome{
			Verdict: verdict.Error, Source: f.Source, Symptom: f.Symptom, Retry: f.Retry, At: f.At,
		})
	}
}

// hasPast reports whether base may have a history of the case.
func (e *entry) hasPast() bool { return len(e.known.Base) > 0 && e.row.BaseCase != nil }

// times returns the times of each side's first outcomes: outcomes that are not stored
// were measured in this run, which began at Started.
func (c *Comparison) times(ctx context.Context, entries []*entry) (out [2][]moment, err error) {
	for side := range out {
		jobs := make([]run.Job, len(entries))
		for i, e := range entries {
			jobs[i] = e.first(confirm.Side(side))
		}
		found, err := c.stored(ctx, jobs)
		if err != nil {
			return out, err
		}
		for i, d := range found {
			failed := cmp.Or(entries[i].failedAt(confirm.Side(side)), c.Started)
			at := moment{sampled: failed, judged: failed}
			if d != nil {
				at = moment{d.Oldest, d.Created, d.Duration / time.Duration(max(d.Samples, 1))}
			}
			out[side] = append(out[side], at)
		}
	}
	return out, nil
}

// A moment is when a first outcome was sampled and judged.
type moment struct {
	sampled, judged time.Time
	// sample is the duration of one sample.
	sample time.Duration
}

// isNextTo reports whether two outcomes were taken at the same time, at most apart or the
// duration of a sample. Neither a base that was sampled long before head nor one that was
// judged long before it is next to it.
func (m moment) isNextTo(other moment, apart time.Duration) bool {
	apart = max(apart, m.sample, other.sample)
	return m.sampled.Sub(other.sampled).Abs() <= apart && m.judged.Sub(other.judged).Abs() <= apart
}

// failedAt returns the time of a side's first outcome if it is an error; errors are not
// stored.
func (e *entry) failedAt(side confirm.Side) time.Time {
	n := len(e.known.Base)
	switch {
	case side == confirm.Head:
		return e.known.Head.At
	case n > 0:
		return e.known.Base[n-1].At
	}
	return time.Time{}
}

// failed reports whether the first outcome of a side is an error.
func (e *entry) failed(side confirm.Side) bool {
	first := e.known.Head
	if n := len(e.known.Base); side == confirm.Base {
		if n == 0 {
			return false
		}
		first = e.known.Base[n-1]
	}
	return first.Verdict.Rank() < 0
}

// first returns the job of a side's first outcome; an empty job for a case that base
// lacks.
func (e *entry) first(side confirm.Side) run.Job {
	switch {
	case side == confirm.Base && e.row.Base == nil:
		return run.Job{}
	case side == confirm.Base:
		return run.Job{Digests: e.row.BaseDigests, Scope: e.row.Base.Scope}
	}
	return run.Job{Digests: e.row.HeadDigests, Scope: e.row.Head.Scope}
}

// setHistory adds the measurements except the compared one, which was made at the time
// base; head was made at the time head. Both count as taken at the same time within apart.
func (e *entry) setHistory(found []ledger.Measurement, base, head moment, apart time.Duration) {
	bar := e.known.Base[0].Verdict
	if i := slices.IndexFunc(found, func(m ledger.Measurement) bool { return m.At.Equal(base.sampled) && m.Result.Verdict == bar }); i >= 0 {
		found = slices.Delete(found, i, i+1)
	}
	var before []confirm.Outcome
	for _, m := range found {
		if m.Result.Verdict.Rank() >= 0 {
			before = append(before, outcome(e.row.Base.Target, m.Result))
		}
	}
	e.known.Base = append(before, e.known.Base...)
	e.known.Fresh = len(before) == 0 && head.isNextTo(base, apart)
	e.collected = 0
	for _, m := range found {
		if m.Collected && m.Result.Verdict.Rank() >= 0 {
			e.collected++
		}
	}
}

// isPastOnly reports whether the history of the case is long enough only because of
// measurements for the history.
func (e *entry) isPastOnly() bool {
	n := len(e.known.Base)
	return !e.known.Certain && !e.known.Gone && n >= confirm.Enough && n-e.collected < confirm.Enough
}

// savedCalls estimates the calls saved by histories that were measured for their own
// sake.
func (c *Comparison) savedCalls(entries []*entry) int {
	once := 0
	for _, e := range entries {
		if e.isPastOnly() {
			once += int(c.each(e.row, e.known).calls)
		}
	}
	return max(0, confirm.Usual(once, 0)-confirm.Usual(0, once))
}

// spend adds the cost of a rerun to the outcome of a side.
func (e *entry) spend(c *Comparison, side confirm.Side, o run.Outcome) {
	if out := e.outcome(c, side); out != nil {
		out.Usage, out.Duration = out.Usage.Add(o.Spent), out.Duration+o.Duration
	}
}

// replace replaces the first outcome by the outcome of a measurement.
func (e *entry) replace(c *Comparison, side confirm.Side, o run.Outcome) {
	cfg := c.HeadConfig
	if side == confirm.Base {
		cfg = c.BaseConfig
	}
	is := e.outcome(c, side)
	if is == nil {
		return
	}
	is.EffortUSD = run.EffortCost(o.Effort, cfg.Targets[e.job(side).Target].Price)
	is.Result, is.Effort, is.Reused, is.Transcript = o.Result, o.Effort, false, nil
	if len(o.Transcripts) > 0 {
		is.Transcript = &o.Transcripts[0]
	}
}

// outcome returns the outcome of a side; nil without one.
func (e *entry) outcome(c *Comparison, side confirm.Side) *report.Outcome {
	if side == confirm.Base {
		return c.Base[e.row.Row.Base.ID()]
	}
	return c.Head[e.row.Row.Head.ID()]
}
