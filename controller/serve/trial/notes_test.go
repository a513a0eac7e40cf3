package trial

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string, now time.Time) *Notes {
	t.Helper()
	n, err := OpenNotes(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *Notes) want(t *testing.T, h Head, suspected bool, ended int) {
	t.Helper()
	got, count, _ := n.Suspected(h)
	if got != suspected || count != ended {
		t.Errorf("%s is suspected: %v, after %d children; want %v after %d", h.SHA, got, count, suspected, ended)
	}
}

// TestNotes: the next process suspects what this one was looking at, and nothing
// that it was done with.
func TestNotes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "looking")
	done, twice, died := Head{1, 1, "done"}, Head{1, 2, "twice"}, Head{-7, 0, "died"}
	n := open(t, dir, noon)
	ends := map[Head]func() error{}
	for _, h := range []Head{done, twice, died} {
		end, err := n.Begin(h)
		if err != nil {
			t.Fatal(err)
		}
		ends[h] = end
	}
	again, err := n.Begin(twice)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []func() error{ends[done], again, again} { // the last one is no other
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range []Head{done, twice, died} {
		n.want(t, h, false, 0)
	}
	next := open(t, dir, noon)
	next.want(t, done, false, 0)
	next.want(t, twice, true, 0)
	next.want(t, died, true, 0)
	if err := next.Clear(twice); err != nil {
		t.Fatal(err)
	}
	next.want(t, twice, false, 0)
	open(t, dir, noon).want(t, twice, false, 0)
}

// TestNotesOfChildren are kept until they are forgiven, or for a long time.
func TestNotesOfChildren(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "looking")
	h := Head{1, 1, "dies"}
	n := open(t, dir, noon)
	for range 2 {
		if err := n.Count(h, noon); err != nil {
			t.Fatal(err)
		}
	}
	n.want(t, h, true, 2)
	n = open(t, dir, noon)
	n.want(t, h, true, 2)
	if _, _, at := n.Suspected(h); !at.Equal(noon) {
		t.Errorf("it ended at %v", at)
	}
	if err := n.Forgive(h); err != nil {
		t.Fatal(err)
	}
	n.want(t, h, true, 0)
	open(t, dir, noon).want(t, h, true, 0)
	open(t, dir, time.Now().Add(forgotten+time.Hour)).want(t, h, false, 0)
}

// TestNotesThatSayNothing are left by a full disk, and hold up nothing.
func TestNotesThatSayNothing(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"1-1-a.json": "", "1-1-b.json": "{", "1-1-c.json": "{}", "1-1-d.json.new": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := open(t, dir, noon); len(n.suspects) > 0 {
		t.Errorf("suspected %v", n.suspects)
	}
}
