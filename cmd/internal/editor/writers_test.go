package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/safefile"
	"github.com/gavel-evals/gavel/schema"
)

// TestTwoStoresLoseNothing: each change of the same file by two stores, as two processes
// have them, is there at the end where it was acknowledged.
func TestTwoStoresLoseNothing(t *testing.T) {
	const file = "test_definitions/math/level_1/sum.json"
	dir := writeFiles(t, map[string]string{
		"test_definitions/math/domain.json": `{"id": "math", "name": "Math", "evaluator_id": "keyword"}`,
		file:                                `{"id": "sum", "name": "Sum", "prompt": "1+1", "expected": {"keywords": ["2"]}}`,
	})
	newStore := func() *Store {
		return New(Config{
			Open: func(context.Context) (fs.FS, func() error, error) {
				return os.DirFS(dir), func() error { return nil }, nil
			},
			Write: Folder(dir),
			Lock:  func(ctx context.Context) (func() error, error) { return safefile.Lock(ctx, filepath.Join(dir, "lock")) },
			Settings: func(context.Context, fs.FS) (schema.Settings, error) {
				return schema.Settings{Definitions: []string{"test_definitions"}}, nil
			},
		})
	}
	var saved atomic.Int64
	var all sync.WaitGroup
	for who := range 2 {
		s := newStore()
		all.Go(func() {
			for i := range 40 {
				e, err := s.get(t.Context(), kindTest, "sum")
				if err != nil {
					t.Errorf("writer %d reads: %v", who, err)
					return
				}
				var tags []string
				_ = json.Unmarshal(e.Fields["tags"], &tags) // there are none at first
				text, _ := json.Marshal(append(tags, fmt.Sprintf("w%d-%d", who, i)))
				version, _ := json.Marshal(e.Version)
				if _, _, err := s.save(t.Context(), edit{kind: kindTest, id: "sum", fields: Fields{"tags": text, "version": version}}); err == nil {
					saved.Add(1)
				}
			}
		})
	}
	all.Wait()
	var got struct{ Tags []string }
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil || len(got.Tags) != int(saved.Load()) || saved.Load() == 0 {
		t.Errorf("%d changes of %d that were acknowledged are there, %v", len(got.Tags), saved.Load(), err)
	}
}

// TestTestCasesHaveVersions: the one that was read is asked for, and another is refused.
func TestTestCasesHaveVersions(t *testing.T) {
	d := newFixture(t, writeFiles(t, map[string]string{"test_definitions/chat.json": `{"name": "Chat", "initial_message": "hi"}`}), func(*Config) {})
	list, _ := d.want(200, "GET", "/api/test-cases", "")["test_cases"].([]any)
	one, _ := list[0].(map[string]any)
	at := fmt.Sprintf("/api/test-cases/%v", one["id"])
	read := one["version"]
	made, _ := d.want(200, "PUT", at, fmt.Sprintf(`{"initial_message": "first", "version": %q}`, read))["test_case"].(map[string]any)
	if made["version"] == read || made["version"] != d.want(200, "GET", at, "")["version"] {
		t.Errorf("the versions are %v, then %v", read, made["version"])
	}
	d.want(409, "PUT", at, fmt.Sprintf(`{"initial_message": "second", "version": %q}`, read))
	d.want(409, "DELETE", fmt.Sprintf("%s?version=%v", at, read), "")
	d.want(200, "DELETE", fmt.Sprintf("%s?version=%v", at, made["version"]), "")
}

// TestEveryAnswerHasAVersion, and every request honours one: an outdated one is refused
// before anything is written.
func TestEveryAnswerHasAVersion(t *testing.T) {
	const stale = "0123456789abcdef"
	files := map[string]string{
		"test_definitions/math/domain.json":         `{"id": "math", "name": "Math", "evaluator_id": "tone"}`,
		"test_definitions/math/level_1/sum.json":    `{"id": "sum", "name": "Sum", "prompt": "1+1", "tool_ids": ["order"], "expected": {"keywords": ["2"]}}`,
		"test_definitions/math/level_2/level.json":  `{"system_prompt": "Be exact."}`,
		"test_definitions/math/level_2/hard.json":   `{"id": "hard", "name": "Hard", "prompt": "1-1", "expected": {"keywords": ["0"]}}`,
		"test_definitions/evaluators/tone.json":     `{"id": "tone", "name": "Tone", "type": "custom", "eval_prompt": "Is {response} polite?"}`,
		"test_definitions/evaluators/alone.json":    `{"id": "alone", "name": "Alone", "type": "custom", "eval_prompt": "Is {response} polite?"}`,
		"test_definitions/tools/order.json":         `{"id": "order", "name": "Order", "function": {"name": "order"}, "mock_response": "{}", "mock_response_type": "json"}`,
		"test_definitions/tools/alone.json":         `{"id": "alone", "name": "Alone", "function": {"name": "alone"}, "mock_response": "{}", "mock_response_type": "json"}`,
		"test_definitions/empty/domain.json":        `{"id": "empty", "name": "Empty"}`,
		"test_definitions/other/domain.json":        `{"id": "other", "name": "Other"}`,
		"test_definitions/other/level_3/level.json": `{"system_prompt": "Be kind."}`,
		"test_definitions/chat.json":                `{"id": "3f2b1c52-6f0e-4b57-9a3c-0a1b2c3d4e5f", "name": "Chat", "initial_message": "hi"}`,
	}
	const chat = "/api/test-cases/3f2b1c52-6f0e-4b57-9a3c-0a1b2c3d4e5f"
	for _, tt := range []struct {
		method, path string
		// body has a field for the version at its end; empty for a parameter.
		body string
		// read is where the version is read; empty for a new definition.
		read string
		// has is the field of the answer with the version; empty for a removed
		// definition.
		has string
	}{
		{"POST", "/api/settings/domains", `{"id": "new", "name": "New"`, "", "domain"},
		{"PUT", "/api/settings/domains/math", `{"name": "More"`, "/api/settings/domains/math", "domain"},
		{"POST", "/api/settings/domains/math/move", `{"id": "algebra"`, "/api/settings/domains/math", "domain"},
		{"DELETE", "/api/settings/domains/empty", "", "/api/settings/domains/empty", ""},
		{"POST", "/api/settings/tests", `{"domain_id": "math", "name": "New", "prompt": "2+2", "expected": {"keywords": ["4"]}`, "", "test"},
		{"PUT", "/api/settings/tests/sum", `{"name": "More"`, "/api/settings/tests/sum", "test"},
		{"POST", "/api/settings/tests/sum/move", `{"level": 3`, "/api/settings/tests/sum", "test"},
		{"DELETE", "/api/settings/tests/sum", "", "/api/settings/tests/sum", ""},
		{"POST", "/api/settings/evaluators", `{"id": "new", "name": "New", "type": "custom", "eval_prompt": "Is {response} new?"`, "", "evaluator"},
		{"PUT", "/api/settings/evaluators/tone", `{"name": "More"`, "/api/settings/evaluators/tone", "evaluator"},
		{"POST", "/api/settings/evaluators/tone/move", `{"id": "manners"`, "/api/settings/evaluators/tone", "evaluator"},
		{"DELETE", "/api/settings/evaluators/alone", "", "/api/settings/evaluators/alone", ""},
		{"POST", "/api/settings/tools", `{"id": "new", "name": "New", "function": {"name": "new"}, "mock_response": "{}", "mock_response_type": "json"`, "", "tool"},
		{"PUT", "/api/settings/tools/order", `{"name": "More"`, "/api/settings/tools/order", "tool"},
		{"POST", "/api/settings/tools/order/move", `{"id": "parcel"`, "/api/settings/tools/order", "tool"},
		{"DELETE", "/api/settings/tools/alone", "", "/api/settings/tools/alone", ""},
		{"PUT", "/api/settings/levels/math/1", `{"system_prompt": "Be brief."`, "/api/settings/levels/math/1", "level"},
		{"PUT", "/api/settings/levels/math/2", `{"system_prompt": "Be brief."`, "/api/settings/levels/math/2", "level"},
		{"POST", "/api/settings/levels/math/1/move", `{"level": 4`, "/api/settings/levels/math/1", "level"},
		{"POST", "/api/settings/levels/math/2/move", `{"level": 4`, "/api/settings/levels/math/2", "level"},
		{"DELETE", "/api/settings/levels/other/3", "", "/api/settings/levels/other/3", ""},
		{"POST", "/api/test-cases", `{"name": "New", "initial_message": "hi"`, "", "test_case"},
		{"PUT", chat, `{"name": "More"`, chat, "test_case"},
		{"DELETE", chat, "", chat, ""},
	} {
		d := newFixture(t, writeFiles(t, files))
		ask := func(status int, version string) map[string]any {
			if tt.body == "" {
				return d.want(status, tt.method, tt.path+"?version="+version, "")
			}
			return d.want(status, tt.method, tt.path, fmt.Sprintf(`%s, "version": %s}`, tt.body, version))
		}
		quoted := func(version string) string {
			if tt.body == "" {
				return version
			}
			return fmt.Sprintf("%q", version)
		}
		ask(409, quoted(stale))
		if tt.body != "" {
			ask(400, "7")
		}
		if diff := cmp.Diff(files, filesOf(t, d.dir)); diff != "" {
			t.Fatalf("%s %s with another version wrote something (-want +got):\n%s", tt.method, tt.path, diff)
		}
		version := ""
		if tt.read != "" {
			version = readVersion(d.want(200, "GET", tt.read, ""))
			if version == "" {
				t.Fatalf("GET %s has no version", tt.read)
			}
		}
		answer := ask(200, quoted(version))
		if tt.has == "" {
			continue
		}
		made, _ := answer[tt.has].(map[string]any)
		if is, _ := made["version"].(string); is == "" {
			t.Errorf("%s %s: the answer has no version: %v", tt.method, tt.path, answer)
		}
		for file, version := range answer["versions"].(map[string]any) {
			if contentVersion([]byte(d.file(file))) != version {
				t.Errorf("%s %s: the version of %s is %v, and the file has another", tt.method, tt.path, file, version)
			}
		}
	}
}

// readVersion is the version of an answer with one definition.
func readVersion(answer map[string]any) string {
	if level, ok := answer["level"].(map[string]any); ok {
		answer = level
	}
	version, _ := answer["version"].(string)
	return version
}

// TestImportHonoursVersions of the files that it replaces, removes or makes again.
func TestImportHonoursVersions(t *testing.T) {
	d := math(t)
	var doc map[string]any
	if err := json.Unmarshal(mustJSON(t, d.want(200, "GET", "/api/settings/export", "")), &doc); err != nil {
		t.Fatal(err)
	}
	const sum, hard = "test_definitions/math/level_1/sum.json", "test_definitions/math/level_2/hard.json"
	doc["versions"] = map[string]string{sum: contentVersion([]byte(d.file(sum))), hard: contentVersion([]byte(d.file(hard)))}
	d.want(200, "PUT", "/api/settings/tests/math_sum", `{"prompt": "2 + 2?"}`)
	before := filesOf(t, d.dir)
	d.want(409, "POST", "/api/settings/import", string(mustJSON(t, doc)))
	d.want(400, "POST", "/api/settings/import", `{"versions": ["a"], "domains": []}`)
	if diff := cmp.Diff(before, filesOf(t, d.dir)); diff != "" {
		t.Errorf("an import that is refused wrote something (-want +got):\n%s", diff)
	}
	doc["versions"] = map[string]string{sum: contentVersion([]byte(d.file(sum)))}
	answer := d.want(200, "POST", "/api/settings/import", string(mustJSON(t, doc)))
	if versions, _ := answer["versions"].(map[string]any); versions[sum] != contentVersion([]byte(d.file(sum))) {
		t.Errorf("the versions are %v", answer["versions"])
	}
}

// filesOf are all files of a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(os.DirFS(dir), name)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
