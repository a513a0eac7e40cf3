// Package watchmode plans and runs a working tree as its files are saved.
//
// Most callers want [Open], which follows the files, and then [New], which runs the
// cases affected by each change. Once the files are at rest, the plan always equals a
// fresh process's plan. Hints only say where to look; a file has changed if its bytes
// differ.
package watchmode

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/filewatch"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// A Workspace is an open repository with its ledger. Both may be in a folder that is
// deleted and recreated, and are then opened again.
type Workspace struct {
	Repo   *gitrepo.Repository
	Ledger *ledger.Ledger
	// Files are the folders of the workspace: if one of them vanishes or is replaced,
	// the workspace is opened again.
	Files []string
	// Own are Gavel's own files, relative to the root: folders with a trailing slash,
	// and prefixes of file names. They never count as changed.
	Own   []string
	Close func() error
}

// A Source opens the repository and reads its states.
type Source interface {
	// Open opens the workspace.
	Open(ctx context.Context) (Workspace, error)
	// Base returns the commit to compare with, or an empty string for no comparison.
	Base(ctx context.Context, w Workspace) (string, error)
	// At returns a commit as a state. If it has no valid configuration, the other one
	// applies.
	At(w Workspace, commit string, otherwise *config.Config) (controller.Checkout, error)
	// Snapshot returns a commit's definitions.
	Snapshot(ctx context.Context, w Workspace, at controller.Checkout) (*load.Snapshot, error)
	// ReadConfig reads the configuration of the working tree, or returns the defaults
	// if there is no file.
	ReadConfig(files *gitrepo.WorkTree) (*config.Config, []schema.Problem, error)
}

// A Config selects the followed files and the readers of its parts.
type Config struct {
	Source Source
	// Making, ConfigFile, LookupEnv and Now go into every plan.
	Making     controller.Making
	ConfigFile string
	LookupEnv  func(string) (string, bool)
	// Select selects the followed cases; nil selects all.
	Select func(*schema.CaseInfo) bool
	Now    func() time.Time

	// Watch has the watcher's delays; its root, paths and filters are set here. Its
	// zero value has the defaults.
	Watch filewatch.Config
}

// A View is a planned state of the working tree.
type View struct {
	// Prepared is the plan; nil if there is none.
	Prepared *controller.Prepared
	// Problems are mistakes in the definitions or, without a plan, in the
	// configuration.
	Problems []schema.Problem
	// Fault is the reason why the files could not be read at all, or nil.
	Fault error
	// Changed are the files that changed since the previous view, sorted; if base has
	// changed, all that differ from it.
	Changed []string
	// Differing counts the files that differ from base.
	Differing int
	// Base is the compared commit; empty for none.
	Base string
	// Notice is the reason for polling; empty if files are watched.
	Notice string
	// Took is the time from the hint to the plan.
	Took time.Duration

	files *gitrepo.WorkTree
}

// Close releases the view's files. Plans prepared from it must not be used afterwards.
func (l *View) Close() error {
	if l.files == nil {
		return nil
	}
	return l.files.Close()
}

// A Tree follows a working tree. Its methods are not safe for concurrent use.
type Tree struct {
	cfg        Config
	workspaces []Workspace // the last is in use; views may still need the others
	given      bool        // the last has a view
	lies       []os.FileInfo
	linked     bool // git's own files are elsewhere and not watched
	watcher    *filewatch.Watcher
	paths      []string
	ignored    func(name string, isFolder bool) bool

	// The state at the last look; nil before the first.
	commit   string
	config   *config.Config   // the last valid one
	problems []schema.Problem // in the configuration
	base     *controller.Checkout
	snapshot *load.Snapshot
	differ   map[string]string // path → hash, for files that differ from base
	extra    []string          // source files of planned cases
	touched  map[string]touch  // by ID, of the affected cases; nil before the first plan
	programs programs          // programs without inputs
	begun    bool
	failed   bool // the last look had a fault
	// rewatched means that the last look started to watch other files. Base and the
	// configuration were read before and may have changed unnoticed.
	rewatched bool

	mu   sync.Mutex
	pins []string // guarded by mu
}

// Pin gives the cases of definitions a row in every later plan, affected or not. It may
// be called while Next waits.
func (t *Tree) Pin(files []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pins = files
}

func (t *Tree) pinned() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pins
}

// Open starts following the files. The caller closes the Tree.
func Open(ctx context.Context, cfg Config) (*Tree, error) {
	t := &Tree{cfg: cfg, ignored: func(string, bool) bool { return false }}
	if err := t.open(ctx); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// open opens the workspace and watches it from scratch.
func (t *Tree) open(ctx context.Context) error {
	place, err := t.cfg.Source.Open(ctx)
	if err != nil {
		return err
	}
	if n := len(t.workspaces); n > 0 && !t.given {
		// Otherwise each attempt at an unreadable workspace would leave one open.
		_ = t.workspaces[n-1].Close() // it was not used
		t.workspaces = t.workspaces[:n-1]
	}
	t.workspaces, t.given, t.lies = append(t.workspaces, place), false, stat(place.Files)
	t.commit, t.base, t.snapshot, t.differ, t.extra, t.programs = "", nil, nil, nil, nil, programs{}
	info, err := os.Lstat(filepath.Join(place.Repo.Root(), ".git"))
	t.linked = err != nil || !info.IsDir()
	return t.watch()
}

func stat(files []string) []os.FileInfo {
	out := make([]os.FileInfo, len(files))
	for i, name := range files {
		out[i], _ = os.Stat(name) // nil counts as different, too
	}
	return out
}

// Close stops following. Open views must be closed before.
func (t *Tree) Close() error {
	var errs []error
	if t.watcher != nil {
		errs = append(errs, t.watcher.Close())
	}
	for _, p := range t.workspaces {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Workspace returns the workspace of the last view.
func (t *Tree) Workspace() Workspace { return t.workspaces[len(t.workspaces)-1] }

// Notice returns the reason for polling and a repair; empty if files are watched.
func (t *Tree) Notice() string { return t.watcher.Notice() }

// Next waits for a change that may affect the plan, and plans. The first call does not
// wait. Its only error is ctx's; other errors are in the View.
func (t *Tree) Next(ctx context.Context) (*View, error) {
	for {
		hint, err := t.hint(ctx)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		look, err := t.view(ctx, hint)
		if err != nil && ctx.Err() == nil {
			// A file vanished while it was read, or git repacked its objects: a second
			// try from scratch usually succeeds.
			if err = t.open(ctx); err == nil {
				look, err = t.view(ctx, hint)
			}
		}
		if ctx.Err() != nil {
			if look != nil {
				_ = look.Close() // not delivered
			}
			return nil, ctx.Err()
		}
		failed := t.failed
		t.begun, t.failed = true, err != nil
		if err != nil && !failed {
			look = &View{Fault: err}
		}
		if look != nil {
			t.given = t.given || look.Prepared != nil
			look.Took, look.Notice = time.Since(start), t.Notice()
			return look, nil
		}
	}
}

const (
	// faultWait is the wait before unreadable files are read again.
	faultWait = time.Second
	// headEvery is the interval of reading HEAD if it is not watched.
	headEvery = 2 * time.Second
)

// hint waits for the watcher: not at all the first time and after the watched files
// changed, and only briefly if the last look failed or HEAD may move unnoticed.
func (t *Tree) hint(ctx context.Context) (filewatch.Hint, error) {
	if !t.begun {
		return filewatch.Hint{All: true}, ctx.Err()
	}
	if t.rewatched {
		t.rewatched = false
		return filewatch.Hint{}, ctx.Err()
	}
	if !t.failed && !t.linked {
		return t.watcher.Next(ctx)
	}
	wait := faultWait
	if !t.failed {
		wait = headEvery
	}
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	hint, err := t.watcher.Next(short)
	switch {
	case ctx.Err() != nil:
		return filewatch.Hint{}, ctx.Err()
	case t.failed:
		return filewatch.Hint{All: true}, nil
	case err != nil:
		return filewatch.Hint{}, nil // base is looked up in every look
	}
	return hint, nil
}

// view compares and plans. It returns nil if nothing changed.
func (t *Tree) view(ctx context.Context, hint filewatch.Hint) (*View, error) {
	moved := !slices.EqualFunc(t.lies, stat(t.Workspace().Files), os.SameFile)
	if moved || t.failed {
		if err := t.open(ctx); err != nil {
			return nil, err
		}
	} else if hint.All && t.begun && t.watcher.Notice() == "" {
		// Folders may have come and gone in the lost events.
		if err := t.watch(); err != nil {
			return nil, err
		}
	}
	files, err := t.Workspace().Repo.WorkFS()
	if err != nil {
		return nil, err
	}
	s := &planner{Tree: t, files: files, all: hint.All, news: moved || t.failed || !t.begun}
	look, err := s.see(ctx, hint.Paths)
	if err != nil || look == nil || look.Prepared == nil {
		err = errors.Join(err, files.Close())
	}
	return look, err
}

// changes lists the paths that differ between two states of the working tree.
func changes(before, now map[string]string) []string {
	var names []string
	for name, hash := range now {
		if was, there := before[name]; !there || was != hash {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(before) {
		if _, there := now[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
