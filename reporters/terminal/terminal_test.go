package terminal

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/golden"
)

var sgr = regexp.MustCompile("\x1b\\[[0-9;]+m")

// holds checks the properties of all text: no control characters, no line past the
// width except those that editors read a position from, and colours change nothing
// else.
func holds(t *testing.T, width int, render func(Options) string) string {
	t.Helper()
	got := render(Options{Width: width})
	for i, line := range strings.Split(got, "\n") {
		if n := textfmt.Columns(line); n > width && !strings.Contains(line, ": error: ") && !strings.Contains(line, ": warning: ") {
			t.Errorf("line %d has %d columns: %s", i+1, n, line)
		}
		for _, r := range line {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("line %d holds %U", i+1, r)
			}
		}
	}
	if plain := sgr.ReplaceAllString(render(Options{Width: width, Color: true}), ""); plain != got {
		t.Errorf("colours change the text:\n%s", cmp.Diff(got, plain))
	}
	return got
}

// TestFiles writes the folder that several files share once.
func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		want  string
		names []string
	}{
		{"", nil},
		{"defs/d0/a.json", []string{"defs/d0/a.json"}},
		{"a.json, b.json in defs/d0", []string{"defs/d0/a.json", "defs/d0/b.json"}},
		{"d0/a.json, d01/b.json in defs", []string{"defs/d0/a.json", "defs/d01/b.json"}},
		{"a.json, b.json", []string{"a.json", "b.json"}},
		{"defs/a.json, b.json", []string{"defs/a.json", "b.json"}},
		{"defs, defs/b.json", []string{"defs", "defs/b.json"}},
		{"a.json, b/c.json and 1 more in de", []string{"de/a.json", "de/b/c.json", "de/z.json"}},
		{"a, b and 1 more", []string{"a", "b", "c"}},
	} {
		if got := Files(tt.names, 2); got != tt.want {
			t.Errorf("Files(%q) returns %q, want %q", tt.names, got, tt.want)
		}
	}
}

// TestColorsAreAskedFor: FORCE_COLOR decides, then NO_COLOR, then whether there is a
// terminal.
func TestColorsAreAskedFor(t *testing.T) {
	for _, tt := range []struct {
		force, no string
		want      bool
	}{{"", "", false}, {"1", "", true}, {"true", "1", true}, {"0", "", false}, {"false", "", false}, {"", "1", false}} {
		env := map[string]string{"FORCE_COLOR": tt.force, "NO_COLOR": tt.no}
		got := OptionsFor(io.Discard, func(name string) (string, bool) { return env[name], env[name] != "" })
		if got.Color != tt.want {
			t.Errorf("%v: Color is %v", env, got.Color)
		}
	}
}

func TestReportGolden(t *testing.T) {
	for _, name := range []string{"first_run", "regressions", "errors", "moved_removed_new", "waiting", "hostile", "fresh_ledger", "lightened", "withdrawn"} {
		r := reporttest.Stored(t, name)
		for _, width := range []int{80, 120} {
			file := fmt.Sprintf("%s_%d.txt", name, width)
			t.Run(file, func(t *testing.T) {
				golden.Compare(t, "testdata/"+file, holds(t, width, func(o Options) string {
					var b bytes.Buffer
					if err := Report(&b, r, o); err != nil {
						t.Fatal(err)
					}
					return b.String()
				}))
			})
		}
	}
}

// TestNight sets what the schedule measured for the history against what that saves.
func TestNight(t *testing.T) {
	r := reporttest.Stored(t, "first_run")
	r.Nightly = &report.Night{Measurements: 8, Balance: report.Balance{Days: 14, Calls: 40, SavedCalls: 90}}
	text := holds(t, 80, func(o Options) string {
		var b bytes.Buffer
		if err := Report(&b, r, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
	const want = "\n8 further measurements for the history. In 14 days these took 40 calls and saved\npull requests about 90 calls.\n"
	if !strings.Contains(text, want) {
		t.Errorf("%s\ndoes not say %q", text, want)
	}
}

// TestLabels lists how the cases of each difficulty and tag did, each on a line.
func TestLabels(t *testing.T) {
	r := reporttest.Stored(t, "first_run")
	score := 0.5
	r.Labels = []report.Label{
		{Label: "difficulty", Name: "hard", Verdicts: report.Verdicts{Cases: 3, Pass: 1, Fail: 1, Skipped: 1}, Score: &score},
		{Label: "difficulty", Name: "normal", Verdicts: report.Verdicts{Cases: 1, Error: 1}},
		{Label: "tag", Name: strings.Repeat("red-team ", 9), Verdicts: report.Verdicts{Cases: 12345, Pass: 12000, Borderline: 100, Fail: 100, Error: 100, Skipped: 45}, Score: &score},
		{Label: "status", Name: "active", Verdicts: report.Verdicts{Cases: 4}},
	}
	text := holds(t, 80, func(o Options) string {
		var b bytes.Buffer
		if err := Report(&b, r, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
	for _, part := range []string{"  difficulty hard                 0.50  3 cases: 1 pass, 1 fail, 1 skipped\n", "  1 case: 1 error\n", "12,345 cases: 12,000 pass"} {
		if !strings.Contains(text, part) {
			t.Errorf("the report lacks %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "status active") {
		t.Errorf("the report has a status that all cases share:\n%s", text)
	}
}

// TestALongSummary has every number that a summary may have, at a width that
// its lines pass.
func TestALongSummary(t *testing.T) {
	r := reporttest.Stored(t, "regressions")
	r.Summary = report.Summary{
		Verdicts: report.Verdicts{Cases: 12345, Pass: 8000, Fail: 1200, Borderline: 345, Error: 300, Skipped: 2500}, NoThreshold: 1,
		Run: 5000, Rejudged: 4000, Redecided: 3000, Reused: 345, NoVerdict: 45, Score: r.Summary.Score,
	}
	got := holds(t, 60, func(o Options) string {
		var b bytes.Buffer
		if err := Report(&b, r, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
	for _, want := range []string{"2,500 skipped", "3,000 re-decided", "300 reused"} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
}

func somePlan() *plan.Plan {
	c := &schema.CaseInfo{}
	prompt := []plan.Reason{{Part: "system prompt", File: "test_definitions/support/domain.json", Message: "system prompt changed"}}
	return &plan.Plan{Rows: []plan.Row{
		{Key: "math/level_1/product", Action: plan.Reuse, Head: c, Base: c},
		{Key: "math/level_1/ratio", Action: plan.Reuse, Head: c, Base: c, Edited: []string{"tags"}},
		{Key: "math/level_1/share", Action: plan.Reuse, Head: c, Base: c, Edited: []string{"description", "tags"}},
		{
			Key: "math/level_1/total", Action: plan.Reuse, MovedFrom: "math/level_1/sum",
			Reasons: []plan.Reason{{Part: "moved", Message: "moved from math/level_1/sum"}},
		},
		{Key: "sql/level_1/star", Action: plan.Removed, Reasons: []plan.Reason{{Part: "removed", Message: "the case is gone"}}},
		{Key: "support/level_1/greeting", Action: plan.Run, Reasons: prompt},
		{
			Key:    "support/level_1/試験/a_rather_long_name_of_a_case_that_does_not_fit_on_one_line_of_a_terminal_of_eighty",
			Action: plan.Rejudge, Reasons: []plan.Reason{{Message: "evaluator changed \x1b[31m", File: "test_definitions/evaluators/tone.json"}, prompt[0]},
		},
		{Key: "talk/level_1/bye", Action: plan.Redecide, Reasons: []plan.Reason{{Message: "threshold 0.7 → 0.5", File: "gavel.yaml"}}},
		{Key: "talk/level_1/off", Action: plan.Skip, Reasons: []plan.Reason{{Message: "enabled is false"}}},
	}}
}

func TestPlanGolden(t *testing.T) {
	for _, width := range []int{80, 120} {
		golden.Compare(t, fmt.Sprintf("testdata/plan_%d.txt", width), holds(t, width, func(o Options) string {
			var b bytes.Buffer
			if err := Plan(&b, somePlan(), report.Estimate{Calls: 1200, RetryCalls: 40}, nil, o); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}))
	}
}

func TestPlanOfNothing(t *testing.T) {
	var b bytes.Buffer
	pl := &plan.Plan{Rows: []plan.Row{{Key: "a", Action: plan.Reuse}}}
	if err := Plan(&b, pl, report.Estimate{}, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "nothing is affected; 1 other case unaffected\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// someProblems with the lines that they point to.
func someProblems() ([]schema.Problem, func(string, int) (string, bool)) {
	lines := map[int]string{
		4: `  "expcted": {"answer": 2}`,
		5: "\t\"名前\": \"試験\", \"tpye\": \"x\"",
		6: "\"" + strings.Repeat("long ", 60) + "\", \"wrong\": 1",
		7: "\x1b[31m\u202E\"hidden\": 1\r",
	}
	at := func(line, column int) schema.Position {
		return schema.Position{File: "test_definitions/math/level_1/sum.json", Line: line, Column: column}
	}
	return []schema.Problem{
			{Position: at(4, 3), Severity: schema.Error, Rule: "unknown-field", Message: "unknown field `expcted`", Hint: "did you mean `expected`?"},
			{Position: at(5, 14), Severity: schema.Error, Rule: "unknown-field", Message: "unknown field `tpye`"},
			{Position: at(6, 305), Severity: schema.Error, Rule: "unknown-field", Message: "unknown field `wrong`"},
			{Position: at(7, 7), Severity: schema.Warning, Rule: "extra-key", Message: "extra key \x1b]0;title\x07", Hint: strings.Repeat("take it away or put it where it belongs; ", 4)},
			{Position: at(99, 1), Severity: schema.Error, Rule: "parse", Message: "the file ends too early"},
			{Position: schema.Position{File: "gavel.yaml"}, Severity: schema.Error, Rule: "missing-file", Message: "gavel.yaml is missing"},
		}, func(_ string, line int) (string, bool) {
			text, ok := lines[line]
			return text, ok
		}
}

func TestProblemsGolden(t *testing.T) {
	problems, source := someProblems()
	for _, width := range []int{80, 120} {
		golden.Compare(t, fmt.Sprintf("testdata/problems_%d.txt", width), holds(t, width, func(o Options) string {
			var b bytes.Buffer
			if err := Problems(&b, problems, source, o); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}))
	}
}

// TestRepeatedProblems shows the first of many that say the same and counts
// the rest; a count of one would be longer than the problem.
func TestRepeatedProblems(t *testing.T) {
	for _, want := range []struct {
		n     int
		shown int
		rest  string
	}{{3, 3, ""}, {4, 4, ""}, {5, 3, "… and 2 more: d/domain.json is invalid"}, {500, 3, "… and 497 more: d/domain.json is invalid"}} {
		var problems []schema.Problem
		for i := range want.n {
			problems = append(problems, schema.Problem{
				Position: schema.Position{File: fmt.Sprintf("d/level_1/%03d.json", i), Line: 1, Column: 1},
				Severity: schema.Error, Rule: "domain-invalid", Message: "d/domain.json is invalid", Hint: "mend it first",
			})
		}
		problems = append(problems, schema.Problem{Position: schema.Position{File: "e.json", Line: 1}, Severity: schema.Error, Rule: "x", Message: "another"})
		var b bytes.Buffer
		if err := Problems(&b, problems, func(string, int) (string, bool) { return "", false }, Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "mend it first"); got != want.shown {
			t.Errorf("of %d, %d are shown, want %d", want.n, got, want.shown)
		}
		if !strings.Contains(b.String(), want.rest) || (want.rest == "") != !strings.Contains(b.String(), "more:") || !strings.Contains(b.String(), "another") {
			t.Errorf("of %d, the rest is not said as %q:\n%s", want.n, want.rest, b.String())
		}
	}
}

// TestCaret checks that the caret is below the character that the column
// counts, whatever is before it.
func TestCaret(t *testing.T) {
	problems, source := someProblems()
	for i, want := range []string{`"expcted"`, `"tpye"`, `"wrong"`, `"`} {
		var b bytes.Buffer
		if err := Problems(&b, problems[i:i+1], source, Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		caret := textfmt.Columns(lines[2][:strings.Index(lines[2], "^")])
		under := lines[1]
		for textfmt.Columns(under) > textfmt.Columns(lines[1])-caret {
			under = under[1:]
		}
		if !strings.HasPrefix(under, want) {
			t.Errorf("caret of problem %d stands below %q, want %q", i, under, want)
		}
	}
}

func TestAnnotations(t *testing.T) {
	for _, tc := range []struct {
		name    string
		problem schema.Problem
		want    string
	}{
		{
			"all of it", schema.Problem{Position: schema.Position{File: "a/b.json", Line: 4, Column: 3}, Severity: schema.Error, Rule: "unknown-field", Message: "unknown field", Hint: "did you mean x?"},
			"::error file=a/b.json,line=4,col=3,title=unknown-field::unknown field; did you mean x?\n",
		},
		{
			"whole file", schema.Problem{Position: schema.Position{File: "gavel.yaml"}, Severity: schema.Warning, Rule: "r", Message: "m"},
			"::warning file=gavel.yaml,title=r::m\n",
		},
		{
			"separators", schema.Problem{Position: schema.Position{File: "a,line=1:b%.json", Line: 1}, Severity: schema.Note, Rule: "r", Message: "100%, a: b"},
			"::notice file=a%2Cline=1%3Ab%25.json,line=1,title=r::100%25, a: b\n",
		},
		{
			"a command of its own", schema.Problem{Severity: schema.Error, Rule: "r\n::add-mask::x", Message: "x\r\n::set-output name=a::b\x1b[0m"},
			"::error file=,title=r%0A%3A%3Aadd-mask%3A%3Ax::x%0A::set-output name=a::b␛[0m\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Annotations(&b, []schema.Problem{tc.problem}); err != nil {
				t.Fatal(err)
			}
			if got := b.String(); got != tc.want {
				t.Errorf("got  %swant %s", got, tc.want)
			}
		})
	}
}
