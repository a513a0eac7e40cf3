package cuefile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema/cuefile"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/golden"
)

// unbounded bounds each evaluation and nothing else.
var unbounded *cuefile.Budget

// TestMain answers as the child that evaluates.
func TestMain(m *testing.M) {
	if cueeval.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// show writes a value as JSON with the places of keys and values.
func show(v *cuefile.Value) string {
	at := func(p cuefile.Pos) string { return fmt.Sprintf("@%d:%d ", p.Line, p.Column) }
	var parts []string
	switch v.Kind {
	case cuefile.Struct:
		for _, f := range v.Fields {
			parts = append(parts, fmt.Sprintf("%s%q: %s", at(f.At), f.Name, show(f.Value)))
		}
		return at(v.At) + "{" + strings.Join(parts, ", ") + "}"
	case cuefile.List:
		for _, item := range v.Items {
			parts = append(parts, show(item))
		}
		return at(v.At) + "[" + strings.Join(parts, ", ") + "]"
	case cuefile.String:
		return at(v.At) + strconv.Quote(v.Text)
	case cuefile.Null:
		return at(v.At) + "null"
	}
	return at(v.At) + v.Text
}

func TestEvaluate(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"data", "name: \"x\"\nn: -1.5e3\nyes: true\nnone: null\n", `@1:1 {@1:1 "name": @1:7 "x", @2:1 "n": @2:4 -1.5E+3, @3:1 "yes": @3:6 true, @4:1 "none": @4:7 null}`},
		{"a value at the top", `[1, "ä", {a: 2}]`, `@1:1 [@1:2 1, @1:5 "ä", @1:10 {@1:11 "a": @1:14 2}]`},
		{"columns are code points", `"ä": "ö", b: 1`, `@1:1 {@1:1 "ä": @1:6 "ö", @1:11 "b": @1:14 1}`},
		{"what is hidden", "_h: 1\n#D: {a: int}\nb?: string\nc: _h\n", `@1:1 {@4:1 "c": @4:4 1}`},
		{"a default", "#T: {weight: *1 | number}\nt: #T\n", `@1:1 {@2:1 "t": @2:4 {@1:6 "weight": @1:14 1}}`},
		{"the field over its type", "#T: {name: string}\nt: #T & {name: \"x\"}\n", `@1:1 {@2:1 "t": @2:4 {@2:10 "name": @2:16 "x"}}`},
		{"a comprehension", "import \"list\"\n[for i in list.Range(0, 3, 1) {n: i}]\n", `@1:1 [@2:31 {@2:32 "n": @2:35 0}, @2:31 {@2:32 "n": @2:35 1}, @2:31 {@2:32 "n": @2:35 2}]`},
		{"nothing", "", `@1:1 {}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := unbounded.Evaluate(t.Context(), "x.cue", []byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, show(v)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestProblems holds the messages about wrong files against testdata/problems.txt.
func TestProblems(t *testing.T) {
	var got strings.Builder
	for _, tt := range []struct{ name, src string }{
		{"syntax", "a: 1\nb: {\n"},
		{"a reference", "a: 1\nb: c\n"},
		{"a package not imported", "a: strings.ToUpper(\"x\")\n"},
		{"conflict", "a: 1\na: 2\n"},
		{"not allowed", "#T: {a: int}\nt: #T & {b: 1}\n"},
		{"incomplete", "a: string\nb: int & >3\n"},
		{"out of bounds", "a: >3\na: 2\n"},
		{"cycle", "a: b + 1\nb: a + 1\n"},
		{"structural cycle", "#L: {next: #L}\nl: #L\n"},
		{"bytes", "a: 'x'\n"},
		{"an infinite number", "import \"math\"\na: math.Pow(10, 400000000)\n"},
		{"a module", "import \"example.com/x\"\na: x.y\n"},
		{"a tool", "import \"tool/exec\"\na: exec.Run\n"},
		{"a network package", "import \"net\"\na: net.IPv4\n"},
		{"embed", "@extern(embed)\na: _ @embed(file=\"/etc/passwd\")\n"},
		{"too deep", "a: " + strings.Repeat("[", 80) + strings.Repeat("]", 80)},
		{"two at once", "a: string\nb: 1 & 2\n"},
	} {
		_, err := unbounded.Evaluate(t.Context(), "x.cue", []byte(tt.src))
		var problems cuefile.Problems
		if !errors.As(err, &problems) {
			t.Fatalf("%s: got %v, want problems", tt.name, err)
		}
		fmt.Fprintf(&got, "%s\n", tt.name)
		for _, p := range problems {
			fmt.Fprintf(&got, "  %d:%d %s: %s; %s\n", p.At.Line, p.At.Column, p.Rule, p.Message, p.Hint)
		}
	}
	golden.Compare(t, "testdata/problems.txt", got.String())
}

// TestAbuseEndlessFiles has files that never end, or that ask for more than there is,
// come back as a problem, and the next file after each evaluated.
func TestAbuseEndlessFiles(t *testing.T) {
	many := "import \"list\"\n"
	for _, tt := range []struct{ name, src, rule string }{
		{"time", many + "a: [for i in list.Range(0, 100000, 1) for j in list.Range(0, 100000, 1) if i*j < 0 {i}]", "cue-limit"},
		{"memory", many + "a: list.Range(0, 1000000000, 1)", "cue-limit"},
		{"one allocation", "import \"strings\"\na: strings.Repeat(\"x\", 100000000000)", "cue-limit"},
		{"doubling", doubling(60), "cue-limit"},
		{"doubled structs", structs(40), ""},
		{"long text", "import \"strings\"\na: strings.Repeat(\"x\", 5000000)", "too-large"},
		{"nesting of brackets", "a: " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := unbounded.Evaluate(t.Context(), "x.cue", []byte(tt.src))
			var problems cuefile.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %.300v, want problems", err)
			}
			if tt.rule != "" && problems[0].Rule != tt.rule {
				t.Errorf("got %.300v, want %s", problems, tt.rule)
			}
			if v, err := unbounded.Evaluate(t.Context(), "y.cue", []byte("a: 1")); err != nil || len(v.Fields) != 1 {
				t.Errorf("the next file: %v, %v", v, err)
			}
		})
	}
}

// doubling returns a string of 2ⁿ characters in n lines.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString("_a0: \"x\"\n")
	for i := range n {
		fmt.Fprintf(&b, "_a%d: _a%d + _a%d\n", i+1, i, i)
	}
	fmt.Fprintf(&b, "a: _a%d\n", n)
	return b.String()
}

// structs returns a struct of 2ⁿ leaves in n lines.
func structs(n int) string {
	var b strings.Builder
	b.WriteString("_a0: {x: 1}\n")
	for i := range n {
		fmt.Fprintf(&b, "_a%d: {l: _a%d, r: _a%d}\n", i+1, i, i)
	}
	fmt.Fprintf(&b, "a: _a%d\n", n)
	return b.String()
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := unbounded.Evaluate(ctx, "x.cue", []byte("a: 1")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNothingOfTheEnvironment(t *testing.T) {
	t.Setenv("GAVEL_SECRET", "s3cret")
	if v, err := unbounded.Evaluate(t.Context(), "x.cue", []byte("a: string @tag(x)\na: *\"none\" | string\nb: \"\\(os.Getenv)\"")); err == nil {
		t.Errorf("got %s", show(v))
	}
}

// TestAtOnce has many callers share the few children.
func TestAtOnce(t *testing.T) {
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			v, err := unbounded.Evaluate(t.Context(), "x.cue", fmt.Appendf(nil, "n: %d + 1", i))
			if err != nil || v.Fields[0].Value.Text != strconv.Itoa(i+1) {
				t.Errorf("%d: %v, %v, want the value of its own number", i, v, err)
			}
		})
	}
	group.Wait()
}

func BenchmarkEvaluate(b *testing.B) {
	src := []byte("import \"list\"\ntest_cases: [for i in list.Range(0, 10, 1) {name: \"case \\(i)\", max_turns: i + 1}]\n")
	if _, err := unbounded.Evaluate(b.Context(), "x.cue", src); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := unbounded.Evaluate(b.Context(), "x.cue", src); err != nil {
			b.Fatal(err)
		}
	}
}
