package serverstate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/serverstate"
)

var (
	noon  = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	kinds = serverstate.Kinds{PullRequest: "pull", Branch: "branch", Scheduled: "scheduled", CheckRerun: "rerun"}
)

func newState(t *testing.T) *serverstate.State {
	t.Helper()
	return serverstate.New(ledgertest.Open(t, ledger.Config{}))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantNames demands the names that the ledger has of repositories.
func wantNames(t *testing.T, s *serverstate.State, want map[int64]string) {
	t.Helper()
	for id, name := range want {
		if got, err := s.Name(t.Context(), id, "renamed"); err != nil || got != name {
			t.Errorf("repository %d is %q, %v; want %q", id, got, err, name)
		}
	}
}

// TestNames stay what they were first, and belong to one repository.
func TestNames(t *testing.T) {
	s := newState(t)
	for _, tt := range []struct {
		id        int64
		now, want string
	}{
		{1, "octo/demo", "octo/demo"},
		{1, "octo/renamed", "octo/demo"},
		{-2, "octo/demo", "octo/demo (-2)"},
		{3, "octo/renamed", "octo/renamed"},
		{-2, "octo/other", "octo/demo (-2)"},
	} {
		if got, err := s.Name(t.Context(), tt.id, tt.now); err != nil || got != tt.want {
			t.Errorf("repository %d, now %s, is %q, %v; want %q", tt.id, tt.now, got, err, tt.want)
		}
	}
}

// TestPending keeps heads apart by all that names them, and moves them to the id
// that the server gives a repository.
func TestPending(t *testing.T) {
	s := newState(t)
	pull := serverstate.Head{Repository: 1, Kind: "pull", Pull: 7, SHA: "a", Seen: noon}
	branch := serverstate.Head{Repository: 1, Kind: "branch", Ref: "main", SHA: "a"}
	for _, h := range []serverstate.Head{pull, branch, {Repository: 9, Kind: "branch", Ref: "main", SHA: "a"}} {
		check(t, s.AddPending(t.Context(), h))
	}
	pull.Contexts = []string{"gavel/support"}
	check(t, s.AddPending(t.Context(), pull))
	got, known, err := s.Load(t.Context(), serverstate.Head{Repository: 1, Kind: "pull", Pull: 7, SHA: "a"})
	if diff := cmp.Diff(pull, got); err != nil || !known || diff != "" {
		t.Errorf("known: %v, %v; -want +got:\n%s", known, err, diff)
	}
	if _, known, err := s.Load(t.Context(), serverstate.Head{Repository: 1, Kind: "pull", Pull: 8, SHA: "a"}); err != nil || known {
		t.Errorf("a head that nobody added is known: %v, %v", known, err)
	}
	check(t, s.MovePending(t.Context(), 1, 2))
	check(t, s.MovePending(t.Context(), 2, 2))
	check(t, s.MovePending(t.Context(), 0, 2))
	if left, err := s.Pending(t.Context(), 1); err != nil || len(left) > 0 {
		t.Errorf("the old id has %+v, %v; want none", left, err)
	}
	branch.Repository, pull.Repository = 2, 2
	check(t, s.RemovePending(t.Context(), branch))
	left, err := s.Pending(t.Context(), 2)
	if diff := cmp.Diff([]serverstate.Head{pull}, left); err != nil || diff != "" {
		t.Errorf("%v; -want +got:\n%s", err, diff)
	}
}

// earlier are the files of an earlier server.
var earlier = map[string]string{
	"names.json":                  `{"1": "octo/demo", "-2": "octo/demo (-2)"}`,
	"anew/1.json":                 `{"main": "2026-03-02T12:00:00Z"}`,
	"anew/2.json":                 `{"main`,
	"anew/1.json.1234":            `{"main": "2027-03-02T12:00:00Z"}`,
	"unfinished/1-7-a.json":       `{"repository": 1, "pull": 7, "sha": "a", "seen": "2026-03-02T12:00:00Z", "groups": ["gavel/support"]}`,
	"unfinished/1-0-b.json":       `{"repository": 1, "branch": "main", "sha": "b"}`,
	"unfinished/1-0-b-anew.json":  `{"repository": 1, "branch": "main", "sha": "b", "anew": true}`,
	"unfinished/1-0-c-asked.json": `{"repository": 1, "sha": "c", "asked": true}`,
	"unfinished/1-0-d.json":       ``,
	"looking/1-7-a.json":          `{"repository": 1, "pull": 7, "sha": "a", "ended": 1, "at": "2026-03-02T12:00:00Z"}`,
	"looking/1-7-b.json":          `{}`,
	"clones/1.git/HEAD":           "ref: refs/heads/main",
}

func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// TestAdopt takes over what the files of an earlier server say, and removes them.
// Half of a file says nothing, and what is not the server's stays.
func TestAdopt(t *testing.T) {
	s, dir := newState(t), write(t, earlier)
	for range 2 { // as after a crash before the files were removed
		check(t, s.Adopt(t.Context(), dir, kinds))
		wantNames(t, s, map[int64]string{1: "octo/demo", -2: "octo/demo (-2)"})
		if at, known, err := s.Judged(t.Context(), 1, "main"); err != nil || !known || !at.Equal(noon) {
			t.Errorf("main was judged until %v, %v, %v; want %v", at, known, err, noon)
		}
		if _, known, err := s.Judged(t.Context(), 2, "main"); err != nil || known {
			t.Errorf("half of a file says when main was judged: %v, %v", known, err)
		}
		heads, err := s.Pending(t.Context(), 1)
		want := []serverstate.Head{
			{Repository: 1, Kind: "branch", Ref: "main", SHA: "b"},
			{Repository: 1, Kind: "pull", Pull: 7, SHA: "a", Seen: noon, Contexts: []string{"gavel/support"}},
			{Repository: 1, Kind: "rerun", Ref: "c", SHA: "c"},
			{Repository: 1, Kind: "scheduled", Ref: "main", SHA: "b"},
		}
		if diff := cmp.Diff(want, heads); err != nil || diff != "" {
			t.Errorf("%v; -want +got:\n%s", err, diff)
		}
		suspects, err := s.Suspects(t.Context())
		if err != nil || len(suspects) != 1 || suspects[0].Ended != 1 || suspects[0].SHA != "a" || !suspects[0].At.Equal(noon) || suspects[0].Noted.IsZero() {
			t.Errorf("the suspects are %+v, %v; want the one that ended a child", suspects, err)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 1 || left[0].Name() != "clones" {
			t.Errorf("left are %v, %v; want the clones", left, err)
		}
		dir = write(t, earlier)
	}
	check(t, s.Adopt(t.Context(), t.TempDir(), kinds))
}

// TestAdoptNothing leaves the files where the names cannot be read, and where the
// ledger does not take them.
func TestAdoptNothing(t *testing.T) {
	broken := write(t, map[string]string{"names.json": "{", "anew/1.json": "{}"})
	err := newState(t).Adopt(t.Context(), broken, kinds)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(broken, "names.json")) || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("the error is %v, want one that names the file and what to do", err)
	}
	sound := write(t, earlier)
	l, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	check(t, err)
	check(t, l.Close())
	if err := serverstate.New(l).Adopt(t.Context(), sound, kinds); err == nil {
		t.Error("a closed ledger took the files over")
	}
	for _, dir := range []string{broken, sound} {
		if _, err := os.Stat(filepath.Join(dir, "names.json")); err != nil {
			t.Errorf("a file that was not taken over is gone: %v", err)
		}
	}
}
