package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
)

// A closed file system has a folder that may not be read.
type closed struct {
	fstest.MapFS
	folder string
}

// ReadDir lists a folder.
func (c closed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == c.folder {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.MapFS.ReadDir(name)
}

// TestFoldersThatCannotBeRead are errors wherever a folder is gone through: nobody knows which
// tests are in them.
func TestFoldersThatCannotBeRead(t *testing.T) {
	const suite = "name: s\ntests: [\"./c/**/*.yaml\"]\n"
	domains := map[string]string{
		"d/domain.json":          `{"id": "d", "name": "d", "evaluator_id": "keyword"}`,
		"d/level_1/a.json":       `{"id": "a", "name": "A", "prompt": "p", "expected": {"keywords": ["word"]}}`,
		"evaluators/keyword2.md": "not read",
	}
	for _, tt := range []struct {
		name, folder string
		files        map[string]string
		only         []string // nil for all files
	}{
		{"of definitions", "test_definitions/d/level_1", domains, nil},
		{"of evaluators, where one file is wanted", "test_definitions/evaluators", domains, []string{"test_definitions/d/level_1/a.json"}},
		{"of tests of a suite", "test_definitions/c/x", map[string]string{"s.eval.yaml": suite, "c/a.yaml": "- {id: a, criteria: g, input: x, " + anAssert + "}\n", "c/x/b.yaml": "- {id: b, criteria: g, input: x}\n"}, []string{"test_definitions/s.eval.yaml"}},
		{"of tests of promptfoo", "test_definitions/c", map[string]string{"promptfooconfig.yaml": matrixHead + "tests: [\"file://c/*.yaml\"]\n", "c/a.yaml": "- {vars: {x: a}}\n"}, []string{"test_definitions/promptfooconfig.yaml"}},
		{"of prompts of promptfoo", "test_definitions/c", map[string]string{"promptfooconfig.yaml": "prompts: [\"file://c/*.txt\"]\nproviders: [m]\ntests: [{vars: {x: a}}]\n", "c/a.txt": "say {{x}}"}, []string{"test_definitions/promptfooconfig.yaml"}},
		{"of variables of promptfoo", "test_definitions/c", map[string]string{"promptfooconfig.yaml": matrixHead + "tests: [{vars: {x: \"file://c/*.txt\"}}]\n", "c/a.txt": "word"}, []string{"test_definitions/promptfooconfig.yaml"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for want, folder := range []string{"nowhere", tt.folder} {
				res, err := Load(t.Context(), closed{repositoryOf(tt.files), folder}, Options{Settings: oneTarget, Files: tt.only})
				if err != nil {
					t.Fatal(err)
				}
				found := 0
				for _, p := range res.Problems {
					if p.Rule == "unreadable-folder" && p.Severity == schema.Error {
						found++
					}
				}
				if found != want {
					t.Errorf("%s is closed: %d errors name it, want %d: %v", folder, found, want, res.Problems)
				}
			}
		})
	}
}

// An opened file system ends a context at a file, and counts the files that are opened
// after that.
type opened struct {
	fs.FS
	end         context.CancelFunc
	left, after atomic.Int64
}

// Open opens a file.
func (o *opened) Open(name string) (fs.File, error) {
	if left := o.left.Add(-1); left == 0 {
		o.end()
	} else if left < 0 {
		o.after.Add(1)
	}
	return o.FS.Open(name)
}

// TestWantedFilesHearTheirEnd: of files that were asked for, few are looked at once the context
// has ended.
func TestWantedFilesHearTheirEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wanted []string
	for i := range 500 {
		wanted = append(wanted, fmt.Sprintf("test_definitions/%d.json", i))
	}
	files := &opened{FS: greetings(500), end: cancel}
	files.left.Store(50)
	if _, err := Load(ctx, files, Options{Settings: oneFolder, Files: wanted}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
	if n := files.after.Load(); n > 20 {
		t.Errorf("%d files are opened after the end", n)
	}
}
