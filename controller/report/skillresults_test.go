package report

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestSkillBenchmark reads a benchmark with two configurations, as the skill-creator
// describes it: a case for each eval, its runs, and the same without the skill.
func TestSkillBenchmark(t *testing.T) {
	data, err := os.ReadFile("testdata/benchmark.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := ReadResults(data)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(r *Report) []string {
		var got []string
		for _, row := range r.Cases {
			got = append(got, row.Key+" "+string(*row.Verdict)+" "+Passes.String((&Outcome{Samples: row.Result.Samples}).passes()))
		}
		return got
	}
	if diff := cmp.Diff([]string{"pdf#1 pass 2 of 2", "pdf#2 pass 1 of 1"}, rows(r)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"pdf#1 fail 0 of 2", "pdf#2 pass 1 of 1"}, rows(r.Baseline)); diff != "" {
		t.Error(diff)
	}
	if got := *r.Baseline.Cases[0].Score; got != 0.25 || r.Cases[0].Target != "claude-sonnet-4-20250514" {
		t.Errorf("the mean pass rate is %v, want 1/4", got)
	}
	out := CompareResults(r.Baseline, r, "they are files")
	// The shares differ by 1 and 0: d̃ = 1/4, half = 1.959964·√((3/4 − 1/16)/4).
	if got, want := out.Lift.String(), "with the skill 3 of 3, without 1 of 3 (+50 points, 95 % CI −56 … +100: may be noise)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"pdf#2"}, out.Lift.DoesNotTell); diff != "" {
		t.Error(diff)
	}
	// One run of each: 40 and 20 s with the skill, 20 and 20 s without.
	if c := out.Lift.Costs; c == nil || c.Seconds.Head != 60 || c.Seconds.Base != 40 || c.Tokens.Head != 5000 || c.Tokens.Base != 2500 || c.ToolCalls.Head != 18 || c.ToolCalls.Base != 6 {
		t.Errorf("the costs are %+v", c)
	}
	if out.Diff.Improvements != 1 || out.Gate.Result != GatePass {
		t.Errorf("compared with the other configuration: %+v, %+v", out.Diff, out.Gate)
	}
}

// TestSkillGradings reads the graded criteria of one run in the forms that people have.
func TestSkillGradings(t *testing.T) {
	for _, tt := range []struct{ text, key, want string }{
		{`{"expectations": [{"text": "a", "passed": true, "evidence": "b"}, {"text": "c", "passed": false, "evidence": "d"}], "summary": {"passed": 1, "failed": 1, "total": 2, "pass_rate": 0.5}}`, "skill#grading", "fail 0.5"},
		{`{"assertion_results": [{"text": "a", "passed": true, "evidence": "b"}]}`, "skill#grading", "pass 1"},
		{`[{"text": "a", "passed": true, "evidence": "b"}]`, "skill#grading", "pass 1"},
		{`{"eval_id": 3, "run_type": "with_skill", "expectations": [{"text": "a", "passed": false}]}`, "skill#3", "fail 0"},
		{`{"eval_name": "river", "variant": "with_skill", "expectations": [{"text": "a", "passed": true}]}`, "skill#river", "pass 1"},
		{`{"expectations": [], "summary": {"passed": 3, "failed": 0}}`, "skill#grading", "pass 1"},
		{`{"expectations": [], "summary": {"passed": 0, "failed": 0, "total": 0, "pass_rate": 0}}`, "skill#grading", "nothing was graded"},
	} {
		r, err := ReadResults([]byte(tt.text))
		if err != nil || len(r.Cases) != 1 {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		row, got := r.Cases[0], ""
		if row.Error != nil {
			got = *row.Error
		} else {
			got = string(*row.Verdict) + " " + strings.TrimSuffix(strings.TrimSuffix(row.Shown(row.Score), "0"), ".0")
		}
		if row.Key != tt.key || got != tt.want {
			t.Errorf("%s: %s is %q, want %s and %q", tt.text, row.Key, got, tt.key, tt.want)
		}
	}
}

// TestSkillResultsWithMistakes names the line, the mistake and the repair.
func TestSkillResultsWithMistakes(t *testing.T) {
	run := func(text string) string { return "{\"runs\": [\n" + text + "\n]}" }
	const good = `{"eval_id": 1, "configuration": "with_skill", "result": {"passed": 1, "total": 1}},` + "\n"
	for _, tt := range []struct{ text, want string }{
		{`{"run_summary": {"with_skill": {"pass_rate": {"mean": 0.83}}}}`, `line 1: it has no runs, and means alone cannot be compared; write "runs" with the result of each run of each eval`},
		{`{"runs": []}`, "line 1: it has no runs, and"},
		{run(`5`), "line 2: a run must be an object; write"},
		{run(good + `{"configuration": "with_skill"}`), `line 3: the run has no eval_id; write "eval_id" with the id of its eval`},
		{run(good + `{"eval_id": 2, "configuration": "with"}`), "line 3: `configuration` is \"with\"; write one of with_skill, without_skill, new_skill, old_skill"},
		{run(good + `{"eval_id": 2, "config": "with_skill"}`), "line 3: `configuration` is \"\"; write one of"},
		{run(good + `{"eval_id": 2, "configuration": "with_skill", "result": {"passed": "1", "total": 1}}`), "line 3: `passed` must be a whole number; write how many criteria there are"},
		{run(`{"eval_id": 2, "configuration": "with_skill", "result": {"passed": 2, "total": 1}}`), "line 2: 2 of 1 passed; correct the counts"},
		{run(`{"eval_id": 2, "configuration": "with_skill", "result": {"passed": 1, "total": 1, "tokens": -4}}`), "line 2: `tokens` must be a number that is not negative; write a number"},
		{run(`{"eval_id": 2, "configuration": "without_skill", "result": {"passed": 1, "total": 1}}`), `line 1: it has no run with the skill; write "configuration": "with_skill" in the runs with it`},
		{run(`{"eval_id": 2, "configuration": "with_skill", "expectations": {}}`), "line 2: `expectations` must be a list; write a list of"},
		{run(`{"eval_id": 2, "configuration": "with_skill", "expectations": [{"text": "a", "passed": "yes"}]}`), "line 2: a graded criterion must have `passed`; write"},
		{"{\"expectations\": [\n{\"text\": \"a\"}]}", "line 2: a graded criterion must have `passed`; write \"passed\": true or false"},
	} {
		r, err := ReadResults([]byte(tt.text))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v; want %s", tt.text, r, err, tt.want)
		}
	}
}

// TestSkillRunsOfACase: more than half of the runs have to pass, and a run in which
// nothing was graded does not count as failed.
func TestSkillRunsOfACase(t *testing.T) {
	const run = `{"eval_id": "a", "configuration": "with_skill", "result": {"passed": P, "total": T}}`
	for _, tt := range []struct{ runs, want string }{
		{"11 01", "fail"}, {"11 01 11", "pass"}, {"11 00", "pass"}, {"01 00", "fail"}, {"00", ""},
	} {
		var list []string
		for _, r := range strings.Fields(tt.runs) {
			list = append(list, strings.NewReplacer("P", r[:1], "T", r[1:]).Replace(run))
		}
		r, err := ReadResults([]byte(`{"runs": [` + strings.Join(list, ",") + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		got := verdict.Verdict("")
		if v := r.Cases[0].Verdict; v != nil {
			got = *v
		}
		if string(got) != tt.want || strings.Contains(tt.runs, " 00") != strings.HasPrefix(r.Cases[0].VerdictReason, "not every run has a result") {
			t.Errorf("%s: %q (%s), want %q", tt.runs, got, r.Cases[0].VerdictReason, tt.want)
		}
	}
}
