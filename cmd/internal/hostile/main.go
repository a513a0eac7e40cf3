// Command hostile gives gavel heads that are made to bring it down, and holds
// its memory:
//
//	go run ./cmd/internal/hostile
//
// Each head is a pull request at a fake forge. Some are judged by gavel pr, one
// by one, and all by one gavel serve while strangers flood its webhook. Every
// head has to get its last statuses and its comment, the last one is harmless
// and has to be green, and no process may have taken more memory than the bound.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"testing"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

// A trial is what is tried.
type trial struct {
	*stage
	out     io.Writer
	program string
	most    int64 // bytes of memory
	patient time.Duration
	place   *fixture
}

// run parses the arguments and tries all.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	t := trial{out: out}
	flags := flag.NewFlagSet("hostile", flag.ContinueOnError)
	mib := flags.Int64("most", 600, "how many MiB of memory a process may take")
	blob := flags.Int64("blob", 1536, "how many MiB of zeros the large blob has")
	flags.DurationVar(&t.patient, "patience", 10*time.Minute, "how long to wait for what is published")
	if err := flags.Parse(args); err != nil {
		return err
	}
	t.most = *mib << 20
	dir, err := os.MkdirTemp("", "gavel-hostile")
	if err != nil {
		return err
	}
	t.stage = &stage{ctx: ctx, dir: dir}
	defer func() { err = errors.Join(err, t.end(), os.RemoveAll(dir)) }()
	return t.play(func() error {
		t.program = filepath.Join(dir, "gavel")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", t.program, "./cmd/gavel").CombinedOutput(); err != nil {
			return fmt.Errorf("build gavel: %w: %s", err, out)
		}
		t.place = newPlace(t.stage, *blob<<20)
		return errors.Join(t.jobs(ctx), t.crowd(ctx), t.bulk(ctx), t.siege(ctx))
	})
}

// measured prints what a process took and refuses what is too much.
func (t *trial) measured(what string, took time.Duration, peak int64) error {
	fmt.Fprintf(t.out, "%-40s %6.1f s %6d MiB\n", what, took.Seconds(), peak>>20)
	if peak > t.most {
		return fmt.Errorf("%s took %d MiB of memory, more than %d", what, peak>>20, t.most>>20)
	}
	return nil
}

// A stage replaces a test, which the fake forge and what makes repositories
// ask for.
type stage struct {
	testing.TB
	ctx   context.Context // of the program
	dir   string
	after []func()
	wrong []error
}

// A halt is the panic that ends what cannot go on.
type halt struct{ error }

// Helper does nothing.
func (*stage) Helper() {}

// Context is the program's.
func (s *stage) Context() context.Context { return s.ctx }

// Cleanup has something done in the end.
func (s *stage) Cleanup(do func()) { s.after = append(s.after, do) }

// Errorf notes what is wrong.
func (s *stage) Errorf(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Errorf(format, args...))
}

// Fatal ends the trial.
func (s *stage) Fatal(args ...any) { panic(halt{errors.New(fmt.Sprint(args...))}) }

// Fatalf ends the trial.
func (s *stage) Fatalf(format string, args ...any) { panic(halt{fmt.Errorf(format, args...)}) }

// play does something that may halt.
func (*stage) play(do func() error) (err error) {
	defer func() {
		if h, ok := recover().(halt); ok {
			err = h.error
		}
	}()
	return do()
}

// end cleans up and gives what was wrong.
func (s *stage) end() error {
	for i := len(s.after) - 1; i >= 0; i-- {
		s.after[i]()
	}
	return errors.Join(s.wrong...)
}
