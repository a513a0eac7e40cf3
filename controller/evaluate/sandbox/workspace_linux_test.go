package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWorkspace lets a program write its workspace, which outlives it, and nothing
// next to it.
func TestWorkspace(t *testing.T) {
	for name, box := range boxes(t) {
		t.Run(name, func(t *testing.T) {
			folder, err := box.NewWorkspace()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := folder.Remove(); err != nil {
					t.Error(err)
				}
			}()
			workspace := filepath.Join(folder.Path, "w")
			for _, made := range []string{"w", "other"} {
				if err := os.MkdirAll(filepath.Join(folder.Path, made), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(workspace, "file"), []byte("before\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			script := `cat file; echo after >file; mkdir made; echo new >"$AT/made/file"; (echo x >../other/file) 2>/dev/null || echo refused; (ls ..) 2>/dev/null || echo unseen`
			p := Program{Argv: []string{"sh", "-c", script}, Tree: t.TempDir(), Workspace: workspace, Dir: workspace, Env: []string{"AT=" + workspace}}
			for _, want := range []string{"before\nrefused\nunseen\n", "after\nrefused\nunseen\n"} {
				out, err := box.Run(t.Context(), p)
				if err != nil {
					t.Errorf("the program failed: %v", err)
				}
				if diff := cmp.Diff(want, string(out)); diff != "" {
					t.Errorf("what the program saw (-want +got):\n%s", diff)
				}
				p.Argv[2] = strings.Replace(script, "mkdir made", "mkdir -p made", 1)
			}
			if data, err := os.ReadFile(filepath.Join(workspace, "made", "file")); err != nil || string(data) != "new\n" {
				t.Errorf("what the program made is %q (%v)", data, err)
			}
		})
	}
}

// TestAWorkspaceIsApart refuses a workspace that holds the files of the repository.
func TestAWorkspaceIsApart(t *testing.T) {
	tree := t.TempDir()
	inner := filepath.Join(tree, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Program{{Tree: inner, Workspace: tree}, {Tree: tree, Workspace: tree}} {
		p.Argv = []string{"true"}
		if _, err := isolated(t).Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), "which no program writes") {
			t.Errorf("a workspace %s for files in %s: %v", p.Workspace, p.Tree, err)
		}
	}
}
