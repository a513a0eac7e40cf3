package evalcase_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evalcase"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/golden"
)

func TestMain(m *testing.M) {
	if cueeval.ServeChild() {
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// fixtures are the files that the examples name, in the folder suites.
func fixtures(t testing.TB) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	root := filepath.FromSlash("testdata/files")
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, name)
		out["suites/"+filepath.ToSlash(rel)] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// loadIn compiles a file of the folder suites among other files.
func loadIn(t testing.TB, files fstest.MapFS, name string, settings schema.Settings) ([]*schema.Case, []string) {
	t.Helper()
	src := document.Source{FS: files, Root: "suites", KeyRoot: "suites", Settings: settings}
	doc, problems := document.Open(files, "suites/"+name)
	var cases []*schema.Case
	if doc != nil {
		cases, problems = evalcase.Load(src, doc)
	}
	var said []string
	for _, p := range problems {
		if p.File == "" || p.Line < 1 || p.Column < 1 || p.Rule == "" {
			t.Errorf("a problem without a place: %+v", p)
		}
		said = append(said, strings.TrimPrefix(p.String(), "suites/"))
	}
	return cases, said
}

func load(t testing.TB, text string) ([]*schema.Case, []string) {
	t.Helper()
	files := fixtures(t)
	files["suites/a.yaml"] = &fstest.MapFile{Data: []byte(text)}
	return loadIn(t, files, "a.yaml", schema.Settings{})
}

// one compiles a suite of one case that has no problem.
func one(t testing.TB, text string) *schema.Case {
	t.Helper()
	cases, problems := load(t, text)
	if len(cases) != 1 || len(problems) > 0 {
		t.Fatalf("%d cases, problems %q", len(cases), problems)
	}
	return cases[0]
}

// least is a case without its id that lacks nothing.
const least = "  expected_outcome: It works.\n  input: Hi\n"

// fields compiles a case with these fields.
func fields(t testing.TB, text string) *schema.Case {
	t.Helper()
	return one(t, complete(text))
}

// complete adds to some fields of a case those that it cannot do without.
func complete(text string) string {
	out := "- id: example\n"
	if !regexp.MustCompile(`(?m)^(expected_outcome|outcome):`).MatchString(text) {
		out += "  expected_outcome: It works.\n"
	}
	if !regexp.MustCompile(`(?m)^input`).MatchString(text) {
		out += "  input: Hi\n"
	}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		out += strings.TrimRight("  "+line, " ") + "\n"
	}
	return out
}

// completeEach adds to cases the fields that all of them lack.
func completeEach(text string) string {
	added := ""
	for _, line := range []string{"input: Hi", "expected_outcome: It works."} {
		if name, _, _ := strings.Cut(line, " "); !strings.Contains(text, name) {
			added += "\n${1}  " + line
		}
	}
	return regexp.MustCompile(`(?m)^( *)(- id: .*)$`).ReplaceAllString(text, "${1}${2}"+added)
}

// TestSeedExamples compiles the examples of the description of the format,
// unchanged. The examples fields-… are fields of a case, and those in
// partial-… leave out what the format requires; here these are added.
func TestSeedExamples(t *testing.T) {
	names, err := filepath.Glob("testdata/seed/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			switch {
			case strings.HasPrefix(filepath.Base(name), "fields-"):
				text = complete(text)
			case strings.HasPrefix(filepath.Base(name), "partial-"):
				text = completeEach(text)
			}
			cases, problems := load(t, text)
			if len(cases) == 0 || len(problems) > 0 {
				t.Fatalf("%d cases, problems %q", len(cases), problems)
			}
			golden.JSON(t, strings.TrimSuffix(name, ".yaml")+".json", cases)
		})
	}
}

// TestEveryType compiles a suite with every evaluator and every extension.
func TestEveryType(t *testing.T) {
	files := fixtures(t)
	for _, name := range []string{"evaluators", "extensions"} {
		data, err := os.ReadFile("testdata/suite/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		files["suites/"+name+".yaml"] = &fstest.MapFile{Data: data}
		cases, problems := loadIn(t, files, name+".yaml", schema.Settings{})
		if len(problems) > 0 {
			t.Errorf("%s has problems: %q", name, problems)
		}
		golden.JSON(t, "testdata/suite/"+name+".json", cases)
	}
}

func TestDefaults(t *testing.T) {
	got := one(t, "- id: x\n"+least)
	want := &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: "a#x", Dialect: "evalcase", Origin: schema.Position{File: "suites/a.yaml", Line: 1, Column: 3},
			Labels: schema.Labels{Name: "x", Groups: []string{"a"}},
			Weight: 1,
			Inputs: []schema.Input{{File: "suites/a.yaml", Role: "definition"}},
		},
		Drive: schema.Drive{Messages: []schema.Message{{Role: "user", Content: "Hi"}}},
		Evaluators: []schema.Evaluator{{
			Name: "llm_judge", File: "suites/a.yaml", Weight: 1, Rule: schema.Rule{Threshold: 0.8},
			Spec:     evaluator.LLMJudge{Subject: evaluator.Subject{ExpectedOutcome: "It works."}},
			Fallback: true,
		}},
		Policy: schema.Policy{
			Iterations: 1, Timeout: 5 * time.Minute, MaxToolRounds: 16, Bands: &schema.Bands{Pass: 0.8, Borderline: 0.6},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPrecedence: written in the case, its suite, its target, gavel.yaml's
// defaults, the dialect's own.
func TestPrecedence(t *testing.T) {
	settings := schema.Settings{
		Targets: map[string]schema.TargetSettings{"slow": {Timeout: 7 * time.Second}, "fast": {}, "other": {}},
		Aliases: map[string]string{"azure": "slow"}, DefaultTarget: "fast",
		Timeout: 9 * time.Second, Iterations: 3,
	}
	for _, tt := range []struct {
		name              string
		suite, tc, target string
		timeout           time.Duration
	}{
		{"nothing", "", "", "", 9 * time.Second},
		{"the suite's target", "target: azure\n", "", "slow", 7 * time.Second},
		{"execution wins", "target: other\nexecution: {target: slow}\n", "", "slow", 7 * time.Second},
		{"the case's target", "execution: {target: slow}\n", "    execution: {target: other}\n", "other", 9 * time.Second},
		{"the suite's timeout", "execution: {target: slow, timeout_seconds: 1.5}\n", "", "slow", 1500 * time.Millisecond},
		{"the case's timeout", "execution: {timeout_seconds: 5}\n", "    execution: {timeout_seconds: 2}\n", "", 2 * time.Second},
		{"null leaves the suite's", "execution: {timeout_seconds: 5}\n", "    execution: null\n", "", 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.suite + "evalcases:\n  - id: x\n    expected_outcome: y\n    input: z\n" + tt.tc
			files := fstest.MapFS{"suites/a.yaml": {Data: []byte(text)}}
			cases, problems := loadIn(t, files, "a.yaml", settings)
			if len(cases) != 1 || len(problems) > 0 {
				t.Fatalf("%d cases, problems %q", len(cases), problems)
			}
			c := cases[0]
			if c.Target != tt.target || c.Policy.Timeout != tt.timeout {
				t.Errorf("target %q, timeout %v; want %q, %v", c.Target, c.Policy.Timeout, tt.target, tt.timeout)
			}
			want := schema.Bands{Pass: 0.8, Borderline: 0.6}
			if c.Policy.Iterations != 3 || *c.Policy.Bands != want || c.Evaluators[0].Rule.Threshold != 0.8 {
				t.Errorf("policy %+v, bands %+v", c.Policy, *c.Policy.Bands)
			}
		})
	}
}

// TestProgramsTimeout: the timeout of the case, else of its suite, bounds the
// programs that judge it and those that write a prompt.
func TestProgramsTimeout(t *testing.T) {
	const judges = "evaluators: [{name: j, type: code_judge, script: [x]}, {name: p, type: llm_judge, prompt: {script: [x]}}]"
	for _, tt := range []struct {
		name      string
		execution string
		want      time.Duration
	}{
		{"none", "", 0},
		{"suite", "execution: {timeout_seconds: 5}\n", 5 * time.Second},
	} {
		text := tt.execution + "evalcases:\n  - {id: x, expected_outcome: y, input: z, " + judges + "}\n" +
			"  - {id: y, expected_outcome: y, input: z, execution: {timeout_seconds: 2, " + judges + "}}\n"
		cases, problems := loadIn(t, fstest.MapFS{"suites/a.yaml": {Data: []byte(text)}}, "a.yaml", schema.Settings{Timeout: time.Hour})
		if len(cases) != 2 || len(problems) > 0 {
			t.Fatalf("%s: %d cases, problems %q", tt.name, len(cases), problems)
		}
		for i, want := range []time.Duration{tt.want, 2 * time.Second} {
			code := cases[i].Evaluators[0].Spec.(evaluator.CodeJudge).Timeout
			prompt := cases[i].Evaluators[1].Spec.(evaluator.LLMJudge).Program.Timeout
			if code != want || prompt != want {
				t.Errorf("%s: case %d: a judge has %v and a prompt %v, want %v", tt.name, i, code, prompt, want)
			}
		}
	}
}

func TestShortFormsExpand(t *testing.T) {
	for _, tt := range []struct {
		name  string
		forms [2]string
	}{
		{"input", [2]string{"input: Hi", "input_messages: [{role: user, content: Hi}]"}},
		{"messages", [2]string{"input: [{role: user, content: Hi}]", "input_messages: [{role: user, content: Hi}]"}},
		{"expected", [2]string{"expected_output: Yo", "expected_messages: [{role: assistant, content: Yo}]"}},
		{"list", [2]string{"expected_output: [{role: assistant, content: Yo}]", "expected_messages: [{role: assistant, content: Yo}]"}},
		{"outcome", [2]string{"outcome: Works.", "expected_outcome: Works."}},
		{"rubric", [2]string{"rubrics: [Greets]", "rubrics: [{id: rubric-1, expected_outcome: Greets, weight: 1.0, required: false}]"}},
		{"alias", [2]string{"rubrics: [{id: a, description: Greets}]", "rubrics: [{id: a, expected_outcome: Greets}]"}},
		{"blocks", [2]string{"input: [{role: user, content: Hi}]", "input: [{role: user, content: [Hi]}]"}},
		{"any", [2]string{"evaluators: [{type: tool_trajectory, mode: exact, expected: [{tool: a, args: any}]}]", "evaluators: [{type: tool_trajectory, mode: exact, expected: [{tool: a}]}]"}},
		{"place", [2]string{"evaluators: [{type: latency, max_ms: 5}]", "execution: {evaluators: [{type: latency, threshold: 5}]}"}},
		{"tokens", [2]string{"evaluators: [{type: token_usage, max_total: 5}]", "evaluators: [{type: token_usage, max_total_tokens: 5}]"}},
		{"usd", [2]string{"evaluators: [{type: cost, budget: 5}]", "evaluators: [{type: cost, max_usd: 5}]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			judged := "\nexecution: {evaluators: [{name: j, type: code_judge, script: [x]}]}"
			if strings.Contains(tt.forms[0], "evaluators") {
				judged = ""
			}
			short, long := fields(t, tt.forms[0]+judged), fields(t, tt.forms[1]+judged)
			if diff := cmp.Diff(long, short); diff != "" {
				t.Errorf("%s and %s differ:\n%s", tt.forms[0], tt.forms[1], diff)
			}
		})
	}
}

// TestFormsOfFiles: a suite is the same in YAML, JSON and CUE, and as lines
// with the suite keys next to them.
func TestFormsOfFiles(t *testing.T) {
	suite := `{"name": "s", "target": "t", "execution": {"timeout_seconds": 5}, "evalcases": [` +
		`{"id": "x", "expected_outcome": "y", "input": "z"}, {"id": "w", "expected_outcome": "y", "input": "z"}]}`
	files := fstest.MapFS{
		"suites/a.json":  {Data: []byte(suite)},
		"suites/a.yaml":  {Data: []byte("name: s\ntarget: t\nexecution: {timeout_seconds: 5}\nevalcases:\n- {id: x, expected_outcome: y, input: z}\n- {id: w, expected_outcome: y, input: z}\n")},
		"suites/a.cue":   {Data: []byte("name: \"s\"\ntarget: \"t\"\nexecution: timeout_seconds: 5\nlet o = \"y\"\nevalcases: [for n in [\"x\", \"w\"] {id: n, expected_outcome: o, input: \"z\"}]\n")},
		"suites/b.jsonl": {Data: []byte("{\"id\": \"x\", \"expected_outcome\": \"y\", \"input\": \"z\"}\n\n{\"id\": \"w\", \"expected_outcome\": \"y\", \"input\": \"z\"}\n")},
		"suites/b.yml":   {Data: []byte("name: s\ntarget: t\nexecution: {timeout_seconds: 5}\n")},
	}
	want, problems := loadIn(t, files, "a.json", schema.Settings{})
	if len(want) != 2 || len(problems) > 0 {
		t.Fatalf("%d cases, problems %q", len(want), problems)
	}
	for _, name := range []string{"a.yaml", "a.cue", "b.jsonl"} {
		got, problems := loadIn(t, files, name, schema.Settings{})
		if len(got) != len(want) || len(problems) > 0 {
			t.Errorf("%s: %d cases, problems %q", name, len(got), problems)
			continue
		}
		for i, c := range got {
			inputs := c.Inputs
			c.Key, c.Origin, c.Inputs = want[i].Key, want[i].Origin, want[i].Inputs
			c.Evaluators[0].File = want[i].Evaluators[0].File
			if diff := cmp.Diff(want[i], c); diff != "" {
				t.Errorf("%s (-json +got):\n%s", name, diff)
			}
			lines := []schema.Input{
				{File: "suites/b.jsonl", Role: "definition"}, {File: "suites/b.yaml", Role: "suite", Absent: true}, {File: "suites/b.yml", Role: "suite"},
			}
			if diff := cmp.Diff(lines, inputs); name == "b.jsonl" && diff != "" {
				t.Errorf("inputs of lines (-want +got):\n%s", diff)
			}
		}
	}
}

func TestABadCaseLeavesTheOthers(t *testing.T) {
	cases, problems := load(t, "- id: a\n"+least+"- id: b\n  expected_outcome: x\n- just text\n- id: c\n"+least+"- id: a\n"+least)
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.Labels.Name)
	}
	if diff := cmp.Diff([]string{"a", "c"}, ids); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	if len(problems) != 3 {
		t.Errorf("problems %q, want one each of b, the text and the second a", problems)
	}
}

// TestABadSuiteKeyCostsItsCases, since none of them can be run as it is meant.
func TestABadSuiteKeyCostsItsCases(t *testing.T) {
	cases, problems := load(t, "execution: {timeout_seconds: 0}\nevalcases:\n- {id: a, expected_outcome: x, input: y}\n- {id: b, expected_outcome: x, inputt: y}\n")
	want := []string{
		"a.yaml:1:30: error: `timeout_seconds` is 0; it must be more than 0, or null",
		"a.yaml:4:32: error: unknown field `inputt`; did you mean `input`?",
	}
	if diff := cmp.Diff(want, problems); diff != "" || len(cases) > 0 {
		t.Errorf("%d cases, problems (-want +got):\n%s", len(cases), diff)
	}
}

// TestProgramsThatAsk: max_calls bounds how often a program may ask the judge, which is
// the judge of the case's target if it has one.
func TestProgramsThatAsk(t *testing.T) {
	settings := schema.Settings{DefaultTarget: "bot", Targets: map[string]schema.TargetSettings{"bot": {Judge: "careful"}, "careful": {}, "large": {}}}
	for _, tt := range []struct {
		name   string
		target string
		calls  int
		asked  string
	}{
		{"none", "", 0, ""},
		{"the default", ", target: {}", 50, "careful"},
		{"written", ", target: {max_calls: 3}", 3, "careful"},
		{"another name", ", target: {max_calls: 3, name: large}", 3, "large"},
	} {
		for _, row := range []struct{ form, text string }{
			{"evalcases", "evalcases:\n  - {id: x, expected_outcome: y, input: z, evaluators: [{type: code_judge, script: [x]" + tt.target + "}]}\n"},
			{"tests", "tests:\n  - {id: x, input: z, assertions: [{type: code-grader, command: [x]" + tt.target + "}]}\n"},
		} {
			cases, problems := loadIn(t, fstest.MapFS{"suites/a.yaml": {Data: []byte(row.text)}}, "a.yaml", settings)
			if len(cases) != 1 || len(problems) > 0 {
				t.Fatalf("%s in %s: %d cases, problems %q", tt.name, row.form, len(cases), problems)
			}
			got, ok := cases[0].Evaluators[0].Spec.(evaluator.CodeJudge)
			if !ok || got.MaxCalls != tt.calls || got.Target != tt.asked {
				t.Errorf("%s in %s: the program asks %q %d times, want %q %d times", tt.name, row.form, got.Target, got.MaxCalls, tt.asked, tt.calls)
			}
			if roles := len(got.Roles()) + len(got.Targets()); (roles > 0) != (tt.calls > 0) {
				t.Errorf("%s in %s: %d models are needed", tt.name, row.form, roles)
			}
		}
	}
}
