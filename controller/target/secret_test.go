package target

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target/httpagent"
)

func TestScrub(t *testing.T) {
	values := map[string]string{
		"HEADER": "from-a-header-9", "LONG_KEY": "key-0123456789/+", "LONGER_TOKEN": "key-0123456789/+&\"more", "STUB_KEY": "none",
		"LOG_LEVEL": "debugging", "STORE": "postgres://u:hunter2@db/x", "SITE": "https://example.org/",
	}
	scrub := ScrubSecrets([]config.Target{
		{APIKeyEnv: "LONG_KEY"}, {APIKeyEnv: "STUB_KEY"}, {APIKeyEnv: "UNSET"},
		{HTTP: httpagent.Format{Headers: []httpagent.Header{{Name: "X-Team", Value: "evals"}, {Name: "X-Key", Env: "HEADER", Prefix: "Token "}}}},
		{Env: []string{"LONGER_TOKEN", "LOG_LEVEL", "STORE", "SITE", "UNSET_TOKEN"}},
	}, func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	})
	tests := []struct{ in, want string }{
		{"evals: Token from-a-header-9", "evals: Token [redacted]"},
		{"a key-0123456789/+ b", "a [redacted] b"},
		{"key-0123456789/+&\"more", "[redacted]"},
		{"?k=key-0123456789%2F%2B&x", "?k=[redacted]&x"},
		{`{"k":"key-0123456789/+\u0026\"more"}`, `{"k":"[redacted]"}`},
		{"none of debugging https://example.org/", "none of debugging https://example.org/"},
		{"postgres://u:hunter2@db/x", "[redacted]"},
	}
	for _, tt := range tests {
		if got := scrub(tt.in); got != tt.want {
			t.Errorf("scrub(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestSecretPrints(t *testing.T) {
	s := secret("sk-test/0123456789")
	encoded, err := json.Marshal(map[string]any{"key": s})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%v %s %q %x %#v %+v", s, s, s, s, s, struct{ Key secret }{s}) + string(encoded)
	want := `[redacted] [redacted] [redacted] [redacted] [redacted] {Key:[redacted]}{"key":"[redacted]"}`
	if got != want {
		t.Errorf("got %s", got)
	}
}

// TestKeysByTheirForm holds that keys which nobody declared stay for the
// evaluators: a case that forbids them must fail.
func TestKeysByTheirForm(t *testing.T) {
	in := "sk-proj-" + strings.Repeat("aB3x", 12)
	if got := ScrubSecrets(nil, func(string) (string, bool) { return "", false })(in); got != in {
		t.Errorf("scrub(%q) = %q", in, got)
	}
}
