package forge_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
)

func FuzzHint(f *testing.F) {
	for _, body := range []string{`{"number": 7, "repository": {"id": 1, "full_name": "octo/demo"}}`, `{"issue": {"number": 7, "pull_request": {}}, "repository": {"id": 1, "full_name": "octo/demo"}}`, `null`, `{"repository": {}}`, `{"ref": "refs/heads/\u202e", "repository": {"id": 1, "full_name": "octo/demo"}}`} {
		for _, event := range []string{"pull_request", "issue_comment", "push", "check_run", "merge_group", "installation"} {
			f.Add(event, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		hint, err := forge.ParseHint(event, body)
		if err == nil && (hint.Number < 0 || hint.Repository < 0 || strings.HasPrefix(hint.Branch, "-") || bytes.ContainsAny([]byte(hint.Branch), "\x00\n ")) {
			t.Errorf("%q gives %+v", body, hint)
		}
	})
}
