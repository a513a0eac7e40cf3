package cueeval_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/shape"
)

// checker compiles one file of schemas.
func checker(t *testing.T, text string) *cueeval.Schemas {
	t.Helper()
	c, err := cueeval.CompileSchemas(fstest.MapFS{"a.cue": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const order = `import "strings"

#Order: {
	@misplaced(price, why="it is the item's", instead="write it under items")
	@renamed(articles, to=items)
	// The name of the person
	// that ordered.
	customer!: strings.MinRunes(1) & strings.MaxRunes(20)
	items?: [#Item, ...#Item]
	state?: "open" | "sent" | null
	share?: number & >0 & <=1
	note?:  string
	meta?: [string]: int
}
#Item: {
	count: int & >=1
	...
}
#Either: {a: int} | {b: string}
#Exactly: 7
`

// TestShape holds the shape of a schema for each kind of value.
func TestShape(t *testing.T) {
	c := checker(t, order)
	s := c.Shape("#Order")
	field := func(name string) *shape.Shape { return s.Fields[name] }
	text := func(bounds []shape.Bound) string {
		var all []string
		for _, b := range bounds {
			all = append(all, b.String())
		}
		return strings.Join(all, ", ")
	}
	for _, tt := range []struct{ what, got, want string }{
		{"the fields", strings.Join(s.Names, " "), "customer items state share note meta"},
		{"the required fields", strings.Join(s.Must, " "), "customer"},
		{"the comment", field("customer").Comment, "The name of the person that ordered."},
		{"the length", text(field("customer").Runes), "at least 1, at most 20"},
		{"the number", text(field("share").Bounds), "more than 0, at most 1"},
		{"the count", text(c.Shape("#Item").Fields["count"].Bounds), "at least 1"},
		{"the one value", text(c.Shape("#Exactly").Bounds), "at least 7, at most 7"},
		{"the words", strings.Join(field("state").Enum, " "), "open sent"},
		{"a free text", strings.Join(field("note").Enum, " "), ""},
		{"a misplaced field", s.Refused["price"].Message + "; " + s.Refused["price"].Hint, "`price` does not belong here: it is the item's; write it under items"},
		{"a renamed field", s.Refused["articles"].Hint + "; " + s.Refused["articles"].To, "write `items`; items"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, tt.got, tt.want)
		}
	}
	for _, tt := range []struct {
		what      string
		got, want bool
	}{
		{"the order is open", s.Open, false},
		{"an item is open", c.Shape("#Item").Open, true},
		{"a count is whole", c.Shape("#Item").Fields["count"].Whole, true},
		{"a share is whole", field("share").Whole, false},
		{"items need one", field("items").Least == 1, true},
		{"meta has whole numbers", field("meta").Rest != nil && field("meta").Rest.Whole, true},
		{"the order is complete", s.Complete(), true},
		{"a choice of two objects is complete", c.Shape("#Either").Complete(), false},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, tt.got, tt.want)
		}
	}
}

// TestValidate asks CUE itself.
func TestValidate(t *testing.T) {
	c := checker(t, order)
	for _, tt := range []struct{ value, want string }{
		{`{customer: "Ann", items: [{count: 1, size: "XL"}], state: null}`, ""},
		{`{customer: ""}`, "customer"},
		{`{state: "open"}`, "customer"},
		{`{customer: "Ann", items: []}`, "items"},
		{`{customer: "Ann", meta: {a: "b"}}`, "meta.a"},
		{`{customer: "Ann", colour: "red"}`, "colour"},
	} {
		value, err := parser.ParseExpr("value", tt.value)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Validate("#Order", ast.Expr(value))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: the error is %v, want one about %q", tt.value, err, tt.want)
		}
	}
	if got := strings.Join(c.Definitions(), " "); got != "#Order #Item #Either #Exactly" {
		t.Errorf("the definitions are %s", got)
	}
}

// TestSchemasThatAreWrong are not compiled.
func TestSchemasThatAreWrong(t *testing.T) {
	for _, text := range []string{"#A: {", "#A: nothing", `import "strings"`, "#A: 1 & 2\na: #A"} {
		if _, err := cueeval.CompileSchemas(fstest.MapFS{"a.cue": {Data: []byte(text)}}); err == nil {
			t.Errorf("%q is compiled", text)
		}
	}
}
