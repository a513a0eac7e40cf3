package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/schema/load"
)

// A planPath is a way in which a head is planned.
type planPath struct {
	name string
	set  func(*controller.Request)
}

// planPaths are all ways to plan a head with a base.
func planPaths(t *testing.T, base controller.Checkout) []planPath {
	t.Helper()
	snapshot, err := load.Scan(t.Context(), base.FS, load.Options{Settings: base.Config.Settings()})
	if err != nil {
		t.Fatal(err)
	}
	return []planPath{
		{"all cases", func(*controller.Request) {}},
		{"cases that are read once", (*controller.Request).ScanHead},
		{"an update of what base has", func(r *controller.Request) { r.Snapshot = snapshot }},
		{"a comparison of targets", func(r *controller.Request) { r.Targets = []string{"m", "n"} }},
	}
}

const twoTargets = "version: 1\ndefault_target: m\ntargets:\n  m: {provider: mock, replies: [{reply: word}]}\n  n: {provider: mock, replies: [{reply: word}]}\n"

// newTests adds so many files with a test each to a repository.
func newTests(texts map[string]string, files int) map[string]string {
	out := maps.Clone(texts)
	for i := range files {
		out[fmt.Sprintf("test_definitions/d/level_1/new%03d.json", i)] = fmt.Sprintf(`{"id": "new%d", "name": "t", "prompt": "p", "evaluator_id": "keyword", "expected": {"keywords": ["word"]}}`, i)
	}
	return out
}

func plainTests() map[string]string {
	return map[string]string{
		"gavel.yaml":                         twoTargets,
		"test_definitions/d/domain.json":     `{"id": "d", "name": "D", "evaluator_id": "keyword"}`,
		"test_definitions/d/level_1/a.json":  `{"id": "a", "name": "A", "prompt": "p", "expected": {"keywords": ["word"]}}`,
		"test_definitions/e/domain.json":     `{"id": "e", "name": "E", "evaluator_id": "keyword"}`,
		"test_definitions/e/level_1/a1.json": `{"id": "a1", "name": "A", "prompt": "p", "expected": {"keywords": ["word"]}}`,
	}
}

// changedFiles lists the files that differ.
func changedFiles(was, is map[string]string) func(context.Context, []string) ([]string, error) {
	changed := slices.DeleteFunc(slices.Sorted(maps.Keys(is)), func(name string) bool { return was[name] == is[name] })
	return func(context.Context, []string) ([]string, error) { return changed, nil }
}

// TestAbusePlansAreBounded: whatever way a head is planned in, more new cases than a
// stranger may add are an error, and a number within the bound is planned (abuse 40).
func TestAbusePlansAreBounded(t *testing.T) {
	was := plainTests()
	base := stateOf(t, strings.Repeat("b", 40), was)
	for _, path := range planPaths(t, base) {
		for _, n := range []int{50, 51} {
			t.Run(fmt.Sprint(path.name, " ", n), func(t *testing.T) {
				is := newTests(was, n)
				req := controller.Request{Head: stateOf(t, strings.Repeat("c", 40), is), Base: &base, ConfigFile: "gavel.yaml", LookupEnv: nowhere, MaxNew: 50, Changed: changedFiles(was, is)}
				path.set(&req)
				p, err := controller.Prepare(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				const want = "the definitions that are new or changed have more than 50 cases"
				if said := fmt.Sprint(p.Problems); strings.Contains(said, want) != (n > 50) {
					t.Errorf("%d new cases: the problems are %.300s", n, said)
				}
			})
		}
	}
}

// An ending file system ends a context at a file, and counts the files that are opened
// after that.
type ending struct {
	fs.FS
	end   context.CancelFunc
	left  atomic.Int64
	after atomic.Int64
}

// Open opens a file.
func (e *ending) Open(name string) (fs.File, error) {
	if strings.Contains(name, "level_1/new") {
		if left := e.left.Add(-1); left == 0 {
			e.end()
		} else if left < 0 {
			e.after.Add(1)
		}
	}
	return e.FS.Open(name)
}

// TestAbusePlansHearTheirEnd: whatever way a head is planned in, next to nothing of it is read
// once the context has ended (abuse 40).
func TestAbusePlansHearTheirEnd(t *testing.T) {
	was := plainTests()
	is := newTests(was, 600)
	base := stateOf(t, strings.Repeat("b", 40), was)
	for _, path := range planPaths(t, base) {
		t.Run(path.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			head := stateOf(t, strings.Repeat("c", 40), is)
			files := &ending{FS: head.FS, end: cancel}
			files.left.Store(20)
			head.FS = files
			req := controller.Request{Head: head, Base: &base, ConfigFile: "gavel.yaml", LookupEnv: nowhere, Changed: changedFiles(was, is)}
			path.set(&req)
			p, err := controller.Prepare(ctx, req)
			if p != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("the plan is %v with the error %v, want that it was canceled", p != nil, err)
			}
			if n := files.after.Load(); n > 40 { // each reader of files may have begun one
				t.Errorf("%d files were opened after the end", n)
			}
		})
	}
}
