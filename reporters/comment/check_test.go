package comment_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/schema"
)

// manyAnnotations is a check run with n of them.
func manyAnnotations(n int) comment.Check {
	c := comment.Check{Conclusion: comment.ConclusionFailure, Title: "broken", Summary: "much"}
	for i := range n {
		c.Annotations = append(c.Annotations, comment.Annotation{
			Path: "test_definitions/a.json", Line: i + 1, Column: i % 2, Level: comment.LevelFailure, Title: "rule", Message: fmt.Sprint("mistake ", i),
		})
	}
	return c
}

// oneCheck demands one check run with all annotations in their order.
func oneCheck(t *testing.T, f *forgetest.Forge, want comment.Check) forgetest.CheckRun {
	t.Helper()
	runs := f.CheckRuns(sha)
	if len(runs) != 1 {
		t.Fatalf("%d check runs, want 1", len(runs))
	}
	run := runs[0]
	if run.Name != "gavel/report" || run.Status != "completed" || run.Conclusion != want.Conclusion || run.Output.Title != want.Title {
		t.Errorf("got %+v", run)
	}
	var lines []int
	for _, a := range run.Output.Annotations {
		lines = append(lines, a.StartLine)
	}
	if len(lines) != len(want.Annotations) {
		t.Errorf("%d annotations, want %d", len(lines), len(want.Annotations))
	}
	for i, line := range lines {
		if line != i+1 {
			t.Errorf("annotation %d stands at line %d", i, line)
		}
	}
	return run
}

// TestSetCheck writes 50 annotations with each request, and the same once.
func TestSetCheck(t *testing.T) {
	for _, tt := range []struct {
		n    int
		want []int
	}{{50, []int{50}}, {51, []int{50, 1}}, {120, []int{50, 50, 20}}} {
		f := newForge(t)
		p := publisher(t, f.URL, forgetest.TokenActions, nil)
		c := manyAnnotations(tt.n)
		for range 2 {
			if err := p.SetCheck(t.Context(), sha, c); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(tt.want, oneCheck(t, f, c).Requests); diff != "" {
			t.Errorf("%d annotations, requests -want +got:\n%s", tt.n, diff)
		}
	}
}

// TestAnEmptyCheck is made where somebody asks for it, and where it takes back
// what another one says.
func TestAnEmptyCheck(t *testing.T) {
	f := newForge(t)
	p := publisher(t, f.URL, forgetest.TokenActions, nil)
	again := manyAnnotations(0)
	again.Again = true
	for i, step := range []struct {
		check comment.Check
		want  int // check runs
	}{{manyAnnotations(0), 0}, {manyAnnotations(2), 1}, {manyAnnotations(0), 2}, {manyAnnotations(0), 2}, {again, 3}} {
		if err := p.SetCheck(t.Context(), sha, step.check); err != nil {
			t.Fatal(err)
		}
		if n := len(f.CheckRuns(sha)); n != step.want {
			t.Errorf("after step %d there are %d check runs, want %d", i, n, step.want)
		}
	}
}

// TestCheckAfterACrash or a lost answer at each request: there is one check run,
// and no annotation is there twice or is missing.
func TestCheckAfterACrash(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault forgetest.Fault
	}{
		{"lost", forgetest.Fault{Apply: true, Cut: true}},
		{"500 after it", forgetest.Fault{Apply: true, Status: 502}},
		{"500 before it", forgetest.Fault{Status: 500}},
		{"gone for good", forgetest.Fault{Cut: true, Times: -1}},
		{"limit", forgetest.Fault{Status: 429, Header: map[string]string{"Retry-After": "3600"}}},
		{"applied, ended", forgetest.Fault{Apply: true, Status: 500, Times: 3}},
	} {
		for skip := range 3 { // the writes of a check run with 120
			t.Run(fmt.Sprint(tt.name, " at ", skip), func(t *testing.T) {
				f := newForge(t)
				c := manyAnnotations(120)
				method := http.MethodPatch
				after := skip - 1
				if skip == 0 {
					method, after = http.MethodPost, 0
				}
				fault := tt.fault.On(method, "/check-runs")
				fault.Skip = after
				f.Inject(fault)
				// A crash also leaves an error.
				_ = publisher(t, f.URL, forgetest.TokenActions, nil).SetCheck(t.Context(), sha, c)
				f.Heal()
				if err := publisher(t, f.URL, forgetest.TokenActions, nil).SetCheck(t.Context(), sha, c); err != nil {
					t.Fatal(err)
				}
				oneCheck(t, f, c)
			})
		}
	}
}

// TestCheckThatSaysSomethingElse is another one, and the newest counts.
func TestCheckThatSaysSomethingElse(t *testing.T) {
	f := newForge(t)
	p := publisher(t, f.URL, forgetest.TokenActions, nil)
	bad, good := manyAnnotations(3), comment.Check{Conclusion: comment.ConclusionSuccess, Title: "fine", Summary: "fine"}
	for _, c := range []comment.Check{bad, good, good, bad, bad} {
		if err := p.SetCheck(t.Context(), sha, c); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, run := range f.CheckRuns(sha) {
		got = append(got, run.Conclusion)
	}
	if diff := cmp.Diff([]string{"failure", "success", "failure"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// Another pull request with the same head has its own.
	other := publisher(t, f.URL, forgetest.TokenActions, func(cfg *comment.PublisherConfig) { cfg.Number = 8 })
	if err := other.SetCheck(t.Context(), sha, bad); err != nil || len(f.CheckRuns(sha)) != 4 {
		t.Errorf("%v, %d check runs", err, len(f.CheckRuns(sha)))
	}
}

// TestCheckAgain is a new check run, which settles the suite of the one before,
// and one, whatever is lost on the way.
func TestCheckAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault forgetest.Fault
	}{
		{"no fault", forgetest.Fault{Path: "/nowhere"}}, {"lost", forgetest.Fault{Apply: true, Cut: true}}, {"500 after it", forgetest.Fault{Apply: true, Status: 502}}, {"500 before it", forgetest.Fault{Status: 500}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForge(t)
			p := publisher(t, f.URL, forgetest.TokenActions, nil)
			c := manyAnnotations(60)
			for _, again := range []bool{false, true} {
				if c.Again = again; again {
					tt.fault.Method = http.MethodPost
					f.Inject(tt.fault)
				}
				if err := p.SetCheck(t.Context(), sha, c); err != nil {
					t.Fatal(err)
				}
			}
			runs := f.CheckRuns(sha)
			if len(runs) != 2 || runs[0].ExternalID != runs[1].ExternalID {
				t.Fatalf("%d check runs", len(runs))
			}
			for i, run := range runs {
				if diff := cmp.Diff([]int{50, 10}, run.Requests); diff != "" {
					t.Errorf("check run %d, requests -want +got:\n%s", i, diff)
				}
			}
		})
	}
}

func TestCheckOf(t *testing.T) {
	f := newForge(t)
	if err := publisher(t, f.URL, forgetest.TokenActions, nil).SetCheck(t.Context(), sha, manyAnnotations(1)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id   string
		want int
	}{
		{f.CheckRuns(sha)[0].ExternalID, 7}, {"gavel:0:abc", 0}, {"gavel:-1:abc", -1}, {"gavel:x:abc", -1}, {"7:abc", -1}, {"", -1}, {"gavel:", -1},
	} {
		number, ours := comment.CheckRunPullRequest(tt.id)
		if ours != (tt.want >= 0) || ours && number != tt.want {
			t.Errorf("%q is of %d, %v", tt.id, number, ours)
		}
	}
}

// TestCheckRefused names the permission.
func TestCheckRefused(t *testing.T) {
	f := newForge(t)
	err := publisher(t, f.URL, forgetest.TokenUser, nil).SetCheck(t.Context(), sha, manyAnnotations(1))
	if err == nil || !strings.Contains(err.Error(), "checks: write") {
		t.Errorf("got %v", err)
	}
}

func TestCheckFor(t *testing.T) {
	at := func(file string, line, column int) schema.Position {
		return schema.Position{File: file, Line: line, Column: column}
	}
	fail, regression, same := verdict.Fail, report.Regression, report.Unchanged
	added, flaky, failed, gone := report.New, report.Flaky, report.Failed, report.Gone
	before, after, broken := 0.9, 0.4, "the agent is at\x1b[31m another commit"
	r := &report.Report{
		Gate: report.Gate{Result: report.GateFail, Reason: "2 cases regressed, says @everybody"},
		Diff: report.Diff{ScoreBase: &before, ScoreHead: &after},
		Problems: []schema.Problem{
			{Position: at("b.yaml", 3, 5), Severity: schema.Warning, Rule: "unused", Message: "nothing uses it"},
			{Position: at("a.json", 0, 0), Severity: schema.Note, Rule: "note"},
			{Position: at("", 0, 0), Severity: schema.Warning, Rule: "nowhere"},
		},
		Cases: []report.Row{
			{Key: "k/regressed", File: "k.json", Line: 4, Class: &regression, BaseScore: &before, Score: &after, VerdictReason: "too rude"},
			{Key: "k/same", File: "k.json", Line: 9, Class: &same, Verdict: &fail},
			{Key: "k/new", File: "k.json", Line: 12, Class: &added, Verdict: &fail},
			{Key: "k/new and good", File: "k.json", Line: 14, Class: &added},
			{Key: "k/flaky", File: "k.json", Line: 16, Class: &flaky},
			{Key: "k/error", File: "k.json", Class: &failed, Error: &broken},
			{Key: "k/gone", File: "k.json", Line: 2, Class: &gone},
			{Key: "k/skipped", File: "k.json", Line: 2},
		},
	}
	c := comment.NewCheck(r)
	want := []comment.Annotation{
		{Path: "b.yaml", Line: 3, Column: 5, Level: "warning", Title: "unused", Message: "nothing uses it"},
		{Path: "k.json", Line: 4, Level: "failure", Title: "regression", Message: "k/regressed: 0.900 → 0.400\ntoo rude"},
		{Path: "k.json", Line: 12, Level: "failure", Title: "new case that fails", Message: "k/new"},
		{Path: "k.json", Line: 16, Level: "warning", Title: "flaky", Message: "k/flaky"},
		{Path: "k.json", Line: 1, Level: "failure", Title: "not judged", Message: "k/error\nthe agent is at␛[31m another commit"},
	}
	if diff := cmp.Diff(want, c.Annotations); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if c.Conclusion != "failure" || c.Title != "2 cases regressed, says @everybody · score 0.900 → 0.400" || strings.Contains(c.Summary, "@everybody") {
		t.Errorf("got %+v", c)
	}
	for _, tt := range []struct {
		name   string
		change func(*report.Report)
		want   string
	}{
		{"pass", func(r *report.Report) { r.Gate.Result = report.GatePass }, "success"},
		{"invalid", func(r *report.Report) { r.Gate.Result, r.Problems[0].Severity = report.GatePass, schema.Error }, "failure"},
		{"undetermined", func(r *report.Report) { r.Gate.Result = report.GateUndetermined }, "failure"},
		{"waiting", func(r *report.Report) {
			r.Gate.Result, r.NotRunReason = report.GateUndetermined, "waits for approval"
		}, "action_required"},
	} {
		changed := *r
		changed.Problems = append([]schema.Problem{}, r.Problems...)
		tt.change(&changed)
		if got := comment.NewCheck(&changed).Conclusion; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	// A model may talk without an end, and a team write a long reason.
	long := strings.Repeat("é ", 100_000)
	r.Cases[0].VerdictReason, r.Gate.Reason, r.Problems[0].Hint = long, long, long
	c = comment.NewCheck(r)
	for _, a := range c.Annotations {
		if n := len([]rune(a.Message)); n > 2000 || a.Path == "k.json" && a.Line == 4 && n < 1900 {
			t.Errorf("%s: a message of %d characters", a.Title, n)
		}
	}
	if n := len([]rune(c.Title)); n > 140 || len(c.Summary) > 65535 || !strings.Contains(c.Title, "…") {
		t.Errorf("a title of %d characters, a summary of %d bytes", n, len(c.Summary))
	}
	r.Problems[0].Hint = ""
	for range 600 {
		r.Problems = append(r.Problems, r.Problems[0])
	}
	if c := comment.NewCheck(r); len(c.Annotations) != 500 || !strings.Contains(c.Summary, "105 further remarks") {
		t.Errorf("%d annotations: %s", len(c.Annotations), c.Summary)
	}
}
