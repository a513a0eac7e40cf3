package workspaces_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/workspaces"
	"github.com/gavel-evals/gavel/schema"
)

func TestMain(m *testing.M) {
	if sandbox.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// place is a checkout with a template, and the sandbox of the machine.
func place(t *testing.T) workspaces.Checkout {
	t.Helper()
	box, err := sandbox.Open(t.Context(), sandbox.Policy{Accept: sandbox.Partial, Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	write(t, filepath.Join(tree, "shop", "shop.txt"), "closed\n")
	write(t, filepath.Join(tree, "shop", "old.txt"), "old\n")
	write(t, filepath.Join(tree, "hook.sh"), "cat >hook.json; echo \"$1\" >prepared\n")
	return workspaces.Checkout{Box: box, Tree: tree}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func known(name, text string) schema.WorkspaceFile {
	sum := sha256.Sum256([]byte(text))
	return schema.WorkspaceFile{Path: name, Hash: hex.EncodeToString(sum[:])}
}

// shop is a workspace with two files and a hook.
func shop() *schema.Workspace {
	return &schema.Workspace{
		Template: "shop", Files: []schema.WorkspaceFile{known("old.txt", "old\n"), known("shop.txt", "closed\n")},
		Before: []schema.WorkspaceHook{{
			Event: "before_all", Argv: []string{"sh", "hook.sh", schema.WorkspacePlaceholder}, Dir: ".", InWorkspace: true, Timeout: time.Minute,
		}},
		Test: "open", Metadata: json.RawMessage(`{"size":3}`),
	}
}

// agent runs a script in a workspace, as an agent does.
func agent(t *testing.T, at workspaces.Checkout, dir, script string) string {
	t.Helper()
	out, err := at.Box.Run(t.Context(), sandbox.Program{Argv: []string{"sh", "-c", script}, Tree: at.Tree, Workspace: dir, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func open(t *testing.T, s *workspaces.Session, at workspaces.Checkout) string {
	t.Helper()
	dir, err := s.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if notes := s.Close(context.WithoutCancel(t.Context())); len(notes) > 0 {
			t.Errorf("closing says %q, want nothing", notes)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	})
	return dir
}

const change = `echo open >shop.txt; rm old.txt; mkdir -p made; echo new >made/a; printf '\377' >made/b; chmod 755 made/a; ln -s /etc/passwd link; mkdir .git; echo x >.git/config`

// TestSession makes a workspace, and finds what an agent changed in it: neither links nor
// what git keeps.
func TestSession(t *testing.T) {
	at := place(t)
	input := []schema.Message{{Role: schema.RoleUser, Content: "Open."}}
	s := workspaces.New(shop(), input)
	dir := open(t, s, at)
	if again, err := s.Open(t.Context(), at); err != nil || again != dir {
		t.Errorf("opened again it is %s (%v), want %s", again, err, dir)
	}
	told := agent(t, at, dir, "cat hook.json")
	if want := `"test_id":"open","case_input":[{"role":"user","content":"Open."}],"case_metadata":{"size":3}}`; !strings.HasSuffix(told, want) {
		t.Errorf("the hook reads %s, want it to end in %s", told, want)
	}
	if prepared := agent(t, at, dir, "cat prepared"); prepared != dir+"\n" {
		t.Errorf("the hook gets the path %q, want %q", prepared, dir)
	}
	if got, err := s.Changes(t.Context()); err != nil || len(got.Files) > 0 || got.Diff != "" {
		t.Errorf("before the agent: changes %+v (%v), want none", got, err)
	}
	agent(t, at, dir, change)
	got, err := s.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.ChangedFile{
		{Path: "made/a", Text: "new\n", Executable: true}, {Path: "made/b", Data: []byte{0xff}},
		{Path: "old.txt", Deleted: true}, {Path: "shop.txt", Text: "open\n"},
	}
	if diff := cmp.Diff(want, got.Files); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for _, part := range []string{
		"diff --git a/shop.txt b/shop.txt\n", "--- a/shop.txt\n+++ b/shop.txt\n@@ -1 +1 @@\n-closed\n+open\n",
		"new file mode 100755", "deleted file mode 100644", "Binary files /dev/null and b/made/b differ",
	} {
		if !strings.Contains(got.Diff, part) {
			t.Errorf("the diff lacks %q:\n%s", part, got.Diff)
		}
	}
}

// TestKeptChanges are made again, so that what judges finds the folder as it was left.
func TestKeptChanges(t *testing.T) {
	at := place(t)
	first := workspaces.New(shop(), nil)
	agent(t, at, open(t, first, at), change)
	left, err := first.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second := workspaces.New(shop(), nil)
	second.Keep(left)
	dir := open(t, second, at)
	if out := agent(t, at, dir, "cat shop.txt made/a prepared; ls; test -x made/a"); out != "open\nnew\n"+dir+"\nhook.json\nmade\nprepared\nshop.txt\n" {
		t.Errorf("the workspace was made again with %q", out)
	}
	agent(t, at, dir, "echo more >>shop.txt")
	got, err := second.Changes(t.Context())
	if err != nil || len(got.Files) != 4 || got.Files[3].Text != "open\nmore\n" {
		t.Errorf("changes %+v (%v), want those of both turns", got, err)
	}
}

// TestDiscard has the next opening begin with the template.
func TestDiscard(t *testing.T) {
	at := place(t)
	s := workspaces.New(shop(), nil)
	agent(t, at, open(t, s, at), change)
	if err := s.Discard(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Changes(t.Context()); got != nil || err != nil {
		t.Errorf("changes of no workspace: %v (%v)", got, err)
	}
	if out := agent(t, at, open(t, s, at), "cat shop.txt"); out != "closed\n" {
		t.Errorf("after it was discarded: %q, want %q", out, "closed\n")
	}
}

// TestLinksLeadNowhere: an agent that puts a link in the place of a folder gains
// nothing from files that are written there later.
func TestLinksLeadNowhere(t *testing.T) {
	at := place(t)
	outside := t.TempDir()
	w := shop()
	w.Before = append(w.Before, schema.WorkspaceHook{Event: "before_each", Argv: []string{"sh", "-c", "ln -s " + outside + " made"}, Dir: ".", InWorkspace: true, Timeout: time.Minute})
	s := workspaces.New(w, nil)
	s.Keep(&schema.WorkspaceChanges{Files: []schema.ChangedFile{{Path: "made/a", Text: "stolen"}}})
	if _, err := s.Open(t.Context(), at); err == nil {
		t.Error("a file was written through a link that leads out of the workspace")
	}
	if found, err := os.ReadDir(outside); err != nil || len(found) > 0 {
		t.Errorf("outside of the workspace is %v (%v), want nothing", found, err)
	}
}

// TestFailures of hooks and of templates that change while they are used.
func TestFailures(t *testing.T) {
	at := place(t)
	for _, tt := range []struct {
		name, want string
		change     func(w *schema.Workspace)
	}{
		{"a hook that fails", "the hook before_all: sh: exit status 3: no shop today", func(w *schema.Workspace) {
			w.Before[0].Argv = []string{"sh", "-c", "echo no shop today >&2; exit 3"}
		}},
		{"a hook without end", "timeout_ms of the hook bounds it", func(w *schema.Workspace) {
			w.Before[0].Argv, w.Before[0].Timeout = []string{"sleep", "60"}, 50*time.Millisecond
		}},
		{"a template that changed", "shop/shop.txt was changed during the run", func(w *schema.Workspace) {
			w.Files[1] = known("shop.txt", "other")
		}},
		{"a template that is gone", "no such file", func(w *schema.Workspace) { w.Template = "gone" }},
	} {
		w := shop()
		tt.change(w)
		_, err := workspaces.New(w, nil).Open(t.Context(), at)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestHooksAfter run when the sample is over, and what goes wrong with them is noted.
func TestHooksAfter(t *testing.T) {
	at := place(t)
	hook := func(event, script string) schema.WorkspaceHook {
		return schema.WorkspaceHook{Event: event, Argv: []string{"sh", "-c", script}, Dir: ".", InWorkspace: true, Timeout: time.Minute}
	}
	s := workspaces.New(&schema.Workspace{After: []schema.WorkspaceHook{hook("after_each", "echo bye >said"), hook("after_all", "cat said >&2; exit 4")}}, nil)
	dir, err := s.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if notes := s.Close(t.Context()); len(notes) != 1 || notes[0] != "the hook after_all: sh: exit status 4: bye" {
		t.Errorf("closing says %q, want that after_all failed", notes)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is still there", dir)
	}
}

// TestBounds refuses to keep more than fits in a verdict's store.
func TestBounds(t *testing.T) {
	at := place(t)
	for _, tt := range []struct{ script, want string }{
		{`i=0; while [ $i -lt 2001 ]; do : >f$i; i=$((i+1)); done`, "changed 2001 files"},
		{`head -c 9000000 /dev/zero >big`, "changed more than 8 MiB"},
	} {
		s := workspaces.New(&schema.Workspace{}, nil)
		agent(t, at, open(t, s, at), tt.script)
		if _, err := s.Changes(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.script, err, tt.want)
		}
	}
}

// TestAbuseWhatAnAgentLeaves: folders without end, files that are all hole and countless
// names are refused before anything is read, in little memory, and removed. (abuse 41)
func TestAbuseWhatAnAgentLeaves(t *testing.T) {
	at := place(t)
	deep := "mkdir -p " + strings.TrimSuffix(strings.Repeat("a/", 150), "/")
	for _, tt := range []struct{ name, script, want string }{
		{"deep", deep, "more than 100 folders inside of each other"},
		{"deep, with a file above", "echo x >0; " + deep, "more than 100 folders inside of each other"},
		{"sparse", `i=0; while [ $i -lt 200 ]; do truncate -s 63M s$i; i=$((i+1)); done`, "more than 1 GiB, holes included"},
		{"many", `i=0; while [ $i -lt 50001 ]; do : >f$i; i=$((i+1)); done`, "more than 50000 files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := workspaces.New(&schema.Workspace{}, nil)
			dir := open(t, s, at)
			_, err := at.Box.Run(t.Context(), sandbox.Program{Argv: []string{"sh", "-c", tt.script}, Tree: at.Tree, Workspace: dir, Dir: dir})
			if err == nil {
				_, err = s.Changes(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestHashingEnds with its context.
func TestHashingEnds(t *testing.T) {
	at := place(t)
	s := workspaces.New(&schema.Workspace{}, nil)
	agent(t, at, open(t, s, at), `for i in 1 2 3 4 5 6 7 8 9; do truncate -s 63M s$i; done`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if changes, err := s.Changes(ctx); changes != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v, %v", changes, err)
	}
}

// TestNoWorkspace does nothing.
func TestNoWorkspace(t *testing.T) {
	s := workspaces.New(nil, nil)
	s.Keep(&schema.WorkspaceChanges{})
	changes, err := s.Changes(t.Context())
	if s.Digest() != "" || changes != nil || err != nil || s.Discard() != nil || s.Close(t.Context()) != nil {
		t.Errorf("no workspace has the digest %q and the changes %v (%v)", s.Digest(), changes, err)
	}
}

// TestFromFolder gives the files of the folder their full path, and leaves everything else.
func TestFromFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "agent.py"), "")
	write(t, filepath.Join(dir, "bin", "agent"), "")
	for _, tt := range []struct{ argv, want string }{
		{"python3 agent.py -v agent.py", "python3 DIR/agent.py -v DIR/agent.py"},
		{"./bin/agent gone.py bin", "DIR/bin/agent gone.py bin"},
		{"agent.py x", "agent.py x"}, // looked for on the path
		{"/bin/sh -c agent.py", "/bin/sh -c DIR/agent.py"},
	} {
		got := strings.Join(workspaces.FromFolder(strings.Fields(tt.argv), dir), " ")
		if want := strings.ReplaceAll(tt.want, "DIR", dir); got != want {
			t.Errorf("%s becomes %s, want %s", tt.argv, got, want)
		}
	}
}

// TestSkill: the skill is where agents look for skills, and its files are none of what the
// agent changed.
func TestSkill(t *testing.T) {
	at := place(t)
	write(t, filepath.Join(at.Tree, "skills", "pdf", "SKILL.md"), "Read.\n")
	write(t, filepath.Join(at.Tree, "skills", "pdf", "evals", "evals.json"), "answers\n")
	s := workspaces.New(&schema.Workspace{
		Skill:  &schema.WorkspaceSkill{Name: "pdf-reader", Dir: "skills/pdf", Files: []schema.WorkspaceFile{known("SKILL.md", "Read.\n")}},
		Staged: []schema.StagedFile{{WorkspaceFile: known("in.txt", "old\n"), From: "shop/old.txt"}},
	}, nil)
	dir := open(t, s, at)
	got := strings.Fields(agent(t, at, dir, "find . -type f | sort; echo new >out.txt"))
	want := []string{"./.agents/skills/pdf-reader/SKILL.md", "./.claude/skills/pdf-reader/SKILL.md", "./in.txt"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the workspace (-want +got):\n%s", diff)
	}
	changes, err := s.Changes(t.Context())
	if err != nil || len(changes.Files) != 1 || changes.Files[0].Path != "out.txt" {
		t.Errorf("changes %+v, %v", changes, err)
	}
}
