package run

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A schedule has the remaining jobs, and the outcomes of the others.
type schedule struct {
	jobs     []Job
	outcomes []Outcome
	// groups are the remaining jobs; jobs with the same calls are in one group.
	groups [][]int
	// patient is set from the second round on: its jobs wait while another run works on
	// their case.
	patient bool
	// completion belongs to the only job; may be nil.
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
		digests = job.addAnswers(digests)
	}
	return digests
}

// judgements returns the judgement digests of the jobs.
func (s *schedule) judgements() []string {
	digests := make([]string, len(s.jobs))
	for i, job := range s.jobs {
		digests[i] = job.Digests.J
	}
	return digests
}

// addAnswers adds the execution digests of a job's answers, and of theirs.
func (j Job) addAnswers(digests []string) []string {
	for _, answer := range j.answers() {
		digests = answer.addAnswers(append(digests, answer.Digests.E))
	}
	return digests
}

// byExecution groups the jobs that send the same requests to the same target, in the
// order of their first job. They run one after the other, so that each finds the stored
// results of the previous one and nothing is paid for twice.
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

// A turn orders concurrent cases, so that a budget serves them in the plan's order.
type turn struct {
	// ahead is closed when all earlier cases have been admitted or have ended. pass
	// notifies the next one.
	ahead <-chan struct{}
	pass  func()
}

// newTurn returns the turn behind ahead, and a channel that is closed when it has
// passed.
func newTurn(ahead <-chan struct{}) (turn, <-chan struct{}) {
	passed := make(chan struct{})
	return turn{ahead: ahead, pass: sync.OnceFunc(func() { close(passed) })}, passed
}

// finish gathers the answers that jobs compare, and runs the groups of a schedule until
// none is left or ctx ends.
func (r *runner) finish(ctx context.Context, s *schedule) error {
	err := r.gather(ctx, s)
	for err == nil && ctx.Err() == nil && len(s.groups) > 0 {
		err = r.round(ctx, s)
	}
	for _, job := range s.jobs { // some may not have begun
		job.Half.miss()
	}
	return err
}

// round runs the groups of a schedule concurrently, and the jobs of a group
// sequentially. A case that another run works on is left for the next round, so that
// two runs of the same cases share the work. In the end the run waits for such a case,
// and finds it in the ledger.
func (r *runner) round(ctx context.Context, s *schedule) error {
	var mu sync.Mutex
	var left [][]int // guarded by mu
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.workers)
	first, front := newTurn(nil)
	first.pass()
	for _, same := range s.groups {
		for _, i := range same[1:] { // these begin after the first, which the other side does not wait for
			s.jobs[i].Half.miss()
		}
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
				c.job.Half.miss()
				s.outcomes[i].Spent = out.Spent // also if the lease was lost
				if errors.Is(err, ledger.ErrLeased) {
					mu.Lock()
					defer mu.Unlock()
					left = append(left, same[at:])
					return nil
				}
				if c.claim == nil {
					c.job.Half.leave()
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
