package serve_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/serve"
)

// TestRepositoriesComeAndGo while the server runs: what runs for one that is
// taken off the list ends, and goes on when it is back.
func TestRepositoriesComeAndGo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var listed []*serve.Repository
	named := make(chan string, 100)
	w.configure = func(cfg *serve.Config) {
		listed = cfg.Repositories
		cfg.Observer = namingObserver{cfg.Observer, named}
	}
	release := w.judging()
	w.server.Update(nil, serve.Policy{})
	w.idle()
	release()
	if name := <-named; name != "octo/demo#1" {
		t.Errorf("the end of the run is logged for %q, want octo/demo#1", name)
	}
	if got := w.says("one"); w.states("one") != "success error" || got != "gavel stopped watching the repository" {
		t.Errorf("one is %q and says %q", w.states("one"), got)
	}
	if !w.server.Ready() {
		t.Error("nobody has to be looked through, and it is not ready")
	}
	w.hint() // late
	w.idle()
	w.server.Update(listed, serve.Policy{})
	w.look()
	w.idle()
	w.want("one", "success success")
}

// TestAnotherPolicy holds for later verdicts, and disturbs nothing that is in progress.
func TestAnotherPolicy(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var listed []*serve.Repository
	w.configure = func(cfg *serve.Config) { listed = cfg.Repositories }
	release := w.judging()
	w.server.Update(listed, serve.Policy{Forks: "never"})
	w.look()
	release()
	w.idle()
	w.want("one", "success success")
	w.pull("two", forgetest.Pull{HeadRepo: "stranger/demo"})
	w.hint()
	w.idle()
	if !strings.Contains(w.says("two"), "not judged") {
		t.Errorf("two says %q", w.says("two"))
	}
}

// TestTwoForges count their repositories from one, each.
func TestTwoForges(t *testing.T) {
	t.Parallel()
	w, other := newFixture(t), newFixture(t)
	client, err := forge.New(forge.Config{BaseURL: other.forge.URL, Token: forgetest.TokenUser, Clock: clock.Funcs{SleepFunc: (&forgetest.Clock{}).Sleep}})
	if err != nil {
		t.Fatal(err)
	}
	w.configure = func(cfg *serve.Config) {
		second := *cfg.Repositories[0]
		second.Client = client
		cfg.Repositories = append(cfg.Repositories, &second)
	}
	w.push("one")
	other.push("one")
	w.start()
	w.look()
	w.idle()
	w.push("later")
	other.push("later")
	w.hint()
	w.idle()
	for _, tt := range []struct {
		name string
		one  *fixture
	}{{"one", w}, {"the other", other}} {
		if got := tt.one.states("later"); got != "success success" || len(tt.one.forge.Comments(1)) != 1 {
			t.Errorf("%s: the states are %q, comments %v", tt.name, got, tt.one.forge.Comments(1))
		}
	}
}

// broken is a schedule that breaks the second time that it is asked.
type broken struct{ asked int }

func (b *broken) Next(time.Time) time.Time {
	if b.asked++; b.asked == 2 {
		panic("a schedule that nobody thought of")
	}
	return time.Time{}
}

// TestAPanicOfALook ends neither the server nor what it looks after there.
func TestAPanicOfALook(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.configure = func(cfg *serve.Config) { cfg.Repositories[0].Schedule = new(broken) }
	w.push("one")
	w.start() // notes when the clock starts
	w.poll()
	w.idle()
	w.want("one", "success success")
	if w.logged("panic: a schedule that nobody thought of") == 0 {
		t.Errorf("nobody is told: %q", w.lines)
	}
}

// TestOneRepositoryHoldsUpNoOther: one is gone, another one cannot be asked for.
func TestOneRepositoryHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.configure = func(cfg *serve.Config) {
		none := *cfg.Repositories[0]
		none.Name = forge.Repo{Owner: "octo", Name: "none"}
		cfg.Repositories = append(cfg.Repositories, &none)
	}
	w.push("one")
	w.start()
	w.look()
	w.idle()
	w.want("one", "success success")
	if !w.server.Ready() {
		t.Error("one that is not there keeps it from being ready")
	}
	w.end()
	w.forge.Inject(forgetest.Fault{Method: "GET", Path: "/repos/octo/demo", Status: 500, Times: -1})
	w.push("two")
	w.start()
	w.look()
	if w.server.Ready() {
		t.Error("it is ready and has seen nothing")
	}
	w.forge.Heal()
	w.poll()
	w.look()
	w.idle()
	w.want("two", "success failure")
}

// TestAbuseRenamedRepository keeps its comment, its verdicts and what it paid
// for.
func TestAbuseRenamedRepository(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		tell func(*fixture)
	}{
		{"seen", func(*fixture) {}},
		{"poll", (*fixture).poll},
		{"restart", func(w *fixture) {
			w.end()
			w.start()
		}},
		{"copy", func(w *fixture) { // of what the operator's file says to keep one of
			w.end()
			files, err := os.ReadDir(w.dir)
			for _, f := range files {
				if !strings.HasPrefix(f.Name(), "ledger.db") {
					err = errors.Join(err, os.RemoveAll(filepath.Join(w.dir, f.Name())))
				}
			}
			if err != nil {
				w.t.Fatal(err)
			}
			w.start()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.push("one")
			w.start()
			w.idle()
			comment := w.forge.Comments(1)[0].ID
			w.forge.Rename("Acme/Renamed")
			tt.tell(w)
			w.idle()
			w.hint()
			w.idle()
			w.want("one", "success success")
			w.push("later")
			w.hint()
			w.idle()
			w.want("later", "success success")
			w.push("one")
			w.hint()
			w.idle()
			w.want("one", "success success")
			if now := w.forge.Comments(1)[0].ID; now != comment {
				t.Errorf("the comment was %d and is %d", comment, now)
			}
		})
	}
}

// TestAnArchivedRepository is left alone until it is active again.
func TestAnArchivedRepository(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.push("one")
	w.start()
	w.idle()
	w.forge.Archive()
	w.poll()
	asked := len(w.agent.asked)
	w.push("two")
	w.writesNothing(func() { w.hint(); w.poll(); w.idle() })
	if len(w.agent.asked) != asked {
		t.Errorf("asked %q", w.agent.asked[asked:])
	}
	w.forge.Unarchive()
	w.poll()
	w.idle()
	w.want("two", "success failure")
}

// TestADeletedRepository ends what runs for it: nobody could read the result.
func TestADeletedRepository(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	release := w.judging()
	w.forge.Rename("")
	w.poll()
	w.idle()
	release()
	if len(w.agent.asked) != 1 {
		t.Errorf("asked %q", w.agent.asked)
	}
	w.forge.Rename(forgetest.Repository) // it is back
	w.poll()
	w.idle()
	w.want("one", "success success")
}

// TestADeletedFork is a stranger's head: it is planned, and its statuses end.
func TestADeletedFork(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	w.idle()
	asked := len(w.agent.asked)
	w.pull("one", forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"})
	w.hint()
	w.idle()
	w.pull("one", forgetest.Pull{HeadRepo: "-", Author: "stranger"})
	w.hint()
	w.idle()
	w.want("one", "success error")
	if len(w.agent.asked) != asked || !strings.Contains(w.forge.Comments(1)[0].Body, "the head&#39;s repository was deleted") &&
		!strings.Contains(w.forge.Comments(1)[0].Body, "the head's repository was deleted") {
		t.Errorf("asked %q; the comment says\n%s", w.agent.asked[asked:], w.forge.Comments(1)[0].Body)
	}
}

// TestBranchesWithoutAForge are judged, and nothing is published.
func TestBranchesWithoutAForge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		url  func(*fixture) string
	}{
		{"url", func(w *fixture) string { return w.url }},
		{"folder", func(w *fixture) string { return w.folder }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.configure = func(cfg *serve.Config) {
				cfg.Repositories = []*serve.Repository{{URL: tt.url(w), Branches: []string{"main"}, ConfigFile: "gavel.yaml"}}
			}
			w.start()
			w.idle()
			w.move("refs/heads/main", "one")
			w.poll()
			w.idle()
			w.move("refs/heads/main", "two")
			w.end()
			w.start()
			w.idle()
			for range 2 {
				w.poll()
				w.idle()
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.judged != 3 || strings.Join(w.agent.asked, " ") != "main one two" {
				t.Errorf("%d reports, asked %q", w.judged, w.agent.asked)
			}
			if said := strings.Join(w.lines, "\n"); strings.Count(said, "fail: 1 case regressed") != 1 || strings.Count(said, "pass: ") != 2 {
				t.Errorf("the log does not tell the results:\n%s", said)
			}
			if more := w.forge.Requests(); len(more) > 0 {
				t.Errorf("a forge was asked: %v", more)
			}
		})
	}
}

// A namingObserver sends the subject of a run that ends since its repository is not watched
// any more.
type namingObserver struct {
	serve.Observer
	named chan<- string
}

func (o namingObserver) Log(name, line string) {
	if strings.HasSuffix(line, ": gavel stopped watching the repository") {
		o.named <- name
	}
	o.Observer.Log(name, line)
}
