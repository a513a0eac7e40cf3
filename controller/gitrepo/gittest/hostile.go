package gittest

import (
	"fmt"
	"io"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// Backend serves the repository in a folder by git itself until the test ends, and
// returns its clone address. It serves repositories that are too large for memory.
func Backend(tb testing.TB, dir string) string {
	tb.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		tb.Fatal(err)
	}
	Run(tb, dir, "config", "http.uploadpack", "true")
	Run(tb, dir, "config", "http.receivepack", "true")
	srv := httptest.NewServer(&cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Dir: dir, Root: "/octo/demo.git", Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"},
	})
	tb.Cleanup(srv.Close)
	return srv.URL + "/octo/demo.git"
}

// Zeros stores a blob of n zeros, compressed to a thousandth, and returns its hash.
func Zeros(tb testing.TB, dir string, n int64) string {
	tb.Helper()
	return Blob(tb, dir, io.LimitReader(zeros{}, n))
}

type zeros struct{}

// Read returns zeros.
func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Blob stores a reader's content and returns its hash.
func Blob(tb testing.TB, dir string, in io.Reader) string {
	tb.Helper()
	return feed(tb, dir, in, "hash-object", "-w", "--stdin")
}

// A Bomb is a tree with a number of levels, where all names of a level lead to the same
// tree below. The names of the lowest level are files with an extension, and all are
// the same blob.
type Bomb struct {
	Levels, Names   int
	Extension, Blob string
}

// Store stores the trees and returns the topmost hash.
func (b Bomb) Store(tb testing.TB, dir string) string {
	tb.Helper()
	kind, below := "100644 blob", b.Blob
	for level := range b.Levels {
		var list strings.Builder
		for i := range b.Names {
			name := fmt.Sprint(i)
			if level == 0 {
				name += b.Extension
			}
			fmt.Fprintf(&list, "%s %s\t%s\n", kind, below, name)
		}
		kind, below = "040000 tree", feed(tb, dir, strings.NewReader(list.String()), "mktree")
	}
	return below
}

// Graft commits a copy of another commit with one entry replaced. The entry is written
// as git lists it: "040000 tree", a hash, a tab and a path. Nothing is checked out, so
// the tree may be endless.
func Graft(tb testing.TB, dir, parent, entry string) string {
	tb.Helper()
	object, path, _ := strings.Cut(entry, "\t")
	g := grafting{tb, dir, object}
	tree := g.graft(Run(tb, dir, "rev-parse", parent+"^{tree}"), strings.Split(path, "/"))
	return Run(tb, dir, "commit-tree", "-m", "graft", "-p", parent, tree)
}

// A grafting puts an object into trees.
type grafting struct {
	testing.TB
	dir, object string
}

// graft returns a copy of a tree with the entry at a path replaced.
func (g grafting) graft(tree string, path []string) string {
	var list strings.Builder
	object, below := g.object, ""
	for line := range strings.Lines(Run(g, g.dir, "ls-tree", tree) + "\n") {
		info, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		switch {
		case !ok:
		case name == path[0]:
			below = strings.Fields(info)[2]
		default:
			fmt.Fprintln(&list, strings.TrimSpace(line))
		}
	}
	if len(path) > 1 {
		if below == "" {
			below = feed(g, g.dir, strings.NewReader(""), "mktree")
		}
		object = "040000 tree " + g.graft(below, path[1:])
	}
	fmt.Fprintf(&list, "%s\t%s\n", object, path[0])
	return feed(g, g.dir, strings.NewReader(list.String()), "mktree")
}
