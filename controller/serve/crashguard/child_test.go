package crashguard

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
)

// killSelf ends this process as nothing but the system can.
func killSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Kill()
}

// TestMain answers as the child, in which a commit does what its name says.
func TestMain(m *testing.M) {
	if cueeval.ServeChild() || ServeChild(behave) {
		return
	}
	os.Exit(m.Run())
}

var kept [][]byte // so that nothing of it is collected

func behave(ctx context.Context, job Job, steps Steps) (run string, err error) {
	switch job.Subject.Head {
	case "does no harm":
		steps.Fetched()
		steps.Judging()
		return "run-1", nil
	case "cannot be read":
		return "", errors.New("there is no such commit")
	case "panics":
		panic("a fault of ours")
	case "is killed":
		return "", killSelf()
	case "has no end":
		for {
			kept = kept[:0]
		}
	case "eats memory":
		for {
			kept = append(kept, bytes.Repeat([]byte{1}, 1<<20))
		}
	case "waits":
		steps.Fetched()
		select {}
	}
	if string(job.Host) == killedJudging {
		return Examine(ctx, job, Judging{Execute: func(context.Context, *controller.Prepared, controller.RunOptions) (*report.Report, error) {
			return nil, killSelf()
		}}, steps)
	}
	return Examine(ctx, job, Judging{Execute: execute}, steps)
}

// killedJudging has a child end while it judges.
const killedJudging = "killed while it judges"

// execute does the work of a command.
func execute(ctx context.Context, p *controller.Prepared, o controller.RunOptions) (*report.Report, error) {
	return p.Execute(ctx, controller.Opener(func(t config.Target, c controller.Checkout) (target.Target, error) {
		return target.New(t, target.Env{Files: c.FS})
	}), o)
}

// TestAbuseAHeadThatEndsTheProcess ends a child and no more.
func TestAbuseAHeadThatEndsTheProcess(t *testing.T) {
	for _, tt := range []struct {
		head      string
		proven    bool
		run, said string
		cpu       uint64
	}{
		{head: "does no harm", proven: true, run: "run-1"},
		{head: "cannot be read", proven: true},
		{head: "panics", said: "panic: a fault of ours"},
		{head: "is killed", said: "signal: killed"},
		{head: "has no end", said: "signal: ", cpu: 2},
		{head: "eats memory", said: "exit status"}, // whichever part of the program misses it first,
	} {
		t.Run(tt.head, func(t *testing.T) {
			t.Parallel()
			fetched := 0
			got, err := Run(t.Context(), Job{Subject: review.Subject{Head: tt.head}, Memory: 512 << 20, CPU: tt.cpu}, func() { fetched++ })
			if err != nil {
				t.Fatal(err)
			}
			if got.Proven != tt.proven || got.Run != tt.run || !regexp.MustCompile(tt.said).MatchString(got.Said) || fetched != 1 {
				t.Errorf("got %+v after %d calls, want proven %v with the run %q and the last words %q", got, fetched, tt.proven, tt.run, tt.said)
			}
		})
	}
}

// TestATrialThatIsStopped says nothing about the head.
func TestATrialThatIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if got, err := Run(ctx, Job{Subject: review.Subject{Head: "waits"}}, cancel); !errors.Is(err, context.Canceled) || got != (Outcome{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// examined is a job for a commit with one case, which base has.
func examined(t *testing.T) Job {
	t.Helper()
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	head := gittest.Commit(t, dir, map[string]string{
		"gavel.yaml":                               "version: 1\ntargets:\n  bot: {provider: mock, replies: [{reply: hello}]}\n",
		"test_definitions/talk/domain.json":        `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hi", "expected": {"keywords": ["hello"]}}`,
	})
	refs := []string{"refs/heads/main"}
	return Job{
		Clone: filepath.Join(t.TempDir(), "1.git"), URL: gittest.Serve(t, dir, ""), Ledger: filepath.Join(t.TempDir(), "ledger.db"),
		Subject: review.Subject{
			Repository: forge.Repo{Owner: "octo", Name: "demo"}, LedgerName: "octo/demo", Head: head, Known: refs, Refs: refs,
			Level: ledger.LevelBase, Trust: forge.Trust{Run: true}, Merged: true, ConfigFile: "gavel.yaml",
		},
	}
}

// TestExamine fetches a commit into the clone, judges it, and stores the report.
func TestExamine(t *testing.T) {
	job := examined(t)
	got, err := Run(t.Context(), job, func() {
		if _, err := os.Stat(filepath.Join(job.Clone, "HEAD")); err != nil {
			t.Errorf("nothing was fetched: %v", err)
		}
	})
	if err != nil || !got.Proven || got.Run == "" {
		t.Fatalf("got %+v, %v; want it proven with a run", got, err)
	}
	rep, err := review.Stored(t.Context(), ledgertest.Open(t, ledger.Config{Path: job.Ledger}), got.Run)
	if err != nil || rep.Summary.Calls != 1 || rep.Gate.Result != report.GatePass {
		t.Fatalf("the rep is %+v, %v; want one call and the gate passed", rep, err)
	}
	fatal := job
	fatal.Host = []byte(killedJudging)
	if got, err := Run(t.Context(), fatal, func() {}); err != nil || got.Proven || !strings.Contains(got.Said, "signal: killed") {
		t.Errorf("a commit that ends the process while it is judged is %+v, %v; want it not proven", got, err)
	}
	again := job
	again.Subject.Last = got.Run
	if next, err := Run(t.Context(), again, func() {}); err != nil || next != got {
		t.Errorf("judged again it is %+v, %v; want the same run, %+v", next, err, got)
	}
	job.Subject.Head = strings.Repeat("1", 40)
	steps := Steps{func() {}, func() { t.Error("a commit that is not there was judged") }}
	if run, err := Examine(t.Context(), job, Judging{Execute: execute}, steps); err == nil || run != "" {
		t.Errorf("a commit that is not there has the run %q, want an error", run)
	}
}
