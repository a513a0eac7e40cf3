package run

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A schedule says which jobs are still to be run, and keeps what became of the
// others.
type schedule struct {
	jobs     []Job
	outcomes []Outcome
	// groups are the jobs that are left, those with the same calls in one group.
	groups [][]int
	// patient is set from the second round on: its jobs wait where another run is
	// at work on their case.
	patient bool
	// completion is that of the only job; nil where nobody else stores anything.
	completion *Completion
}

func newSchedule(jobs []Job) *schedule {
	s := &schedule{jobs: jobs, outcomes: make([]Outcome, len(jobs)), groups: byExecution(jobs)}
	for i, job := range jobs {
		s.outcomes[i] = stopped(job)
	}
	return s
}

// executions returns the execution digests of the groups.
func (s *schedule) executions() []string {
	digests := make([]string, len(s.groups))
	for i, same := range s.groups {
		digests[i] = s.jobs[same[0]].Digests.E
	}
	for _, job := range s.jobs {
		for _, answer := range job.answers() {
			digests = append(digests, answer.Digests.E)
		}
	}
	return digests
}

// byExecution groups the jobs that ask the same of the same target, in the
// order of the first of each. They follow one another, so that each finds what
// the one before it has stored and nothing is paid for twice.
func byExecution(jobs []Job) [][]int {
	var groups [][]int
	index := map[string]int{}
	for i, job := range jobs {
		at, known := index[job.Digests.E]
		if !known {
			at = len(groups)
			index[job.Digests.E] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

func stopped(job Job) Outcome {
	return Outcome{
		Key: job.Case.Key, Stopped: true,
		Result: verdict.Result{Verdict: verdict.Error, Reason: "the run was stopped before the case was judged"},
	}
}

// A turn orders the cases that are judged side by side, so that a budget serves
// them in the order of the plan.
type turn struct {
	// ahead is closed when all cases before this one have been let in or have
	// ended. pass tells the next one.
	ahead <-chan struct{}
	pass  func()
}

// newTurn returns the turn behind ahead, and a channel that is closed when it has
// passed.
func newTurn(ahead <-chan struct{}) (turn, <-chan struct{}) {
	passed := make(chan struct{})
	return turn{ahead: ahead, pass: sync.OnceFunc(func() { close(passed) })}, passed
}

// finish has the answers gathered that jobs compare, and runs the groups of a schedule
// until none is left or ctx ends.
func (r *runner) finish(ctx context.Context, s *schedule) error {
	err := r.gather(ctx, s)
	for err == nil && ctx.Err() == nil && len(s.groups) > 0 {
		err = r.round(ctx, s)
	}
	return err
}

// round runs the groups of a schedule side by side, one job of a group after the
// other. A case that another run is at work on is left for the next round, so
// that two runs of the same cases halve them. In the end such a case is waited
// for, and then found in the ledger.
func (r *runner) round(ctx context.Context, s *schedule) error {
	var mu sync.Mutex
	var left [][]int // guarded by mu
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.workers)
	first, front := newTurn(nil)
	first.pass()
	for _, same := range s.groups {
		var here turn
		here, front = newTurn(front)
		group.Go(func() (err error) {
			defer recovered(&err)
			defer here.pass()
			for at, i := range same {
				if ctx.Err() != nil {
					return nil
				}
				c := newCaseRun(r, s.jobs[i])
				c.turn, c.patient, c.completion, c.costs.Spent = here, s.patient, s.completion, s.outcomes[i].Spent
				out, err := c.judge(ctx)
				s.outcomes[i].Spent = out.Spent // also where the lease was lost
				if errors.Is(err, ledger.ErrLeased) {
					mu.Lock()
					defer mu.Unlock()
					left = append(left, same[at:])
					return nil
				}
				if err != nil {
					return err
				}
				s.outcomes[i] = out
			}
			return nil
		})
	}
	err := group.Wait()
	s.groups, s.patient = left, true
	return err
}
