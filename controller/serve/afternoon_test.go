package serve_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/serve"
)

// An afternoon is one on which many push to their pull requests within minutes,
// all of it under one App.
type afternoon struct {
	pulls int
	// pushes is how many there are altogether; those after the first of each pull
	// request replace its head.
	pushes int
	within time.Duration
	takes  time.Duration // to judge a head
	// lasts is the time after the last push. Defaults to 15 minutes.
	lasts time.Duration
	// unasked says that the forge does not answer who asks for a check run again.
	unasked bool
}

// A pushed is one head with what became of it.
type pushed struct {
	number   int
	sha      string
	at       time.Time
	replaced time.Duration // after so long by another one; 0 for never
	writes   []string      // to the head, without comments
	verdict  time.Duration
	pending  []time.Time // when its verdict was announced
}

// history makes a repository with a commit for each push.
func (a afternoon) history(t *testing.T, folder string) (main string, heads []string) {
	t.Helper()
	const file = "test_definitions/talk/level_1/hello.json"
	asks := func(question string) []byte {
		return fmt.Appendf(nil, `{"id": "hello", "name": "Hello", "prompt": "%s", "expected": {"keywords": ["hello"]}}`, question)
	}
	at := time.Date(1999, 12, 1, 9, 0, 0, 0, time.UTC)
	changes := []gitrepo.NewCommit{
		{Message: "start", At: at, Write: map[string][]byte{"gavel.yaml": []byte("version: 1\ntargets:\n  bot: {provider: mock, replies: [{reply: hello}]}\n")}},
		{Message: "main", At: at, Write: map[string][]byte{
			"test_definitions/talk/domain.json": []byte(`{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`), file: asks("main"),
		}},
	}
	for i := range a.pushes {
		changes = append(changes, gitrepo.NewCommit{Branch: fmt.Sprint("push-", i), Message: "push", At: at, Write: map[string][]byte{file: asks(fmt.Sprint("push ", i))}})
	}
	if err := gitrepo.Create(t.Context(), folder, changes); err != nil {
		t.Fatal(err)
	}
	repo, err := git.PlainOpen(folder)
	if err != nil {
		t.Fatal(err)
	}
	commit := func(branch string) string {
		ref, err := repo.Reference(plumbing.NewBranchReferenceName(branch), true)
		if err != nil {
			t.Fatal(err)
		}
		return ref.Hash().String()
	}
	for i := range a.pushes {
		heads = append(heads, commit(fmt.Sprint("push-", i)))
	}
	return commit("main"), heads
}

// run replays the afternoon in virtual time and gives what became of each push,
// and every write with its time.
func (a afternoon) run(t *testing.T) (all []pushed, times []time.Time, comments int) {
	folder, dir := t.TempDir(), t.TempDir()
	main, heads := a.history(t, folder)
	synctest.Test(t, func(t *testing.T) {
		f := forgetest.NewLocal(t)
		key := f.AddApp(t, forgetest.App{ID: appID, Slug: "gavel-judge", Installation: 77, Permissions: permissions})
		heard := &clocked{inner: f.Transport(300 * time.Millisecond)}
		client, err := forge.New(forge.Config{
			BaseURL: f.URL, Transport: heard,
			App: &forge.AppConfig{ID: appID, Key: func() (forge.Token, error) { return forge.Token(key), nil }},
		})
		if err != nil {
			t.Fatal(err)
		}
		end := a.serve(t, dir, &serve.Repository{
			Name: forge.Repo{Owner: "octo", Name: "demo"}, URL: folder, ConfigFile: "gavel.yaml", WebURL: "https://github.com",
			Client: client,
		}, func(s *serve.Server) {
			time.Sleep(2 * time.Minute) // main is judged
			heard.begin()
			if a.unasked {
				f.Inject(forgetest.Fault{Path: "/check-suites", Status: http.StatusBadGateway, Times: -1})
			}
			all = a.push(t, f, s, push{folder: folder, main: main, heads: heads})
			time.Sleep(cmp.Or(a.lasts, 15*time.Minute))
		})
		end()
		times = heard.times()
		for i := range all {
			a.look(f, &all[i])
		}
		for n := range a.pulls {
			for _, c := range f.Comments(n + 1) {
				comments += 1 + c.Edits
			}
		}
	})
	return all, times, comments
}

// serve runs a server for the time of do.
func (a afternoon) serve(t *testing.T, dir string, repo *serve.Repository, do func(*serve.Server)) (end func()) {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{t: t, agent: &agent{held: make(chan string)}}
	server, err := serve.New(t.Context(), serve.Config{
		Repositories: []*serve.Repository{repo}, Ledger: store, Dir: dir,
		LookupEnv: func(string) (string, bool) { return "", false }, Clock: clock.Funcs{RandomFunc: func() float64 { return 0.5 }},
		Execute: func(ctx context.Context, p *controller.Prepared, e controller.RunOptions) (*report.Report, error) {
			select {
			case <-time.After(a.takes):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return w.execute(ctx, p, e)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- server.Run(ctx) }()
	do(server)
	return func() {
		cancel()
		<-done
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A push is a pushed commit, and its branch.
type push struct {
	folder, main string
	heads        []string
}

// push has each pull request opened once and the rest pushed to some of them.
func (a afternoon) push(t *testing.T, f *forgetest.Forge, s *serve.Server, p push) (all []pushed) {
	random := rand.New(rand.NewPCG(1, 2))
	moments := make([]time.Duration, a.pushes)
	for i := range moments {
		moments[i] = time.Duration(random.Int64N(int64(a.within)))
	}
	slices.Sort(moments)
	begin := time.Now()
	for i, moment := range moments {
		number := i + 1
		if i >= a.pulls {
			number = 1 + random.IntN(a.pulls)
		}
		time.Sleep(time.Until(begin.Add(moment)))
		for j := range all {
			if all[j].number == number && all[j].replaced == 0 {
				all[j].replaced = time.Since(all[j].at)
			}
		}
		all = append(all, pushed{number: number, sha: p.heads[i], at: time.Now()})
		ref := filepath.Join(p.folder, ".git", "refs", "pull", fmt.Sprint(number), "head")
		if err := os.MkdirAll(filepath.Dir(ref), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(ref, []byte(p.heads[i]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f.AddPull(forgetest.Pull{Number: number, HeadSHA: p.heads[i], HeadRef: fmt.Sprint("topic-", number), BaseSHA: p.main})
		if err := s.Enqueue(forge.Hint{Repository: 1, Number: number}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// look finds the statuses and comments of a head.
func (a afternoon) look(f *forgetest.Forge, p *pushed) {
	for _, s := range f.Statuses(p.sha) {
		p.writes = append(p.writes, strings.TrimPrefix(s.Context, "gavel/")+" "+s.State)
		if s.State == "pending" {
			p.pending = append(p.pending, s.Created)
		}
		if s.Context == "gavel/verdict" && s.State != "pending" {
			p.verdict = s.Created.Sub(p.at)
		}
	}
	for range f.CheckRuns(p.sha) {
		p.writes = append(p.writes, "check run")
	}
}

// TestManyPushAtOnce replays an afternoon on which 51 pull requests were pushed
// to within three minutes: the median of the verdicts came after 271 s, since each
// head took six writes at one a second, and those that said nothing went first.
func TestManyPushAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		a    afternoon
	}{
		{"57 pushes", afternoon{pulls: 51, pushes: 57, within: 3 * time.Minute, takes: 2 * time.Second}},
		{"a question is not answered", afternoon{pulls: 51, pushes: 57, within: 3 * time.Minute, takes: 2 * time.Second, unasked: true}},
		{"each is pushed to once more", afternoon{pulls: 51, pushes: 108, within: 3 * time.Minute, takes: 2 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, times, comments := tt.a.run(t)
			for i := 1; i < len(times); i++ {
				if gap := times[i].Sub(times[i-1]); gap < time.Second {
					t.Errorf("two writes within %v", gap)
				}
			}
			var waits []time.Duration
			writes := comments
			for _, p := range all {
				writes += len(p.writes)
				joined := strings.Join(p.writes, ", ")
				if strings.Contains(joined, "pending") || strings.Contains(joined, "check run") || len(p.writes) > 2 {
					t.Errorf("written to #%d: %s", p.number, joined)
				}
				if p.replaced == 0 {
					waits = append(waits, p.verdict)
					if joined != "verdict success, validate success" {
						t.Errorf("the head of #%d has %s", p.number, joined)
					}
				}
				// One that was replaced before the server asked for it is known to nobody.
				unseen := p.replaced > 0 && p.replaced < time.Second && joined == ""
				if (p.verdict <= 0 || p.verdict > 5*time.Minute) && !unseen {
					t.Errorf("the verdict of #%d came after %v; replaced after %v; %s", p.number, p.verdict, p.replaced, joined)
				}
			}
			slices.Sort(waits)
			median, last := waits[len(waits)/2], waits[len(waits)-1]
			t.Logf("%d heads, %d writes: median %v, last %v", len(all), writes, median, last)
			if median >= time.Minute {
				t.Errorf("the median is %v", median)
			}
			if writes > 3*len(all) {
				t.Errorf("%d writes for %d heads", writes, len(all))
			}
		})
	}
}

// TestABurstIsNotAnnounced: of 51 heads that are pushed within ten seconds none gets a
// pending status while another one waits for its verdict, however long judging takes.
func TestABurstIsNotAnnounced(t *testing.T) {
	all, _, _ := afternoon{pulls: 51, pushes: 51, within: 10 * time.Second, takes: 20 * time.Second}.run(t)
	pending := 0
	for _, p := range all {
		pending += len(p.pending)
		for _, at := range p.pending {
			for _, other := range all {
				if other.number != p.number && other.at.Add(other.verdict).After(at) {
					t.Errorf("#%d is announced %v before the verdict of #%d", p.number, other.at.Add(other.verdict).Sub(at), other.number)
				}
			}
		}
		if p.verdict <= 0 {
			t.Errorf("#%d has no verdict: %q", p.number, p.writes)
		}
	}
	if pending > 2 { // the two statuses of the last one, for which nobody waits
		t.Errorf("%d pending statuses", pending)
	}
}

// TestManyMoreOpenThanFit: a server that finds more open pull requests than it handles at
// once writes a verdict for each of them in the time that the writes need, and announces
// none of them.
func TestManyMoreOpenThanFit(t *testing.T) {
	a := afternoon{pulls: 200, pushes: 200, within: 10 * time.Second, takes: 2 * time.Second, lasts: 20 * time.Minute}
	all, times, comments := a.run(t)
	var last time.Duration
	var end time.Time
	for _, p := range all {
		if joined := strings.Join(p.writes, ", "); joined != "verdict success, validate success" {
			t.Errorf("the head of #%d has %s", p.number, joined)
		}
		last = max(last, p.verdict)
		if at := p.at.Add(p.verdict); at.After(end) {
			end = at
		}
	}
	// A head is handled until its comment is written, so that only the comments of the heads
	// that no longer fit go before the last verdict.
	before := len(slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return at.After(end) }))
	if most := 3*a.pulls - 64; before > most {
		t.Errorf("%d writes until the last verdict, want at most %d", before, most)
	}
	needed := time.Duration(len(times)) * 1300 * time.Millisecond // an answer and the distance to the next write
	if comments != a.pulls || last > needed {
		t.Errorf("%d writes, %d comments, the last verdict after %v; want %d comments and at most %v", len(times), comments, last, a.pulls, needed)
	}
}
