package evonic_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/cmd/internal/evonic"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

var exported = time.Date(2026, 5, 22, 9, 30, 0, 123456000, time.UTC)

const document = `{
  "domains": [{"id": "math", "name": "Math", "path": "/srv/math", "owner": "me", "tool_ids": [], "tests": {
    "1": [
      {"id": "math_sum", "name": "Sum \ud83d\ude00", "prompt": "1 + 1?", "expected": {"answer": 2.50, "type": "numeric"},
       "evaluator_id": "two_pass", "domain_id": "math", "level": 1, "tools": null, "path": "x",
       "tools_used": [],
       "mood": "good"},
      {"id": "math_sum", "name": "Again", "prompt": "1 + 1?"},
      {"name": "Nameless", "prompt": "?"}, 7
    ],
    "2": [{"id": "skill:sum/2", "name": "Two", "prompt": "2 + 2?", "expected": {"keywords": ["4"]}, "evaluator_id": "keyword",
       "tools": [{"function": {}}]}],
    "zero": []}},
    {"id": "../up", "name": "Up", "tests": {}}],
  "evaluators": [{"id": "keyword", "name": "Keyword", "type": "predefined", "config": {"threshold": 0.8}, "path": "x"}],
  "tools": [{"id": "skill:sum", "name": "Sum", "function": {"name": "sum"}, "mock_response": "return 1",
             "mock_response_type": "javascript"}],
  "exported_at": "2026-05-22T09:30:00", "version": "1.0", "users": ["me"]
}
`

// TestImport writes each object to its place, and names each loss with its line.
func TestImport(t *testing.T) {
	files, losses, err := evonic.Import([]byte(document), "test_definitions")
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, f := range files {
		fsys[f.Path] = &fstest.MapFile{Data: []byte(f.Text)}
	}
	found, err := load.Load(t.Context(), fsys, load.Options{Settings: schema.Settings{Definitions: []string{"test_definitions"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found.Problems {
		t.Error(p)
	}
	var keys []string
	for _, c := range found.Cases {
		keys = append(keys, c.Key)
	}
	if want := []string{"math/level_1/math_sum", "math/level_2/skill_sum_2"}; !slices.Equal(keys, want) {
		t.Errorf("cases %v, want %v", keys, want)
	}
	if got := string(fsys["test_definitions/math/level_1/math_sum.json"].Data); !strings.Contains(got, `"answer": 2.50`) || !strings.Contains(got, `\ud83d\ude00`) {
		t.Errorf("the test is not as it was:\n%s", got)
	}
	want := []string{
		"line 2: `owner` of domain math: a definition has no such field",
		"line 7: `mood` of test math_sum: a definition has no such field",
		"line 8: test math_sum: another test has the same id",
		"line 9: a test: it has no id",
		"line 9: an item of `1`: it is not an object",
		"line 12: `tools` of test skill:sum/2: a test names its tools by their ids in tool_ids",
		"line 13: level \"zero\" of domain math: a level is a number from 1",
		"line 14: domain \"../up\" with its tests: a folder has to have the name of the id, and cannot",
		"line 17: the mock of tool skill:sum: it is javascript, and code of a mock is never run: a call of the tool is an error until `mocks` of the target answers it",
		"line 18: `users`: an export has domains, evaluators and tools only",
	}
	var got []string
	for _, l := range losses {
		got = append(got, l.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("losses:\n%s", strings.Join(got, "\n"))
	}
}

// TestWhatIsNoDocument has errors with lines, and ends for every prefix of one.
func TestWhatIsNoDocument(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"{\n  \"domains\": [,]}", "line 2: the document is not JSON"},
		{"\n[]", "line 2: the document is not an export of Evonic: it needs a list `domains`"},
		{`{"tests": []}`, "line 1: the document is not an export of Evonic"},
		{"", "the document is not JSON"},
	} {
		if _, _, err := evonic.Import([]byte(tt.text), "x"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("importing %q returns %v, want an error that contains %q", tt.text, err, tt.want)
		}
	}
	for i := range document {
		if i < len(document)-1 {
			if _, _, err := evonic.Import([]byte(document[:i]), "x"); err == nil && strings.TrimSpace(document[i:]) != "" {
				t.Errorf("the first %d bytes are a document", i)
			}
		}
	}
	for _, odd := range []string{`{"domains": null}`, `{"domains": {}}`, `{"domains": [{"id": "a", "tests": [1]}]}`, `{"domains": [{"id": "a", "tests": {"1": 7}}], "tools": "x"}`} {
		if _, _, err := evonic.Import([]byte(odd), "x"); err != nil {
			t.Errorf("importing %s returns %v, want no error", odd, err)
		}
	}
}

// TestExportAndBack gives the example's tests as they were.
func TestExportAndBack(t *testing.T) {
	fsys := os.DirFS("../../../examples/domain")
	settings := schema.Settings{Definitions: []string{"test_definitions"}}
	found, err := load.Scan(t.Context(), fsys, load.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for d := range found.Definitions {
		files = append(files, d.File)
	}
	first, losses, err := evonic.Export(fsys, settings.Definitions, files, exported)
	if err != nil {
		t.Fatal(err)
	}
	if len(losses) != 1 || losses[0].File != "test_definitions/sql/seed/shop.sql" {
		t.Errorf("losses %v", losses)
	}
	if !strings.Contains(string(first), `"exported_at": "2026-05-22T09:30:00.123456"`) {
		t.Error("the time is missing")
	}
	texts, losses, err := evonic.Import(first, "test_definitions")
	if err != nil || len(losses) != 0 {
		t.Fatal(losses, err)
	}
	back := fstest.MapFS{}
	var again []string
	for _, f := range texts {
		back[f.Path] = &fstest.MapFile{Data: []byte(f.Text)}
		again = append(again, f.Path)
	}
	second, losses, err := evonic.Export(back, settings.Definitions, again, exported)
	if err != nil || len(losses) != 0 {
		t.Fatal(losses, err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("the second export differs (-first +second):\n%s", diff)
	}
	for _, f := range texts {
		if strings.Contains(f.Text, ": null") {
			t.Errorf("%s has fields that say nothing:\n%s", f.Path, f.Text)
		}
	}
}

// TestExportLosses names what a document cannot say.
func TestExportLosses(t *testing.T) {
	fsys := fstest.MapFS{}
	for _, tt := range []struct{ name, text string }{
		{"d/math/domain.json", `{"id": "math", "name": "Math", "evaluator_id": "keyword"}`},
		{"d/math/level_1/level.json", `{"system_prompt": "x"}`},
		{"d/math/level_1/a.yaml", "{id: a, name: A, prompt: x, expected: {keywords: [x]}, difficulty: hard, mood: good}"},
		{"d/math/level_12/b.json", `[{"id": "b", "name": "B", "prompt": "x"}, {"id": "c", "name": "C", "prompt": "x"}]`},
		{"d/other/level_1/alone.json", `{"id": "d"}`},
		{"d/tools/broken.json", `{`},
	} {
		fsys[tt.name] = &fstest.MapFile{Data: []byte(tt.text)}
	}
	files := []string{"d/math/level_1/a.yaml", "d/math/level_12/b.json", "d/math/domain.json", "d/math/level_1/level.json", "d/other/level_1/alone.json", "d/tools/broken.json"}
	doc, losses, err := evonic.Export(fsys, []string{"d"}, files, exported)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range losses {
		got = append(got, l.File+": "+l.String())
	}
	slices.Sort(got)
	want := []string{
		"d/math/level_1/a.yaml: `mood`: an export has no such field",
		"d/math/level_12/b.json: its level 12: Evonic reads levels 1 to 5 only",
		"d/other/level_1/alone.json: the test: domain.json is missing or cannot be read",
		"d/tools/broken.json: the file: it has errors; gavel validate says which",
	}
	if !slices.Equal(got, want) {
		t.Errorf("losses:\n%s", strings.Join(got, "\n"))
	}
	for _, part := range []string{`"evaluator_id": "keyword"`, `"weight": 1`, `"12": [`, `"tools": []`, `"difficulty": "hard"`, `"levels": {`} {
		if !strings.Contains(string(doc), part) {
			t.Errorf("the document lacks %s", part)
		}
	}
}
