package forge

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNewAnswer keeps what is read of an answer that is confirmed, and nothing that a later
// one says itself.
func TestNewAnswer(t *testing.T) {
	header := http.Header{}
	for name, value := range map[string]string{
		"ETag": `"a"`, "Link": `<https://forge.example/?page=2>; rel="next"`, "Content-Type": "application/json", "X-Total-Count": "7", "X-OAuth-Scopes": "repo",
		"Date": "Sat, 28 Nov 2026 20:00:00 GMT", "X-RateLimit-Remaining": "0", "Retry-After": "60", "Server": "forge",
	} {
		header.Set(name, value)
	}
	body := make([]byte, 3, 512)
	got := newAnswer(header, body)
	want := http.Header{"Etag": {`"a"`}, "Link": {`<https://forge.example/?page=2>; rel="next"`}, "Content-Type": {"application/json"}, "X-Total-Count": {"7"}, "X-Oauth-Scopes": {"repo"}}
	if diff := cmp.Diff(want, got.header); diff != "" || got.tag != `"a"` || len(got.body) != 3 || cap(got.body) == 512 {
		t.Errorf("the tag is %s, the body takes %d bytes, the headers (-want +got):\n%s", got.tag, cap(got.body), diff)
	}
}
