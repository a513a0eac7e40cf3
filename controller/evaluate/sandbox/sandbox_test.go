package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	if ServeChild() || serveAttack() {
		return
	}
	os.Exit(m.Run())
}

// isolated opens a sandbox that keeps programs from everything. Where that is
// not to be had the test is skipped, but not where everything is checked.
func isolated(t *testing.T) *Box {
	t.Helper()
	box, err := Open(t.Context(), Policy{Scratch: t.TempDir()})
	var unavailable *Unavailable
	if errors.As(err, &unavailable) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// shell runs a script in a tree of its own.
func shell(ctx context.Context, t *testing.T, box *Box, script string, limits Limits) (string, error) {
	t.Helper()
	out, err := box.Run(ctx, Program{Argv: []string{"sh", "-c", script}, Tree: t.TempDir(), Limits: limits})
	return string(out), err
}

func TestRun(t *testing.T) {
	t.Setenv("GAVEL_TEST_SECRET", "must not be seen")
	box := isolated(t)
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "data"), []byte("42"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := `read line; echo "$line $(cat data) $GAVEL_TEST_SECRET$NAMED"; echo x > "$HOME/f" && cat "$TMPDIR/f"; echo $PATH`
	out, err := box.Run(t.Context(), Program{
		Argv: []string{"sh", "-c", script}, Tree: tree, Stdin: []byte("hello\n"), Env: []string{"NAMED=n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("hello 42 n\nx\n"+minimalPath+"\n", string(out)); diff != "" {
		t.Error(diff)
	}
	left, err := os.ReadDir(box.policy.Scratch)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v in the scratch folder (%v)", left, err)
	}
}

func TestFailures(t *testing.T) {
	box := isolated(t)
	for _, tt := range []struct{ name, script, want string }{
		{"exit", `echo broken >&2; exit 3`, "sh: exit status 3: broken"},
		{"silent exit", `exit 4`, "sh: exit status 4: nothing on stderr"},
		{"signal", `kill -9 $$`, "sh: signal: killed: nothing on stderr"},
		{"other signal", `kill -TERM $$; sleep 60`, "sh: signal: terminated"},
		{"much on stderr", `i=0; while [ $i -lt 3000 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1`, "line 2999"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := shell(t.Context(), t, box, tt.script, Limits{})
			var failure *Failure
			if !errors.As(err, &failure) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}
