// Package filewatch reports that files below some folders may have changed, and
// which, once the changes have settled.
//
// Most callers want [Open] and then [Watcher.Next]. It returns hints: the
// receiver compares contents, since an editor writes a file three times to save
// it once, and events are lost. A hint for everything comes when they were, and
// from time to time.
package filewatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A Config says what to watch and how patiently.
type Config struct {
	// Root is the folder of the repository, absolute.
	Root string
	// Paths are the folders and files to watch, relative to Root and
	// slash-separated. One that is not there is noticed when it appears.
	Paths []string
	// Ignore says what is not looked at; nil ignores nothing.
	Ignore func(name string, isFolder bool) bool
	// Held reports whether somebody, such as git, is in the middle of changing
	// many files; nil means never.
	Held func() bool
	// Settle is how long nothing must happen before a hint is given. Defaults
	// to 100 ms.
	Settle time.Duration
	// Most is how long a hint is held back at most. Defaults to 2 s.
	Most time.Duration
	// Rescan is after how long a hint for everything is given when nothing
	// happens. Defaults to a minute.
	Rescan time.Duration
	// Poll is after how long one is given where files cannot be watched.
	// Defaults to 2 s.
	Poll time.Duration

	// Source opens a source of changes. Defaults to the notifier of the operating
	// system.
	Source func() (Source, error)
}

// A Hint says what may have changed.
type Hint struct {
	// Paths are files, and folders with all that is below them, relative to the
	// root, sorted.
	Paths []string
	// All means that anything may have changed.
	All bool
}

// A Source reports changes in folders, which it does not watch recursively. An
// error of Add makes the Watcher poll; one from Errors means that changes may
// have been missed.
type Source interface {
	Add(folder string) error
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

// notifier is the source of the operating system.
type notifier struct{ *fsnotify.Watcher }

func (n notifier) Events() <-chan fsnotify.Event { return n.Watcher.Events }
func (n notifier) Errors() <-chan error          { return n.Watcher.Errors }

func openNotifier() (Source, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err // and not a notifier without a watcher
	}
	return notifier{w}, nil
}

// A Watcher watches until it is closed. Its methods are for one goroutine.
type Watcher struct {
	cfg     Config
	source  Source // nil where polling
	notice  string
	watched map[string]bool // folders, relative
	pending map[string]bool
	all     bool
}

// Open begins to watch. If the system cannot, the Watcher polls, and
// [Watcher.Notice] says why.
func Open(cfg Config) (*Watcher, error) {
	for _, d := range []struct {
		into      *time.Duration
		otherwise time.Duration
	}{{&cfg.Settle, 100 * time.Millisecond}, {&cfg.Most, 2 * time.Second}, {&cfg.Rescan, time.Minute}, {&cfg.Poll, 2 * time.Second}} {
		if *d.into == 0 {
			*d.into = d.otherwise
		}
	}
	if cfg.Source == nil {
		cfg.Source = openNotifier
	}
	if info, err := os.Stat(cfg.Root); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("watch %s: not a folder", cfg.Root)
	}
	w := &Watcher{cfg: cfg, watched: map[string]bool{}, pending: map[string]bool{}}
	source, err := cfg.Source()
	if err != nil {
		w.poll(err)
		return w, nil
	}
	w.source = source
	w.addAll()
	return w, nil
}

// Notice returns why files are polled and what would let them be watched; empty
// where they are watched.
func (w *Watcher) Notice() string { return w.notice }

// Close ends the watching.
func (w *Watcher) Close() error {
	if w.source == nil {
		return nil
	}
	return w.source.Close()
}

// poll gives up on watching.
func (w *Watcher) poll(cause error) {
	advice := ""
	switch {
	case errors.Is(cause, syscall.ENOSPC):
		advice = "; raise fs.inotify.max_user_watches to have them watched"
	case errors.Is(cause, syscall.EMFILE), errors.Is(cause, syscall.ENFILE):
		advice = "; raise fs.inotify.max_user_instances, or the limit of open files, to have them watched"
	}
	w.notice = fmt.Sprintf("files cannot be watched (%v) and are looked at every %v%s", cause, w.cfg.Poll, advice)
	if w.source != nil {
		_ = w.source.Close() // it was of no use
	}
	w.source = nil
}

// addAll watches every folder, and the root so that those that are not there
// are seen when they appear.
func (w *Watcher) addAll() {
	w.watched = map[string]bool{}
	w.add(".", false)
	for _, name := range w.cfg.Paths {
		// A file is seen through its folder, which atomic saves replace it in.
		for dir := parent(name); dir != "."; dir = parent(dir) {
			w.add(dir, false)
		}
		w.add(name, true)
	}
}

func parent(name string) string { return filepath.ToSlash(filepath.Dir(filepath.FromSlash(name))) }

// add watches a folder, with all below it if deep. A link is not followed.
func (w *Watcher) add(name string, deep bool) {
	if w.source == nil {
		return
	}
	full := filepath.Join(w.cfg.Root, filepath.FromSlash(name))
	info, err := os.Lstat(full)
	if err != nil || !info.IsDir() || w.ignores(name, true) {
		return
	}
	if !w.watched[name] {
		if err := w.source.Add(full); err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				w.poll(err)
			}
			return
		}
		w.watched[name] = true
	}
	if !deep {
		return
	}
	// Read after the watch was set, so that nothing appears in between.
	entries, err := os.ReadDir(full)
	if err != nil {
		return // gone again, which is an event of its own
	}
	for _, e := range entries {
		if e.IsDir() {
			w.add(join(name, e.Name()), true)
		}
	}
}

func join(dir, base string) string {
	if dir == "." {
		return base
	}
	return dir + "/" + base
}

func (w *Watcher) ignores(name string, isFolder bool) bool {
	return name != "." && w.cfg.Ignore != nil && w.cfg.Ignore(name, isFolder)
}

// Next waits for the next hint. Its error is ctx's.
func (w *Watcher) Next(ctx context.Context) (Hint, error) {
	if w.source == nil {
		return w.tick(ctx, w.cfg.Poll)
	}
	rescan := time.NewTimer(w.cfg.Rescan)
	defer rescan.Stop()
	quiet := time.NewTimer(w.cfg.Settle)
	defer quiet.Stop()
	var first time.Time // when the oldest pending change was seen
	if len(w.pending) > 0 || w.all {
		first = time.Now() // a wait that was given up left something
	} else {
		quiet.Stop()
	}
	for {
		if w.source == nil { // watching ended in the middle
			return Hint{All: true}, nil
		}
		select {
		case <-ctx.Done():
			return Hint{}, ctx.Err()
		case e, ok := <-w.source.Events():
			if !ok {
				w.poll(errors.New("the system's watcher ended"))
				continue
			}
			if !w.see(e) {
				continue
			}
		case _, ok := <-w.source.Errors():
			if !ok {
				w.poll(errors.New("the system's watcher ended"))
				continue
			}
			// Events were lost, or a folder could not be read: whichever it
			// is, what happened is found out by looking.
			w.all = true
		case <-rescan.C:
			w.all = true
			w.addAll()
			return w.drain(), nil
		case <-quiet.C:
			if w.cfg.Held != nil && w.cfg.Held() && time.Since(first) < w.cfg.Rescan {
				quiet.Reset(w.cfg.Settle)
				continue
			}
			return w.drain(), nil
		}
		if first.IsZero() {
			first = time.Now()
		}
		quiet.Reset(min(w.cfg.Settle, max(0, w.cfg.Most-time.Since(first))))
	}
}

// tick gives a hint for everything after a while.
func (w *Watcher) tick(ctx context.Context, after time.Duration) (Hint, error) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Hint{}, ctx.Err()
	case <-timer.C:
		return Hint{All: true}, nil
	}
}

// see notes an event and reports whether it is about something watched.
func (w *Watcher) see(e fsnotify.Event) bool {
	rel, err := filepath.Rel(w.cfg.Root, e.Name)
	if err != nil || e.Op == fsnotify.Chmod {
		return false
	}
	name := filepath.ToSlash(rel)
	if name == "." || strings.HasPrefix(name, "../") {
		// The root itself came or went.
		w.all = true
		return true
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.forget(name)
	}
	info, err := os.Lstat(e.Name)
	isFolder := err == nil && info.IsDir()
	if w.ignores(name, isFolder) || !w.concerns(name) {
		return false
	}
	if isFolder {
		w.add(name, w.inside(name))
		// A folder on the way to a watched one matters for what it holds.
		for _, p := range w.cfg.Paths {
			if strings.HasPrefix(p, name+"/") {
				w.addAll()
				break
			}
		}
	}
	w.pending[name] = true
	return true
}

// forget drops the watches of a folder that went, which the system dropped.
func (w *Watcher) forget(name string) {
	for dir := range w.watched {
		if dir == name || strings.HasPrefix(dir, name+"/") {
			delete(w.watched, dir)
		}
	}
}

// concerns reports whether a path is watched, below one that is, or on the way
// to one.
func (w *Watcher) concerns(name string) bool {
	return w.inside(name) || slices.ContainsFunc(w.cfg.Paths, func(p string) bool { return strings.HasPrefix(p, name+"/") })
}

func (w *Watcher) inside(name string) bool {
	return slices.ContainsFunc(w.cfg.Paths, func(p string) bool {
		return p == "." || p == name || strings.HasPrefix(name, p+"/")
	})
}

// drain moves all pending changes into a hint.
func (w *Watcher) drain() Hint {
	h := Hint{All: w.all}
	if !h.All {
		for name := range w.pending {
			h.Paths = append(h.Paths, name)
		}
		slices.Sort(h.Paths)
	}
	w.all = false
	clear(w.pending)
	return h
}
