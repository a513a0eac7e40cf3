package run_test

import (
	"context"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// held answers once it is let go, unless the call is given up before.
type held struct {
	asked chan string
	free  chan struct{}
}

func (h held) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	h.asked <- req.Messages[0].Content
	select {
	case <-ctx.Done():
		return target.Reply{}, ctx.Err()
	case <-h.free:
		return says("hello"), nil
	}
}

// TestASupersededRun begins no further case, gives up the unwanted ones, and finishes
// and keeps the others.
func TestASupersededRun(t *testing.T) {
	for _, tt := range []struct {
		name   string
		wanted bool
	}{{"still wanted", true}, {"stale", false}} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.control = &run.Control{}
			h := held{asked: make(chan string), free: make(chan struct{})}
			first, second, third := greeting("a"), greeting("b"), greeting("c")
			done := make(chan []run.Outcome)
			go func() { done <- b.run(t.Context(), t, h, first, second, third) }()
			asked := <-h.asked
			under := plan.Digest(greeting(asked[len("greet "):]), &plan.Environment{DefaultTarget: "bot"}).D
			b.control.Supersede(func(d string) bool { return tt.wanted && d == under })
			if tt.wanted {
				close(h.free)
			}
			finished := 0
			for {
				select {
				case next := <-h.asked:
					t.Errorf("%q was asked after the run was superseded", next)
					continue
				case out := <-done:
					for _, o := range out {
						if !o.Stopped && o.Result.Verdict == verdict.Pass {
							finished++
						}
					}
				}
				break
			}
			if want := map[bool]int{true: 1, false: 0}[tt.wanted]; finished != want {
				t.Errorf("%d cases were finished, want %d", finished, want)
			}
		})
	}
}

// TestASupersededRunMakesNoRoom: while one case after the other is given up, the place of
// the first call is not taken by one of a case that is given up next.
func TestASupersededRunMakesNoRoom(t *testing.T) {
	for range 6 { // which case comes first is a matter of chance
		b := newFixture(t)
		b.control = &run.Control{}
		h := held{asked: make(chan string), free: make(chan struct{})}
		done := make(chan []run.Outcome)
		go func() { done <- b.run(t.Context(), t, h, greeting("a"), greeting("b"), greeting("c")) }()
		<-h.asked
		go b.control.Supersede(func(string) bool {
			time.Sleep(10 * time.Millisecond) // for a call to take the place
			return false
		})
		select {
		case next := <-h.asked:
			t.Fatalf("%q was asked after the run was superseded", next)
		case <-done:
		}
	}
}
