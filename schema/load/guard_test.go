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
