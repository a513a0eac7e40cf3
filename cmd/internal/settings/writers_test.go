package settings

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

	"github.com/gavel-evals/gavel/controller/safefile"
	"github.com/gavel-evals/gavel/schema"
)

// TestTwoStoresLoseNothing: each change of the same file by two stores, as two processes
// have them, is there at the end where it was acknowledged.
func TestTwoStoresLoseNothing(t *testing.T) {
	const file = "test_definitions/math/level_1/sum.json"
	dir := write(t, map[string]string{
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
	d := newFixture(t, write(t, map[string]string{"test_definitions/chat.json": `{"name": "Chat", "initial_message": "hi"}`}), func(*Config) {})
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
