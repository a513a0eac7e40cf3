package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/controller/worker"
)

const settings = `
version: 1
default_target: bot
targets:
  bot: {provider: mock, replies: [{match: ".*", reply: hi}]}
`

// A fixture is a worker with the tasks of a repository's only commit.
type fixture struct {
	cfg     worker.Config
	about   json.RawMessage
	task    queue.Task
	later   queue.Task // of another case
	fetches int
	calls   atomic.Int64
	before  func(prompt string) // called before each call; nil is not called
}

// A counted target counts its calls.
type counted struct {
	target.Target
	*fixture
}

func (c counted) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	c.calls.Add(1)
	if c.before != nil {
		c.before(req.Messages[len(req.Messages)-1].Content)
	}
	return c.Target.Respond(ctx, req)
}

func newFixture(t *testing.T) *fixture {
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	head := gittest.Commit(t, dir, map[string]string{
		"gavel.yaml":                               settings,
		"test_definitions/talk/domain.json":        `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "Hello", "expected": {"keywords": ["hi"]}}`,
		"test_definitions/talk/level_1/later.json": `{"id": "later", "name": "Later", "prompt": "Later", "expected": {"keywords": ["hi"]}}`,
	})
	b := &fixture{}
	fetch := func(_ context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error) {
		b.fetches++
		repo, err := gitrepo.Open(dir)
		commits := make([]string, len(src.Refs))
		for i := range src.Refs {
			commits[i] = head
		}
		return repo, commits, err
	}
	b.cfg = worker.Config{
		Ledger:     ledgertest.Open(t, ledger.Config{}),
		Repository: func(context.Context, forge.Repo) (worker.Fetcher, error) { return fetch, nil },
		Host: func(context.Context, *controller.Prepared, int) (controller.Host, func() error, error) {
			return controller.Opener(func(cfg config.Target, c controller.Checkout) (target.Target, error) {
				opened, err := target.New(cfg, target.Env{Files: c.FS})
				return counted{opened, b}, err
			}), func() error { return nil }, nil
		},
		LookupEnv: func(string) (string, bool) { return "", false },
		Log:       func(line string) { t.Log(line) },
	}
	subject := review.Subject{
		Repository: forge.Repo{Owner: "octo", Name: "demo"}, LedgerName: "octo/demo", Head: head, Refs: []string{"refs/heads/main"},
		Level: ledger.LevelBase, Merged: true, Trust: forge.Trust{Run: true}, ConfigFile: "gavel.yaml",
	}
	p, end, err := review.Plan(t.Context(), review.Config{Ledger: b.cfg.Ledger, LookupEnv: b.cfg.LookupEnv, Fetch: fetch, Log: b.cfg.Log}, subject)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}()
	for _, problem := range p.Problems {
		t.Fatal(problem)
	}
	b.fetches = 0
	about, err := json.Marshal(worker.About{Subject: subject, Run: "a-run"})
	if err != nil {
		t.Fatal(err)
	}
	trust := p.Request().HeadTrust
	task := func(row plan.Row) queue.Task {
		return queue.Task{
			Run: "in-the-queue", Part: queue.Part{Side: "head", Case: queue.Name(row.HeadCase), E: row.HeadDigests.E, J: row.HeadDigests.J, D: row.HeadDigests.D,
				Target: row.Target, Scope: ledger.Scope{Trust: trust}, Trust: trust, Revision: "sha:" + head,
			},
		}
	}
	b.about, b.task, b.later = about, task(p.Plan.Rows[0]), task(p.Plan.Rows[1])
	return b
}

// TestJudge plans once, judges, and leaves the verdict in the ledger.
func TestJudge(t *testing.T) {
	b := newFixture(t)
	j := worker.New(b.cfg)
	for range 2 {
		out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{})
		if err != nil || out.Result.Verdict != verdict.Pass || out.Key != "talk/level_1/hello" {
			t.Errorf("the outcome is %+v, %v, want that talk/level_1/hello passes", out, err)
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if b.fetches != 1 {
		t.Errorf("the commits are fetched %d times, want once", b.fetches)
	}
	known, err := b.cfg.Ledger.Stored(t.Context(), b.task.Scope, []plan.Digests{{E: b.task.E, J: b.task.J, D: b.task.D}})
	if err != nil || len(known) != 1 || known[0].Decided == nil {
		t.Errorf("the ledger has %+v, %v, want the decision", known, err)
	}
	paid, err := b.cfg.Ledger.Unreported(t.Context(), b.task.Trust.Repository)
	if err != nil || len(paid) != 1 || paid[0].ID != "a-run" || paid[0].Cost.Calls != 1 || paid[0].Head == "" {
		t.Errorf("the ledger counts %+v, %v, want one call of the run until it has a report", paid, err)
	}
}

// TestJudgePair judges a task and its partner. Neither is judged if the partner is not what
// this worker plans.
func TestJudgePair(t *testing.T) {
	b := newFixture(t)
	j := worker.New(b.cfg)
	partner := b.task.Part
	b.task.Partner = &partner
	var stored sync.Map // the verdicts that completions are stored with
	done := func(half int) *run.Completion {
		return &run.Completion{Store: func(_ *store.Tx, out run.Outcome) error {
			stored.Store(half, out.Result.Verdict)
			return nil
		}}
	}
	out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{done(0), done(1)})
	for half := range 2 {
		if got, _ := stored.Load(half); got != verdict.Pass {
			t.Errorf("the completion of half %d is stored with %v, want pass", half, got)
		}
	}
	if err != nil || out.Partner == nil || out.Result.Verdict != verdict.Pass || out.Partner.Result.Verdict != verdict.Pass || out.Partner.Key != "talk/level_1/hello" {
		t.Errorf("the outcomes are %+v and %+v, %v, want that talk/level_1/hello passes twice", out.Outcome, out.Partner, err)
	}
	if n := b.calls.Load(); n != 1 {
		t.Errorf("the same case is asked %d times, want once", n)
	}
	partner.D = strings.Repeat("0", len(partner.D))
	if out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{}); err == nil || !strings.Contains(err.Error(), "computes another digest") {
		t.Errorf("the outcome is %+v, %v, want an error about the digest of the partner", out, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// TestAKnownVerdict: a case that was judged before its worker planned is not judged
// again, and has its outcome.
func TestAKnownVerdict(t *testing.T) {
	b := newFixture(t)
	for _, name := range []string{"first", "second"} {
		j := worker.New(b.cfg)
		out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{})
		if err != nil || out.Result.Verdict != verdict.Pass || b.calls.Load() != 1 {
			t.Errorf("the outcome of the %s worker is %+v, %v, after %d calls, want a pass after one", name, out, err, b.calls.Load())
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWhatATaskMayNotClaim refuses what does not follow from the commit.
func TestWhatATaskMayNotClaim(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*queue.Task)
		want   string
	}{
		{"another text", func(t *queue.Task) { t.D = strings.Repeat("0", len(t.D)) }, "computes another digest"},
		{"another request", func(t *queue.Task) { t.E = "e" }, "computes another digest"},
		{"another judgement", func(t *queue.Task) { t.J = "j" }, "computes another digest"},
		{"another target", func(t *queue.Task) { t.Target = "other" }, "this worker asks the target bot for talk/level_1/hello, and the controller asks other"},
		{"another case", func(t *queue.Task) { t.Case = "other" }, "the plan of this worker has no case other at head"},
		{"a further measurement under the digests of the first", func(t *queue.Task) { t.Again = 1 }, "computes another digest"},
		{"another side", func(t *queue.Task) { t.Side = "base" }, `no side "base"`},
		{"more trust", func(t *queue.Task) { t.Trust.Level = ledger.LevelBase + 1 }, "a trust that its commit does not have"},
		{"verdicts of another repository", func(t *queue.Task) { t.Scope.Trust.Repository = "octo/other" }, "a trust that its commit does not have"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			j := worker.New(b.cfg)
			tt.change(&b.task)
			out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the outcome is %+v, %v, want an error with %q", out, err, tt.want)
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestARepositoryThatCannotBeHad is an error now, and no longer when it can be had.
func TestARepositoryThatCannotBeHad(t *testing.T) {
	b := newFixture(t)
	errAway := errors.New("the forge is away")
	there, away := b.cfg.Repository, true
	b.cfg.Repository = func(ctx context.Context, name forge.Repo) (worker.Fetcher, error) {
		if away {
			return nil, errAway
		}
		return there(ctx, name)
	}
	j := worker.New(b.cfg)
	if out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{}); !errors.Is(err, errAway) {
		t.Errorf("the outcome is %+v, %v, want the error of the forge", out, err)
	}
	away = false
	if out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{}); err != nil || out.Result.Verdict != verdict.Pass {
		t.Errorf("the outcome is %+v, %v, want a pass", out, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
