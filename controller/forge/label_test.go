package forge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
)

// TestLabels hears the label that asks for a run, from GitHub, which names it, and from
// Gitea, which names all that the pull request has.
func TestLabels(t *testing.T) {
	sha := strings.Repeat("a", 40)
	body := func(action, more, head, at string) string {
		return fmt.Sprintf(`{"action": %q, %s "number": 7, "sender": {"login": "mona", "id": 101, "type": "User"},
			"repository": {"id": 1, "full_name": "octo/demo"}, "pull_request": {"number": 7, "state": "open", "updated_at": %q,
			"labels": [{"name": "bug"}, {"name": "gavel:run"}], "user": {"login": "mona"},
			"head": {"sha": %q, "ref": "topic", "repo": {"id": 1, "full_name": "octo/demo"}},
			"base": {"sha": %q, "ref": "main", "repo": {"id": 1, "full_name": "octo/demo"}}}}`, action, more, at, head, sha)
	}
	const github, at = `"label": {"name": "gavel:run"},`, "2026-03-01T12:00:00Z"
	first := body("labeled", github, sha, at)
	ids := map[int64]bool{}
	for _, tt := range []struct {
		name, body string
		asks       bool
	}{
		{"GitHub", first, true},
		{"GitHub, later", body("labeled", github, sha, "2026-03-01T12:05:00Z"), true},
		{"GitHub, at another head", body("labeled", github, strings.Repeat("b", 40), at), true},
		{"Gitea", body("label_updated", "", sha, "2026-03-01T12:10:00+01:00"), true},
		{"another label", body("labeled", `"label": {"name": "bug"},`, sha, at), false},
		{"a name that begins so", body("labeled", `"label": {"name": "gavel:running"},`, sha, at), false},
		{"taken away", body("unlabeled", github, sha, at), false},
		{"Gitea, without it", strings.Replace(body("label_updated", "", sha, at), "gavel:run", "docs", 1), false},
		{"a push", body("synchronize", "", sha, at), false},
		{"a head that is none", body("labeled", github, "--x", at), false},
		{"nobody", strings.Replace(first, `"login": "mona", "id"`, `"login": "", "id"`, 1), false},
	} {
		hint, err := forge.ParseHint("pull_request", []byte(tt.body))
		if err != nil || hint.Number != 7 || (hint.Label != nil) != tt.asks {
			t.Errorf("%s: %+v, %v", tt.name, hint, err)
			continue
		}
		file := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(file, []byte(tt.body), 0o600); err != nil {
			t.Fatal(err)
		}
		event, err := forge.ReadEvent(file, "pull_request")
		if tt.name == "a head that is none" {
			continue // a job refuses the event
		}
		if err != nil || (event.Label != nil) != tt.asks {
			t.Errorf("%s: a job's event is %+v, %v", tt.name, event, err)
			continue
		}
		if !tt.asks {
			continue
		}
		if *event.Label != *hint.Label || hint.Label.Sender.Login != "mona" || hint.Label.Sender.ID != 101 || hint.Label.ID >= 0 || ids[hint.Label.ID] {
			t.Errorf("%s: a job hears %+v, a server %+v", tt.name, event.Label, hint.Label)
		}
		ids[hint.Label.ID] = true
		if again, err := forge.ParseHint("pull_request", []byte(tt.body)); err != nil || *again.Label != *hint.Label {
			t.Errorf("%s: delivered again it is %+v", tt.name, again.Label)
		}
	}
}
