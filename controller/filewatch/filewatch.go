// Package filewatch reports which files in some folders may have changed, once the
// changes have settled.
//
// Most callers want [Open] and then [Watcher.Next]. It returns hints: the receiver
// compares contents, since an editor writes a file three times to save it once, and
// events get lost. After lost events, and periodically, a hint covers everything.
//
// [Reads] tell at once whether anything that was read has changed, where the system can.
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

// A Config selects the watched files and the delays.
type Config struct {
	// Root is the folder of the repository, absolute.
	Root string
	// Paths are the folders and files to watch, relative to Root and slash-separated. A
	// missing one is noticed when it appears.
	Paths []string
	// Ignore reports whether to ignore a path; nil ignores nothing.
	Ignore func(name string, isFolder bool) bool
	// Held reports whether a program such as git is currently changing many files; nil
	// means never.
	Held func() bool
	// Settle is the quiet time before a hint. Defaults to 100 ms.
	Settle time.Duration
	// Most bounds the delay of a hint. Defaults to 2 s.
	Most time.Duration
	// Rescan is the time without events after which a hint covers everything. Defaults
	// to a minute.
	Rescan time.Duration
	// Poll replaces Rescan where files cannot be watched. Defaults to 2 s.
	Poll time.Duration

	// Source opens a source of changes. Defaults to the notifier of the operating
	// system.
	Source func() (Source, error)
}

// A Hint names paths that may have changed.
type Hint struct {
	// Paths are files, and folders with everything below, relative to the root, sorted.
	Paths []string
	// All means that anything may have changed.
	All bool
}

// A Source reports changes in folders, not recursively. An error of Add makes the
// Watcher poll; an error from Errors means that changes may have been missed.
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
		return nil, err // not a non-nil Source with a nil watcher
	}
	return notifier{w}, nil
}

// A Watcher watches until it is closed. Its methods are not safe for concurrent use.
type Watcher struct {
	cfg     Config
	source  Source // nil when polling
	notice  string
	watched map[string]bool // folders, relative
	pending map[string]bool
	all     bool
}

// Open starts watching. If the system cannot watch, the Watcher polls, and
// [Watcher.Notice] gives the reason.
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

// Notice returns the reason for polling and a repair; empty if files are watched.
func (w *Watcher) Notice() string { return w.notice }

// Close stops watching.
func (w *Watcher) Close() error {
	if w.source == nil {
		return nil
	}
	return w.source.Close()
}

// poll stops watching and polls instead.
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
		_ = w.source.Close() // it was useless
	}
	w.source = nil
}

// addAll watches every folder, and the root so that missing folders are noticed when
// they appear.
func (w *Watcher) addAll() {
	w.watched = map[string]bool{}
	w.add(".", false)
	for _, name := range w.cfg.Paths {
		// A file is watched through its folder, since atomic saves replace the file.
		for dir := parent(name); dir != "."; dir = parent(dir) {
			w.add(dir, false)
		}
		w.add(name, true)
	}
}

func parent(name string) string { return filepath.ToSlash(filepath.Dir(filepath.FromSlash(name))) }

// add watches a folder, recursively if deep. A link is not followed.
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
	// Read after the watch was set, so that nothing is missed in between.
	entries, err := os.ReadDir(full)
	if err != nil {
		return // removed again, which is another event
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

// Next waits for the next hint. Its only error is ctx's.
func (w *Watcher) Next(ctx context.Context) (Hint, error) {
	if w.source == nil {
		return w.tick(ctx, w.cfg.Poll)
	}
	rescan := time.NewTimer(w.cfg.Rescan)
	defer rescan.Stop()
	quiet := time.NewTimer(w.cfg.Settle)
	defer quiet.Stop()
	var first time.Time // time of the oldest pending change
	if len(w.pending) > 0 || w.all {
		first = time.Now() // left over from a cancelled wait
	} else {
		quiet.Stop()
	}
	for {
		if w.source == nil { // watching has ended meanwhile
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
			// Events were lost, or a folder could not be read: either way a comparison
			// finds the changes.
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

// tick returns a hint for everything after a while.
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

// see records an event and reports whether it concerns a watched path.
func (w *Watcher) see(e fsnotify.Event) bool {
	rel, err := filepath.Rel(w.cfg.Root, e.Name)
	if err != nil || e.Op == fsnotify.Chmod {
		return false
	}
	name := filepath.ToSlash(rel)
	if name == "." || strings.HasPrefix(name, "../") {
		// The root itself appeared or vanished.
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
		// A parent of a watched path matters for its contents.
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

// forget drops the watches of a removed folder, which the system has dropped.
func (w *Watcher) forget(name string) {
	for dir := range w.watched {
		if dir == name || strings.HasPrefix(dir, name+"/") {
			delete(w.watched, dir)
		}
	}
}

// concerns reports whether a path is watched, below a watched one, or a parent of one.
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
