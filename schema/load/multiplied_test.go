package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evalcase"
	"github.com/gavel-evals/gavel/schema/matrix"
)

// lines are n lines of a pattern with their number.
func lines(n int, pattern string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, pattern+"\n", i)
	}
	return all.String()
}

func repeated(n int, name string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(`"`+name+`", `, n), ", ") + "]"
}

const (
	matrixHead = "prompts: [\"say {{x}}\"]\nproviders: [m]\n"
	v5Head     = "name: s\nprompts: [\"{{ input }}\"]\nproviders: [m]\ndefault_test: {}\n"
	anAssert   = "assertions: [{type: contains, value: word}]"
)

// multiplied are definitions of few lines whose lists multiply one another.
var multiplied = []struct {
	name  string
	files map[string]string
	// the mistake, and its place.
	rule, message, place string
}{
	{
		"scenarios by tests", map[string]string{"promptfooconfig.yaml": matrixHead + "scenarios:\n- config:\n" + lines(4000, "  - vars: {x: a%d}") + "  tests:\n" + lines(4000, "  - vars: {y: b%d}")},
		"too-many-rows", "the file makes more than 20000 cases", "promptfooconfig.yaml:4:3",
	},
	{
		"tables by references", map[string]string{"promptfooconfig.yaml": matrixHead + "tests: " + repeated(300, "file://t.csv") + "\n", "t.csv": "x\n" + lines(5000, "a%d")},
		"too-many-rows", "the file makes more than 20000 cases", "promptfooconfig.yaml:3:1",
	},
	{
		"defaultTest by rows", map[string]string{"promptfooconfig.yaml": matrixHead + "defaultTest:\n  assert:\n" + lines(2000, "  - {type: contains, value: w%d}") + "tests:\n" + lines(2000, "- {vars: {x: b%d}}")},
		"too-many-assertions", "more than 200000 assertions", "promptfooconfig.yaml:2005:1",
	},
	{
		"sets of defaultTest by rows", map[string]string{"promptfooconfig.yaml": matrixHead + "defaultTest:\n  assert:\n  - type: assert-set\n    assert:\n" + lines(2000, "    - {type: contains, value: w%d}") + "tests:\n" + lines(2000, "- {vars: {x: b%d}}")},
		"too-many-assertions", "more than 200000 assertions", "promptfooconfig.yaml:2007:1",
	},
	{
		"defaultTest by rows of a table", map[string]string{"promptfooconfig.yaml": matrixHead + "defaultTest:\n  assert:\n" + lines(100, "  - {type: contains, value: w%d}") + "tests: file://t.csv\n", "t.csv": "x\n" + lines(5000, "a%d")},
		"too-many-assertions", "more than 200000 assertions", "promptfooconfig.yaml:105:1",
	},
	{
		"variables of defaultTest by rows", map[string]string{"promptfooconfig.yaml": matrixHead + "defaultTest:\n  vars:\n" + lines(2000, "    v%d: a") + "tests:\n" + lines(5000, "- {vars: {x: b%d}}")},
		"too-many-parts", "more than 2000000 variables and files", "promptfooconfig.yaml:2005:1",
	},
	{
		"long assertions by rows", map[string]string{"promptfooconfig.yaml": matrixHead + "defaultTest:\n  assert: [{type: contains, value: " + strings.Repeat("x", 100_000) + "}]\ntests:\n" + lines(2000, "- {vars: {x: b%d}}")},
		"too-many-bytes", "the assertions of the cases have more than 64 MiB of text", "promptfooconfig.yaml:5:1",
	},
	{
		"prompts by providers by tests", map[string]string{"promptfooconfig.yaml": "prompts:\n" + lines(200, "- say %d {{x}}") + "providers: [m]\ntests:\n" + lines(200, "- {vars: {x: b%d}}")},
		"too-many-rows", "the file makes more than 20000 cases", "promptfooconfig.yaml:203:1",
	},
	{
		"prompts of a file", map[string]string{"promptfooconfig.yaml": "prompts: " + repeated(3, "file://p.txt") + "\nproviders: [m]\ntests: [{vars: {x: a}}]\n", "p.txt": lines(9000, "p%d\n---")},
		"too-many-prompts", "the file has more than 20000 prompts", "promptfooconfig.yaml:1:1",
	},
	{
		"tests of AgentV 4 by names", map[string]string{"s.eval.yaml": "name: s\ntests: " + repeated(3000, "t.yaml") + "\n", "t.yaml": lines(3000, "- {id: t%d, criteria: g, input: x, "+anAssert+"}")},
		"too-many-rows", "the file makes more than 200000 cases", "s.eval.yaml:2:1",
	},
	{
		"targets by tests of AgentV 4", map[string]string{"s.eval.yaml": "name: s\nexecution:\n  targets:\n" + lines(2000, "  - m%d") + "tests:\n" + lines(2000, "- {id: t%d, criteria: g, input: x, "+anAssert+"}")},
		"too-many-rows", "the file makes more than 200000 cases", "s.eval.yaml:2004:1",
	},
	{
		"assertions of a suite of AgentV 4 by tests", map[string]string{"s.eval.yaml": "name: s\nassertions:\n" + lines(2000, "- {type: contains, value: w%d}") + "tests:\n" + lines(2000, "- {id: t%d, criteria: g, input: x}")},
		"too-many-assertions", "more than 200000 assertions", "s.eval.yaml:2003:1",
	},
	{
		"files of a suite of AgentV 4 by tests", map[string]string{"s.eval.yaml": "name: s\ninput_files: [a.txt]\ntests:\n" + lines(2000, "- {id: t%d, criteria: g, input: x, "+anAssert+"}"), "a.txt": strings.Repeat("x", 200_000)},
		"too-many-bytes", "the cases of the file have more than 64 MiB of text", "s.eval.yaml:3:1",
	},
	{
		"evaluators of a suite by cases", map[string]string{"s.yaml": "execution:\n  evaluators:\n" + lines(1500, "  - {name: e%d, type: latency, threshold: 5}") + "evalcases:\n" + lines(1500, "- {id: t%d, expected_outcome: g, input: x}")},
		"too-many-assertions", "more than 200000 assertions", "s.yaml:1:1",
	},
	{
		"tests of AgentV 5 by names", map[string]string{"s.eval.yaml": v5Head + "tests: " + repeated(3000, "t.yaml") + "\n", "t.yaml": lines(3000, "- {id: t%d, criteria: g, vars: {input: x}}")},
		"too-many-rows", "the file makes more than 20000 cases", "s.eval.yaml:1:1",
	},
	{
		"scenarios of AgentV 5 by tests", map[string]string{"s.eval.yaml": v5Head + "scenarios:\n- config:\n" + lines(2000, "  - vars: {x: a%d}") + "  tests:\n" + lines(2000, "  - {id: t%d, criteria: g, vars: {input: x}}")},
		"too-many-rows", "the file makes more than 20000 cases", "s.eval.yaml:6:3",
	},
	{
		"assertions of all tests of AgentV 5", map[string]string{"s.eval.yaml": "name: s\nprompts: [\"{{ input }}\"]\nproviders: [m]\ndefault_test:\n  assert:\n" + lines(1500, "  - {type: contains, value: '{{ input }} %d'}") + "tests:\n" + lines(1500, "- {id: t%d, criteria: g, vars: {input: x}}")},
		"too-many-assertions", "more than 200000 assertions", "s.eval.yaml:1:1",
	},
	{
		"values by values of AgentV 5", map[string]string{"s.eval.yaml": v5Head + "tests:\n- id: a\n  criteria: g\n  vars: {input: " + repeated(200, "x") + ", b: " + repeated(200, "y") + "}\n"},
		"too-many-rows", "the file makes more than 20000 cases", "s.eval.yaml:1:1",
	},
	{
		"prompts of a domain by tests", map[string]string{
			"d/domain.json":         `{"id": "d", "name": "d", "system_prompt": "` + strings.Repeat("x", 200_000) + `"}`,
			"d/level_1/level.json":  `{"system_prompt": "more", "system_prompt_mode": "append"}`,
			"d/level_1/tests.jsonl": lines(400, `{"id": "t%d", "name": "t", "prompt": "p", "evaluator_id": "keyword", "expected": {"keywords": ["a"]}}`),
		},
		"too-many-bytes", "the cases of the file have more than 64 MiB of text", "d/level_1/tests.jsonl:1:1",
	},
}

func repositoryOf(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out["test_definitions/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

var oneTarget = schema.Settings{Definitions: []string{"test_definitions"}, DefaultTarget: "m", Targets: map[string]schema.TargetSettings{"m": {}}}

// TestAbuseListsThatMultiply: what few lines multiply to is one error with its place, its bound
// and what to do, and no case (abuse 40).
func TestAbuseListsThatMultiply(t *testing.T) {
	for _, tt := range multiplied {
		t.Run(tt.name, func(t *testing.T) {
			res, err := Load(t.Context(), repositoryOf(tt.files), Options{Settings: oneTarget})
			if err != nil {
				t.Fatal(err)
			}
			var found []schema.Problem
			for _, p := range res.Problems {
				if p.Severity == schema.Error {
					found = append(found, p)
				}
			}
			place := strings.SplitN("test_definitions/"+tt.place, ":", 2)
			if len(found) != 1 || len(res.Cases) != 0 || found[0].Rule != tt.rule || !strings.Contains(found[0].Message, tt.message) || found[0].Hint == "" ||
				found[0].Position.String() != strings.Join(place, ":") {
				t.Errorf("%d cases and the errors %.600v; want none, and %s at %s: %s", len(res.Cases), found, tt.rule, tt.place, tt.message)
			}
		})
	}
}

// TestAbuseGlobsOfManyFiles: a name that matches too many files is an error, in each
// format and for each use, and not the first of them (abuse 40).
func TestAbuseGlobsOfManyFiles(t *testing.T) {
	const test = "- {id: t%d, criteria: g, input: x, vars: {x: a, input: x}, " + anAssert + "}\n"
	for _, tt := range []struct{ name, file, text, each string }{
		{"AgentV 4", "s.eval.yaml", "name: s\ntests: [\"./c/*.yaml\"]\n", test},
		{"folders of AgentV 4", "s.eval.yaml", "name: s\ntests: [\"./f/\"]\n", "{criteria: g, input: x, " + anAssert + "} # %d"},
		{"AgentV 5", "s.eval.yaml", v5Head + "tests: [\"./c/*.yaml\"]\n", "- {id: t%d, criteria: g, vars: {input: x}}\n"},
		{"tests of promptfoo", "promptfooconfig.yaml", matrixHead + "tests: [\"file://c/*.yaml\"]\n", "- {vars: {x: a%d}}\n"},
		{"prompts of promptfoo", "promptfooconfig.yaml", "prompts: [\"file://c/*.yaml\"]\nproviders: [m]\ntests: [{vars: {x: a}}]\n", "say {{x}} %d\n"},
		{"variables of promptfoo", "promptfooconfig.yaml", matrixHead + "tests: [{vars: {x: \"file://c/*.yaml\"}}]\n", "word %d\n"},
	} {
		for _, n := range []int{1000, 1001} {
			t.Run(fmt.Sprint(tt.name, " ", n), func(t *testing.T) {
				files := map[string]string{tt.file: tt.text}
				for i := range n {
					files[fmt.Sprintf("c/%04d.yaml", i)] = fmt.Sprintf(tt.each, i)
					files[fmt.Sprintf("f/%04d/case.yaml", i)] = fmt.Sprintf(tt.each, i)
				}
				res, err := Load(t.Context(), repositoryOf(files), Options{Settings: oneTarget, Files: []string{"test_definitions/" + tt.file}})
				if err != nil {
					t.Fatal(err)
				}
				if n == 1000 {
					if schema.HasErrors(res.Problems) || len(res.Cases) != 1000 {
						t.Errorf("%d cases and the problems %.400v; want 1000 and no error", len(res.Cases), res.Problems)
					}
					return
				}
				said := fmt.Sprint(res.Problems)
				runs := slices.ContainsFunc(res.Cases, func(c *schema.Case) bool { return c.Skip == "" })
				if runs || !schema.HasErrors(res.Problems) || !strings.Contains(said, "more than 1000 files") || !strings.Contains(said, tt.file) {
					t.Errorf("%d cases and the problems %.400v; want none that runs, and too many files", len(res.Cases), said)
				}
			})
		}
	}
}

// TestAbuseGlobsWithLinks: a matched link is reported, since its target is not read.
func TestAbuseGlobsWithLinks(t *testing.T) {
	files := repositoryOf(map[string]string{"s.eval.yaml": "name: s\ntests: [\"./c/*.yaml\"]\n", "c/a.yaml": "- {id: a, criteria: g, input: x}\n"})
	files["test_definitions/c/b.yaml"] = &fstest.MapFile{Data: []byte("a.yaml"), Mode: 0o777 | 1<<27} // a link
	res, err := Load(t.Context(), files, Options{Settings: oneTarget, Files: []string{"test_definitions/s.eval.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprint(res.Problems); len(res.Cases) != 0 || !strings.Contains(said, "stands for test_definitions/c/b.yaml, and links and submodules are not followed") {
		t.Errorf("%d cases and the problems %v; want none, and the link", len(res.Cases), said)
	}
}

// A tally ends a context at an amount, and counts the amounts after that.
type tally struct {
	end   context.CancelFunc
	at    int
	after int
}

// Grow counts.
func (c *tally) Grow(document.Quantity, int) {
	if c.at--; c.at == 0 {
		c.end()
	} else if c.at < 0 {
		c.after++
	}
}

// Read does nothing.
func (*tally) Read(string, string) {}

// TestAbuseLoopsHearTheirEnd: no item is made once the context has ended, wherever in the
// definition that is (abuse 40).
func TestAbuseLoopsHearTheirEnd(t *testing.T) {
	for _, tt := range multiplied {
		var file string
		for _, name := range []string{"promptfooconfig.yaml", "s.eval.yaml", "s.yaml"} {
			if _, has := tt.files[name]; has {
				file = "test_definitions/" + name
			}
		}
		if file == "" {
			continue
		}
		for _, at := range []int{1, 50, 1999, 4500} {
			t.Run(fmt.Sprint(tt.name, " after ", at), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				count := &tally{end: cancel, at: at}
				src := document.Source{FS: repositoryOf(tt.files), Root: "test_definitions", KeyRoot: "test_definitions", Settings: oneTarget, Budgets: document.NewBudgets(ctx, func(string) document.Account { return count })}
				doc, _ := src.Open(file)
				compile := evalcase.Load
				if strings.HasSuffix(file, "config.yaml") {
					compile = matrix.Load
				}
				cases, problems := compile(src, doc)
				if ctx.Err() == nil {
					t.Skipf("the bound is passed after less than %d items", at)
				}
				if count.after > 0 || len(cases)+len(problems) > 0 {
					t.Errorf("%d items after the end, %d cases and the problems %v; want none", count.after, len(cases), problems)
				}
			})
		}
	}
}

// TestAbuseALoadThatEndsWithin has a load end in the middle of one definition: it returns the
// error of the context, and nothing of the definition.
func TestAbuseALoadThatEndsWithin(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	files := repositoryOf(map[string]string{"promptfooconfig.yaml": matrixHead + "tests: file://t.csv\n", "t.csv": "x\n" + lines(5000, "a%d")})
	opts := Options{Settings: oneTarget, New: func(file string) bool {
		if strings.HasSuffix(file, "t.csv") { // which is read within the definition
			cancel()
		}
		return false
	}, MaxNew: 1 << 20}
	if res, err := Load(ctx, files, opts); !errors.Is(err, context.Canceled) || res != nil {
		t.Errorf("Load = %v, %v; want %v", res, err, context.Canceled)
	}
}

// TestAbuseNewFilesMultiply: all new files have a common bound, while they are read:
// many files, each within its own bound, and an old file that names a new table (abuse
// 40).
func TestAbuseNewFilesMultiply(t *testing.T) {
	many := map[string]string{}
	for i := range 4 {
		many[fmt.Sprintf("promptfooconfig%d.yaml", i)] = matrixHead + "defaultTest:\n  assert:\n" + lines(100, "  - {type: contains, value: w%d}") + "tests:\n" + lines(900, "- {vars: {x: b%d}}")
	}
	isNew := func(file string) bool { return strings.Contains(file, "config") }
	all := func(string) bool { return true }
	inputs, long := map[string]string{}, map[string]string{}
	for i := range 2 {
		inputs[fmt.Sprintf("p%d.json", i)] = `{"test_type": "agent", "name": "m", "testing_prompt": "greets", "user_input": ` + repeated(5000, "hi") + `}`
	}
	for i := range 270 {
		long[fmt.Sprintf("c%d.json", i)] = `{"name": "a", "expected_outcomes": {"greets": true}, "initial_message": "` + strings.Repeat("word ", 50_000) + `"}`
	}
	table := map[string]string{"promptfooconfig.yaml": matrixHead + "tests: [file://t.csv, file://t.csv]\n", "t.csv": "x\n" + lines(5000, "a%d")}
	for _, tt := range []struct {
		name  string
		files map[string]string
		isNew func(string) bool
		want  string
	}{
		{"assertions of many files", many, isNew, "the definitions that are new or changed have more than 200000 assertions"},
		{"a table that is new", table, func(file string) bool { return strings.HasSuffix(file, "t.csv") }, "the definitions that are new or changed have more than 8000 cases"},
		{"inputs of promptval", inputs, all, "the definitions that are new or changed have more than 8000 cases"},
		{"long cases", long, all, "the definitions that are new or changed, and the files that they name, have more than 64 MiB"},
		{"a table that is not", table, func(string) bool { return false }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := Load(t.Context(), repositoryOf(tt.files), Options{Settings: oneTarget, New: tt.isNew, MaxNew: 8000, Brief: true})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range res.Problems {
				if p.Severity == schema.Error {
					got += p.Message
				}
			}
			if got != tt.want {
				t.Errorf("the errors are %q, want %q", got, tt.want)
			}
		})
	}
}

// TestAbuseWritersChanges: somebody who may write has more cases, in proportion more text, and
// the assertions of one definition; mistakes have one bound for all definitions. (abuse 40)
func TestAbuseWritersChanges(t *testing.T) {
	many := func(n int, text string) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprintf("s%d/promptfooconfig.yaml", i)] = matrixHead + text
		}
		return out
	}
	all := func(string) bool { return true }
	asserts := "defaultTest:\n  assert:\n" + lines(100, "  - {type: contains, value: w%d}") + "tests:\n" + lines(1900, "- {vars: {x: b%d}}")
	text := "defaultTest: {vars: {x: " + strings.Repeat("x", 100_000) + "}}\ntests:\n" + lines(300, "- {vars: {y: b%d}}")
	mistakes := "tests:\n" + lines(7800, "- {vars: {x: b%d}, asert: [a]}")
	for _, tt := range []struct {
		name   string
		files  map[string]string
		isNew  func(string) bool
		maxNew int64
		want   string
	}{
		{"assertions within", many(1, asserts), all, 100_000, ""},
		{"assertions beyond", many(2, asserts), all, 100_000, "the definitions that are new or changed have more than 200000 assertions; split the change"},
		{"a stranger's assertions", many(2, asserts), all, 20_000, "the definitions that are new or changed have more than 200000 assertions; split the change, or have somebody with write access approve it"},
		{"text within", many(4, text), all, 100_000, ""},
		{"text beyond", many(6, text), all, 100_000, "the definitions that are new or changed have more than 320 MiB of text; split the change"},
		{"mistakes", many(13, mistakes), nil, 0, "the definitions have more than 100000 mistakes; correct what many definitions share"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := Load(t.Context(), repositoryOf(tt.files), Options{Settings: oneTarget, New: tt.isNew, MaxNew: tt.maxNew, Brief: true})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range res.Problems {
				if p.Severity == schema.Error {
					got += p.Message + "; " + p.Hint
				}
			}
			if got != tt.want {
				t.Errorf("the errors are %.300q, want %q", got, tt.want)
			}
		})
	}
}
