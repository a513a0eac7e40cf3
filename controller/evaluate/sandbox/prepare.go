package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A runningProgram is a program with its files and its folder.
type runningProgram struct {
	Program
	// file is the executable.
	file string
	// scratch is a folder for only this run.
	scratch string
	folder  *Folder // the folder at scratch
	// readable are the readable folders and files.
	readable []string
	hidden   Hidden
	stdout   *limitedBuffer
	stderr   *tail
	// connections is the end of a socket over which the child hands over connections to a
	// program that listens on a private loopback interface; nil for other programs.
	connections *os.File
	// stop ends the run for a reason.
	stop context.CancelCauseFunc
}

// prepare finds the program and makes its scratch folder.
func (b *Box) prepare(ctx context.Context, p Program) (*runningProgram, error) {
	p, err := b.complete(p)
	if err != nil {
		return nil, err
	}
	r := &runningProgram{Program: p, readable: b.readable(p.Tree), hidden: b.hidden}
	if r.file, r.Argv, err = b.find(p); err != nil {
		return nil, err
	}
	if err := b.handOver(ctx, p.Workspace); err != nil {
		return nil, err
	}
	if r.folder, err = NewFolder(b.policy.Scratch, "scratch"); err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	r.scratch = r.folder.Path
	r.Env = slices.Concat([]string{"HOME=" + r.scratch, "TMPDIR=" + r.scratch}, r.Env)
	r.stderr = &tail{}
	r.stdout = &limitedBuffer{most: p.Limits.Output, exceeded: func() {
		r.stop(fmt.Errorf("stdout is longer than %s", size(int64(p.Limits.Output))))
	}}
	if p.Until != nil {
		r.stdout.until, r.stdout.enough = p.Until, func() { r.stop(errEnough) }
	}
	return r, nil
}

// complete fills in a program's defaults.
func (b *Box) complete(p Program) (Program, error) {
	p.Limits = p.Limits.orDefault()
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return p, errors.New("argv is empty; it names the program and its arguments")
	}
	if p.Tree == "" {
		return p, errors.New("there is no folder to run the program in")
	}
	tree, err := filepath.Abs(p.Tree)
	if err == nil {
		tree, err = filepath.EvalSymlinks(tree)
	}
	if err != nil {
		return p, fmt.Errorf("folder of the program: %w", err)
	}
	dir := tree
	if p.Dir != "" {
		if dir, err = filepath.EvalSymlinks(p.Dir); err != nil {
			return p, fmt.Errorf("folder of the program: %w", err)
		}
	}
	if p.Workspace != "" {
		if p.Workspace, err = filepath.EvalSymlinks(p.Workspace); err != nil {
			return p, fmt.Errorf("workspace of the program: %w", err)
		}
		if isWithin(tree, p.Workspace) {
			return p, fmt.Errorf("workspace of the program: %s holds the files of the repository, which no program writes", p.Workspace)
		}
	}
	if !isWithin(dir, tree) && (p.Workspace == "" || !isWithin(dir, p.Workspace)) {
		return p, fmt.Errorf("folder of the program: %s is not in %s", p.Dir, p.Tree)
	}
	p.Tree, p.Dir = tree, dir
	if _, ok := variable(p.Env, "PATH"); !ok {
		p.Env = append(slices.Clip(p.Env), "PATH="+strings.Join(append(slices.Clone(b.policy.Path), minimalPath), string(filepath.ListSeparator)))
	}
	return p, nil
}

// variable returns the value of an environment variable.
func variable(env []string, name string) (string, bool) {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// close removes the scratch folder.
func (r *runningProgram) close() {
	_ = r.folder.Remove() // any rest holds only the program's output
}

// outputs returns the writers for the program's stdout and stderr. A program that listens
// may write without end, so that only the end of both is kept.
func (r *runningProgram) outputs() (stdout, stderr io.Writer) {
	if r.port != 0 {
		return r.stderr, r.stderr
	}
	return r.stdout, r.stderr
}

func (b *Box) failure(r *runningProgram, cause string) *Failure {
	said := r.stderr.text()
	return &Failure{Program: filepath.Base(r.file), Cause: cause, Stderr: said, Tree: r.Tree, Hint: cmp.Or(b.advice(r.Program, said), r.hidden.Hint)}
}

// The bounds of a workspace, which has more files than the program wrote.
const (
	maxWorkspace      = 1 << 30
	maxWorkspaceFiles = 50_000
)

// size formats a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// maxStderr bounds the part of stderr that is kept, from its end.
const maxStderr = 16 << 10

// A limitedBuffer keeps its input up to a limit.
type limitedBuffer struct {
	data     []byte
	most     int
	over     bool
	exceeded func()
	// until ends the input with the line for which it returns true, and enough is called
	// then; nil for no end. seen is how much of data it was shown.
	until  func(line []byte) bool
	enough func()
	seen   int
	ended  bool
}

// Write appends p, or drops everything once the limit is exceeded.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.ended {
		return len(p), nil
	}
	if b.over = b.over || len(b.data)+len(p) > b.most; b.over {
		b.data = nil
		b.exceeded()
		return len(p), nil
	}
	b.data = append(b.data, p...)
	b.show()
	return len(p), nil
}

// show shows until the lines that it has not seen.
func (b *limitedBuffer) show() {
	for b.until != nil && !b.ended {
		n := bytes.IndexByte(b.data[b.seen:], '\n')
		if n < 0 {
			return
		}
		line := b.data[b.seen : b.seen+n+1]
		b.seen += n + 1
		if b.until(line) {
			b.data, b.ended = b.data[:b.seen], true
			b.enough()
		}
	}
}

// A tail keeps the end of its input.
type tail struct {
	mu   sync.Mutex
	data []byte // guarded by mu
	cut  bool   // guarded by mu; whether the input was longer
}

// text returns the lines that are kept so far. Half a line might have half a secret.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	data := t.data
	if i := bytes.IndexByte(data, '\n'); t.cut && i >= 0 {
		data = data[i+1:]
	}
	return string(data)
}

// Write never fails, so that a talkative program is not held up.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = t.cut || len(p) > maxStderr
	t.data = append(t.data, p[max(len(p)-maxStderr, 0):]...)
	if len(t.data) > maxStderr {
		t.data = append(t.data[:0], t.data[len(t.data)-maxStderr:]...)
		t.cut = true
	}
	return len(p), nil
}
