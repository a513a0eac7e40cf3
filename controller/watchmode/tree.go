// Package watchmode plans and runs a working tree as its files are saved.
//
// Most callers want [Open], which follows the files, and then [New], which
// runs what each change affects. One thing always holds: once the files are at
// rest, the plan is the one that a fresh process makes of them. Hints only say
// where to look; what changed is what has other bytes.
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

// A Workspace is an opened repository with its ledger. Both may lie in a folder
// that is deleted and made again, and are opened again then.
type Workspace struct {
	Repo   *gitrepo.Repository
	Ledger *ledger.Ledger
	// Files are the folders of the workspace: if one of them is gone or is
	// another one, the workspace is opened again.
	Files []string
	// Own is what Gavel itself writes, relative to the root: folders with a
	// slash at their end, and what the names of files begin with. It never
	// counts as changed.
	Own   []string
	Close func() error
}

// A Config says what is followed and how its parts are read.
type Config struct {
	// Open opens the place.
	Open func(ctx context.Context) (Workspace, error)
	// Base returns the commit to compare with now, or nothing to compare with
	// nothing.
	Base func(ctx context.Context, p Workspace) (string, error)
	// At returns a commit as a state, with the other configuration where it has
	// none that can be used.
	At func(p Workspace, commit string, otherwise *config.Config) (controller.Checkout, error)
	// Snapshot returns what a commit has for definitions.
	Snapshot func(ctx context.Context, p Workspace, at controller.Checkout) (*load.Snapshot, error)
	// ReadConfig reads the configuration of a state; found is false where there
	// is none and the defaults apply.
	ReadConfig func(p Workspace, files *gitrepo.WorkTree) (cfg *config.Config, problems []schema.Problem, err error)
	// ConfigFile, LookupEnv and Now go into every plan.
	ConfigFile string
	LookupEnv  func(string) (string, bool)
	// Select keeps the cases that are followed; nil keeps all.
	Select func(*schema.CaseInfo) bool
	Now    func() time.Time

	// Watch says how patiently to watch; its root, paths and filters are set
	// here. Its zero value has the defaults.
	Watch filewatch.Config
}

// A View is the working tree at one moment, planned.
type View struct {
	// Prepared is the plan; nil where none can be made.
	Prepared *controller.Prepared
	// Problems are what is wrong with the definitions or, where there is no
	// plan, with the configuration.
	Problems []schema.Problem
	// Fault says why the files could not be read at all; nil when they were.
	Fault error
	// Changed are the files that changed since the view before, sorted; all
	// that differ from base where base is another one than before.
	Changed []string
	// Differing counts the files that differ from base.
	Differing int
	// Base is the commit that was compared with; empty for none.
	Base string
	// Notice says why files are polled; empty where they are watched.
	Notice string
	// Took is the time from the hint to the plan.
	Took time.Duration

	files *gitrepo.WorkTree
}

// Close releases the files of the view. Plans that were prepared from it must
// not be used afterwards.
func (l *View) Close() error {
	if l.files == nil {
		return nil
	}
	return l.files.Close()
}

// A Tree follows a working tree. Its methods are for one goroutine.
type Tree struct {
	cfg        Config
	workspaces []Workspace // the last is in use; views may still need the others
	given      bool        // a view was made of the last
	lies       []os.FileInfo
	linked     bool // git's own files are elsewhere, where they are not watched
	watcher    *filewatch.Watcher
	paths      []string
	ignored    func(name string, isFolder bool) bool

	// The state at the last look; nil where it was not read yet.
	commit   string
	config   *config.Config   // the last that had no errors
	problems []schema.Problem // of the configuration
	base     *controller.Checkout
	snapshot *load.Snapshot
	differ   map[string]string // path → hash, for what differs from base
	extra    []string          // files that planned cases were built from
	touched  map[string]touch  // by ID, of the affected cases; nil before the first plan
	programs programs          // those without inputs
	begun    bool
	failed   bool // the last look had a fault
	// rewatched says that the last look began to watch other files. Base and the
	// configuration were read before and may have changed unseen.
	rewatched bool

	mu   sync.Mutex
	pins []string // guarded by mu
}

// Pin names definitions whose cases get a row in every plan from now on,
// affected or not. It may be called while Next waits.
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

// Open begins to follow the files. The caller closes the Tree.
func Open(ctx context.Context, cfg Config) (*Tree, error) {
	t := &Tree{cfg: cfg, ignored: func(string, bool) bool { return false }}
	if err := t.open(ctx); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// open opens the place and watches it from nothing.
func (t *Tree) open(ctx context.Context) error {
	place, err := t.cfg.Open(ctx)
	if err != nil {
		return err
	}
	if n := len(t.workspaces); n > 0 && !t.given {
		// Otherwise each attempt at something that cannot be read would leave
		// one open.
		_ = t.workspaces[n-1].Close() // nothing was done with it
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
		out[i], _ = os.Stat(name) // nil is another one than before, too
	}
	return out
}

// Close ends the following. Looks that are still open must be closed before.
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

// Workspace is what the last look was made of.
func (t *Tree) Workspace() Workspace { return t.workspaces[len(t.workspaces)-1] }

// Notice returns why files are polled and what would let them be watched; empty
// where they are watched.
func (t *Tree) Notice() string { return t.watcher.Notice() }

// Next waits until something changed that may bear on the plan, and plans. The
// first call does not wait. Its error is ctx's; what goes wrong otherwise is in
// the View.
func (t *Tree) Next(ctx context.Context) (*View, error) {
	for {
		hint, err := t.hint(ctx)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		look, err := t.view(ctx, hint)
		if err != nil && ctx.Err() == nil {
			// A file went while it was read, or git packed its objects again:
			// from nothing it mostly succeeds.
			if err = t.open(ctx); err == nil {
				look, err = t.view(ctx, hint)
			}
		}
		if ctx.Err() != nil {
			if look != nil {
				_ = look.Close() // nobody gets it
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
	// faultWait is after how long files that could not be read are read again.
	faultWait = time.Second
	// headEvery is how often it is looked at what HEAD is where that is not
	// watched.
	headEvery = 2 * time.Second
)

// hint waits for the watcher: not at all the first time and after other files
// were watched, and not for long where the last look failed or HEAD may move
// unseen.
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
		return filewatch.Hint{}, nil // base is looked up with every look
	}
	return hint, nil
}

// view compares and plans. It gives nil where nothing changed.
func (t *Tree) view(ctx context.Context, hint filewatch.Hint) (*View, error) {
	moved := !slices.EqualFunc(t.lies, stat(t.Workspace().Files), os.SameFile)
	if moved || t.failed {
		if err := t.open(ctx); err != nil {
			return nil, err
		}
	} else if hint.All && t.begun && t.watcher.Notice() == "" {
		// The lost events may have been folders that came and went.
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

// changes names what two states of the working tree differ in.
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
