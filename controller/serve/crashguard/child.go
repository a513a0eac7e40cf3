// Package crashguard keeps a commit that crashes the process from crashing it again. It
// judges the commit that was in work when the last process died in a child with limits.
//
// Most callers make a [Guard], ask [Guard.Prove] before they judge a commit, and note the
// commit with [Notes.Begin]. Their program starts with [ServeChild].
package crashguard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/run"
)

// A Job is a commit to judge.
type Job struct {
	// Clone is the folder of the clone of URL; Token is the credential for it, or
	// empty.
	Clone, URL, Token string
	// Ledger is the path of the ledger, in which the report is stored.
	Ledger string
	// Unconfined is the field of its [ledger.Config].
	Unconfined bool
	// Subject is the commit.
	Subject review.Subject
	// Host is data that the program hands to the child, such as the operator's file.
	Host []byte
	// Memory and CPU bound the process, in bytes and in seconds of computing. They
	// default to 2 GiB and an hour.
	Memory, CPU uint64
}

// An Outcome is how a child ended.
type Outcome struct {
	// Proven reports whether the process survived, whatever its result.
	Proven bool
	// Run is the id of the report that the process stored; empty for none.
	Run string
	// Said is the last output of a process that did not survive.
	Said string
}

const (
	childArg = "gavel-trial-child"
	childEnv = "GAVEL_TRIAL_CHILD"
	// lookTime bounds the time before a commit is judged. A child that waits so long for
	// its remote is harmless; one that computes for longer than busy is not.
	lookTime = 15 * time.Minute
	busy     = 10 * time.Minute
	// The output of a child, a line each. The last one is followed by a space and
	// the run, if there is one.
	fetched, judging, looked = "fetched", "judging", "looked"
	// lastWords bounds the final message of a process.
	lastWords = 300
	// lastCalls is how long a child stores replies after its parent has gone.
	lastCalls = 10 * time.Second
)

// Run judges a commit in a child with limits. It calls fetched once, when the child no
// longer writes into the clone. It returns an error if ctx ends or no child can be
// started.
func Run(ctx context.Context, job Job, fetched func()) (Outcome, error) {
	fetched = sync.OnceFunc(fetched)
	defer fetched()
	if job.Memory == 0 {
		job.Memory = 2 << 30
	}
	if job.CPU == 0 {
		job.CPU = 3600
	}
	fail := func(err error) (Outcome, error) {
		return Outcome{}, fmt.Errorf("judge %.12s in a child: %w", job.Subject.Head, err)
	}
	line, err := json.Marshal(job)
	if err != nil {
		return fail(err)
	}
	program, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(lookTime, cancel)
	defer late.Stop()
	cmd := exec.CommandContext(inner, program, childArg)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.WaitDelay = 10 * time.Second
	handedOver := func() bool { return errors.Is(context.Cause(ctx), run.ErrHandedOver) }
	apart(cmd)
	said := &tail{}
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fail(err)
	}
	// It stays open: its end tells the child that the parent has stopped waiting.
	defer stdin.Close()
	cmd.Cancel = func() error {
		if handedOver() {
			return stdin.Close() // the child stores the replies to calls that it has sent
		}
		return cmd.Process.Kill()
	}
	steps := &lines{fetched: fetched, judging: func() { late.Stop() }}
	cmd.Stdout = steps
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	_, sent := stdin.Write(append(line, '\n'))
	ended := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return Outcome{}, ctx.Err()
	case inner.Err() != nil && cmd.ProcessState.UserTime() < busy:
		return Outcome{Proven: true}, nil
	case steps.looked && ended == nil:
		return Outcome{Proven: true, Run: steps.run}, nil
	case ended == nil: // it ended before it looked
		return fail(fmt.Errorf("it did nothing: %w", errors.Join(sent, errors.New(said.String()))))
	}
	return Outcome{Said: strings.TrimSpace(ended.Error() + ": " + said.String())}, nil
}

// lines reads the output of a child.
type lines struct {
	rest             []byte
	fetched, judging func()
	looked           bool
	run              string
}

func (l *lines) Write(data []byte) (int, error) {
	l.rest = append(l.rest, data...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			l.rest = l.rest[max(0, len(l.rest)-lastWords):]
			return len(data), nil
		}
		l.rest = rest
		word, run, _ := strings.Cut(string(line), " ")
		switch word {
		case fetched:
			l.fetched()
		case judging:
			l.judging()
		case looked:
			l.looked, l.run = true, run
		}
	}
}

// tail keeps the first bytes of the final message.
type tail struct{ text []byte }

func (t *tail) Write(data []byte) (int, error) {
	t.text = append(t.text, data[:min(len(data), lastWords-len(t.text))]...)
	return len(data), nil
}

// String returns the first line, which names the fault.
func (t *tail) String() string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(t.text)), "\n")
	return line
}

// Steps has the functions by which a child reports its progress.
type Steps struct {
	// Fetched is called when the child no longer writes into the clone, and Judging
	// before the commit is judged.
	Fetched, Judging func()
}

// ServeChild judges a commit and returns true if this process was started by [Run]; the
// program then has to end. judge calls [Examine] and returns the stored run.
func ServeChild(judge func(ctx context.Context, job Job, steps Steps) (run string, err error)) bool {
	if os.Getenv(childEnv) == "" || len(os.Args) != 2 || os.Args[1] != childArg {
		return false
	}
	var job Job
	from := json.NewDecoder(os.Stdin)
	if err := from.Decode(&job); err != nil {
		fmt.Fprintln(os.Stderr, "read the head to judge:", err)
		return true
	}
	if err := confine(job); err != nil {
		fmt.Fprintln(os.Stderr, "limit this process:", err)
		return true
	}
	debug.SetMemoryLimit(int64(job.Memory / 4 * 3))
	ctx, end := context.WithCancelCause(context.Background())
	go func() {
		// Nothing more arrives: this read ends when the parent has gone. Another process
		// goes on, and pays once more for each call that is not stored.
		_, _ = io.Copy(io.Discard, os.Stdin)
		end(&review.Cancelled{Reason: "the server has gone", Resumes: true, Err: run.ErrHandedOver})
		time.Sleep(lastCalls)
		os.Exit(0)
	}()
	// An error is found again, and reported, when the server looks at the commit.
	stored, _ := judge(ctx, job, Steps{func() { fmt.Println(fetched) }, func() { fmt.Println(judging) }})
	fmt.Println(strings.TrimSpace(looked + " " + stored))
	return true
}

// A Judging is how a child runs programs that make parts of definitions, and carries a plan out.
type Judging struct {
	Making  controller.Making
	Execute controller.Executor
}

// Examine judges the commit of a job and returns the stored run; empty if there was
// nothing to judge.
func Examine(ctx context.Context, job Job, how Judging, steps Steps) (run string, err error) {
	from := gitrepo.MirrorConfig{Dir: job.Clone, URL: job.URL}
	if job.Token != "" {
		from.Token = gitrepo.Constant(job.Token)
	}
	mirror, err := gitrepo.NewMirror(from)
	if err != nil {
		return "", err
	}
	store, err := ledger.Open(ctx, ledger.Config{Path: job.Ledger, Unconfined: job.Unconfined})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	left := 1 // fetches that are to come
	if len(job.Subject.Known) > 0 {
		left++
	}
	cfg := review.Config{
		Ledger: store, Making: how.Making, LookupEnv: os.LookupEnv, Log: func(string) {},
		Fetch: func(ctx context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error) {
			repo, commits, err := mirror.FetchSource(ctx, src)
			if left--; left == 0 || err != nil {
				steps.Fetched()
			}
			return repo, commits, err
		},
		Execute: func(ctx context.Context, p *controller.Prepared, e controller.RunOptions) (*report.Report, error) {
			steps.Judging()
			return how.Execute(ctx, p, e)
		},
	}
	return review.Rehearse(ctx, cfg, job.Subject)
}
