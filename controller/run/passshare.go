package run

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// asksShare reports whether the case asks for a share of its samples. A job that only lets
// a case answer takes all of them, and so does a case whose prompt is compared with
// another.
func (a *attempt) asksShare() bool {
	job := a.caseRun.job
	return job.Case.Policy.PassShare > 0 && job.Case.Alternative == nil && !job.answerOnly
}

// takeShare takes samples until no further one can change the outcome. Each step takes as
// many at the same time as are needed at least, so that none is taken in vain. A sample
// that ends in an error does not count, and another takes its place.
//
// A sample passes if one of its attempts does: a later attempt takes only the samples that
// have failed, and a fail is final in the last attempt alone.
func (a *attempt) takeShare(ctx context.Context, stored *storedSamples) error {
	c := a.caseRun
	stored.preferJudged()
	left := a.due()
	tally := verdict.NewTally(c.job.Case, nil)
	tally.Passes = tally.Of - left.len() // the others passed in an earlier attempt
	isLast := a.number+1 >= c.mostAttempts()
	spare := max(1, a.size/2)
	for left.len() > 0 && !a.cut {
		step := tally.Need - tally.Passes
		if isLast {
			step = tally.Missing()
		}
		taken, err := a.take(ctx, stored, left, min(max(step, stored.judgedAhead(left)), mostAtOnce))
		if err != nil || len(taken) == 0 {
			return err
		}
		for _, s := range taken {
			one := verdict.NewTally(c.job.Case, []verdict.Sample{s.result})
			tally.Passes, tally.Fails = tally.Passes+one.Passes, tally.Fails+one.Fails
			if s.failed() && spare > 0 && c.replaces(s) {
				left.first = slices.Insert(left.first, 0, s.index)
				spare--
			}
		}
	}
	return nil
}

// mostAtOnce is the most samples that a step takes.
const mostAtOnce = 1000

// An untaken holds the indexes of samples that are still to be taken: some before all
// others, and a range. It takes no memory for the range, however long it is.
type untaken struct {
	first     []int
	next, end int
}

func (u *untaken) len() int { return len(u.first) + u.end - u.next }

// at returns the n-th index.
func (u *untaken) at(n int) int {
	if n < len(u.first) {
		return u.first[n]
	}
	return u.next + n - len(u.first)
}

// drop removes the first index.
func (u *untaken) drop() {
	if len(u.first) > 0 {
		u.first = u.first[1:]
		return
	}
	u.next++
}

// replaces reports whether another sample may take the place of one with an error: calls
// are made, no budget or target refuses them, the run goes on, and no answers of other
// cases belong to the sample.
func (c *caseRun) replaces(s *sample) bool {
	return !c.runner.recording && c.costs.Unrun == "" && !s.stopped && c.job.Selection == nil && len(c.job.Kept) == 0
}

// due returns the samples that an attempt takes: all in the first, else the ones that have
// not passed.
func (a *attempt) due() *untaken {
	if a.before == nil {
		return &untaken{end: a.size}
	}
	var left untaken
	for _, s := range a.before.latest() {
		if verdict.NewTally(a.caseRun.job.Case, []verdict.Sample{s.result}).Passes == 0 {
			left.first = append(left.first, s.index)
		}
	}
	return &left
}

// latest returns the last sample of each index, of this attempt and of the ones before.
func (a *attempt) latest() []*sample {
	var out []*sample
	if a.before != nil {
		out = a.before.latest()
	}
	for _, s := range a.samples {
		at := slices.IndexFunc(out, func(o *sample) bool { return o.index == s.index })
		switch {
		case at < 0:
			out = append(out, s)
		case !s.failed() || out[at].failed():
			out = append(slices.Delete(out, at, at+1), s)
		}
	}
	return out
}

// preferJudged puts the executions with a judgement first.
func (stored *storedSamples) preferJudged() {
	for _, list := range stored.executions {
		slices.SortStableFunc(list, func(x, y ledger.Execution) int {
			_, a := stored.judgements[x.Ordinal]
			_, b := stored.judgements[y.Ordinal]
			switch {
			case a == b:
				return 0
			case a:
				return -1
			}
			return 1
		})
	}
}

// judgedAhead counts the first of the samples whose judgement is stored. They cost nothing,
// and a stored decision rests on all of them.
func (stored *storedSamples) judgedAhead(left *untaken) int {
	used := make([]int, len(stored.executions))
	for n := range left.len() {
		opening := left.at(n) % len(stored.executions)
		list := stored.executions[opening][min(used[opening], len(stored.executions[opening])):]
		if len(list) == 0 {
			return n
		}
		if _, judged := stored.judgements[list[0].Ordinal]; !judged {
			return n
		}
		used[opening]++
	}
	return left.len()
}

// take takes at most so many samples, a few at a time, and returns them. They are fewer,
// and the attempt is cut, if ctx ends.
func (a *attempt) take(ctx context.Context, stored *storedSamples, left *untaken, most int) ([]*sample, error) {
	from := len(a.samples)
	var group errgroup.Group
	group.SetLimit(a.caseRun.runner.room)
	for range min(most, left.len()) {
		s := a.begin(ctx, stored, left)
		if s == nil {
			break
		}
		if s.isTaken() {
			group.Go(func() error { return guarded(ctx, s.run) })
		}
	}
	return a.samples[from:], group.Wait()
}

// begin adds the next of the samples that are left. It returns nil, and cuts the attempt, if
// ctx has ended and the sample is not judged yet.
func (a *attempt) begin(ctx context.Context, stored *storedSamples, left *untaken) *sample {
	s := stored.sample(a, left.at(0))
	if !s.judged && ctx.Err() != nil {
		a.cut = true
		return nil
	}
	left.drop()
	a.samples = append(a.samples, s)
	return s
}

// isTaken reports whether the sample is run: its judgement is not stored, or it is recorded.
func (s *sample) isTaken() bool { return !s.judged || s.attempt.caseRun.runner.cfg.Record != nil }
