package filewatch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reading is a folder with some files, and what was read of it.
type reading struct {
	*testing.T
	root string
	now  time.Time
	*Reads
}

func newReading(t *testing.T) *reading {
	r := &reading{T: t, root: t.TempDir(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	write(t, r.root, "config.yaml", "defs/a.json", "defs/deep/down/b.json", "texts/hello.txt", "texts/other.txt", "git/index", "git/log")
	r.Reads = NewReads(r.root, []string{filepath.Join(r.root, "git", "index")}, func() time.Time { return r.now })
	t.Cleanup(r.Close)
	return r
}

// look notes looks at some files, a missing one, and the lists of all folders with
// definitions.
func (r *reading) look() {
	for _, name := range []string{"config.yaml", "defs/a.json", "defs/deep/down/b.json", "texts/hello.txt", "missing/folder/c.txt"} {
		r.Note(name, false)
	}
	for _, folder := range []string{"defs", "defs/deep", "defs/deep/down"} {
		r.Note(folder, true)
	}
}

// known returns the version, which has to be known.
func (r *reading) known() uint64 {
	r.Helper()
	version, ok := r.Version()
	if !ok {
		r.Fatal("the version is not known")
	}
	return version
}

// shell runs a command in the folder, in a process of its own.
func (r *reading) shell(command string) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "sh", "-ec", command)
	cmd.Dir = r.root
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// TestReads has another process change something: that begins a version at once if it was
// looked at, and otherwise does not.
func TestReads(t *testing.T) {
	for _, tt := range []struct {
		command string
		changes bool
	}{
		{"echo x >> defs/a.json", true},
		{"echo x > defs/deep/down/b.json", true},
		{"echo x > draft; mv draft config.yaml", true},
		{"echo x > texts/hello.txt", true},
		{"rm texts/hello.txt", true},
		{"chmod 600 texts/hello.txt", true},
		{"ln -sf other.txt texts/hello.txt", true},
		{"echo x > git/index", true},
		{"echo x > defs/deep/new.json", true},
		{"mkdir defs/deep/down/new", true},
		{"rm defs/deep/down/b.json", true},
		{"mv defs/deep defs/moved", true},
		{"mv defs moved", true},
		{"mv defs moved; mkdir defs", true},
		{"rm -r defs", true},
		{"rm -r defs; mkdir -p defs/deep/down; echo x > defs/a.json", true},
		{"mkdir missing", true},
		{"mkdir -p missing/folder; echo x > missing/folder/c.txt", true},
		{"rm -r texts; ln -s defs texts", true},
		{"cat defs/a.json texts/hello.txt", false},
		{"echo x > log.txt", false},
		{"echo x > texts/other.txt", false},
		{"echo x > texts/new.txt", false},
		{"echo x > git/log", false},
		{"mkdir -p node_modules/a; echo x > node_modules/a/index.js", false},
	} {
		t.Run(tt.command, func(t *testing.T) {
			r := newReading(t)
			before := r.known()
			r.look()
			if again := r.known(); again != before {
				t.Fatalf("the version is %d after the look and %d before it", again, before)
			}
			r.shell(tt.command)
			if after := r.known(); (after != before) != tt.changes {
				t.Errorf("the version is %d after the command and %d before it, want a change: %v", after, before, tt.changes)
			}
			// The next changes are known, too.
			before = r.known()
			r.look()
			r.shell("mkdir -p defs/deep missing/folder; echo y > defs/deep/late.json; echo y > missing/folder/c.txt")
			if after := r.known(); after == before {
				t.Errorf("the version is still %d after another change", after)
			}
		})
	}
}

// TestReadsThroughLinks: a file that always counts as read, in a folder that is a link, above
// or below the root, or a link itself, changes at its real place.
func TestReadsThroughLinks(t *testing.T) {
	elsewhere := t.TempDir()
	write(t, elsewhere, "git/index", "homes/mine/config", "real/file")
	r := newReading(t)
	r.shell("rm -r git; ln -s " + elsewhere + "/git git")
	for to, link := range map[string]string{"homes": "mounted", "real/file": "homes/mine/linked"} {
		if err := os.Symlink(filepath.Join(elsewhere, to), filepath.Join(elsewhere, link)); err != nil {
			t.Fatal(err)
		}
	}
	also := []string{filepath.Join(r.root, "git", "index"), filepath.Join(elsewhere, "mounted/mine/config"), filepath.Join(elsewhere, "mounted/mine/linked")}
	r.Reads = NewReads(r.root, also, func() time.Time { return r.now })
	t.Cleanup(r.Close)
	before := r.known()
	for _, command := range []string{"echo x > git/index", "echo x > " + elsewhere + "/homes/mine/config", "echo x > " + elsewhere + "/real/file", "rm git"} {
		r.shell(command)
		after := r.known()
		if after == before {
			t.Errorf("%s: the version is still %d", command, after)
		}
		before = after
	}
}

// TestReadsOfTheFolderItself begins a version when another folder takes the place of the
// root.
func TestReadsOfTheFolderItself(t *testing.T) {
	r := newReading(t)
	before := r.known()
	r.look()
	old, above := r.root+".old", filepath.Dir(r.root)
	if err := errors.Join(os.Rename(r.root, old), os.CopyFS(r.root, os.DirFS(old))); err != nil {
		t.Fatal(err, above)
	}
	if after := r.known(); after == before {
		t.Error("another folder has the same version")
	}
	if err := os.RemoveAll(r.root); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Version(); ok {
		t.Error("the version of a missing folder is known")
	}
}

// TestReadsAreNeverBehind changes a file in one process and asks in another, a thousand
// times, while other files change all the time.
func TestReadsAreNeverBehind(t *testing.T) {
	r := newReading(t)
	r.known()
	r.look()
	busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do echo x > texts/other.txt; echo x > git/log; done")
	busy.Dir = r.root
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = busy.Process.Kill(), busy.Wait() }()
	file := filepath.Join(r.root, "defs", "deep", "down", "b.json")
	before := r.known()
	for i := range 1000 {
		if err := os.WriteFile(file, []byte(fmt.Sprint(i)), 0o600); err != nil {
			t.Fatal(err)
		}
		after := r.known()
		if after == before {
			t.Fatalf("change %d has the version of the one before it", i)
		}
		r.look()
		if before = r.known(); before != after {
			t.Fatalf("the version is %d and becomes %d without a change", after, before)
		}
	}
}

// TestReadsAfterLostChanges begins a version after more changes of other files than the
// kernel keeps.
func TestReadsAfterLostChanges(t *testing.T) {
	r := newReading(t)
	before := r.known()
	r.look()
	for i := range 40_000 { // the kernel keeps 16,384 by default
		if err := os.Chmod(filepath.Join(r.root, []string{"texts/other.txt", "git/log"}[i%2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.shell("echo x > defs/a.json")
	if after := r.known(); after == before {
		t.Error("the version is the one before the lost changes")
	}
	before = r.known()
	r.look()
	r.shell("echo y > defs/a.json")
	if after := r.known(); after == before {
		t.Error("changes are not known after lost ones")
	}
}

// TestReadsAgeAndEnd begins a version each minute, and when a caller asks for it. A version
// is not known after the end.
func TestReadsAgeAndEnd(t *testing.T) {
	r := newReading(t)
	first := r.known()
	r.now = r.now.Add(trusted - time.Second)
	if r.known() != first {
		t.Error("the version changes within a minute without a change")
	}
	r.now = r.now.Add(time.Second)
	second := r.known()
	r.Forget()
	if third := r.known(); second == first || third == second {
		t.Errorf("the versions are %d, %d after a minute and %d after Forget", first, second, third)
	}
	open := func() int {
		list, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		return len(slices.DeleteFunc(list, func(file string) bool {
			to, _ := os.Readlink(file)
			return !strings.Contains(to, "inotify")
		}))
	}
	was := open()
	r.Close()
	if _, ok := r.Version(); ok || open() != was-1 {
		t.Errorf("after the end the version is known: %v, and %d queues are open, want %d", ok, open(), was-1)
	}
	r.Note("config.yaml", false)
}

// failing is a queue that watches a bounded number of folders.
type failing struct {
	queue
	left int
}

func (f *failing) add(folder string) (int, error) {
	if f.left--; f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return f.queue.add(folder)
}

// TestReadsThatCannotBeWatched knows no version where the system cannot watch all folders,
// and tries again after a minute.
func TestReadsThatCannotBeWatched(t *testing.T) {
	r := newReading(t)
	left, refused := 3, error(nil)
	r.open = func() (queue, error) {
		q, err := openQueue()
		if refused != nil {
			return nil, errors.Join(refused, q.close())
		}
		return &failing{q, left}, err
	}
	r.known()
	r.look()
	if _, ok := r.Version(); ok {
		t.Error("the version is known, although three folders are all that can be watched")
	}
	left = 1000
	r.now = r.now.Add(trusted)
	r.known()
	r.look()
	r.known()
	refused = syscall.EMFILE
	r.now = r.now.Add(trusted)
	if _, ok := r.Version(); ok {
		t.Error("the version is known without a queue")
	}
	r.look()
	refused = nil
	r.known()
}

// TestReadsOfAForeignFileSystem refuses a folder whose changes the kernel may not report.
func TestReadsOfAForeignFileSystem(t *testing.T) {
	q, err := openQueue()
	if err != nil {
		t.Fatal(err)
	}
	defer q.close() //nolint:errcheck // nothing was written
	if _, err := q.add("/proc/self"); err == nil {
		t.Error("a folder of the kernel is watched")
	}
}

// BenchmarkReads is what a view without a change asks, after looks at 10,000 files.
func BenchmarkReads(b *testing.B) {
	r := NewReads(b.TempDir(), nil, time.Now)
	defer r.Close()
	r.Version()
	for i := range 10_000 {
		r.Note(fmt.Sprintf("defs/d%d/t%d.json", i%100, i), false)
	}
	for b.Loop() {
		r.Version()
	}
}
