package serve_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/controller/serve/crashguard"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
)

func TestMain(m *testing.M) {
	if cueeval.ServeChild() || crashguard.ServeChild(judgeApart) {
		return
	}
	// The tests wait for most of their time: more of them than there are processors
	// can run at once. An option of the command line still wins.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// A fixture is a forge, the git server behind it, and a server that looks after
// the one repository there is.
type fixture struct {
	t     *testing.T
	forge *forgetest.Forge
	repo  *git.Repository
	url   string
	// folder is the repository's, dir the server's.
	folder, dir string
	// commits are main, one, two, later, broken, group, settings, after, cheat,
	// emptied and others, each the child of the one before. The definition of broken is
	// invalid; group asks what one does, and settings asks it of another bot. cheat
	// asks what two does, emptied has no case, and others asks it of a third bot.
	commits map[string]string
	// configure, where it is set, changes what the server is started with.
	configure func(*serve.Config)
	now       func() time.Time // of the ledger; nil is the real clock

	agent  *agent
	server *serve.Server
	forks  string
	slow   bool             // every verdict takes so long that its head says so
	app    *forge.AppConfig // the credential, where it is not a user's token
	end    func()
	polled chan string
	mu     sync.Mutex
	lines  []string // guarded by mu
	judged int      // guarded by mu
}

// An agent counts what it is asked, and can be held up.
type agent struct {
	mu    sync.Mutex
	asked []string      // guarded by mu
	hold  chan struct{} // guarded by mu; nil answers at once
	says  string        // guarded by mu; what it answers instead, if anything
	held  chan string
}

func (a *agent) wrap(inner target.Target) target.Target { return counted{inner, a} }

type counted struct {
	target.Target
	agent *agent
}

func (c counted) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	c.agent.mu.Lock()
	hold := c.agent.hold
	c.agent.mu.Unlock()
	if hold != nil {
		select {
		case c.agent.held <- req.Messages[0].Content:
		case <-hold: // it was let go before anybody looked
		case <-ctx.Done():
		}
		select {
		case <-hold:
		case <-ctx.Done():
			return target.Reply{}, ctx.Err()
		}
	}
	reply, err := c.Target.Respond(ctx, req)
	if err == nil {
		c.agent.mu.Lock()
		defer c.agent.mu.Unlock()
		c.agent.asked = append(c.agent.asked, req.Messages[0].Content)
		if c.agent.says != "" {
			reply.Messages[0].Content = c.agent.says
		}
	}
	return reply, err
}

func (a *agent) block() (release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	hold := make(chan struct{})
	a.hold = hold
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.hold == hold {
			a.hold = nil
		}
		close(hold)
	}
}

// twice are the questions that were paid for more than once.
func (a *agent) twice() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen, out := map[string]int{}, []string{}
	for _, q := range a.asked {
		if seen[q]++; seen[q] == 2 {
			out = append(out, q)
		}
	}
	return out
}

// newFixture has the settings next to the targets in its gavel.yaml.
func newFixture(t *testing.T, settings ...string) *fixture {
	t.Helper()
	return newFixtureOf(t, `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`, settings...)
}

// newFixtureOf has a domain that its definition says all about.
func newFixtureOf(t *testing.T, domain string, settings ...string) *fixture {
	t.Helper()
	w := &fixture{
		t: t, dir: t.TempDir(), forge: forgetest.New(t), commits: map[string]string{},
		agent: &agent{held: make(chan string)}, polled: make(chan string, 100),
	}
	asks := func(question string) []byte {
		return fmt.Appendf(nil, `{"id": "hello", "name": "Hello", "prompt": "%s", "expected": {"keywords": ["hello"]}}`, question)
	}
	const file = "test_definitions/talk/level_1/hello.json"
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	source := t.TempDir()
	err := gitrepo.Create(t.Context(), source, []gitrepo.NewCommit{
		{Message: "start", At: at, Write: map[string][]byte{
			"gavel.yaml": []byte(strings.Join(append(settings, "version: 1\ntargets:\n  bot: {provider: mock, replies: [{match: two, reply: bye}, {reply: hello}]}\n"), "\n")),
		}},
		{Message: "main", At: at.Add(time.Hour), Write: map[string][]byte{
			"test_definitions/talk/domain.json": []byte(domain),
			file:                                asks("main"),
		}},
		{Branch: "one", Message: "one", At: at.Add(2 * time.Hour), Write: map[string][]byte{file: asks("one")}},
		{Branch: "two", Message: "two", At: at.Add(3 * time.Hour), Write: map[string][]byte{file: asks("two")}},
		{Branch: "worse", Message: "worse", At: at.Add(3*time.Hour + time.Minute), Write: map[string][]byte{file: asks("two and something that nobody has seen")}},
		{Branch: "later", Message: "later", At: at.Add(4 * time.Hour), Write: map[string][]byte{file: asks("later")}},
		{Branch: "broken", Message: "broken", At: at.Add(5 * time.Hour), Write: map[string][]byte{file: []byte(`{"id": "hello"}`)}},
		{Branch: "group", Message: "group", At: at.Add(6 * time.Hour), Write: map[string][]byte{file: asks("one")}},
		{Branch: "settings", Message: "settings", At: at.Add(7 * time.Hour), Write: map[string][]byte{
			"gavel.yaml": []byte("version: 1\ntargets:\n  bot: {provider: mock, replies: [{reply: hello again}]}\n"),
		}},
		{Branch: "after", Message: "after", At: at.Add(8 * time.Hour), Write: map[string][]byte{file: asks("after")}},
		{Branch: "cheat", Message: "cheat", At: at.Add(9 * time.Hour), Write: map[string][]byte{file: asks("two")}},
		{Branch: "emptied", Message: "emptied", At: at.Add(10 * time.Hour), Write: map[string][]byte{file: nil}},
		{Branch: "others", Message: "others", At: at.Add(11 * time.Hour), Write: map[string][]byte{
			file: asks("two"), "gavel.yaml": []byte("version: 1\ntargets:\n  bot: {provider: mock, replies: [{reply: hello once more}]}\n"),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.repo, err = git.PlainOpen(source); err != nil {
		t.Fatal(err)
	}
	for _, branch := range []string{"main", "one", "two", "later", "broken", "group", "settings", "after", "cheat", "emptied", "others", "worse"} {
		ref, err := w.repo.Reference(plumbing.NewBranchReferenceName(branch), true)
		if err != nil {
			t.Fatal(err)
		}
		w.commits[branch] = ref.Hash().String()
	}
	w.url, w.folder = gittest.Serve(t, source, ""), source
	w.forge.CloneURL = w.url
	return w
}

// move puts a ref to a commit, at once: the git server reads it meanwhile.
func (w *fixture) move(ref, commit string) {
	w.t.Helper()
	file, next := filepath.Join(w.folder, ".git", ref), filepath.Join(w.folder, ".git", "next")
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(next, []byte(w.commits[commit]+"\n"), 0o600), os.Rename(next, file))
	if err != nil {
		w.t.Fatal(err)
	}
}

// push makes a commit the head of pull request 1.
func (w *fixture) push(commit string) { w.pull(commit, forgetest.Pull{}) }

func (w *fixture) pull(commit string, p forgetest.Pull) {
	w.t.Helper()
	w.move("refs/pull/1/head", commit)
	p.Number, p.HeadSHA, p.HeadRef, p.BaseSHA = 1, w.commits[commit], "topic", cmp.Or(p.BaseSHA, w.commits["main"])
	w.forge.AddPull(p)
}

func (w *fixture) start() {
	w.t.Helper()
	store, err := ledger.Open(w.t.Context(), ledger.Config{Path: filepath.Join(w.dir, "ledger.db"), Now: w.now})
	if err != nil {
		w.t.Fatal(err)
	}
	fake := &forgetest.Clock{}
	client, err := forge.New(forge.Config{BaseURL: w.forge.URL, Token: forgetest.TokenUser, App: w.app, Clock: fake})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := serve.Config{
		Repositories: []*serve.Repository{{Name: forge.Repo{Owner: "octo", Name: "demo"}, Client: client, ConfigFile: "gavel.yaml", WebURL: "https://github.com"}},
		Ledger:       store, Dir: w.dir, Execute: w.execute, Poll: time.Hour, Policy: serve.Policy{Forks: w.forks},
		LookupEnv: func(string) (string, bool) { return "", false },
		Clock: clock.Funcs{AfterFunc: func(time.Duration) <-chan time.Time {
			if !w.slow {
				return nil
			}
			over := make(chan time.Time)
			close(over)
			return over
		}},
		Observer: observer{w},
	}
	if w.configure != nil {
		w.configure(&cfg)
	}
	w.server, err = serve.New(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error)
	go func() { done <- w.server.Run(ctx) }()
	w.end = func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			w.t.Errorf("Run = %v", err)
		}
		if err := store.Close(); err != nil {
			w.t.Error(err)
		}
		w.end = func() {}
	}
	w.t.Cleanup(func() { w.end() })
	w.look()
}

// execute does the work of the command, with the agent in between.
func (w *fixture) execute(ctx context.Context, p *controller.Prepared, o controller.RunOptions) (*report.Report, error) {
	o.ID = fmt.Sprintf("run-%d", time.Now().UnixNano())
	return p.Execute(ctx, controller.Opener(func(t config.Target, c controller.Checkout) (target.Target, error) {
		inner, err := target.New(t, target.Env{Files: c.FS})
		return w.agent.wrap(inner), err
	}), o)
}

func (w *fixture) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
}

// state calls do with what the ledger keeps for the server.
func (w *fixture) state(do func(*ledger.ServerState) error) {
	w.t.Helper()
	store, err := ledger.Open(w.t.Context(), ledger.Config{Path: filepath.Join(w.dir, "ledger.db")})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := errors.Join(do(ledger.NewServerState(store)), store.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// pending are the heads that are not finished, each with its kind.
func (w *fixture) pending() (found []string) {
	w.t.Helper()
	w.state(func(state *ledger.ServerState) error {
		heads, err := state.Pending(w.t.Context(), w.id())
		for _, h := range heads {
			found = append(found, h.Kind+" "+h.SHA)
		}
		return err
	})
	return found
}

// one is the only file of a form in the server's folder.
func (w *fixture) one(form string) string {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.dir, form))
	if err != nil || len(found) != 1 {
		w.t.Fatalf("%s: %v, %v, want one", form, found, err)
	}
	return found[0]
}

// look waits for a poll to end.
func (w *fixture) look() {
	w.t.Helper()
	select {
	case what := <-w.polled:
		if what != "<nil>" {
			w.note(what)
		}
	case <-w.t.Context().Done():
	}
}

// poll has everything looked through, as the clock would.
func (w *fixture) poll() {
	w.t.Helper()
	if err := w.server.Enqueue(forge.Hint{}); err != nil {
		w.t.Fatal(err)
	}
	w.look()
}

// hint tells that something happened to pull request 1.
func (w *fixture) hint() {
	w.t.Helper()
	if err := w.server.Enqueue(forge.Hint{Repository: 1, Number: 1}); err != nil {
		w.t.Fatal(err)
	}
}

// idle waits until nothing is due.
func (w *fixture) idle() {
	w.t.Helper()
	w.until(0)
}

// until waits until no more than so many keys are due or in progress.
func (w *fixture) until(most int) {
	w.t.Helper()
	for {
		if waiting, running := w.server.Depth(); waiting+running <= most {
			return
		}
		select {
		case <-w.t.Context().Done():
			w.t.Fatal("it never ends")
		case <-time.After(time.Millisecond): // nothing tells that the last key is done
		}
	}
}

// writesNothing does something that tells nobody anything new.
func (w *fixture) writesNothing(do func()) {
	w.t.Helper()
	before := len(w.forge.Writes())
	do()
	if more := w.forge.Writes()[before:]; len(more) > 0 {
		w.t.Errorf("written without news: %v", more)
	}
}

// states are the last statuses of a commit.
func (w *fixture) states(commit string) string {
	last := map[string]forgetest.Status{}
	for _, s := range w.forge.Statuses(w.commits[commit]) {
		last[s.Context] = s
	}
	return last["gavel/validate"].State + " " + last["gavel/verdict"].State
}

// becomes waits until the states of a commit are these.
func (w *fixture) becomes(commit, states string) {
	w.t.Helper()
	for w.states(commit) != states {
		if w.t.Context().Err() != nil {
			w.t.Fatalf("the states of %s are %q, want %q", commit, w.states(commit), states)
		}
		time.Sleep(time.Millisecond) // nothing tells that it is written
	}
}

// says is the text of a commit's verdict.
func (w *fixture) says(commit string) string {
	said := ""
	for _, s := range w.forge.Statuses(w.commits[commit]) {
		if s.Context == "gavel/verdict" {
			said = s.Description
		}
	}
	return said
}

// want demands one comment about a commit, its states, and that nothing was
// paid for twice.
func (w *fixture) want(commit, states string) {
	w.t.Helper()
	comments := w.forge.Comments(1)
	if len(comments) != 1 || !strings.Contains(comments[0].Body, w.commits[commit][:7]) {
		w.t.Errorf("comments %+v; want one about %s (%s)", comments, commit, w.commits[commit])
	}
	if got := w.states(commit); got != states {
		w.t.Errorf("the states of %s are %q, want %q", commit, got, states)
	}
	for name := range w.commits {
		if got := w.states(name); strings.Contains(got, "pending") {
			w.t.Errorf("%s is still %q", name, got)
		}
	}
	if twice := w.agent.twice(); len(twice) > 0 {
		w.t.Errorf("paid for twice: %q", twice)
	}
	if w.t.Failed() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.t.Logf("log:\n%s", strings.Join(w.lines, "\n"))
	}
}

func refName(ref string) plumbing.ReferenceName { return plumbing.ReferenceName(ref) }

func hash(commit string) plumbing.Hash { return plumbing.NewHash(commit) }

// judging starts the server and stops it in the middle of judging commit one,
// until release.
func (w *fixture) judging() (release func()) {
	w.start()
	w.idle()
	release = w.agent.block()
	w.push("one")
	w.hint()
	<-w.agent.held
	return release
}

// An observer notes what happens in a fixture.
type observer struct{ *fixture }

func (o observer) Polled(_ string, err error) { o.polled <- fmt.Sprint(err) }

func (o observer) Log(_, line string) { o.note(line) }

func (o observer) Done(key serve.Key, _ time.Duration, err error) {
	if err != nil {
		o.note(fmt.Sprintf("%+v: %v", key, err))
	}
}

func (o observer) Judged(*report.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fixture.judged++
}
