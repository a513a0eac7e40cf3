package controller

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller/config"
)

// TestTreeRevisions: an agent answers for a working tree if it runs a commit with the same
// inputs, whatever else differs there.
func TestTreeRevisions(t *testing.T) {
	tree := func(files ...string) fstest.MapFS {
		out := fstest.MapFS{}
		for i := 0; i < len(files); i += 2 {
			out[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
		}
		return out
	}
	commit := func(digit string) string { return strings.Repeat(digit, 40) }
	commits := map[string]fstest.MapFS{
		commit("a"): tree("prompts/p.md", "30", "notes.txt", "old"),
		commit("b"): tree("prompts/p.md", "60"),
		commit("c"): tree("prompts/p.md", "30", "prompts/more.md", "x"),
		commit("d"): tree("notes.txt", "none"),
	}
	reads := 0
	at := func(commit string) (fs.FS, error) {
		reads++
		if files, ok := commits[commit]; ok {
			return files, nil
		}
		return nil, errors.New("no such object")
	}
	agent := config.Target{Name: "agent", Provider: config.HTTP, Revision: config.RevisionReply, Inputs: []string{"prompts/**"}}
	side := Checkout{Commit: Worktree, FS: tree("prompts/p.md", "30", "notes.txt", "new"), At: at, Config: &config.Config{}}
	r := (&Prepared{}).newTreeRevisions(side)
	for _, tt := range []struct{ revision, want string }{
		{commit("a"), ""},
		{commit("b"), "prompts/p.md is not as in the working tree"},
		{commit("c"), "prompts/more.md is not as in the working tree"},
		{commit("d"), "prompts/p.md is not as in the working tree"},
		{commit("f"), "not among the commits"},
		{commit("a")[:7], "all 40 digits"},
		{strings.ToUpper(commit("a")), "all 40 digits"},
		{"1.4.1", "all 40 digits"},
		{"", "an unknown revision"},
	} {
		for range 2 {
			switch err := r.check(t.Context(), agent, tt.revision); {
			case tt.want == "" && err != nil:
				t.Errorf("%s: %v", tt.revision, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%s: %v, want %q", tt.revision, err, tt.want)
			}
		}
	}
	if reads != 5 {
		t.Errorf("commits were read %d times, want each of the 5 once", reads)
	}
	for _, other := range []Checkout{{Commit: commit("a"), At: at}, {Commit: Worktree}} {
		if (&Prepared{}).newTreeRevisions(other) != nil {
			t.Errorf("%s is checked as a working tree", other.Commit)
		}
	}
}
