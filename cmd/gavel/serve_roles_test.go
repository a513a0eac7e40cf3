package main

import (
	"strings"
	"testing"
)

// TestServePagesRoles holds what each role may do from the pages: who sees reads alone, who
// judges has a pull request looked at again and changes no definition, and who edits does
// both. The button is there for those alone who may press it.
func TestServePagesRoles(t *testing.T) {
	const carolsToken = "a-token-of-carol-0123456789"
	j := newPages(t, true)
	j.env["CAROL"] = carolsToken
	base, log, end := j.serving(t, operatorsFile(t, j, usersOfPages+"    carol: {token_env: CAROL, role: judge}\n"))
	const looked = `"repo":"octo/demo#1","duration"`
	log.await(t, looked)
	first, _, _ := strings.Cut(strings.SplitN(getAs(t, base+"/r/octo/demo/api/settings/tests", bobsToken), `"domain_id": "`, 2)[1], `"`)
	added := `{"name": "Later", "domain_id": "` + first + `", "level": 1, "prompt": "Hello?", "expected": {"keywords": ["hello"]}, "evaluator_id": "keyword"}`
	for _, tt := range []struct {
		name, token        string
		list, look, change int
		button             bool
	}{
		{"nobody", "", 404, 404, 404, false},
		{"a user who sees", bobsToken, 200, 403, 403, false},
		{"a user who judges", carolsToken, 200, 200, 403, true},
		{"a user who edits", adasToken, 200, 200, 200, true},
	} {
		status, list := ask(t, "GET", base+"/r/octo/demo/pulls", tt.token, "")
		if status != tt.list || strings.Contains(list, `action="/r/octo/demo/pulls/1/look"`) != tt.button {
			t.Errorf("%s gets the pull requests with %d and a button: %v; want %d and %v\n%s", tt.name, status, !tt.button, tt.list, tt.button, list)
		}
		if status, body := ask(t, "POST", base+"/r/octo/demo/pulls/1/look", tt.token, "{}"); status != tt.look {
			t.Errorf("%s has a pull request looked at again with %d, want %d: %s", tt.name, status, tt.look, body)
		}
		if tt.look == 200 {
			log.await(t, looked) // the server has looked
		}
		if status, body := ask(t, "POST", base+"/r/octo/demo/api/settings/tests", tt.token, added); status != tt.change {
			t.Errorf("%s adds a test with %d, want %d: %s", tt.name, status, tt.change, body)
		}
	}
	if code := end(); code != 0 {
		t.Errorf("the server ends with %d, want 0", code)
	}
}
