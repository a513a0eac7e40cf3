// Package trial looks at a commit in a process of its own, to find out whether
// that ends the process.
//
// Most callers make a [Guard], note in it what they look at with [Notes.Begin], and
// ask [Guard.Prove] before: what the process before was looking at when it died has
// to prove itself. A program that does so starts with [ServeChild].
package trial

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
)

// A Job is a commit to look at.
type Job struct {
	// Clone is the folder of the clone of URL; Token is the credential for it, or
	// empty.
	Clone, URL, Token string
	// Refs are fetched, the Known ones within the bounds of what base has. Base is a commit or one of them; Head is compared with the
	// merge base.
	Known, Refs []string
	Head, Base  string
	// Accepted means that the configuration of head decides for itself, HeadConfig
	// that it does where base has none.
	Accepted, HeadConfig bool
	// ConfigFile is the path of gavel.yaml.
	ConfigFile string
	// Memory and CPU bound the process, in bytes and in seconds of computing. They
	// default to 2 GiB and 10 minutes.
	Memory, CPU uint64
}

// An Outcome is how a look ended.
type Outcome struct {
	// Proven means that the process was still there at the end of the look,
	// whatever that found.
	Proven bool
	// Said are the last words of a process that was not.
	Said string
}

const (
	childArg = "gavel-trial-child"
	childEnv = "GAVEL_TRIAL_CHILD"
	// lookTime bounds a look by the clock. One that waits that long for its remote
	// does no harm.
	lookTime = 15 * time.Minute
	// What a child writes, a line each.
	fetched, looked = "fetched", "looked"
	// lastWords bounds what is kept of a process that ended.
	lastWords = 300
)

// Run looks at a commit in a child with limits. fetched is called once, when the
// child does not write into the clone any more. The error says why there is no
// outcome: ctx ended, or no child could be started.
func Run(ctx context.Context, job Job, fetched func()) (Outcome, error) {
	fetched = sync.OnceFunc(fetched)
	defer fetched()
	if job.Memory == 0 {
		job.Memory = 2 << 30
	}
	if job.CPU == 0 {
		job.CPU = 600
	}
	order, err := json.Marshal(job)
	if err != nil {
		return Outcome{}, fmt.Errorf("look at %.12s in a child: %w", job.Head, err)
	}
	program, err := os.Executable()
	if err != nil {
		return Outcome{}, fmt.Errorf("look at %.12s in a child: %w", job.Head, err)
	}
	inner, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	cmd := exec.CommandContext(inner, program, childArg)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.WaitDelay = 10 * time.Second
	apart(cmd)
	said := &tail{}
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return Outcome{}, fmt.Errorf("look at %.12s in a child: %w", job.Head, err)
	}
	// It stays open: its end tells the child that nobody waits any more.
	defer stdin.Close()
	steps := &lines{fetched: fetched}
	cmd.Stdout = steps
	if err := cmd.Start(); err != nil {
		return Outcome{}, fmt.Errorf("look at %.12s in a child: %w", job.Head, err)
	}
	_, sent := stdin.Write(append(order, '\n'))
	ended := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return Outcome{}, ctx.Err()
	case inner.Err() != nil || steps.looked && ended == nil:
		return Outcome{Proven: true}, nil
	case ended == nil: // it ended before it looked
		return Outcome{}, fmt.Errorf("look at %.12s in a child: it did nothing: %w", job.Head, errors.Join(sent, errors.New(said.String())))
	}
	return Outcome{Said: strings.TrimSpace(ended.Error() + ": " + said.String())}, nil
}

// lines reads what a child writes.
type lines struct {
	rest    []byte
	fetched func()
	looked  bool
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
		switch string(line) {
		case fetched:
			l.fetched()
		case looked:
			l.looked = true
		}
	}
}

// tail keeps the beginning of what a process said at its end.
type tail struct{ text []byte }

func (t *tail) Write(data []byte) (int, error) {
	t.text = append(t.text, data[:min(len(data), lastWords-len(t.text))]...)
	return len(data), nil
}

// String is its first line, which names the fault.
func (t *tail) String() string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(t.text)), "\n")
	return line
}

// ServeChild looks at a commit if this process was started by [Run], and reports
// whether it was; the program then has to end. look is [Examine].
func ServeChild(look func(ctx context.Context, job Job, fetched func()) error) bool {
	if os.Getenv(childEnv) == "" || len(os.Args) != 2 || os.Args[1] != childArg {
		return false
	}
	var job Job
	from := json.NewDecoder(os.Stdin)
	if err := from.Decode(&job); err != nil {
		fmt.Fprintln(os.Stderr, "read what to look at:", err)
		return true
	}
	if err := confine(job); err != nil {
		fmt.Fprintln(os.Stderr, "limit this process:", err)
		return true
	}
	debug.SetMemoryLimit(int64(job.Memory / 4 * 3))
	go func() {
		// Nothing more comes: this ends when the parent has gone.
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	// What it finds is told when the commit is looked at for its verdicts.
	_ = look(context.Background(), job, func() { fmt.Println(fetched) })
	fmt.Println(looked)
	return true
}

// bring fetches what base has, and then the head within its bounds.
func bring(ctx context.Context, mirror *gitrepo.Mirror, job Job) (*gitrepo.Repository, []string, error) {
	if len(job.Known) == len(job.Refs) {
		return mirror.Fetch(ctx, gitrepo.OfBase, job.Refs...)
	}
	if len(job.Known) > 0 {
		repo, _, err := mirror.Fetch(ctx, gitrepo.OfBase, job.Known...)
		if err != nil {
			return nil, nil, err
		}
		if err := repo.Close(); err != nil {
			return nil, nil, err
		}
	}
	return mirror.Fetch(ctx, gitrepo.OfHead, job.Refs...)
}

// Examine does what comes before a commit is judged: it fetches, loads both sides
// and plans. It calls fetched when the clone is not written into any more.
func Examine(ctx context.Context, job Job, fetched func()) error {
	from := gitrepo.MirrorConfig{Dir: job.Clone, URL: job.URL}
	if job.Token != "" {
		from.Token = gitrepo.Constant(job.Token)
	}
	mirror, err := gitrepo.NewMirror(from)
	if err != nil {
		return err
	}
	repo, commits, err := bring(ctx, mirror, job)
	fetched()
	if err != nil {
		return err
	}
	defer repo.Close()
	for i, ref := range job.Refs {
		if ref == job.Base {
			job.Base = commits[i]
		}
	}
	_, err = controller.PrepareCommits(ctx, controller.Commits{
		Repo: repo, Head: job.Head, Base: job.Base, Accepted: job.Accepted, HeadConfig: job.HeadConfig,
		ConfigFile: job.ConfigFile, LookupEnv: os.LookupEnv,
	})
	return err
}
