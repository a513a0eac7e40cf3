package serve_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/controller/serve/crashguard"
)

// A dock is where heads are tried, without a process.
type dock struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	tried []string // the commits, in the order in which they were
	now   int      // how many are tried at this moment
	most  int
	fatal map[string]bool // commits that end every child
	hold  chan struct{}   // nil holds nothing up
	begun chan string     // receives the delayed requests
}

// newDockedFixture is a fixture whose server was there before.
func newDockedFixture(t *testing.T) (*fixture, *dock) {
	t.Helper()
	w := newFixture(t)
	d := w.newDock()
	w.start()
	w.idle()
	w.end()
	return w, d
}

func (w *fixture) newDock() *dock {
	d := &dock{fatal: map[string]bool{}, begun: make(chan string, 10)}
	w.configure = func(cfg *serve.Config) { cfg.Trial = d.try }
	return d
}

func (d *dock) try(ctx context.Context, job crashguard.Job, fetched func()) (crashguard.Outcome, error) {
	fetched()
	d.mu.Lock()
	d.tried = append(d.tried, job.Subject.Head)
	d.now++
	d.most = max(d.most, d.now)
	hold := d.hold
	d.mu.Unlock()
	if hold != nil {
		d.begun <- job.Subject.Head
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now--
	if ctx.Err() != nil {
		return crashguard.Outcome{}, ctx.Err()
	}
	if d.fatal[job.Subject.Head] {
		return crashguard.Outcome{Said: "signal: killed"}, nil
	}
	return crashguard.Outcome{Proven: true}, nil
}

func (d *dock) count(head string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, tried := range d.tried {
		if tried == head {
			n++
		}
	}
	return n
}

// id is the server's id of the repository, once it has seen it.
func (w *fixture) id() (id int64) {
	w.t.Helper()
	name := strings.TrimSuffix(filepath.Base(w.one("clones/*.git")), ".git")
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// suspect has the next server believe that the one before died while it judged a
// pull request's head.
func (w *fixture) suspect(number int, commit string) {
	w.t.Helper()
	w.state(func(state *ledger.ServerState) error {
		return state.AddSuspect(w.t.Context(), ledger.Suspect{Repository: w.id(), Pull: number, SHA: w.commits[commit], Noted: time.Now()})
	})
}

// suspects are the ledger's notes of heads that are being judged.
func (w *fixture) suspects() (found []ledger.Suspect) {
	w.t.Helper()
	w.state(func(state *ledger.ServerState) (err error) {
		found, err = state.Suspects(w.t.Context())
		return err
	})
	return found
}

// another is pull request 2 with a head.
func (w *fixture) another(commit string) {
	w.t.Helper()
	w.move("refs/pull/2/head", commit)
	w.forge.AddPull(forgetest.Pull{Number: 2, HeadSHA: w.commits[commit], HeadRef: commit, BaseSHA: w.commits["main"]})
}

// kill ends the server and leaves what a process leaves that dies now.
func (w *fixture) kill() {
	w.t.Helper()
	before := w.suspects()
	w.end()
	for _, s := range w.suspects() {
		// The base branch may still wait to prove itself.
		if s.Pull != 0 {
			w.t.Errorf("a server that was told to end leaves the suspect %+v, want none of a pull request", s)
		}
	}
	w.state(func(state *ledger.ServerState) error {
		var errs []error
		for _, s := range before {
			errs = append(errs, state.AddSuspect(w.t.Context(), s))
		}
		return errors.Join(errs...)
	})
}

// TestAbuseKillsRefuseNothing: a head that was judged whenever the server was
// killed proves itself each time, and gets its verdict.
func TestAbuseKillsRefuseNothing(t *testing.T) {
	t.Parallel()
	const kills = 200
	w := newFixture(t)
	d := w.newDock()
	release := w.judging()
	for range kills {
		w.kill()
		w.start()
		<-w.agent.held
	}
	w.kill()
	release()
	w.start()
	w.idle()
	w.want("one", "success success")
	if n := d.count(w.commits["one"]); n != kills+1 {
		t.Errorf("it was tried %d times, want %d", n, kills+1)
	}
	w.end()
	if left := w.suspects(); len(left) > 0 {
		t.Errorf("left are %+v, want no suspects; log\n%s", left, strings.Join(w.lines, "\n"))
	}
	tried := len(d.tried) // of base, too, which may have been looked at
	w.start()             // which suspects nothing any more
	w.idle()
	if len(d.tried) > tried {
		t.Errorf("tried %q", d.tried[tried:])
	}
}

// TestAbuseAHeadThatEndsTheServer is refused after two children, over a restart,
// until somebody who may write asks again. The others go on.
func TestAbuseAHeadThatEndsTheServer(t *testing.T) {
	t.Parallel()
	w, d := newDockedFixture(t)
	w.forge.SetPermission("mona", "write")
	d.fatal[w.commits["one"]] = true
	w.push("one")
	w.another("two")
	w.suspect(1, "one")
	w.suspect(2, "two")
	w.start()
	w.idle()
	const said = "looking at this commit ended the server"
	w.want("one", "error error")
	if !strings.Contains(w.says("one"), said) {
		t.Errorf("the status says %q", w.says("one"))
	}
	w.report(said, "/gavel run")
	w.wantStates("two", "success failure")
	if slices.Contains(w.agent.asked, "one") || !slices.Contains(w.agent.asked, "two") {
		t.Errorf("asked %q", w.agent.asked)
	}
	for _, tt := range []struct {
		head string
		want int
	}{{"one", 2}, {"two", 1}} {
		if n := d.count(w.commits[tt.head]); n != tt.want {
			t.Errorf("%s was tried %d times, want %d", tt.head, n, tt.want)
		}
	}
	w.end()
	w.start()
	w.idle()
	w.writesNothing(func() { w.hint(); w.idle(); w.poll(); w.idle() })
	w.wantStates("one", "error error")
	if w.comment("reader", "/gavel run"); d.count(w.commits["one"]) != 2 {
		t.Errorf("a reader had it tried again")
	}
	w.comment("mona", "/gavel run")
	w.wantStates("one", "error error")
	if n := d.count(w.commits["one"]); n != 4 {
		t.Errorf("it was tried %d times, want two more", n)
	}
	d.mu.Lock()
	d.fatal = nil // as after an upgrade
	d.mu.Unlock()
	w.comment("mona", "/gavel run talk/**")
	w.wantStates("one", "success success")
	w.report("No regressions")
	if n := d.count(w.commits["one"]); n != 5 {
		t.Errorf("it was tried %d times, want once more", n)
	}
}

// TestHeadsAreTriedOneAtATime, and hold up no head that nobody suspects.
func TestHeadsAreTriedOneAtATime(t *testing.T) {
	t.Parallel()
	w, d := newDockedFixture(t)
	d.hold = make(chan struct{})
	w.push("one")
	w.suspect(1, "one")
	w.suspect(2, "two")
	w.another("two")
	w.move("refs/pull/3/head", "group")
	w.forge.AddPull(forgetest.Pull{Number: 3, HeadSHA: w.commits["group"], HeadRef: "group", BaseSHA: w.commits["main"]})
	w.start()
	<-d.begun
	w.until(2)
	w.wantStates("group", "success success")
	close(d.hold)
	w.idle()
	w.wantStates("one", "success success")
	w.wantStates("two", "success failure")
	if d.most != 1 || len(d.tried) != 2 {
		t.Errorf("%d at once of %d", d.most, len(d.tried))
	}
}

// TestAStopIsNoEndOfAChild: a server that is stopped while a head is tried counts
// nothing.
func TestAStopIsNoEndOfAChild(t *testing.T) {
	t.Parallel()
	w, d := newDockedFixture(t)
	d.hold = make(chan struct{})
	w.push("one")
	w.suspect(1, "one")
	for range 3 {
		w.start()
		<-d.begun
		w.end()
	}
	close(d.hold)
	w.start()
	w.idle()
	w.want("one", "success success")
}
