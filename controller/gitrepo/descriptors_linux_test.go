package gitrepo

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestLooseObjectsLeaveNoFileOpen reads objects that have a file each, by every
// way that asks for a size.
func TestLooseObjectsLeaveNoFileOpen(t *testing.T) {
	// A file that nobody closes is closed by the garbage collector, some time.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	b := newBuilder(t)
	const files = 300
	for i := range files {
		b.file(fmt.Sprint(i), fmt.Sprintf("content %d", i))
	}
	r := b.open()
	commits := make([]string, files)
	for i := range commits {
		commits[i] = b.commit(b.tree(b.file("a", fmt.Sprintf("content %d", i))))
	}
	before := openFiles(t)
	for i, commit := range commits {
		fsys, err := r.FS(commit)
		if err != nil {
			t.Fatal(err)
		}
		info, err := fsys.Stat("a")
		if err != nil || info.Size() == 0 {
			t.Fatalf("Stat = %v, %v", info, err)
		}
		if got, err := fsys.ReadFile("a"); err != nil || string(got) != fmt.Sprintf("content %d", i) {
			t.Fatalf("ReadFile = %q, %v", got, err)
		}
	}
	if now := openFiles(t); now > before+5 {
		t.Errorf("%d files are open after %d objects were read, and %d were before", now, files, before)
	}
}
