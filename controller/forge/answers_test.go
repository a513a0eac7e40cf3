package forge

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
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
	body := []byte(`[` + strings.Repeat(`{"url":"https://forge.example/repos/octo/demo/pulls/7"},`, 100) + `{}]`)
	got := newAnswer(header, body)
	want := http.Header{"Etag": {`"a"`}, "Link": {`<https://forge.example/?page=2>; rel="next"`}, "Content-Type": {"application/json"}, "X-Total-Count": {"7"}, "X-Oauth-Scopes": {"repo"}}
	if diff := cmp.Diff(want, got.header); diff != "" || got.tag != `"a"` {
		t.Errorf("the tag is %s, the headers (-want +got):\n%s", got.tag, diff)
	}
	kept, err := got.body()
	if err != nil || !bytes.Equal(kept, body) {
		t.Errorf("the body is %q (%v), want what came", kept, err)
	}
	if cap(got.packed) > len(body)/10 {
		t.Errorf("a body of %d bytes takes %d", len(body), cap(got.packed))
	}
}

// TestPut drops the oldest answers beyond the bound.
func TestPut(t *testing.T) {
	const quarter = maxKept/4 - 2*keptBeside
	a := newAnswers()
	for i := range 5 {
		a.put(strconv.Itoa(i), answer{packed: make([]byte, quarter)})
	}
	a.put("1", answer{}) // keeps its place, and takes less
	a.put("5", answer{packed: make([]byte, quarter)})
	for url, want := range map[string]bool{"0": false, "1": true, "2": true, "5": true} {
		if _, kept := a.get(url); kept != want {
			t.Errorf("the answer %s is kept: %t, want %t", url, kept, want)
		}
	}
	if want := 4*(quarter+keptBeside+1) + keptBeside + 1; a.size != want {
		t.Errorf("the answers take %d bytes, want %d", a.size, want)
	}
}
