package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
)

const greeting = `{"name": "a%d", "initial_message": "hello", "expected_outcomes": {"greets": true}}`

func greetings(n int) fstest.MapFS {
	files := fstest.MapFS{}
	for i := range n {
		files[fmt.Sprintf("test_definitions/%d.json", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, greeting, i)}
	}
	return files
}

var oneFolder = schema.Settings{Definitions: []string{"test_definitions"}}

// TestAbuseMoreThanIsLookedAt: each bound is a problem that names it, and a number
// within it loads.
func TestAbuseMoreThanIsLookedAt(t *testing.T) {
	within := bounds{entries: 200, cases: 200, bytes: 1 << 20}
	for _, test := range []struct {
		rule, message string
		most          bounds
	}{
		{"too-many-entries", "more than 100 files and folders", bounds{entries: 100, cases: 200, bytes: 1 << 20}},
		{"too-many-cases", "more than 50 cases", bounds{entries: 200, cases: 50, bytes: 1 << 20}},
		{"too-many-bytes", "have more than 0 MiB", bounds{entries: 200, cases: 200, bytes: 1 << 10}},
		{"", "", within},
	} {
		t.Run(test.rule, func(t *testing.T) {
			files := greetings(100)
			files["test_definitions/notes.txt"] = &fstest.MapFile{}
			res, err := Load(t.Context(), files, Options{Settings: oneFolder, most: &test.most})
			if err != nil {
				t.Fatal(err)
			}
			if test.rule == "" {
				if len(res.Cases) != 100 || len(res.Problems) != 0 {
					t.Errorf("%d cases, problems %v; want all 100", len(res.Cases), res.Problems)
				}
				return
			}
			var rules []string
			for _, p := range res.Problems {
				rules = append(rules, p.Rule)
				if p.Severity != schema.Error || !strings.Contains(p.Message, test.message) || p.Hint == "" {
					t.Errorf("problem %+v; want %q", p, test.message)
				}
			}
			if fmt.Sprint(rules) != "["+test.rule+"]" {
				t.Errorf("problems %v, want %s alone", rules, test.rule)
			}
			if !givenUp(res.Problems) && !hidesFiles(res.Problems[0]) {
				t.Errorf("a snapshot with %v would be taken for complete", rules)
			}
		})
	}
}

// TestAbuseCasesOfNewFiles: new cases have their own bound.
func TestAbuseCasesOfNewFiles(t *testing.T) {
	isNew := func(file string) bool { return strings.HasPrefix(file, "test_definitions/1") } // 11 files
	for _, tt := range []struct {
		most int64
		want string
	}{{0, ""}, {11, ""}, {10, "the definitions that are new or changed have more than 10 cases"}} {
		res, err := Load(t.Context(), greetings(100), Options{Settings: oneFolder, New: isNew, MaxNew: tt.most})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range res.Problems {
			got += p.Message
		}
		if got != tt.want || tt.want == "" && len(res.Cases) != 100 {
			t.Errorf("at most %d: %d cases, problems %q; want %q", tt.most, len(res.Cases), got, tt.want)
		}
	}
}

// TestAbuseBytesOfNewFiles: large definitions that are new are bounded together, and those that
// are not new are read.
func TestAbuseBytesOfNewFiles(t *testing.T) {
	files := greetings(1)
	large := &fstest.MapFile{Data: fmt.Appendf(nil, `{"name": "large", "initial_message": "%s"}`, strings.Repeat("x", 7<<20))}
	for i := range 10 {
		files[fmt.Sprintf("test_definitions/large%d.json", i)] = large
	}
	isNew := func(file string) bool { return strings.Contains(file, "large") }
	for _, tt := range []struct {
		most int64
		want string
	}{{0, ""}, {20_000, "the definitions that are new or changed, and the files that they name, have more than 64 MiB; split the change, or have somebody with write access approve it"}} {
		res, err := Load(t.Context(), files, Options{Settings: oneFolder, New: isNew, MaxNew: tt.most})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range res.Problems {
			got += p.Message + "; " + p.Hint
		}
		if got != tt.want || tt.want == "" && len(res.Cases) != 11 {
			t.Errorf("at most %d: %d cases, problems %q; want %q", tt.most, len(res.Cases), got, tt.want)
		}
	}
}

// TestLargeDefinitions: definitions of every format that are larger than 256 KiB are read as
// small ones are, whether they are a list or not.
func TestLargeDefinitions(t *testing.T) {
	const n = 3000
	long := strings.Repeat("x", 120)
	repeat := func(begin, item, between, end string) *fstest.MapFile {
		var all []string
		for i := range n {
			all = append(all, strings.ReplaceAll(item, "#", fmt.Sprint(i)))
		}
		return &fstest.MapFile{Data: []byte(begin + strings.Join(all, between) + end)}
	}
	for name, text := range map[string]*fstest.MapFile{
		"list.json":           repeat("[", `{"name": "n#", "initial_message": "`+long+`"}`, ",\n", "]"),
		"export.json":         repeat(`{"test_cases": [`, `{"name": "n#", "initial_message": "`+long+`"}`, ",", "]}"),
		"suite.yaml":          repeat("evalcases:\n", "- {id: i#, expected_outcome: Greets, input: "+long+"}\n", "", ""),
		"bare.yaml":           repeat("", "- id: i#\n  expected_outcome: Greets\n  input: "+long+"\n", "", ""),
		"lines.jsonl":         repeat("", `{"id": "i#", "expected_outcome": "Greets", "input": "`+long+`"}`, "\n", ""),
		"promptfoo.yaml":      repeat("prompts: ['{{q}}']\ntests:\n", "- vars: {q: n# "+long+"}\n  assert: [{type: contains, value: x}]\n", "", ""),
		"math/level_1/t.json": repeat("[", `{"id": "m#", "name": "M", "prompt": "`+long+`", "expected": {"keywords": ["x"]}, "evaluator_id": "keyword"}`, ",", "]"),
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"test_definitions/" + name: text}
			if strings.HasPrefix(name, "math/") {
				files["test_definitions/math/domain.json"] = &fstest.MapFile{Data: []byte(`{"id": "math", "name": "Math"}`)}
			}
			res, err := Load(t.Context(), files, Options{Settings: oneFolder})
			if err != nil || len(res.Cases) != n || schema.HasErrors(res.Problems) {
				t.Errorf("%d bytes: %d cases, problems %.5v, %v; want %d cases", len(text.Data), len(res.Cases), res.Problems[:min(len(res.Problems), 5)], err, n)
			}
		})
	}
}

// exhausted is a file system of a process that can open no more files after some.
type exhausted struct {
	fstest.MapFS
	left *int
	err  error
}

func (e exhausted) ReadFile(name string) ([]byte, error) {
	if *e.left--; *e.left < 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: e.err}
	}
	return e.MapFS.ReadFile(name)
}

// TestAbuseDescriptorsThatRunOut are not a mistake in any file: then there is no
// problem of a definition.
func TestAbuseDescriptorsThatRunOut(t *testing.T) {
	for _, cause := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EIO} {
		for start := range 4 { // files that can be read, of four
			left := start
			res, err := Load(t.Context(), exhausted{greetings(4), &left, cause}, Options{Settings: oneFolder})
			if !errors.Is(err, cause) || res != nil {
				t.Errorf("Load = %v, %v; want %v", res, err, cause)
			}
			if cause == syscall.EMFILE && !strings.Contains(fmt.Sprint(err), "raise the limit with ulimit -n") {
				t.Errorf("Load = %v, which does not say what helps", err)
			}
		}
	}
	// An error that is the file's own is a problem of the file.
	left := 1
	res, err := Load(t.Context(), exhausted{greetings(4), &left, syscall.EACCES}, Options{Settings: oneFolder})
	if err != nil || len(res.Problems) == 0 || res.Problems[0].Rule != "unreadable" {
		t.Errorf("Load = %+v, %v; want a file that is unreadable", res, err)
	}
}

// TestALoadThatIsCancelled returns the error of its context.
func TestALoadThatIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, greetings(4), Options{Settings: oneFolder}); !errors.Is(err, context.Canceled) {
		t.Errorf("Load = %v, want %v", err, context.Canceled)
	}
}
