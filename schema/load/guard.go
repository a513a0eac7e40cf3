package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/program"
)

// bounds say how much of a repository is looked at.
type bounds struct {
	// entries are the files and folders of any name in the definitions folders.
	entries int
	cases   int64
	// bytes counts definitions and the files that they name. A file named by several
	// counts for each: each of their cases holds it.
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
	new atomic.Int64
	// newBytes counts new files, each time that one is read.
	newBytes atomic.Int64
	isNew    func(file string) bool
	maxNew   int64

	// all counts the amounts of all definitions, and fresh the amounts of definitions
	// that are new or read something new. Both are by quantity.
	all, fresh []atomic.Int64
}

// An excess ends a load: there is more than is looked at.
type excess struct {
	rule, message string
	// file is the definition at which there is too much; empty for no single one.
	file string
	hint string
}

// Error is the message.
func (e *excess) Error() string { return e.message }

// A fault ends a load: this process cannot read files as it should.
type fault struct{ err error }

// Error returns the cause, with the repair if it is known.
func (f *fault) Error() string {
	if errors.Is(f.err, syscall.EMFILE) || errors.Is(f.err, syscall.ENFILE) {
		return f.err.Error() + ": close programs, or raise the limit with ulimit -n"
	}
	return f.err.Error()
}

// Unwrap returns the cause.
func (f *fault) Unwrap() error { return f.err }

// watch ends the load at a fault, which also is a part of the repository that is lost.
func (g *guard) watch(err error) {
	if err != nil && schema.IsFault(err) {
		g.end(&fault{err})
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

// ReadLink returns the target of a link.
func (g *guard) ReadLink(name string) (string, error) { return fs.ReadLink(g.FS, name) }

// ReadDir lists a folder.
func (g *guard) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(g.FS, name)
	g.watch(err)
	return list, err
}

// A search lists the folders of the repository as another file system has them.
type search struct {
	*guard
	lists fs.FS
}

// ReadDir lists a folder.
func (s search) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(s.lists, name)
	s.watch(err)
	return list, err
}

// searched returns the file system for a search of the whole repository.
func (l *loader) searched() fs.FS {
	if l.opts.Search == nil {
		return l.fsys
	}
	return search{l.fsys, l.opts.Search}
}

// ReadFile reads a file.
func (g *guard) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(g.FS, name)
	g.watch(err)
	g.countBytes(name, len(data))
	return data, err
}

// ReadUpTo describes a file, and reads it if it is regular and has at most most bytes.
func (g *guard) ReadUpTo(name string, most int64) ([]byte, fs.FileInfo, error) {
	data, info, err := schema.ReadUpTo(g.FS, name, most)
	g.watch(err)
	g.countBytes(name, len(data))
	return data, info, err
}

// countBytes notes what was read of a file.
func (g *guard) countBytes(name string, n int) {
	if g.bounds(name) && g.newBytes.Add(int64(n)) > maxNewBytes*g.share(document.Reads) {
		g.end(&excess{"too-many-bytes", fmt.Sprintf("the definitions that are new or changed, and the files that they name, have more than %d MiB", maxNewBytes*g.share(document.Reads)>>20), name, g.split()})
	}
	if g.read.Add(int64(n)) > g.most.bytes {
		g.end(&excess{"too-many-bytes", fmt.Sprintf("the definitions and the files that they name have more than %d MiB", g.most.bytes>>20), "", splitRepository})
	}
}

// Hash returns git's hash of a file's content.
func (g *guard) Hash(name string) (string, error) {
	hash, err := program.Hash(g.FS, name)
	g.watch(err)
	return hash, err
}

// ListFiles lists the files of folders that git has or would take.
func (g *guard) ListFiles(folders []string, skip func(name string, isFolder bool) bool, most int) ([]string, error) {
	names, err := program.ListFiles(g.FS, folders, skip, most)
	g.watch(err)
	return names, err
}

// count notes the cases of a file.
func (g *guard) count(file string, n int) {
	if g.maxNew > 0 && g.isNew != nil && g.isNew(file) && g.new.Add(int64(n)) > g.maxNew {
		g.end(&excess{"too-many-cases", fmt.Sprintf("the definitions that are new or changed have more than %d cases", g.maxNew), file, g.split()})
	}
	if g.cases.Add(int64(n)) > g.most.cases {
		g.end(&excess{"too-many-cases", fmt.Sprintf("the definitions have more than %d cases", g.most.cases), file, splitRepository})
	}
}

// Repairs where there is too much.
const (
	splitRepository = "split the repository"
	splitChange     = "split the change"
	splitOrApprove  = "split the change, or have somebody with write access approve it"
)

// split returns the advice if too much is new.
func (g *guard) split() string {
	if g.maxNew > document.MaxRows {
		return splitChange
	}
	return splitOrApprove
}

// share returns the factor by which everything new together may exceed one definition's
// bound. It is 1 for assertions, however many cases are allowed: each is judged and
// reported.
func (g *guard) share(q document.Quantity) int64 {
	times := max(1, g.maxNew/document.MaxRows)
	if q == document.Assertions || q == document.Evaluators {
		return 1
	}
	return times
}

// maxNewBytes bounds the new bytes if new cases are bounded to the cases of one
// definition.
const maxNewBytes = 64 << 20

// together is the factor by which all definitions together may exceed one definition's
// bound.
const together = 25

// An account counts the amounts of one definition.
type account struct {
	*guard
	file string
	// isNew says that the definition is new or changed, and touched that this, or a file
	// that it reads, is.
	isNew, touched bool
	spent          []int64
}

// open opens the account of a definition.
func (g *guard) open(definition string) document.Account {
	isNew := g.bounds(definition)
	return &account{g, definition, isNew, isNew, make([]int64, len(g.all))}
}

// bounds reports whether a file is new, and new files are bounded.
func (g *guard) bounds(file string) bool { return g.maxNew > 0 && g.isNew != nil && g.isNew(file) }

// makesCases reports whether a quantity counts cases, or things that become cases.
func makesCases(q document.Quantity) bool {
	return q == document.Tests || q == document.Rows || q == document.Cases
}

// Read marks a definition that reads something new. A new file with tests makes its
// cases new.
func (a *account) Read(file, role string) {
	if a.touched && (a.isNew || role != "tests") || !a.bounds(file) {
		return
	}
	wasTouched := a.touched
	a.touched = true
	for q, n := range a.spent {
		switch q := document.Quantity(q); {
		case makesCases(q) && role == "tests", !makesCases(q) && !wasTouched:
			a.growFresh(q, n)
		}
	}
	a.isNew = a.isNew || role == "tests"
}

// Grow counts an amount before it is created.
func (a *account) Grow(q document.Quantity, n int) {
	a.spent[q] += int64(n)
	most, rule := together*q.Most(), "too-many-bytes"
	switch {
	case makesCases(q):
		most, rule = a.most.cases, "too-many-cases"
	case q == document.Problems: // each is listed
		most, rule = q.Most(), "too-many-problems"
	}
	if a.all[q].Add(int64(n)) > most {
		repair := splitRepository
		if q == document.Problems {
			repair = "correct what many definitions share"
		}
		a.end(&excess{rule, "the definitions have more than " + q.Words(most), a.file, repair})
	}
	if a.isNew || a.touched && !makesCases(q) {
		a.growFresh(q, int64(n))
	}
}

// growFresh counts new amounts, which together are bounded like one definition's.
func (a *account) growFresh(q document.Quantity, n int64) {
	most, rule := q.Most()*a.share(q), "too-many-bytes"
	if makesCases(q) {
		most, rule = a.maxNew, "too-many-cases"
	}
	if a.fresh[q].Add(n) > most {
		a.end(&excess{rule, "the definitions that are new or changed have more than " + q.Words(most), a.file, a.split()})
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
	res, err := load(inner, &guard{FS: fsys, most: most, end: end, isNew: opts.New, maxNew: opts.MaxNew, all: make([]atomic.Int64, len(document.Quantities())), fresh: make([]atomic.Int64, len(document.Quantities()))})
	cause := context.Cause(inner)
	var broken *fault
	var over *excess
	switch {
	case errors.As(cause, &broken):
		return nil, fmt.Errorf("load the definitions: %w", broken)
	case errors.As(cause, &over) && len(opts.Settings.Definitions) > 0:
		at := schema.Position{File: cmp.Or(over.file, opts.Settings.Definitions[0]), Line: 1, Column: 1}
		problem := schema.Problem{Position: at, Severity: schema.Error, Rule: over.rule, Message: over.message, Hint: over.hint}
		none := &loader{opts: opts, out: Result{Problems: []schema.Problem{problem}}}
		none.opts.Files = []string{} // nothing is known of the others
		return none.result(), nil
	}
	return res, err
}
