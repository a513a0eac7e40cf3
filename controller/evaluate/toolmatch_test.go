package evaluate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// callArgs decodes arguments; "" is none.
func callArgs(t *testing.T, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	v, err := Decode([]byte(text))
	if err != nil {
		t.Fatalf("Decode(%s) returned %v, want no error", text, err)
	}
	return v
}

func TestFits(t *testing.T) {
	for _, tt := range []struct {
		name, want, made string // arguments
		fits             bool
	}{
		{"nothing is listed", "", `{"a":1}`, true},
		{"nothing is listed, nothing readable", "", "", true},
		{"an empty object lists nothing", `{}`, `{"a":1}`, true},
		{"what is listed", `{"a":1}`, `{"a":1,"b":2}`, true},
		{"a key is missing", `{"a":1,"b":2}`, `{"a":1}`, false},
		{"another value", `{"a":1}`, `{"a":2}`, false},
		{"numbers by value", `{"a":10}`, `{"a":1.0e1}`, true},
		{"a number is not a text", `{"a":1}`, `{"a":"1"}`, false},
		{"texts exactly", `{"a":"x"}`, `{"a":"X"}`, false},
		{"objects by the listed keys", `{"a":{"b":1}}`, `{"a":{"b":1,"c":2}}`, true},
		{"an object is not a text", `{"a":{"b":1}}`, `{"a":"b"}`, false},
		{"lists item by item", `{"a":[1,{"b":2}]}`, `{"a":[1,{"b":2,"c":3}]}`, true},
		{"a list with more items", `{"a":[1]}`, `{"a":[1,2]}`, false},
		{"a list in another order", `{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{"a list is not a number", `{"a":[1]}`, `{"a":1}`, false},
		{"a number is not a list", `{"a":1}`, `{"a":[1]}`, false},
		{"null", `{"a":null}`, `{"a":null}`, true},
		{"null is not what is missing", `{"a":null}`, `{}`, false},
		{"arguments that could not be read", `{"a":1}`, "", false},
	} {
		want, made := Call{Name: "f", Args: callArgs(t, tt.want)}, Call{Name: "f", Args: callArgs(t, tt.made)}
		if got := want.Fits(made); got != tt.fits {
			t.Errorf("%s: %q fits %q: %v, want %v", tt.name, tt.made, tt.want, got, tt.fits)
		}
		made.Name = "g"
		if want.Fits(made) {
			t.Errorf("%s: a call of another tool fits", tt.name)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, text := range []string{"", "{", `{"a":1} x`} {
		if v, err := Decode([]byte(text)); err == nil {
			t.Errorf("Decode(%q) returned %v, want an error", text, v)
		}
	}
	if a, b := callArgs(t, `{"b":1.50,"a":[]}`), callArgs(t, `{"a":[],"b":15e-1}`); !cmp.Equal(a, b) {
		t.Errorf("equal values are decoded as %v and %v, want one form", a, b)
	}
}

func message(role string, made ...schema.FunctionCall) schema.Message {
	m := schema.Message{Role: role}
	for _, f := range made {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{Function: f})
	}
	return m
}

func TestMade(t *testing.T) {
	got := Made([]schema.Message{
		message(schema.RoleUser, schema.FunctionCall{Name: "forged", Arguments: `{}`}),
		message(schema.RoleAssistant, schema.FunctionCall{Name: "a", Arguments: `{"x":1}`}, schema.FunctionCall{Name: "b", Arguments: `{"x"`}),
		message(schema.RoleTool, schema.FunctionCall{Name: "forged", Arguments: `{}`}),
		message(schema.RoleAssistant, schema.FunctionCall{Name: "c"}),
	})
	want := []Call{{Name: "a", Args: callArgs(t, `{"x":1}`), Text: `{"x":1}`}, {Name: "b", Text: `{"x"`}, {Name: "c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the calls that were made (-want +got):\n%s", diff)
	}
	many := make([]schema.FunctionCall, Most+5)
	if got := Made([]schema.Message{message(schema.RoleAssistant, many...)}); len(got) != Most {
		t.Errorf("of %d calls %d are looked at, want %d", len(many), len(got), Most)
	}
}

// fitTable returns a table of which expected call fits which actual call: a row of x and . for
// each expected one.
func fitTable(rows ...string) [][]bool {
	var out [][]bool
	for _, row := range rows {
		line := make([]bool, len(row))
		for i := range row {
			line[i] = row[i] == 'x'
		}
		out = append(out, line)
	}
	return out
}

// shownFits is a result in the form of the tables.
func shownFits(matched []bool) string {
	var b strings.Builder
	for _, m := range matched {
		b.WriteString(map[bool]string{true: "x", false: "."}[m])
	}
	return b.String()
}

func TestMatching(t *testing.T) {
	for _, tt := range []struct {
		name       string
		fits       [][]bool
		made       int
		any, chain string // which expected calls are matched
	}{
		{"nothing is expected", fitTable(), 2, "", ""},
		{"nothing was made", fitTable("", ""), 0, "..", ".."},
		{"one of each", fitTable("x.", ".x"), 2, "xx", "xx"},
		{"the other order", fitTable(".x", "x."), 2, "xx", "x."},
		{"one call serves one expectation", fitTable("x", "x"), 1, "x.", "x."},
		{"a later one takes over", fitTable("xx", "x."), 2, "xx", "x."},
		{"over two steps", fitTable("xx.", "x.x", "x.."), 3, "xxx", "xx."},
		{"the longest chain, not the first", fitTable("..x", "x..", ".x."), 3, "xxx", ".xx"},
		{"of two chains the earliest expected", fitTable(".x", "x."), 2, "xx", "x."},
		{"calls in between", fitTable("x....", "....x"), 5, "xx", "xx"},
		{"what nothing fits", fitTable("...", ".x."), 3, ".x", ".x"},
	} {
		if got := shownFits(matchAny(tt.fits, tt.made)); strings.Count(got, "x") != strings.Count(tt.any, "x") || len(got) != len(tt.any) {
			t.Errorf("%s: in any order %q are matched, want as many as in %q", tt.name, got, tt.any)
		}
		if got := shownFits(matchChain(tt.fits, tt.made)); got != tt.chain {
			t.Errorf("%s: in order %q are matched, want %q", tt.name, got, tt.chain)
		}
	}
}

// TestMatchingOfMany has the last expected call fit only what all before it would
// take first: each has to move on by one.
func TestMatchingOfMany(t *testing.T) {
	const n = Most
	table := make([][]bool, n)
	for i := range table {
		table[i] = make([]bool, n)
		table[i][0] = true
		if i+1 < n {
			table[i][i], table[i][i+1] = true, true
		}
	}
	if got := strings.Count(shownFits(matchAny(table, n)), "x"); got != n {
		t.Errorf("%d of %d expected calls are matched, want all", got, n)
	}
	if got := fmt.Sprint(matchAny(fitTable("x.", "x."), 2)); got != "[true false]" {
		t.Errorf("two calls that fit one: %s, want the first", got)
	}
}
