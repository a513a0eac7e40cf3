package shape_test

import (
	"encoding/json"
	"testing"
	"testing/fstest"

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

// TestBounds has a number next to each kind of limit.
func TestBounds(t *testing.T) {
	c := checker(t, "#A: {a: >=1, b: >1, c: <=1, d: <1}")
	for _, tt := range []struct {
		field             string
		below, at, beyond bool
		words             string
	}{
		{"a", false, true, true, "at least 1"},
		{"b", false, false, true, "more than 1"},
		{"c", true, true, false, "at most 1"},
		{"d", true, false, false, "less than 1"},
	} {
		b := c.Shape("#A").Fields[tt.field].Bounds[0]
		if b.Holds(0.5) != tt.below || b.Holds(1) != tt.at || b.Holds(1.5) != tt.beyond || b.String() != tt.words {
			t.Errorf("%s holds for 0.5, 1 and 1.5: %v, %v, %v; want %v, %v, %v", b, b.Holds(0.5), b.Holds(1), b.Holds(1.5), tt.below, tt.at, tt.beyond)
		}
	}
}

// TestJSONSchema writes each kind of value, and a definition once that is referred to
// from several places or from itself.
func TestJSONSchema(t *testing.T) {
	const tree = `#Tree: {
	// The name of the tree.
	name!: string
	size?: int & >=0
	share?: number & <1
	kind?: "leaf" | "node" | null
	word?: "all" | int
	flags?: [string, ...string]
	extra?: [string]: bool
	children?: _
	parent?:   _
}
#Step: type!: "wait" | "ask"
#Wait: {type: "wait", seconds!: int}
#Ask: {type: "ask", text!: string}
#Free: {...}
`
	schemas := checker(t, tree)
	w := shape.Writer{
		Shape: schemas.Shape, Definitions: schemas.Definitions(), Closed: []string{"#Tree"}, Typed: "#Step",
		Inner: map[string]string{"#Tree.children": "[#Tree]", "#Tree.parent": "#Tree"},
	}
	for _, def := range []string{"#Tree", "#Step", "#Free", "#Tree"} {
		if ref := w.Ref(def)["$ref"]; ref != "#/$defs/"+def[1:] {
			t.Errorf("%s is referred to as %v", def, ref)
		}
	}
	for _, tt := range []struct{ def, want string }{
		{"Tree", `{"additionalProperties":false,"properties":{
			"children":{"items":{"$ref":"#/$defs/Tree"}},
			"extra":{"additionalProperties":{"type":"boolean"},"type":"object"},
			"flags":{"items":{"type":"string"},"minItems":1,"type":"array"},
			"kind":{"enum":["leaf","node",null]},
			"name":{"description":"The name of the tree.","type":"string"},
			"parent":{"anyOf":[{"$ref":"#/$defs/Tree"},{"type":"null"}],"description":null},
			"share":{"exclusiveMaximum":1,"type":"number"},
			"size":{"minimum":0,"type":"integer"},
			"word":{"anyOf":[{"enum":["all"]},{"type":["integer"]}]}
		},"required":["name"],"type":"object"}`},
		{"Step", `{"allOf":[
			{"if":{"properties":{"type":{"const":"wait"}}},"then":{"$ref":"#/$defs/Wait"}},
			{"if":{"properties":{"type":{"const":"ask"}}},"then":{"$ref":"#/$defs/Ask"}}
		],"properties":{"type":{"enum":["wait","ask"]}},"required":["type"],"type":"object"}`},
		{"Free", `{"type":"object"}`},
	} {
		var want any
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		wanted, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(w.Defs()[tt.def])
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(wanted) {
			t.Errorf("%s is\n%s, want\n%s", tt.def, got, wanted)
		}
	}
}
