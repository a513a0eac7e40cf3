package trial

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/schema/cuefile"
)

// TestMain answers as the child, in which a commit does what its name says.
func TestMain(m *testing.M) {
	if cuefile.ServeChild() || ServeChild(lookAt) {
		return
	}
	os.Exit(m.Run())
}

var kept [][]byte // so that nothing of it is collected

func lookAt(ctx context.Context, job Job, fetched func()) error {
	switch job.Head {
	case "does no harm":
		fetched()
		return nil
	case "cannot be read":
		return errors.New("there is no such commit")
	case "panics":
		panic("a fault of ours")
	case "is killed":
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "has no end":
		for {
			kept = kept[:0]
		}
	case "eats memory":
		for {
			kept = append(kept, bytes.Repeat([]byte{1}, 1<<20))
		}
	case "waits":
		fetched()
		select {}
	}
	return Examine(ctx, job, fetched)
}

// TestAbuse28AHeadThatEndsTheProcess ends a child and no more.
func TestAbuse28AHeadThatEndsTheProcess(t *testing.T) {
	for head, tt := range map[string]struct {
		proven bool
		said   string
	}{
		"does no harm":   {proven: true},
		"cannot be read": {proven: true},
		"panics":         {said: "panic: a fault of ours"},
		"is killed":      {said: "signal: killed"},
		"has no end":     {said: "signal: "},
		"eats memory":    {said: "exit status"}, // whichever part of the program misses it first,
	} {
		t.Run(head, func(t *testing.T) {
			t.Parallel()
			fetched := 0
			got, err := Run(t.Context(), Job{Head: head, Memory: 512 << 20, CPU: 2}, func() { fetched++ })
			if err != nil {
				t.Fatal(err)
			}
			if got.Proven != tt.proven || !regexp.MustCompile(tt.said).MatchString(got.Said) || fetched != 1 {
				t.Errorf("got %+v after %d calls, want proven %v and %q", got, fetched, tt.proven, tt.said)
			}
		})
	}
}

// TestATrialThatIsStopped says nothing about the head.
func TestATrialThatIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if got, err := Run(ctx, Job{Head: "waits"}, cancel); !errors.Is(err, context.Canceled) || got != (Outcome{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestExamine fetches a commit into the clone and plans it.
func TestExamine(t *testing.T) {
	dir := t.TempDir()
	gittest.Run(t, dir, "init", "-q", "-b", "main")
	head := gittest.Commit(t, dir, map[string]string{"gavel.yaml": "version: 1\n"})
	clone := filepath.Join(t.TempDir(), "1.git")
	job := Job{Clone: clone, URL: gittest.Serve(t, dir, ""), Refs: []string{"refs/heads/main"}, Head: head, ConfigFile: "gavel.yaml"}
	got, err := Run(t.Context(), job, func() {
		if _, err := os.Stat(filepath.Join(clone, "HEAD")); err != nil {
			t.Errorf("nothing was fetched: %v", err)
		}
	})
	if err != nil || !got.Proven {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := Examine(t.Context(), job, func() {}); err != nil {
		t.Error(err)
	}
	job.Head = strings.Repeat("1", 40)
	if err := Examine(t.Context(), job, func() {}); err == nil {
		t.Error("a commit that is not there was looked at")
	}
}
