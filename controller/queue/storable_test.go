package queue

import (
	"encoding/json"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestName holds that the cases of several targets have different names, which PostgreSQL
// stores.
func TestName(t *testing.T) {
	for _, tt := range []struct {
		about schema.CaseInfo
		want  string
	}{
		{schema.CaseInfo{Key: "s#a", Target: "bot"}, "s#a"},
		{schema.CaseInfo{Key: "s#a", Target: "fox", PerTarget: true}, "s#a @ fox"},
	} {
		if got := Name(&schema.Case{CaseInfo: tt.about}); got != tt.want {
			t.Errorf("the case %+v has the name %q, want %q", tt.about, got, tt.want)
		}
	}
}

// TestStorable holds that the escapes which PostgreSQL refuses are replaced, and nothing else.
func TestStorable(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`"a\u0000b"`, `"a\ufffdb"`},
		{`"\\u0000"`, `"\\u0000"`},
		{`"\\\u0000"`, `"\\\ufffd"`},
		{`"\ud83d\ude00"`, `"\ud83d\ude00"`},
		{`"\ud83d"`, `"\ufffd"`},
		{`"\ud83d\u0000"`, `"\ufffd\ufffd"`},
		{`"\ude00\ud83d"`, `"\ufffd\ufffd"`},
		{`"\u003c\n\""`, `"\u003c\n\""`},
	} {
		got, err := storable(json.RawMessage(tt.text))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s is stored as %s, %v, want %s", tt.text, got, err, tt.want)
		}
	}
}
