package oldnames_test

import (
	"testing"

	"github.com/gavel-evals/gavel/schema/oldnames"
)

func TestRename(t *testing.T) {
	inner := oldnames.Rules{"": {"low": "ci_low"}}
	rules := oldnames.Rules{"": {"orders": "commands"}, "rows": {"trial": oldnames.Up}}.With(inner.Nested("rows.trial.score"))
	for _, tt := range []struct{ name, document, want string }{
		{"a field of the document", `{"orders":[1]}`, `{"commands":[1]}`},
		{"a field of another object", `{"rows":[{"orders":1}]}`, `{"rows":[{"orders":1}]}`},
		{"an object that moves up", `{"rows":[{"trial":{"a":1.50}},{"trial":null}]}`, `{"rows":[{"a":1.50},{}]}`},
		{"a field below it", `{"rows":[{"trial":{"score":{"low":0.1,"b":2}}}]}`, `{"rows":[{"score":{"b":2,"ci_low":0.1}}]}`},
		{"values as they are", `{"n":12345678901234567890,"s":"orders <b>","x":[null,true]}`, `{"n":12345678901234567890,"s":"orders \u003cb\u003e","x":[null,true]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := oldnames.Rename([]byte(tt.document), rules)
			if err != nil || string(got) != tt.want {
				t.Errorf("Rename = %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	if _, err := oldnames.Rename([]byte(`{"orders":`), rules); err == nil {
		t.Error("Rename accepts half a document")
	}
}
