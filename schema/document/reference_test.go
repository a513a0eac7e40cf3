package document

import (
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
)

// TestDereference: a reference is the value at its place, over which the keys next to it
// count. A reference that leads nowhere, elsewhere or to itself stays.
func TestDereference(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{a: {x: 1}, b: {$ref: "#/a"}}`, `{a: {x: 1}, b: {x: 1}}`},
		{`{a: {x: 1, y: 2}, b: {$ref: "#/a", y: 3}}`, `{a: {x: 1, y: 2}, b: {x: 1, y: 3}}`},
		{`{a: [1, {z: "s"}], b: {$ref: "#/a/1"}}`, `{a: [1, {z: "s"}], b: {z: "s"}}`},
		{`{a: "s", b: [{$ref: "#/a"}]}`, `{a: "s", b: ["s"]}`},
		{`{a: {$ref: "#/c"}, b: {$ref: "#/a"}, c: {x: 1}}`, `{a: {x: 1}, b: {x: 1}, c: {x: 1}}`},
		{`{"a/b": 1, c: {$ref: "#/a~1b"}}`, `{"a/b": 1, c: 1}`},
		{`{b: {$ref: "#/nope"}}`, `{b: {$ref: "#/nope"}}`},
		{`{b: {$ref: "other.yaml#/a"}}`, `{b: {$ref: "other.yaml#/a"}}`},
		{`{a: {$ref: "#/a"}}`, `{a: {$ref: "#/a"}}`},
	} {
		if got, want := printed(t, dereference(read(t, tt.text))), printed(t, read(t, tt.want)); got != want {
			t.Errorf("%s is\n%s, want\n%s", tt.text, got, want)
		}
	}
}

// TestManyReferences: references to references end before they fill the memory.
func TestManyReferences(t *testing.T) {
	var b strings.Builder
	b.WriteString("{a: [1, 2, 3, 4, 5, 6, 7, 8]")
	for i := range 15 {
		ref := `{$ref: "#/` + string(rune('a'+i)) + `"}`
		b.WriteString(", " + string(rune('a'+i+1)) + ": [" + strings.TrimSuffix(strings.Repeat(ref+", ", 16), ", ") + "]")
	}
	values := 0
	ast.Walk(dereference(read(t, b.String()+"}")), func(ast.Node) bool { values++; return true }, nil)
	if most := 10 * maxValues; values > most {
		t.Errorf("%d values, want at most %d", values, most)
	}
}

func read(t *testing.T, text string) ast.Expr {
	t.Helper()
	text = strings.NewReplacer("$ref:", `"$ref":`).Replace(text)
	expr, mistakes := readTree("a.yaml", []byte(text), nil)
	if len(mistakes) > 0 {
		t.Fatalf("%s cannot be read: %v", text, mistakes)
	}
	return expr
}

func printed(t *testing.T, expr ast.Expr) string {
	t.Helper()
	out, err := format.Node(expr, format.Simplify())
	if err != nil {
		t.Fatalf("the value cannot be printed: %v", err)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}
