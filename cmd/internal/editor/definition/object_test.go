package definition

import (
	"encoding/json"
	"testing"
)

func TestFile(t *testing.T) {
	got, err := EncodeObject([]string{"id", "name"}, Fields{"zeta": json.RawMessage(`7.50`), "alpha": json.RawMessage(`[1]`), "name": QuoteText("a <b>"), "id": QuoteText("x")})
	const want = "{\n  \"id\": \"x\",\n  \"name\": \"a \\u003cb\\u003e\",\n  \"alpha\": [\n    1\n  ],\n  \"zeta\": 7.50\n}\n"
	if err != nil || string(got) != want {
		t.Errorf("the file is %s, %v, want %s", got, err, want)
	}
	if _, err := EncodeObject(nil, Fields{"a": json.RawMessage(`{`)}); err == nil {
		t.Error("what is not JSON makes a file")
	}
}

func TestNewID(t *testing.T) {
	taken := map[string]bool{"math_sum_of_two": true, "math_sum_of_two_2": true}
	for _, tt := range []struct{ name, want string }{{"Sum of two!", "math_sum_of_two_3"}, {"Product", "math_product"}, {"…", "math_new"}, {"Été à la plage", "math_ete_a_la_plage"}} {
		if got := NewID("math", tt.name, func(id string) bool { return taken[id] }); got != tt.want {
			t.Errorf("the id for %q is %s, want %s", tt.name, got, tt.want)
		}
	}
}
