package watchmode_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/watchmode"
	"github.com/gavel-evals/gavel/reporters"
)

// wantError waits for an error that has the text.
func (s *fixture) wantError(text string) {
	s.t.Helper()
	if u := s.until(reporters.WatchError, nil); !strings.Contains(u.Snapshot.Error, text) {
		s.t.Errorf("the board has the error %q, want one with %q", u.Snapshot.Error, text)
	}
}

// closeLedger has the ledger closed when the next run has ended, so that nothing can be
// planned after it.
func (s *fixture) closeLedger() {
	s.executed = func(p *controller.Prepared) { _ = p.Ledger().Close() }
}

// TestALedgerThatIsGoneIsShown: after a rerun and after a stop the ledger is asked again.
// If it does not answer the board has its error, and no result of before.
func TestALedgerThatIsGoneIsShown(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(s *fixture)
	}{
		{"after a rerun", func(s *fixture) {
			s.want(s.changed(map[string]string{hello: greeting("hi")}), "talk/level_1/hello pass first")
			s.closeLedger()
			s.session.Do(reporters.WatchCommand{Do: reporters.WatchRerun, Keys: []string{"talk/level_1/hello"}})
		}},
		{"after a stop", func(s *fixture) {
			s.closeLedger()
			s.write(map[string]string{hello: greeting("wait")})
			s.waits(s.bot.waiting)
			s.session.Do(reporters.WatchCommand{Do: reporters.WatchStop})
		}},
		{"before all cases", func(s *fixture) {
			s.closeLedger()
			s.want(s.changed(map[string]string{hello: greeting("hi")}), "talk/level_1/hello pass first")
			s.session.Do(reporters.WatchCommand{Do: reporters.WatchAll})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newFixture(t, watchmode.Options{})
			s.until(reporters.WatchResult, nil)
			tt.do(s)
			s.wantError("closed")
		})
	}
}

// TestFilesThatCannotBeReadAreShown: the board has the error until the files can be read
// again, and keeps the rows of before.
func TestFilesThatCannotBeReadAreShown(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(reporters.WatchResult, nil)
	s.want(s.changed(map[string]string{hello: greeting("hi")}), "talk/level_1/hello pass first")
	s.gone.Store(true)
	s.write(map[string]string{hello: greeting("hi again")})
	s.wantError("the branch is gone")
	s.gone.Store(false)
	u := s.until(reporters.WatchResult, nil)
	s.want(states(u.Snapshot), "talk/level_1/hello pass")
	if u.Snapshot.Error != "" {
		t.Errorf("the board still has the error %q", u.Snapshot.Error)
	}
}

// TestRunEndsBeforeTheFirstLook has the watch interrupted before it has seen anything.
func TestRunEndsBeforeTheFirstLook(t *testing.T) {
	r := newRepo(t)
	tree, err := watchmode.Open(t.Context(), r.config())
	r.must(err)
	defer func() { r.must(tree.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := watchmode.New(tree, watchmode.Options{}).Run(ctx); err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
}

// TestAGateOverAllCases: a rule about all cases is not decided by those that a change
// affects. It is once all were judged. The screen and the report have one gate.
func TestAGateOverAllCases(t *testing.T) {
	for _, tt := range []struct{ rule, save, all string }{
		// The latency of the suite's case is not known.
		{"fail_on: any_failure", "pass: no affected case fails (fail_on: any_failure)", "undetermined: 1 case ended in an error"},
		{
			"fail_on: threshold, min_score: 0.9, max_drop: 0",
			"pass: nothing is decided by single cases (fail_on: threshold); min_score 0.9 and max_drop 0 are not asked, since a save judges only what it affects",
			"undetermined: 1 case ended in an error; min_score 0.9 is not decided: 1 active case has no verdict; max_drop 0 is not decided: 1 active case has no verdict",
		},
		{
			"min_score: 0.9",
			"pass: no case regressed (fail_on: regression); min_score 0.9 is not asked, since a save judges only what it affects",
			"undetermined: 1 case ended in an error; min_score 0.9 is not decided: 1 active case has no verdict",
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := newFixture(t, watchmode.Options{}, map[string]string{"gavel.yaml": start["gavel.yaml"] + "gate: {" + tt.rule + "}\n"})
			s.until(reporters.WatchResult, nil)
			s.bot.answer = func(string) string { return "hello and bye" }
			s.write(map[string]string{hello: greeting("hi")})
			result := func(what, want string) {
				t.Helper()
				u := s.until(reporters.WatchResult, nil)
				if what == "the affected case" {
					s.want(states(u.Snapshot), "talk/level_1/hello pass first")
				}
				if got := gate(u.Snapshot); got != want {
					t.Errorf("with %s judged the gate is %q, want %q", what, got, want)
				}
				if e := u.Event(); e.Gate == nil || *e.Gate != u.Snapshot.Gate || e.Run.Gate != u.Snapshot.Gate {
					t.Errorf("with %s judged watch --json says %+v and %+v, the screen %+v", what, e.Gate, e.Run.Gate, u.Snapshot.Gate)
				}
			}
			result("the affected case", tt.save)
			s.session.Do(reporters.WatchCommand{Do: reporters.WatchRerun, Keys: []string{"talk/level_1/hello"}})
			result("one case by name", tt.save)
			s.session.Do(reporters.WatchCommand{Do: reporters.WatchAll})
			result("all", tt.all)
		})
	}
}
