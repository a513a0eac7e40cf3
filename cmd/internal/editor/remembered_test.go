package editor

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/schema"
)

// looking counts all looks at files and folders.
type looking struct {
	fs.FS
	looks *atomic.Int64
}

func (l looking) Open(name string) (fs.File, error) {
	l.looks.Add(1)
	return l.FS.Open(name)
}

func (l looking) ReadDir(name string) ([]fs.DirEntry, error) {
	l.looks.Add(1)
	return fs.ReadDir(l.FS, name)
}

func (l looking) Stat(name string) (fs.FileInfo, error) {
	l.looks.Add(1)
	return fs.Stat(l.FS, name)
}

func (l looking) Lstat(name string) (fs.FileInfo, error) {
	l.looks.Add(1)
	return fs.Lstat(l.FS, name)
}

// TestPagesOfAVersion holds that the pages of lists look at no file while the version of the
// files stays, and at all as soon as there is another one or none is known.
func TestPagesOfAVersion(t *testing.T) {
	dir := benchTree(t, size{domains: 2, tests: 3, lists: 1, cases: 3})
	var looks atomic.Int64
	version, isKnown := uint64(1), true
	settings := func(_ context.Context, fsys fs.FS) (schema.Settings, error) {
		_, _ = fs.Stat(fsys, "gavel.yaml") // which is missing
		return schema.Settings{Definitions: []string{"test_definitions"}}, nil
	}
	digests := func(_ context.Context, fsys fs.FS) (map[string]string, error) {
		_, err := fs.ReadDir(fsys, "test_definitions")
		return map[string]string{}, err
	}
	mux := http.NewServeMux()
	store := New(Config{
		Open: func(context.Context) (fs.FS, func() error, error) {
			return looking{os.DirFS(dir), &looks}, func() error { return nil }, nil
		},
		Version: func() (uint64, bool) { return version, isKnown }, Settings: settings, Digests: digests,
		Verdicts: func(context.Context) (map[string]dashboard.LastVerdict, error) {
			return map[string]dashboard.LastVerdict{"x": {}}, nil
		},
	})
	store.Routes(mux)
	store.Pages(mux, func(w http.ResponseWriter, _ *http.Request, f dashboard.Page) {
		w.WriteHeader(f.Status)
		fmt.Fprint(w, f.Body)
	})
	site := access.Guard{}.Handler(mux)
	for _, path := range []string{"/settings", "/settings?domain=domain_1", "/settings/file", "/tests", "/tests?folder=test_definitions/domain_1/level_2", "/api/settings/tests?domain=domain_1&level=2"} {
		view := func(wantLooks bool, why string) {
			t.Helper()
			looks.Store(0)
			ask{"GET", path, ""}.send(t, site)
			if (looks.Load() > 0) != wantLooks {
				t.Errorf("%s looks at %d files and folders %s", path, looks.Load(), why)
			}
		}
		version++
		view(true, "of another version")
		view(false, "of the same version")
		isKnown = false
		view(true, "of an unknown version")
		isKnown = true
		view(false, "of the version before")
	}
}

// TestRememberNothingOld keeps no value of files that were opened at an earlier version, and
// none that could not be read.
func TestRememberNothingOld(t *testing.T) {
	version := uint64(1)
	s := New(Config{
		Open: func(context.Context) (fs.FS, func() error, error) {
			return os.DirFS("."), func() error { return nil }, nil
		},
		Version: func() (uint64, bool) { return version, true },
	})
	made := 0
	get := func(s *Store, fails error) int {
		out, _ := remember(s, "x", func() (int, error) { made++; return made, fails })
		return out
	}
	look, end, err := s.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	version = 2
	later, end, err := s.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for i, step := range []struct {
		look  *Store
		fails error
		want  int
	}{{look, nil, 1}, {later, fs.ErrPermission, 2}, {later, nil, 3}, {later, nil, 3}, {look, nil, 3}} {
		if got := get(step.look, step.fails); got != step.want {
			t.Errorf("step %d: the value is %d, want %d", i, got, step.want)
		}
	}
}
