package gitrepo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCreateRefuses(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	one := func(c NewCommit) []NewCommit { return []NewCommit{c} }
	for _, test := range []struct {
		name    string
		ctx     context.Context
		prepare func(dir string) error
		changes []NewCommit
		want    string
	}{
		{"a repository that is there", t.Context(), func(dir string) error { return Create(t.Context(), dir, nil) }, nil, "create a repository in"},
		{"a path that leaves it", t.Context(), nil, one(NewCommit{Message: "m", Write: map[string][]byte{"../out": {}}}), `commit "m": write ../out: it is not a path inside`},
		{"an absolute path", t.Context(), nil, one(NewCommit{Message: "m", Write: map[string][]byte{"/out": {}}}), "it is not a path inside"},
		{"the removal of nothing", t.Context(), nil, one(NewCommit{Message: "m", Write: map[string][]byte{"x": nil}}), "remove x"},
		{"a file where a folder is wanted", t.Context(), nil, one(NewCommit{Message: "m", Write: map[string][]byte{".git/config/x": {}}}), `commit "m"`},
		{"a run that was cancelled", cancelled, nil, one(NewCommit{Message: "m"}), "context canceled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "repository")
			if test.prepare != nil {
				if err := test.prepare(dir); err != nil {
					t.Fatal(err)
				}
			}
			err := Create(test.ctx, dir, test.changes)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "..", "out")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file was written outside of the repository: %v", err)
			}
		})
	}
}
