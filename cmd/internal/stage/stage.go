// Package stage lets programs that are not tests use what is made for tests: the fake
// forge, and what makes repositories, ask for a [testing.TB]. Most callers want [New],
// [Stage.Play] and [Stage.End].
package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A Stage replaces a test.
type Stage struct {
	testing.TB
	ctx   context.Context // of the program
	dir   string
	after []func()
	wrong []error
}

// New returns a Stage whose temporary folders are in dir.
func New(ctx context.Context, dir string) *Stage { return &Stage{ctx: ctx, dir: dir} }

// A halt is the panic that ends what cannot go on.
type halt struct{ error }

// Helper does nothing.
func (*Stage) Helper() {}

// Context is the program's.
func (s *Stage) Context() context.Context { return s.ctx }

// TempDir makes a folder. Its name says nothing.
func (s *Stage) TempDir() string {
	dir, err := os.MkdirTemp(s.dir, "")
	if err != nil {
		s.Fatal(err)
	}
	return filepath.Clean(dir)
}

// Cleanup has something done in the end.
func (s *Stage) Cleanup(do func()) { s.after = append(s.after, do) }

// Error notes what is wrong.
func (s *Stage) Error(args ...any) { s.wrong = append(s.wrong, errors.New(fmt.Sprint(args...))) }

// Errorf notes what is wrong.
func (s *Stage) Errorf(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Errorf(format, args...))
}

// Fatal ends what [Stage.Play] does.
func (s *Stage) Fatal(args ...any) { panic(halt{errors.New(fmt.Sprint(args...))}) }

// Fatalf ends what [Stage.Play] does.
func (s *Stage) Fatalf(format string, args ...any) { panic(halt{fmt.Errorf(format, args...)}) }

// Play does something that may halt, and returns why it did.
func (*Stage) Play(do func() error) (err error) {
	defer func() {
		switch h := recover().(type) {
		case nil:
		case halt:
			err = h.error
		default:
			panic(h)
		}
	}()
	return do()
}

// End cleans up and returns what was wrong.
func (s *Stage) End() error {
	for i := len(s.after) - 1; i >= 0; i-- {
		s.after[i]()
	}
	return errors.Join(s.wrong...)
}

// Program returns the path of gavel: the given program, or one that is built into dir if
// none is given.
func Program(ctx context.Context, given, dir string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	program := filepath.Join(dir, "gavel")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/gavel").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build gavel: %w: %s", err, out)
	}
	return program, nil
}
