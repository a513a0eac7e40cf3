package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/gavel-evals/gavel/schema"
)

// bounds say how much of a repository is looked at.
type bounds struct {
	// entries are the files and folders of any name in the definitions folders.
	entries int
	cases   int64
	// bytes are those of definitions and of the files that they name. A file that
	// several name counts for each: their cases hold it each.
	bytes int64
}

var defaultBounds = bounds{entries: 1_000_000, cases: 500_000, bytes: 1 << 30}

// A guard is the file system of one load. It ends the load where there is too
// much, and where a file cannot be read for a reason that is not the file's.
type guard struct {
	fs.FS
	most        bounds
	end         context.CancelCauseFunc
	read, cases atomic.Int64
	// new counts the cases of files that are new; isNew may be nil, maxNew 0.
	new    atomic.Int64
	isNew  func(file string) bool
	maxNew int64
}

// An excess ends a load: there is more than is looked at.
type excess struct{ rule, message string }

// Error is the message.
func (e *excess) Error() string { return e.message }

// A fault ends a load: this process cannot read files as it should.
type fault struct{ err error }

// Error is the cause's, with what helps where that is known.
func (f *fault) Error() string {
	if errors.Is(f.err, syscall.EMFILE) || errors.Is(f.err, syscall.ENFILE) {
		return f.err.Error() + ": close programs, or raise the limit with ulimit -n"
	}
	return f.err.Error()
}

// Unwrap returns the cause.
func (f *fault) Unwrap() error { return f.err }

// faults are not about the file that they are met at.
var faults = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO}

// watch ends the load at a fault, which also is a part of the repository that is lost.
func (g *guard) watch(err error) {
	if err == nil {
		return
	}
	if lost, ok := errors.AsType[interface {
		error
		Lost() bool
	}](err); ok && lost.Lost() {
		g.end(&fault{err})
	}
	for _, kind := range faults {
		if errors.Is(err, kind) {
			g.end(&fault{err})
		}
	}
}

// Open opens a file or folder.
func (g *guard) Open(name string) (fs.File, error) {
	f, err := g.FS.Open(name)
	g.watch(err)
	return f, err
}

// Stat describes a file or folder.
func (g *guard) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(g.FS, name)
	g.watch(err)
	return info, err
}

// Lstat describes a file, folder or link itself.
func (g *guard) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(g.FS, name)
	g.watch(err)
	return info, err
}

// ReadLink returns where a link leads.
func (g *guard) ReadLink(name string) (string, error) { return fs.ReadLink(g.FS, name) }

// ReadDir lists a folder.
func (g *guard) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(g.FS, name)
	g.watch(err)
	return list, err
}

// ReadFile reads a file.
func (g *guard) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(g.FS, name)
	g.watch(err)
	if g.read.Add(int64(len(data))) > g.most.bytes {
		g.end(&excess{"too-many-bytes", fmt.Sprintf("the definitions and the files that they name have more than %d MiB", g.most.bytes>>20)})
	}
	return data, err
}

// count notes the cases of a file.
func (g *guard) count(file string, n int) {
	if g.maxNew > 0 && g.isNew != nil && g.isNew(file) && g.new.Add(int64(n)) > g.maxNew {
		g.end(&excess{"too-many-cases", fmt.Sprintf("the definitions that are new or changed have more than %d cases", g.maxNew)})
	}
	if g.cases.Add(int64(n)) > g.most.cases {
		g.end(&excess{"too-many-cases", fmt.Sprintf("the definitions have more than %d cases", g.most.cases)})
	}
}

// guarded runs a load until it ends by itself or there is a reason to end it.
func guarded(ctx context.Context, fsys fs.FS, opts Options, load func(context.Context, *guard) (*Result, error)) (*Result, error) {
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	most := defaultBounds
	if opts.most != nil {
		most = *opts.most
	}
	res, err := load(inner, &guard{FS: fsys, most: most, end: end, isNew: opts.New, maxNew: opts.MaxNew})
	cause := context.Cause(inner)
	var broken *fault
	var over *excess
	switch {
	case errors.As(cause, &broken):
		return nil, fmt.Errorf("load the definitions: %w", broken)
	case errors.As(cause, &over) && len(opts.Settings.Definitions) > 0:
		at := schema.Position{File: opts.Settings.Definitions[0], Line: 1, Column: 1}
		problem := schema.Problem{Position: at, Severity: schema.Error, Rule: over.rule, Message: over.message, Hint: "split the repository"}
		none := &loader{opts: opts, out: Result{Problems: []schema.Problem{problem}}}
		none.opts.Files = []string{} // nothing is known of the others
		return none.result(), nil
	}
	return res, err
}
