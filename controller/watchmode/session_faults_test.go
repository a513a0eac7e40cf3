package watchmode_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/watchmode"
	"github.com/gavel-evals/gavel/reporters/watchstate"
)

// wantError waits for an error that has the text.
func (s *fixture) wantError(text string) {
	s.t.Helper()
	if u := s.until(watchstate.Error, nil); !strings.Contains(u.Snapshot.Error, text) {
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
			s.session.Do(watchstate.Command{Do: watchstate.Rerun, Keys: []string{"talk/level_1/hello"}})
		}},
		{"after a stop", func(s *fixture) {
			s.closeLedger()
			s.write(map[string]string{hello: greeting("wait")})
			s.waits(s.bot.waiting)
			s.session.Do(watchstate.Command{Do: watchstate.Stop})
		}},
		{"before all cases", func(s *fixture) {
			s.closeLedger()
			s.want(s.changed(map[string]string{hello: greeting("hi")}), "talk/level_1/hello pass first")
			s.session.Do(watchstate.Command{Do: watchstate.All})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newFixture(t, watchmode.Options{})
			s.until(watchstate.Result, nil)
			tt.do(s)
			s.wantError("closed")
		})
	}
}

// TestFilesThatCannotBeReadAreShown: the board has the error until the files can be read
// again, and keeps the rows of before.
func TestFilesThatCannotBeReadAreShown(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(watchstate.Result, nil)
	s.want(s.changed(map[string]string{hello: greeting("hi")}), "talk/level_1/hello pass first")
	s.gone.Store(true)
	s.write(map[string]string{hello: greeting("hi again")})
	s.wantError("the branch is gone")
	s.gone.Store(false)
	u := s.until(watchstate.Result, nil)
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
// affects. It is once all were judged.
func TestAGateOverAllCases(t *testing.T) {
	s := newFixture(t, watchmode.Options{}, map[string]string{"gavel.yaml": start["gavel.yaml"] + "gate: {fail_on: any_failure}\n"})
	s.until(watchstate.Result, nil)
	s.bot.answer = func(string) string { return "hello and bye" }
	s.write(map[string]string{hello: greeting("hi")})
	u := s.until(watchstate.Result, nil)
	s.want(states(u.Snapshot), "talk/level_1/hello pass first")
	if u.Snapshot.Gate.Result != "" {
		t.Errorf("with other cases not judged the gate is %q, want none", gate(u.Snapshot))
	}
	s.session.Do(watchstate.Command{Do: watchstate.All})
	u = s.until(watchstate.Result, nil)
	// The latency of the suite's case is not known.
	if want := "undetermined: 1 case ended in an error"; gate(u.Snapshot) != want {
		t.Errorf("with all cases judged the gate is %q, want %q", gate(u.Snapshot), want)
	}
}
