//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	piece  = 4 << 20
	pieces = 5 // together more than fillBound
	// fillBound and fillFiles bound the workspaces of TestAbuseWorkspacesAreBoundedWhileWritten.
	fillBound = 16 << 20
	fillFiles = 500
)

// waysToFill are ways to write more into a workspace than it may have.
var waysToFill = []struct{ name, want string }{
	{"files", "more than 16 MiB"},
	{"deep", "more than 16 MiB"},
	{"too deep", "more than 100 folders inside of each other"},
	{"sparse", "its files have more than 16 MiB, holes included"},
	{"many", "more than 500 files and folders"},
	{"deleted", "more than 16 MiB in its workspace, with what it deleted and has open"},
	{"deleted by a child", "more than 16 MiB in its workspace, with what it deleted and has open"},
	{"deleted and deep", "more than 16 MiB in its workspace, with what it deleted and has open"},
	{"closed", "more than 16 MiB"},
}

// fill writes more into the folder it is in than it may, says so, and goes on forever.
func fill(way string) {
	var errs []error
	descend := func(levels int) {
		name := strings.Repeat("d", 200)
		for range levels {
			errs = append(errs, os.Mkdir(name, 0o755), os.Chdir(name))
		}
	}
	put := func(name string) *os.File {
		f, err := os.Create(name)
		if err == nil {
			_, err = f.Write(make([]byte, piece))
		}
		errs = append(errs, err)
		return f
	}
	var open []*os.File
	switch way {
	case "deep", "deleted and deep":
		descend(30)
	case "too deep":
		descend(200)
	case "closed":
		errs = append(errs, os.Mkdir("closed", 0o700), os.Chdir("closed"))
	}
	for i := range pieces {
		name := fmt.Sprint(i)
		switch {
		case strings.HasPrefix(way, "deleted"):
			open = append(open, put(name))
			errs = append(errs, os.Remove(name))
		case way == "sparse":
			errs = append(errs, os.WriteFile(name, nil, 0o644), os.Truncate(name, piece))
		case way == "many":
			for j := range fillFiles / pieces {
				errs = append(errs, os.WriteFile(name+"-"+fmt.Sprint(j), nil, 0o644))
			}
			errs = append(errs, os.WriteFile(name, nil, 0o644))
		case way != "too deep":
			errs = append(errs, put(name).Close())
		}
	}
	if way == "closed" {
		errs = append(errs, os.Chmod(".", 0o300))
	}
	if way == "deleted by a child" { // which alone has the files
		child := exec.Command("sleep", "600")
		child.ExtraFiles = open
		errs = append(errs, child.Start())
		for _, f := range open {
			errs = append(errs, f.Close())
		}
	}
	fmt.Fprintln(os.Stderr, "written", errors.Join(errs...))
	time.Sleep(10 * time.Minute)
	fmt.Println(len(open)) // which stay open until then
}

// TestAbuseWorkspacesAreBoundedWhileWritten: a program that writes more into its workspace than
// it may have is ended while it goes on, however it hides what it wrote (abuse 41).
func TestAbuseWorkspacesAreBoundedWhileWritten(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, box := range boxes(t) {
		for _, tt := range waysToFill {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				box := *box
				box.policy.Read = []string{self}
				folder, err := box.NewWorkspace()
				if err != nil {
					t.Fatal(err)
				}
				workspace := filepath.Join(folder.Path, "w")
				if err := os.Mkdir(workspace, 0o755); err != nil {
					t.Fatal(err)
				}
				_, err = box.Run(t.Context(), Program{
					Argv: []string{self, attackArg, "fill"}, Tree: t.TempDir(), Workspace: workspace, Dir: workspace, Stdin: []byte("{}"),
					Env: []string{"FILL=" + tt.name},
					// Built with -race, a program reserves memory that it does not use.
					Limits: Limits{Time: 20 * time.Second, Memory: 1 << 50, Workspace: fillBound, WorkspaceFiles: fillFiles},
				})
				failure, ended := errors.AsType[*Failure](err)
				if !ended || failure.TimedOut || !strings.Contains(failure.Cause, tt.want) {
					t.Errorf("error %v, want that it is ended for %s", err, tt.want)
				}
				if ended && failure.Stderr != "" && !strings.HasPrefix(failure.Stderr, "written <nil>") {
					t.Errorf("the program says %s", failure.Stderr)
				}
				if err := folder.Remove(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestScratchWithoutNamespaces bounds what a program deletes and has open where its scratch
// folder is on the disk.
func TestScratchWithoutNamespaces(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	box := *boxes(t)["without namespaces"]
	box.policy.Read = []string{self}
	script := `cd "$TMPDIR" && exec "$0" ` + attackArg + ` fill`
	_, err = box.Run(t.Context(), Program{
		Argv: []string{"sh", "-c", script, self}, Tree: t.TempDir(), Stdin: []byte("{}"), Env: []string{"FILL=deleted"},
		Limits: Limits{Time: 20 * time.Second, Memory: 1 << 50, Disk: fillBound},
	})
	if failure, ended := errors.AsType[*Failure](err); !ended || failure.TimedOut || !strings.Contains(failure.Cause, "more than 16 MiB into its scratch folder") {
		t.Errorf("error %v, want that it is ended for what it wrote", err)
	}
}

// TestAWorkspaceOfManyFiles is looked through at once where its disk is filled, and not as often
// where nothing happens.
func TestAWorkspaceOfManyFiles(t *testing.T) {
	r := &runningProgram{scratch: t.TempDir()}
	r.Workspace, r.Limits = t.TempDir(), Limits{Workspace: 8 << 20}.orDefault()
	looked := 0
	w := watcher{runningProgram: r, load: func() (int64, int) { return 0, 0 }, held: func() int64 { looked++; return 0 }}
	w.first = -1
	if err := w.look(t.Context()); err != nil || looked != 1 {
		t.Fatalf("at first: %v, looked %d times", err, looked)
	}
	w.due = time.Now().Add(time.Hour)
	w.last = w.room() - 4<<20
	if err := w.look(t.Context()); err != nil || looked != 1 {
		t.Errorf("where nothing happened: %v, looked %d times", err, looked)
	}
	w.last = w.room() + 1<<40
	if err := w.look(t.Context()); err != nil || looked != 2 {
		t.Errorf("where the disk is filled: %v, looked %d times", err, looked)
	}
	w.first = 1 << 62
	w.Limits.Workspace = 1 << 61
	if err := w.look(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk of its workspace has") {
		t.Errorf("where the disk is nearly full: %v", err)
	}
}

// TestAFullDisk is one that is filled and nearly full.
func TestAFullDisk(t *testing.T) {
	const gib = 1 << 30
	var got []bool
	for _, tt := range [][2]int64{{100 * gib, 99 * gib}, {100 * gib, 2 * gib}, {100 * gib, gib - 1}, {gib, 1}, {-1, 0}, {100 * gib, -1}} {
		got = append(got, fills(tt[0], tt[1], gib))
	}
	if want := []bool{false, false, true, false, false, false}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
