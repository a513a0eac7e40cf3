package main

import (
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLayers holds the direction of all imports of the module.
func TestLayers(t *testing.T) {
	files, err := readSource(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if err := report(checkLayers(files)); err != nil {
		t.Error(err)
	}
}

// TestRoomsExist finds rows of the table that no longer stand for anything.
func TestRoomsExist(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rooms {
		known[r.dir] = true
		if _, err := os.Stat(filepath.Join("..", "..", "..", filepath.FromSlash(r.dir))); err != nil {
			t.Errorf("room %s is in the table and not in the tree", r.dir)
		}
	}
	for _, r := range rooms {
		for _, dir := range r.sees {
			if !known[dir] && dir != "*" {
				t.Errorf("room %s may import %s, which is no room", r.dir, dir)
			}
		}
	}
}

// parse reads source that a test writes down.
func parse(t *testing.T, name, code string) source {
	t.Helper()
	f, err := parseSource(token.NewFileSet(), name, []byte(code))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func messages(found []finding) string {
	var all []string
	for _, f := range found {
		all = append(all, f.String())
	}
	return strings.Join(all, "\n")
}

func TestForbiddenImports(t *testing.T) {
	for _, test := range []struct{ file, path, want string }{
		{"schema/a.go", module + "/controller/plan", "the leaf"},
		{"schema/load/a.go", module + "/schema/domain", ""},
		{"reporters/github/a.go", module + "/controller", "and work no result out"},
		{"reporters/github/a.go", module + "/reporters", ""},
		{"controller/run/a.go", module + "/controller/gitrepo", "neither git nor forge"},
		{"controller/a.go", module + "/controller/run", ""},
		{"cmd/gavel/a.go", module + "/reporters/github", ""},
		{"controller/new/a.go", "fmt", "is in no room"},
		{"controller/plan/a.go", "cuelang.org/go/cue", "only schema and cmd/internal/pages may"},
		{"schema/a.go", "cuelang.org/go/cue", ""},
		{"controller/plan/a.go", "database/sql/driver", "storage"},
		{"controller/plan/a.go", "database/sqlx", ""},
		{"reporters/github/a_test.go", module + "/controller/forge", ""},
		{"controller/plan/a_test.go", "github.com/go-git/go-git/v5", ""},
		{"controller/plan/a.go", "github.com/go-git/go-git/v5", "only controller/gitrepo may"},
	} {
		code := "package a\nimport _ \"" + test.path + "\"\n"
		got := messages(checkLayers([]source{parse(t, test.file, code)}))
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s imports %s: %q, want %q", test.file, test.path, got, test.want)
		}
	}
}

func TestSizes(t *testing.T) {
	long := strings.Repeat("\tprintln()\n", 90)
	for _, test := range []struct{ name, file, code, want string }{
		{"tidy", "a/a.go", "// F is documented.\nfunc F(a, b, c, d int) {}", ""},
		{"long function", "a/a.go", "// f is long.\nfunc f() {\n" + long + "}", "f has 92 lines"},
		{"long function of a test", "a/a_test.go", "func f() {\n" + long + "}", ""},
		{"long file", "a/a.go", strings.Repeat("// c\n", 650), "lines, more than 600"},
		{"nested", "a/a.go", "// f nests.\nfunc f() { for { if true { switch { case true: for {} } } } }", "nests 4 deep"},
		{"chain", "a/a.go", "// f chains.\nfunc f() { if true {} else if true {} else if true {} else { if true {} } }", ""},
		{"parameters", "a/a.go", "// f takes.\nfunc f(a, b, c, d, e int) {}", "takes 5 parameters"},
		{"context", "a/a.go", "// f takes.\nfunc f(ctx context.Context, a, b, c, d int) {}", ""},
		{"bool", "a/a.go", "// F takes.\nfunc F(ok bool) {}", "takes a bool"},
		{"bool inside", "a/a.go", "// f takes.\nfunc f(ok bool) {}", ""},
		{"undocumented function", "a/a.go", "// c\n\nfunc F() {}", "F is exported and not documented"},
		{"undocumented method", "a/a.go", "// T is.\ntype T[E any] int\nfunc (t *T[E]) M() {}", "M is exported and not documented"},
		{"method of an inner type", "a/a.go", "// t is.\ntype t int\nfunc (t) M() {}", ""},
		{"undocumented type", "a/a.go", "// c\n\ntype T int", "T is exported and not documented"},
		{"undocumented constant", "a/a.go", "// c\n\nconst C = 1", "C is exported and not documented"},
		{"documented group", "a/a.go", "// These are.\nconst (\nC = 1\nD = 2\n)", ""},
		{"large interface", "a/a.go", "// I is.\ntype I interface { A(); B(); C(); D(); E() }", "has 5 methods"},
		{"vague folder", "a/utils/a.go", "// c\n", "named vaguely"},
		{"vague type", "a/a.go", "// JobManager is.\ntype JobManager int", "named vaguely"},
	} {
		found := checkSizes([]source{parse(t, test.file, "package a\n"+test.code+"\n")})
		var got string
		for _, f := range found { // the shares of so small a module say nothing
			if f.path != "module" {
				got += f.String() + "\n"
			}
		}
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestSizesSkipsGeneratedFiles(t *testing.T) {
	code := "// Code generated by x. DO NOT EDIT.\n\npackage a\n\nfunc F() {}\n"
	if found := checkSizes([]source{parse(t, "a/a.go", code)}); len(found) > 0 {
		t.Error(messages(found))
	}
}

func TestSizesOfTheWhole(t *testing.T) {
	var files []source
	body := strings.Repeat("\tprintln()\n", 60)
	for i := range 6 {
		name := "a/" + string(rune('a'+i)) + ".go"
		files = append(files, parse(t, name, "package a\nfunc f() {\n"+strings.Repeat("\n", 400)+"}\nfunc g() {\n"+body+"}\n"))
	}
	got := messages(checkSizes(files))
	for _, want := range []string{
		"a: has 2790 lines, more than 2500",
		"5 % of the functions have 402 lines",
		"5 % of the files have 465 lines",
		"0.0 % of the lines are comments",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("found\n%s\nwithout %q", got, want)
		}
	}
}

func TestPercentile(t *testing.T) {
	var hundred []int
	for i := range 100 {
		hundred = append(hundred, 100-i)
	}
	if got := []int{percentile(nil, 95), percentile([]int{7}, 95), percentile(hundred, 95), percentile(hundred, 50)}; !cmp.Equal(got, []int{0, 7, 95, 50}) {
		t.Error(got)
	}
}

func TestWords(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"see /ho" + "me/somebody/x", "f:1: names a folder"},
		{"a\n\"/ro" + "ot/x\"\n", "f:2: names a folder"},
		{"https://example.com/ro" + "ot/x", ""},
		{"docs/wo" + "rk/x", ""},
		{"// TO" + "DO: later", "announces"},
		{"mas" + "todon", ""},
		{strings.Repeat("<", 7) + " HEAD", "merge"},
		{"TO" + "DO\x00", ""},
	} {
		got := messages(wordsIn("f", []byte(test.text)))
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestEnglish(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a.go", "// It is judged " + "anew.", "a.go:1: says anew: write again"},
		{"a.go", "x := 1 // stands " + "beside it", "says beside"},
		{"a.go", `say("it is made ` + `anew")`, "says anew"},
		{"a.go", `const folder = "an` + `ew"`, ""},
		{"a_test.go", `say("it is made ` + `anew")`, ""},
		{"controller/evaluate/a.go", `say("what stands ` + `there")`, ""},
		{"a.go", "// The file lie" + "s there.", "says lies"},
		{"a.go", "// It stan" + "ds in a file.", "says stands: write is, or has"},
		{"a.go", "// A placeholder stands for a path.", ""},
		{"a.go", "// It is n" + "o definition.", "says It is no definition: negate the verb"},
		{"a.go", "// There is no definition, and it is no longer read.", ""},
		{"a.go", "// for every one, for everything", ""},
		{"a.go", "https://example.com/anew", ""},
		{"a.md", "It takes for " + "ever.", "says for ever"},
		{"a.cue", "// it is told " + "of all", "says told of"},
		{"a.json", "obey", ""},
		{"a.go", "// Whoever " + "changes it wins.", "a.go:1: a sentence begins with Whoever: begin with its subject"},
		{"a.go", "x := 1 // It is stored. What " + "was paid for is kept.", "begins with What"},
		{"a.go", "// It is kept. O" + "f a fork nothing is run.", "begins with Of"},
		{"a.go", "// Of is the owner of the part.", ""},
		{"a.go", "// What" + " does it say?", ""},
		{"a.go", "// It says what is stored, and who stored it.", ""},
		{"a.go", "// isOver te" + "lls whether it is over.", "write reports whether"},
		{"a.go", "// isOver reports whether it is over.", ""},
		{"a.go", `say("What " + "is stored.")`, ""},
		{"x/testdata/a.md", "obey", ""},
	} {
		got := messages(wordsIn(test.name, []byte(test.text)))
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s, %q: %q, want %q", test.name, test.text, got, test.want)
		}
	}
}

func TestFormatted(t *testing.T) {
	got := messages(formatted([]source{parse(t, "a.go", "package  a\n"), parse(t, "b.go", "package b\n")}))
	if got != "a.go: is not formatted; run gofmt -w" {
		t.Error(got)
	}
}

func TestChoose(t *testing.T) {
	for _, test := range []struct{ only, skip, want string }{
		{"", "races", "gofmt layers sizes words failures links documents tidy generate workflows vet staticcheck systems"},
		{"vet,gofmt", "", "gofmt vet"},
		{"vet, gofmt", "vet", "gofmt"},
		{"vett", "", "did you mean `vet`?"},
		{"", "qqq", "there are gofmt, layers"},
		{"vet", "vet", "no step is left"},
	} {
		chosen, err := choose(test.only, test.skip)
		var names []string
		for _, s := range chosen {
			names = append(names, s.name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("choose(%q, %q) = %q, want %q", test.only, test.skip, got, test.want)
		}
	}
}

func TestRunReportsUsage(t *testing.T) {
	for _, args := range [][]string{{"-only", "none"}, {"extra"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("run %v gave no error", args)
		}
	}
}
