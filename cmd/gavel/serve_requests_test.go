package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
)

// TestServeRequestsThatChange deletes, moves and imports definitions on a server: each
// is a pull request with a commit that changes those files and no others.
func TestServeRequestsThatChange(t *testing.T) {
	j := newPages(t, false)
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	api := base + "/r/octo/demo/api/settings/"
	var list struct {
		Tests []struct{ ID, Path string }
	}
	if err := json.Unmarshal([]byte(mustGet(t, api+"tests")), &list); err != nil || len(list.Tests) == 0 {
		t.Fatal(list, err)
	}
	one := list.Tests[0]
	domain := strings.Split(one.Path, "/")[1]
	moved := strings.Replace(one.Path, "/"+domain+"/", "/elsewhere/", 1)
	exported := mustGet(t, api+"export")
	added := strings.ReplaceAll(`{"merge": true, "data": {"version": "1.0", "domains": [{"id": "import", "name": "Imported", "tests": {"1": [
		{"id": "import_one", "name": "One", "prompt": "Hello?", "expected": {"keywords": ["hello"]}, "evaluator_id": "keyword"}]}}]}}`, "\n", "")
	for i, tt := range []struct {
		method, path, body string
		want               []string
	}{
		{"DELETE", "tests/" + one.ID, "", []string{"D\t" + one.Path}},
		{"POST", "tests/" + one.ID + "/move", `{"level": 4}`, []string{"D\t" + one.Path}},
		{"POST", "domains/" + domain + "/move", `{"id": "elsewhere"}`, []string{"D\t" + one.Path, "A\t" + moved}},
		{"POST", "import", added, []string{"A\t", "/import/domain.json", "/import/level_1/import_one.json"}},
	} {
		if status, body := ask(t, tt.method, api+tt.path, bobsToken, tt.body); status != 403 {
			t.Errorf("%s %s of somebody who only sees is %d %s", tt.method, tt.path, status, body)
		}
		status, body := ask(t, tt.method, api+tt.path, adasToken, tt.body)
		var saved struct {
			Files  []string
			Branch string
		}
		if err := json.Unmarshal([]byte(body), &saved); err != nil || status != 200 {
			t.Fatalf("%s %s is %d %s, %v", tt.method, tt.path, status, body, err)
		}
		if pull := j.forge.Pull(i + 2); pull.HeadRef != saved.Branch || saved.Branch == "" {
			t.Errorf("%s %s: the pull request is %+v, want the branch %q", tt.method, tt.path, pull, saved.Branch)
		}
		diff := j.git(t, "diff", "--no-renames", "--name-status", j.base, saved.Branch)
		for _, want := range tt.want {
			if !strings.Contains(diff, want) {
				t.Errorf("%s %s: the branch changes\n%s\nwant %s in it", tt.method, tt.path, diff, want)
			}
		}
		if n := len(strings.Split(diff, "\n")); n != len(saved.Files) {
			t.Errorf("%s %s: the branch changes %d files, the answer says %d", tt.method, tt.path, n, len(saved.Files))
		}
	}
	// The definitions of an export are there, so that importing it proposes nothing.
	before := len(j.forge.Writes())
	if status, body := ask(t, "POST", api+"import", adasToken, exported); status != 200 || !strings.Contains(body, `"files": []`) {
		t.Errorf("importing what was exported is %d %s", status, body)
	}
	if after := len(j.forge.Writes()); after != before {
		t.Errorf("importing what was exported wrote %v", j.forge.Writes()[before:])
	}
	end()
}

// TestServeAnswersWhatIsDocumented asks for each documented path of a server.
func TestServeAnswersWhatIsDocumented(t *testing.T) {
	j := newPages(t, false)
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Content map[string]any }
		}
	}
	if err := json.Unmarshal(editor.OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		get, ok := methods["get"]
		if !ok {
			continue
		}
		root := "/r/octo/demo"
		if path == "/api/repositories" {
			root = ""
		}
		query := ""
		if path == "/api/compare" {
			query = "?a=" + j.head + "&b=" + j.head
		}
		status, kind := headOf(t, base+root+strings.NewReplacer("{id}", "none", "{domain}", "none", "{level}", "1", "{run}", "none").Replace(path)+query)
		wanted := 200
		if strings.Contains(path, "{") {
			wanted = 404 // of an id that nothing has, said as JSON
		}
		if status != wanted {
			t.Errorf("GET %s is %d, want %d", path, status, wanted)
		}
		var kinds []string
		for name := range get.Responses["200"].Content {
			kinds = append(kinds, name)
		}
		if !slices.Contains(kinds, kind) {
			t.Errorf("GET %s answers with %s, documented is %v", path, kind, kinds)
		}
	}
	end()
}

// headOf asks for what may never end, and returns how the answer begins.
func headOf(t *testing.T, url string) (status int, kind string) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := visitor.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	kind, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
	return resp.StatusCode, kind
}
