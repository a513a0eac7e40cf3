package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/cmd/internal/editor/openapitest"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/schema"
)

// A fixture is a working tree with the requests that change it.
type fixture struct {
	*testing.T
	dir     string
	handler http.Handler
}

func newFixture(t *testing.T, dir string, more ...func(*Config)) *fixture {
	t.Helper()
	cfg := Config{
		Open: func(context.Context) (fs.FS, func() error, error) {
			return os.DirFS(dir), func() error { return nil }, nil
		},
		Write: Folder(dir), Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
		Settings: func(context.Context, fs.FS) (schema.Settings, error) {
			return schema.Settings{Definitions: []string{"test_definitions"}}, nil
		},
	}
	for _, change := range more {
		change(&cfg)
	}
	mux := http.NewServeMux()
	New(cfg).Routes(mux)
	return &fixture{t, dir, access.Guard{}.Handler(mux)}
}

// writeFiles makes a folder with files.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// math is a domain with a test.
func math(t *testing.T) *fixture {
	return newFixture(t, writeFiles(t, map[string]string{
		"test_definitions/math/domain.json":       `{"id": "math", "name": "Math", "evaluator_id": "two_pass"}`,
		"test_definitions/math/level_1/sum.json":  `{"name": "Sum", "id": "math_sum", "prompt": "1 + 1?", "expected": {"answer": "2"}}`,
		"test_definitions/math/level_2/hard.json": `{"id": "math_hard", "name": "Hard", "prompt": "e^x?", "expected": {"answer": "1"}}`,
	}))
}

// ask sends a request as curl does.
func (d *fixture) ask(method, path, body string) (status int, answer map[string]any) {
	d.Helper()
	r := httptest.NewRequest(method, "http://localhost:8080"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	openapitest.Parse(d, OpenAPI).Check(d, method, path, w.Code, w.Body.Bytes())
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		d.Fatalf("%s %s answers %s, which is not a JSON object: %v", method, path, w.Body, err)
	}
	return w.Code, answer
}

// want is ask for a status.
func (d *fixture) want(status int, method, path, body string) map[string]any {
	d.Helper()
	got, answer := d.ask(method, path, body)
	if got != status {
		d.Fatalf("%s %s: status %d, want %d: %v", method, path, got, status, answer)
	}
	if status >= 400 && (answer["success"] != false || answer["error"] == "") {
		d.Errorf("%s %s: a refusal is %v, want success false with an error", method, path, answer)
	}
	return answer
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// add writes a file.
func (d *fixture) add(name, text string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
}

// file reads a file of the tree; empty if there is none.
func (d *fixture) file(name string) string {
	d.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(name)))
	if err != nil && !os.IsNotExist(err) {
		d.Fatal(err)
	}
	return string(data)
}

func (d *fixture) ids(path, list string) []string {
	d.Helper()
	var out []string
	items, _ := d.want(200, "GET", path, "")[list].([]any)
	for _, item := range items {
		fields, _ := item.(map[string]any)
		id, _ := fields["id"].(string)
		out = append(out, id)
	}
	return out
}

// TestTheDocumentsCommands sends what the format's own document says.
func TestTheDocumentsCommands(t *testing.T) {
	d := math(t)
	if diff := cmp.Diff([]string{"math_sum"}, d.ids("/api/settings/tests?domain=math&level=1", "tests")); diff != "" {
		t.Errorf("the tests of level 1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"math_sum", "math_hard"}, d.ids("/api/settings/tests?domain=math", "tests")); diff != "" {
		t.Errorf("without a level, all levels (-want +got):\n%s", diff)
	}
	answer := d.want(200, "POST", "/api/settings/tests",
		`{ "domain_id": "math", "level": 1, "name": "Addition Test", "prompt": "What is 2 + 2?", "expected": {"answer": "4", "type": "numeric"}, "evaluator_id": "two_pass" }`)
	test, _ := answer["test"].(map[string]any)
	if answer["success"] != true || test["id"] != "math_addition_test" || test["domain_id"] != "math" || test["level"] != 1.0 {
		t.Errorf("the new test is answered as %v", answer)
	}
	want := `{
  "id": "math_addition_test",
  "name": "Addition Test",
  "prompt": "What is 2 + 2?",
  "evaluator_id": "two_pass",
  "expected": {
    "answer": "4",
    "type": "numeric"
  }
}
`
	if diff := cmp.Diff(want, d.file("test_definitions/math/level_1/math_addition_test.json")); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	if diff, _ := answer["diff"].(string); !strings.Contains(diff, `+   "prompt": "What is 2 + 2?",`) {
		t.Errorf("the diff is %q, want the new lines", diff)
	}
	again := d.want(200, "POST", "/api/settings/tests", `{"domain_id": "math", "level": "2", "name": "Addition Test", "prompt": "3 + 3?", "expected": {"answer": "6"}}`)
	if test, _ := again["test"].(map[string]any); test["id"] != "math_addition_test_2" {
		t.Errorf("a second test of that name has the id %v", test["id"])
	}
	export := d.want(200, "GET", "/api/settings/export", "")
	delete(export, "exported_at")
	body, err := json.Marshal(export)
	if err != nil {
		t.Fatal(err)
	}
	imported := newFixture(t, t.TempDir())
	answer = imported.want(200, "POST", "/api/settings/import", string(body))
	if answer["domains_imported"] != 1.0 || answer["tests_imported"] != 4.0 || answer["tools_imported"] != 0.0 || answer["evaluators_imported"] != 0.0 {
		t.Errorf("the import is answered as %v", answer)
	}
}

func TestEditing(t *testing.T) {
	d := math(t)
	one := d.want(200, "GET", "/api/settings/tests/math_sum", "")
	version, _ := one["version"].(string)
	d.want(200, "PUT", "/api/settings/tests/math_sum", fmt.Sprintf(`{"prompt": "2 + 2?", "version": %q}`, version))
	if got := d.file("test_definitions/math/level_1/sum.json"); !strings.Contains(got, `"2 + 2?"`) || !strings.Contains(got, `"Sum"`) || strings.Contains(got, "version") {
		t.Errorf("the changed file is %s", got)
	}
	d.want(409, "PUT", "/api/settings/tests/math_sum", fmt.Sprintf(`{"prompt": "3 + 3?", "version": %q}`, version))
	d.want(409, "DELETE", "/api/settings/tests/math_sum?version="+version, "")
	d.want(200, "PUT", "/api/settings/tests/math_sum", `{"level": 3}`)
	if d.file("test_definitions/math/level_1/sum.json") != "" || !strings.Contains(d.file("test_definitions/math/level_3/math_sum.json"), "2 + 2?") {
		t.Error("a test with another level is not in that folder alone")
	}
	d.want(200, "POST", "/api/settings/domains", `{"id": "talk", "name": "Talk", "evaluator_id": "two_pass"}`)
	d.want(200, "PUT", "/api/settings/tests/math_sum", `{"domain_id": "talk", "level": 1}`)
	if !strings.Contains(d.file("test_definitions/talk/level_1/math_sum.json"), "2 + 2?") {
		t.Error("a test with another domain is not there")
	}
	d.want(400, "DELETE", "/api/settings/domains/math", "")
	d.want(200, "DELETE", "/api/settings/tests/math_hard", "")
	d.want(200, "DELETE", "/api/settings/domains/math", "")
	d.want(200, "POST", "/api/settings/evaluators", `{"name": "Tone", "type": "custom", "eval_prompt": "Is {response} polite?"}`)
	d.want(200, "POST", "/api/settings/tools", `{"id": "get_order", "name": "Order", "description": "x", "function": {"name": "get_order", "parameters": {"type": "object"}}, "mock_response": "{}", "mock_response_type": "json"}`)
	if got := slices.Concat(d.ids("/api/settings/evaluators", "evaluators"), d.ids("/api/settings/tools", "tools"), d.ids("/api/settings/domains", "domains")); !slices.Equal(got, []string{"tone", "get_order", "talk"}) {
		t.Errorf("the evaluators, tools and domains are %v", got)
	}
}

// TestWhatIsRefused holds that nothing is written of what gavel validate refuses, and
// that the message says what to write.
func TestWhatIsRefused(t *testing.T) {
	d := math(t)
	before := tree1(t, d.dir)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "tests", `{"domain_id": "math", "level": 1, "name": "x", "expected": {"answer": "1"}}`, 400, "prompt"},
		{"POST", "tests", `{"domain_id": "math", "level": 1, "name": "x", "promt": "x", "prompt": "y", "expected": {"answer": "1"}, "weight": -1}`, 400, "weight"},
		{"POST", "tests", `{"domain_id": "math", "level": 1, "name": "", "prompt": "y", "expected": {"answer": "1"}}`, 400, "`name` is blank"},
		{"POST", "tests", `{"domain_id": "math", "level": 1, "name": "x", "prompt": " \n", "expected": {"answer": "1"}}`, 400, "`prompt` is blank"},
		{"POST", "tests", `{"domain_id": "math", "level": 1, "name": " ", "prompt": "", "expected": {"answer": "1"}}`, 400, "`name` is blank; write a text\n`prompt` is blank"},
		{"POST", "tests", `{"domain_id": "math", "level": 1, "name": "x", "prompt": "y", "evaluator_id": "none", "expected": {"answer": "1"}}`, 400, "unknown evaluator"},
		{"POST", "tests", `{"domain_id": "math", "level": 99, "name": "x", "prompt": "y", "expected": {"answer": "1"}}`, 400, "from 1 to 5"},
		{"POST", "tests", `{"domain_id": "math", "level": 6, "name": "x", "prompt": "y", "expected": {"answer": "1"}}`, 400, "from 1 to 5"},
		{"POST", "tests/math_sum/move", `{"level": 6}`, 400, "from 1 to 5"},
		{"POST", "levels/math/1/move", `{"level": 6}`, 400, "from 1 to 5"},
		{"PUT", "levels/math/6", `{"system_prompt": "x"}`, 400, "from 1 to 5"},
		{"PUT", "tests/math_sum", `{"name": ""}`, 400, "`name` is blank"},
		{"PUT", "tests/math_sum", `{"prompt": ""}`, 400, "`prompt` is blank"},
		{"POST", "domains", `{"id": "talk", "name": ""}`, 400, "`name` is blank"},
		{"POST", "tests", `{"domain_id": "mth", "level": 1, "name": "x", "prompt": "y"}`, 400, "did you mean `math`"},
		{"POST", "tests", `{"name": "x", "prompt": "y"}`, 400, "domain_id"},
		{"POST", "tests", `{"domain_id": "math", "level": 0, "name": "x", "prompt": "y"}`, 400, "whole number from 1"},
		{"POST", "tests", `{"domain_id": "math", "level": "../..", "name": "x", "prompt": "y"}`, 400, "whole number from 1"},
		{"POST", "tests", `{"domain_id": "../..", "level": 1, "name": "x", "prompt": "y"}`, 400, "does not exist"},
		{"POST", "tests", `{"id": "../../x", "domain_id": "math", "level": 1, "name": "x", "prompt": "y"}`, 400, "letters, digits"},
		{"POST", "tests", `{"id": "math_sum", "domain_id": "math", "level": 2, "name": "x", "prompt": "y"}`, 400, "exists"},
		{"POST", "tests", `[1]`, 400, "JSON object"},
		{"POST", "tests", `{"domain_id": "math"`, 400, "JSON object"},
		{"POST", "domains", `{"id": "tools", "name": "x"}`, 400, "another meaning"},
		{"PUT", "tests/math_sun", `{"prompt": "x"}`, 404, "did you mean `math_sum`"},
		{"PUT", "domains/math", `{"id": "maths"}`, 400, "move the domain"},
		{"DELETE", "tests/none", "", 404, "does not exist"},
		{"POST", "import", `{"domain": []}`, 400, "needs a list `domains`"},
		{"POST", "import", `{"domains": [], "merge": 3}`, 400, "merge"},
		{"GET", "tests?level=x", "", 400, "whole number"},
	} {
		answer := d.want(tt.status, tt.method, "/api/settings/"+tt.path, tt.body)
		if said, _ := answer["error"].(string); !strings.Contains(said, tt.want) {
			t.Errorf("%s %s %s is refused by %q, want something about %q", tt.method, tt.path, tt.body, said, tt.want)
		}
	}
	if diff := cmp.Diff(before, tree1(t, d.dir)); diff != "" {
		t.Errorf("what was refused has changed files (-before +after):\n%s", diff)
	}
	readOnly := newFixture(t, d.dir, func(c *Config) { c.Write = nil })
	readOnly.want(403, "DELETE", "/api/settings/tests/math_sum", "")
}

// TestWhatATestNeeds holds that a new test without a level is in the first one, and that
// tests which an editor wrote beyond the levels of the format can still be changed.
func TestWhatATestNeeds(t *testing.T) {
	d := math(t)
	answer := d.want(200, "POST", "/api/settings/tests", `{"domain_id": "math", "name": "First", "prompt": "1?", "expected": {"answer": "1"}}`)
	if test, _ := answer["test"].(map[string]any); test["level"] != 1.0 || d.file("test_definitions/math/level_1/math_first.json") == "" {
		t.Errorf("a test without a level is answered as %v", answer)
	}
	if err := os.MkdirAll(filepath.Join(d.dir, "test_definitions", "math", "level_7"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.add("test_definitions/math/level_7/far.json", `{"id": "far", "name": "Far", "prompt": "", "expected": {"answer": "2"}}`)
	d.want(200, "PUT", "/api/settings/tests/far", `{"weight": 2}`)
	d.want(200, "PUT", "/api/settings/levels/math/7", `{"system_prompt": "Be exact."}`)
	d.want(200, "POST", "/api/settings/tests/math_first/move", `{"level": 7}`)
	d.want(200, "POST", "/api/settings/levels/math/7/move", `{"level": 3}`)
	if got := d.ids("/api/settings/tests?level=3", "tests"); !slices.Equal(got, []string{"far", "math_first"}) {
		t.Errorf("level 3 has %v", got)
	}
}

// tree1 has the files of a folder.
func tree1(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAbuseNoLinkLeadsOut holds that a folder that is a link is not written through.
func TestAbuseNoLinkLeadsOut(t *testing.T) {
	d := math(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(d.dir, "test_definitions", "math", "level_4")); err != nil {
		t.Skip("this machine has no links")
	}
	if status, answer := d.ask("POST", "/api/settings/tests", `{"domain_id": "math", "level": 4, "name": "x", "prompt": "y", "expected": {"answer": "1"}}`); status < 400 {
		t.Errorf("a test below a link is written: %v", answer)
	}
	if left := tree1(t, outside); len(left) > 0 {
		t.Errorf("files were written outside: %v", left)
	}
}

// TestExportImportExport holds that a document of the example's tree survives an import
// into an empty folder, and that a second import changes nothing.
func TestExportImportExport(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../examples/domain")); err != nil {
		t.Fatal(err)
	}
	level := filepath.Join(dir, "test_definitions", "support", "level_1", "level.json")
	if err := os.WriteFile(level, []byte(`{"system_prompt": "Be brief.", "system_prompt_mode": "append"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	from, to := newFixture(t, dir), newFixture(t, t.TempDir())
	seed := filepath.Join("test_definitions", "sql", "seed") // a document has no files
	if err := os.CopyFS(filepath.Join(to.dir, seed), os.DirFS(filepath.Join(dir, seed))); err != nil {
		t.Fatal(err)
	}
	export := func(d *fixture) string {
		doc := d.want(200, "GET", "/api/settings/export", "")
		delete(doc, "exported_at")
		out, err := json.MarshalIndent(doc, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before := export(from)
	if !strings.Contains(before, "Be brief.") {
		t.Error("the document lacks the settings of a level")
	}
	answer := to.want(200, "POST", "/api/settings/import", before)
	if list, _ := answer["errors"].([]any); len(list) != 0 {
		t.Errorf("the import loses %v", list)
	}
	if diff := cmp.Diff(before, export(to)); diff != "" {
		t.Errorf("the second export differs (-first +second):\n%s", diff)
	}
	for _, tt := range []struct {
		name string
		d    *fixture
	}{{"the new tree", to}, {"the old tree", from}} {
		again := tt.d.want(200, "POST", "/api/settings/import", before)
		if files, _ := again["files"].([]any); len(files) != 0 {
			t.Errorf("a second import into %s writes %v: %v", tt.name, files, again["diff"])
		}
	}
}

// TestImportWithoutMerge holds that definitions which a document lacks are removed only
// without merge.
func TestImportWithoutMerge(t *testing.T) {
	doc := `{"domains": [{"id": "math", "name": "Math", "evaluator_id": "two_pass", "tests": {"1": [{"id": "math_new", "name": "New", "prompt": "x", "expected": {"answer": "1"}}]}}]`
	d := math(t)
	d.want(200, "POST", "/api/settings/import", doc+`, "merge": true}`)
	if got := d.ids("/api/settings/tests", "tests"); !slices.Equal(got, []string{"math_new", "math_sum", "math_hard"}) {
		t.Errorf("with merge the tests are %v", got)
	}
	d.want(200, "POST", "/api/settings/import", doc+`, "merge": false}`)
	if got := d.ids("/api/settings/tests", "tests"); !slices.Equal(got, []string{"math_new"}) {
		t.Errorf("without merge the tests are %v", got)
	}
}

// TestOpenAPI holds that answers have the fields that the embedded document promises.
func TestOpenAPI(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct {
					Schema struct{ Required []string }
				}
			}
		}
	}
	if err := json.Unmarshal(OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		if !slices.Contains(Requests(), "GET "+path) {
			continue
		}
		id := "math_sum"
		for _, tt := range []struct{ part, of string }{{"domains", "math"}, {"evaluators", "tone"}, {"tools", "get_order"}, {"test-cases", "3f2b1c52-6f0e-4b57-9a3c-0a1b2c3d4e5f"}} {
			if strings.Contains(path, "/"+tt.part+"/") {
				id = tt.of
			}
		}
		d := math(t)
		d.want(200, "POST", "/api/settings/evaluators", `{"name": "Tone", "type": "custom", "eval_prompt": "Is {response} polite?"}`)
		d.want(200, "POST", "/api/settings/tools", `{"id": "get_order", "name": "Order", "function": {"name": "get_order"}, "mock_response": "{}", "mock_response_type": "json"}`)
		d.add("test_definitions/chat.json", `{"id": "3f2b1c52-6f0e-4b57-9a3c-0a1b2c3d4e5f", "name": "Chat", "initial_message": "hi"}`)
		answer := d.want(200, "GET", strings.NewReplacer("{id}", id, "{domain}", "math", "{level}", "1").Replace(path), "")
		for _, field := range methods["get"].Responses["200"].Content["application/json"].Schema.Required {
			if _, ok := answer[field]; !ok {
				t.Errorf("GET %s lacks the field %s", path, field)
			}
		}
	}
}

func TestTestCases(t *testing.T) {
	d := newFixture(t, writeFiles(t, map[string]string{"test_definitions/a.json": `[
		{"name": "One", "tags": ["red", "x"], "difficulty": "hard", "status": "active", "persona": {"type": "c", "description": "d", "instructions": "i"}, "initial_message": "hi", "expected_outcomes": {"a": "b"}},
		{"name": "Two", "tags": ["blue"], "difficulty": "normal", "status": "draft", "persona": {"type": "c", "description": "d", "instructions": "i"}, "initial_message": "hi", "expected_outcomes": {"a": "b"}}]`}))
	for _, tt := range []struct{ query, want string }{{"", "One Two"}, {"?tag=red", "One"}, {"?difficulty=normal", "Two"}, {"?status=draft", "Two"}, {"?tag=red&status=draft", ""}} {
		list, _ := d.want(200, "GET", "/api/test-cases"+tt.query, "")["test_cases"].([]any)
		var got []string
		for _, item := range list {
			fields, _ := item.(map[string]any)
			got = append(got, fmt.Sprint(fields["name"]))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("/api/test-cases%s has %v, want %s", tt.query, got, tt.want)
		}
	}
	if answer := d.want(400, "GET", "/api/test-cases?status=open", ""); answer["error"] != `status "open": write one of draft, active, archived` {
		t.Errorf("a status that does not exist is refused with %v", answer["error"])
	}
}

// TestTestCasesHaveWhatGitSays reads the generated fields, and those that are written.
func TestTestCasesHaveWhatGitSays(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := newFixture(t, writeFiles(t, map[string]string{"test_definitions/chat.json": `{"name": "Chat", "initial_message": "hi", "user_context": {"order": 7.50}}`}), func(c *Config) {
		c.Repository = "acme/shop"
		c.Identity = func(ctx context.Context, _ fs.FS, one *schema.Case) (*explain.Identity, error) {
			id, err := explain.Identify(ctx, &one.CaseInfo, explain.History{Repository: "acme/shop"})
			id.Created, id.Updated = &at, &at
			return id, err
		}
	})
	answer := d.want(200, "GET", "/api/test-cases", "")
	list, _ := answer["test_cases"].([]any)
	one, _ := list[0].(map[string]any)
	id, _ := one["id"].(string)
	if len(id) != 36 || one["created_at"] != "2026-01-02T03:04:05Z" || one["updated_at"] != "2026-01-02T03:04:05Z" || one["initial_message"] != "hi" || answer["total"] != 1.0 {
		t.Errorf("the list has %v", answer)
	}
	if alone := d.want(200, "GET", "/api/test-cases/"+id, ""); !cmp.Equal(one, alone) {
		t.Errorf("the case alone differs (-list +alone):\n%s", cmp.Diff(one, alone))
	}
	d.want(404, "GET", "/api/test-cases/none", "")
}

// TestLevelsAndMoves changes the settings of a level, and moves a test.
func TestLevelsAndMoves(t *testing.T) {
	d := math(t)
	d.want(200, "PUT", "/api/settings/levels/math/2", `{"system_prompt": "Be exact.", "system_prompt_mode": "append"}`)
	if got := d.file("test_definitions/math/level_2/level.json"); !strings.Contains(got, "Be exact.") || strings.Contains(got, `"id"`) {
		t.Errorf("the file of the level is %s", got)
	}
	level, _ := d.want(200, "GET", "/api/settings/levels/math/2", "")["level"].(map[string]any)
	if level["system_prompt"] != "Be exact." || level["domain_id"] != "math" || level["level"] != 2.0 {
		t.Errorf("the level is %v", level)
	}
	d.want(409, "PUT", "/api/settings/levels/math/2", `{"system_prompt": "x", "version": "0000"}`)
	d.want(404, "PUT", "/api/settings/levels/mth/2", `{"system_prompt": "x"}`)
	d.want(400, "PUT", "/api/settings/levels/math/2", `{"system_prompt_mode": "sometimes"}`)
	d.want(200, "POST", "/api/settings/tests/math_sum/move", `{"level": 2}`)
	if got := d.ids("/api/settings/tests?domain=math&level=2", "tests"); !slices.Equal(got, []string{"math_hard", "math_sum"}) {
		t.Errorf("after the move, level 2 has %v", got)
	}
	d.want(400, "POST", "/api/settings/tests/math_sum/move", `{"level": 2, "prompt": "x"}`)
	domains, _ := d.want(200, "GET", "/api/settings/domains", "")["domains"].([]any)
	domain, _ := domains[0].(map[string]any)
	levels, _ := domain["levels"].(map[string]any)
	want := map[string]any{"test_count": 2.0, "has_system_prompt": true}
	if domain["total_tests"] != 2.0 || len(levels) != 5 || !cmp.Equal(levels["2"], any(want)) {
		t.Errorf("the domain is %v", domain)
	}
}
