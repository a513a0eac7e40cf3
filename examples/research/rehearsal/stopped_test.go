package rehearsal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/examples/research/rehearsal"
	"github.com/gavel-evals/gavel/examples/research/simulation"
)

// small are pull requests that are stopped at each of their calls: one that breaks a
// case, and one that changes nothing, with a flip.
var small = []struct {
	cell   simulation.Cell
	number uint64
}{
	{simulation.Cell{Truth: simulation.Mixed, Cases: 6, Broken: 1}, 1},
	{simulation.Cell{Truth: simulation.Mixed, Cases: 6, History: 5, Broken: 1}, 1},
	{simulation.Cell{Truth: simulation.Mixed, Cases: 8}, 2},
	{simulation.Cell{Truth: simulation.Mixed, Cases: 8, History: 5}, 6},
}

// TestTheBudgetEndsAtAnyCall: a run whose budget ends at any call stays within it,
// has no green gate, and goes on later to what one without a budget comes to.
func TestTheBudgetEndsAtAnyCall(t *testing.T) {
	again := 0
	for _, tt := range small {
		pull := simulation.NewPull(tt.cell, 3, tt.number)
		want := rehearsal.Alone(pull, tt.cell)
		again += want.Calls - 2*tt.cell.Cases
		for budget := 0; budget < want.Calls; budget++ {
			s := stage(t, pull, tt.cell)
			s.Settings = fmt.Sprintf("budget: {calls: %d}\n", budget)
			if budget == 0 {
				continue // the schema asks for one at least
			}
			r, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Calls() > budget {
				t.Errorf("H=%d: %d calls with a budget of %d", tt.cell.History, s.Calls(), budget)
			}
			// A case that passes did not regress, whatever base is.
			failing := slices.ContainsFunc(r.Cases, func(row report.Row) bool { return row.Verdict == nil || *row.Verdict != verdict.Pass })
			if r.Gate.Result == report.GatePass && failing {
				t.Errorf("H=%d: the gate is green after %d of %d calls: %s", tt.cell.History, budget, want.Calls, r.Gate.Reason)
			}
			s.Settings = ""
			if r, err = s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, s.Decided(r)); diff != "" {
				t.Errorf("H=%d, ended by a budget of %d (-want +got):\n%s", tt.cell.History, budget, diff)
			}
		}
	}
	if again == 0 {
		t.Error("none of the pull requests is measured again")
	}
}

// joined is a child process's description of the stage that it joins.
const joined = "GAVEL_REHEARSAL"

// A part is the role of a child process.
type part struct {
	URL, Dir string
	Small    int
}

// TestMain plays a part where there is one.
func TestMain(m *testing.M) {
	text := os.Getenv(joined)
	if text == "" {
		os.Exit(m.Run())
	}
	if err := play(context.Background(), text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play judges the pull request of a stage in another process, and prints its decision.
func play(ctx context.Context, text string) error {
	var p part
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	s, err := rehearsal.Join(ctx, p.URL, small[p.Small].cell, p.Dir)
	if err != nil {
		return err
	}
	r, err := s.Run(ctx)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.Decided(r)); err != nil {
		return err
	}
	return s.Close()
}

// TestKilled: a process that is killed at a call, and started again, makes
// the same calls and says the same as one that is not.
func TestKilled(t *testing.T) {
	for i, tt := range small {
		pull := simulation.NewPull(tt.cell, 3, tt.number)
		want := rehearsal.Alone(pull, tt.cell)
		const every = 3 // a process a call would take long; the pull requests take turns
		for k := i % every; k < want.Calls; k += every {
			dir := t.TempDir()
			s := stageIn(t, pull, tt.cell, dir)
			told, err := json.Marshal(part{s.URL(), dir, i})
			if err != nil {
				t.Fatal(err)
			}
			start := func() (*exec.Cmd, *strings.Builder) {
				child := exec.CommandContext(t.Context(), os.Args[0])
				child.Env = append(os.Environ(), joined+"="+string(told))
				var out strings.Builder
				child.Stdout, child.Stderr = &out, os.Stderr
				if err := child.Start(); err != nil {
					t.Fatal(err)
				}
				return child, &out
			}
			reached := make(chan struct{})
			killed := false
			s.OnCall(func(n int) bool {
				if n != k || killed {
					return false
				}
				killed = true
				close(reached)
				return true
			})
			child, _ := start()
			<-reached
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := child.Wait(); err == nil {
				t.Fatalf("the process ended by itself at call %d", k)
			}
			// A reply that came and is not stored counts as in flight: it is asked
			// for again. Each side may have one, since both are asked in turns.
			if lost, err := s.Lose(t.Context()); err != nil || lost > 2 {
				t.Fatalf("%d replies are lost to a process with one call at a time and two sides: %v", lost, err)
			}
			child, out := start()
			if err := child.Wait(); err != nil {
				t.Fatal(err)
			}
			var got rehearsal.Decision
			if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
				t.Fatal(err)
			}
			got.Calls = s.Calls()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("H=%d, killed at call %d (-want +got):\n%s", tt.cell.History, k, diff)
			}
		}
	}
}
