package filewatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
)

// fake is a source that a test drives.
type fake struct {
	root   string
	events chan fsnotify.Event
	errors chan error
	added  []string
	refuse error // what Add answers
	closed bool
}

func newFake(root string) *fake {
	return &fake{root: root, events: make(chan fsnotify.Event), errors: make(chan error)}
}

func (f *fake) Add(folder string) error {
	if f.refuse != nil {
		return f.refuse
	}
	rel, err := filepath.Rel(f.root, folder)
	f.added = append(f.added, filepath.ToSlash(rel))
	return err
}

func (f *fake) Events() <-chan fsnotify.Event { return f.events }
func (f *fake) Errors() <-chan error          { return f.errors }

func (f *fake) Close() error {
	f.closed = true
	return nil
}

func (f *fake) tell(op fsnotify.Op, names ...string) {
	for _, name := range names {
		f.events <- fsnotify.Event{Name: filepath.Join(f.root, name), Op: op}
	}
}

// write makes files below a folder.
func write(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSettling holds what one hint is made of, and when it comes.
func TestSettling(t *testing.T) {
	root := t.TempDir()
	write(t, root, "defs/a.json", "defs/b.json", "other/x")
	for _, tt := range []struct {
		name  string
		do    func(f *fake)
		held  func() bool
		want  Hint
		after time.Duration // from the first event
	}{
		{
			name: "one save",
			do: func(f *fake) {
				f.tell(fsnotify.Create, "defs/a.json")
				f.tell(fsnotify.Write, "defs/a.json", "defs/a.json")
			},
			want: Hint{Paths: []string{"defs/a.json"}}, after: 100 * time.Millisecond,
		},
		{
			name: "two saves close together",
			do: func(f *fake) {
				f.tell(fsnotify.Write, "defs/b.json")
				time.Sleep(90 * time.Millisecond)
				f.tell(fsnotify.Write, "defs/a.json")
			},
			want: Hint{Paths: []string{"defs/a.json", "defs/b.json"}}, after: 190 * time.Millisecond,
		},
		{
			name: "without end",
			do: func(f *fake) {
				for range 60 {
					f.tell(fsnotify.Write, "defs/a.json")
					time.Sleep(50 * time.Millisecond)
				}
			},
			want: Hint{Paths: []string{"defs/a.json"}}, after: 2 * time.Second,
		},
		{
			name: "nothing that is watched",
			do: func(f *fake) {
				f.tell(fsnotify.Write, "other/x", "defs/.hidden")
				f.tell(fsnotify.Chmod, "defs/a.json")
				time.Sleep(time.Second)
				f.tell(fsnotify.Remove, "defs/gone.json")
			},
			want: Hint{Paths: []string{"defs/gone.json"}}, after: 1100 * time.Millisecond,
		},
		{
			name: "events lost",
			do:   func(f *fake) { f.tell(fsnotify.Write, "defs/a.json"); f.errors <- fsnotify.ErrEventOverflow },
			want: Hint{All: true}, after: 100 * time.Millisecond,
		},
		{
			name: "the root goes",
			do:   func(f *fake) { f.tell(fsnotify.Remove, ".") },
			want: Hint{All: true}, after: 100 * time.Millisecond,
		},
		{name: "nothing for a minute", do: func(*fake) {}, want: Hint{All: true}, after: time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(root)
				w, err := Open(Config{
					Root: root, Paths: []string{"defs"}, Held: tt.held,
					Ignore: func(name string, _ bool) bool { return strings.HasPrefix(filepath.Base(name), ".") },
					Source: func() (Source, error) { return f, nil },
				})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					tt.do(f)
					<-ctx.Done()
				}()
				got, err := w.Next(ctx)
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Error(err, diff)
				}
				if after := time.Since(start); after != tt.after {
					t.Errorf("the hint came after %v, want %v", after, tt.after)
				}
				go func() { // what the test still tells
					for range f.events {
					}
				}()
				cancel()
				<-done
				close(f.events)
			})
		})
	}
}

// TestHeld holds that nothing is reported while git is in the middle of its work,
// however long that takes.
func TestHeld(t *testing.T) {
	root := t.TempDir()
	write(t, root, "defs/a.json")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(root)
		free := time.Now().Add(5 * time.Second)
		w, err := Open(Config{
			Root: root, Paths: []string{"defs"}, Source: func() (Source, error) { return f, nil },
			Held: func() bool { return time.Now().Before(free) },
		})
		if err != nil {
			t.Fatal(err)
		}
		go f.tell(fsnotify.Write, "defs/a.json")
		if _, err := w.Next(t.Context()); err != nil || time.Now().Before(free) {
			t.Errorf("a hint came %v before the end: %v", time.Until(free), err)
		}
	})
}

// TestGivenUp holds that the events of an abandoned wait are reported by the next.
func TestGivenUp(t *testing.T) {
	root := t.TempDir()
	write(t, root, "defs/a.json")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(root)
		w, err := Open(Config{Root: root, Paths: []string{"defs"}, Source: func() (Source, error) { return f, nil }})
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		go f.tell(fsnotify.Write, "defs/a.json")
		if _, err := w.Next(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		start := time.Now()
		got, err := w.Next(t.Context())
		if diff := cmp.Diff(Hint{Paths: []string{"defs/a.json"}}, got); diff != "" || err != nil || time.Since(start) != 100*time.Millisecond {
			t.Errorf("after %v: %v %s", time.Since(start), err, diff)
		}
	})
}

// TestPolling holds what happens where the system watches no more folders.
func TestPolling(t *testing.T) {
	root := t.TempDir()
	write(t, root, "defs/a.json")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(root)
		f.refuse = fmt.Errorf("add: %w", syscall.ENOSPC)
		w, err := Open(Config{Root: root, Paths: []string{"defs"}, Source: func() (Source, error) { return f, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(w.Notice(), "every 2s; raise fs.inotify.max_user_watches") || !f.closed {
			t.Errorf("notice %q, closed: %v", w.Notice(), f.closed)
		}
		start := time.Now()
		got, err := w.Next(t.Context())
		if err != nil || !got.All || time.Since(start) != 2*time.Second {
			t.Errorf("%+v after %v: %v", got, time.Since(start), err)
		}
	})
	if _, err := Open(Config{Root: filepath.Join(root, "gone")}); err == nil {
		t.Error("a folder that is not there is watched")
	}
}

// TestFolders holds which folders are watched as they come and go.
func TestFolders(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a/defs/x/one.json", "a/defs/.git/HEAD", "a/elsewhere/deep/none.json", "b/other/two.json", "gavel.yaml")
	if err := os.Symlink("..", filepath.Join(root, "a/defs/x/loop")); err != nil {
		t.Fatal(err)
	}
	f := newFake(root)
	w, err := Open(Config{
		Root: root, Paths: []string{"a/defs", "later/defs", "gavel.yaml"},
		// A rule that names all that is there does not keep the root from being watched.
		Ignore: func(name string, _ bool) bool { return filepath.Base(name) == ".git" || name == "." },
		Source: func() (Source, error) { return f, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".", "a", "a/defs", "a/defs/x"}, slices.Sorted(slices.Values(f.added))); diff != "" {
		t.Error(diff)
	}
	f.added = nil
	write(t, root, "later/defs/deep/three.json")
	if !w.see(fsnotify.Event{Name: filepath.Join(root, "later"), Op: fsnotify.Create}) {
		t.Error("the folder above a watched one is not noticed")
	}
	for _, want := range []string{"later", "later/defs", "later/defs/deep"} {
		if !slices.Contains(f.added, want) {
			t.Errorf("%s is not watched: %v", want, f.added)
		}
	}
	remove(t, root, "a/defs/x")
	w.see(fsnotify.Event{Name: filepath.Join(root, "a/defs/x"), Op: fsnotify.Remove})
	if w.watched["a/defs/x"] || !w.watched["a/defs"] {
		t.Errorf("watched are %v", w.watched)
	}
}

// TestRealChanges makes the changes that people and editors make, and waits
// for the hint that names them.
func TestRealChanges(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, root string)
		want string // a path that the hints have to name, or *
	}{
		{"written", func(t *testing.T, root string) { write(t, root, "defs/a.json") }, "defs/a.json"},
		{"saved by renaming", func(t *testing.T, root string) {
			write(t, root, "defs/a.json.tmp")
			rename(t, root, "defs/a.json.tmp", "defs/a.json")
		}, "defs/a.json"},
		{"saved with a backup", func(t *testing.T, root string) {
			rename(t, root, "defs/a.json", "defs/a.json~")
			write(t, root, "defs/a.json")
		}, "defs/a.json"},
		{"renamed", func(t *testing.T, root string) { rename(t, root, "defs/a.json", "defs/b.json") }, "defs/b.json"},
		{"removed", func(t *testing.T, root string) { remove(t, root, "defs/a.json") }, "defs/a.json"},
		{"a new folder", func(t *testing.T, root string) { write(t, root, "defs/new/deep/c.json") }, "defs/new"},
		{"the folder again", func(t *testing.T, root string) {
			remove(t, root, "defs")
			write(t, root, "defs/again.json")
		}, "defs"},
		{"a file of its own", func(t *testing.T, root string) { write(t, root, "gavel.yaml") }, "gavel.yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, "defs/a.json", "gavel.yaml")
			w, err := Open(Config{Root: root, Paths: []string{"defs", "gavel.yaml"}, Settle: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if w.Notice() != "" {
				t.Skip(w.Notice())
			}
			tt.do(t, root)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			for {
				hint, err := w.Next(ctx)
				if errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("no hint names %s", tt.want)
				}
				if hint.All || slices.Contains(hint.Paths, tt.want) {
					return
				}
			}
		})
	}
}

func rename(t *testing.T, root, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(root, from), filepath.Join(root, to)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, root, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}
