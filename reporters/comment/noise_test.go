package comment_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

// TestNoise: the headline counts confirmed and unconfirmed ones, a row describes in a
// sentence the further measurements, and a fold shows it.
func TestNoise(t *testing.T) {
	s := reporttest.New()
	s.In.Noise = &report.NoiseFindings{Index: map[string]int{}, Result: confirm.Result{Complete: true, Measurements: 22}}
	add := func(key string, f confirm.Finding, series string) {
		s.Add(key, reporttest.Pass(1), reporttest.Fail(0, "no"), plan.Reason{Part: "prompt", Message: "the prompt changed"})
		f.BaseVerdict, f.HeadVerdict = verdict.Pass, verdict.Fail
		var samples []report.NoiseSample
		for _, r := range series {
			v := map[rune]verdict.Verdict{'p': verdict.Pass, 'f': verdict.Fail}[r]
			samples = append(samples, report.NoiseSample{Side: "head", Verdict: v}, report.NoiseSample{Side: "base", Verdict: verdict.Pass})
		}
		s.In.Noise.Index[key] = len(s.In.Noise.Result.Findings)
		s.In.Noise.Result.Findings = append(s.In.Noise.Result.Findings, f)
		s.In.Noise.Samples = append(s.In.Noise.Samples, samples)
	}
	none, all := stats.Count{Of: 4}, stats.Count{Passed: 4, Of: 4}
	add("math/1/a", confirm.Finding{Class: confirm.Regression, Confirmed: true, P: 0.01, Head: none, Base: all, Reruns: none}, "ffff")
	add("math/1/b", confirm.Finding{Class: confirm.Unclear, Reruns: stats.Count{Passed: 1, Of: 3}}, "fpf")
	add("math/1/c", confirm.Finding{Class: confirm.Flaky, Reruns: all}, "pppp")
	r := report.Compare(s.In)
	rows := reporters.Arrange(r)
	if got, want := rows.Headline(r), "1 regression (confirmed), 1 unclear, 1 flaky"; got != want {
		t.Errorf("the headline is %q, want %q", got, want)
	}
	text := comment.Markdown(r, comment.Options{})
	for _, want := range []string{
		"1 regression (confirmed), 1 unclear, 1 flaky",
		"failed in 4 of 4 reruns here, passed 4 of 4 at base (p = 0.01 after all looks)",
		"Measured again: head ✗ ✗ ✗ ✗, base ✓ ✓ ✓ ✓",
		"failed, then passed 1 of 3 reruns here",
		"Measured again: head ✗ ✓ ✗, base ✓ ✓ ✓",
		"failed once, then passed 4 of 4 reruns: as likely noise",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the comment lacks %q:\n%s", want, text)
		}
	}
	if got, want := r.Remeasured.Line, "1 regression (confirmed), 1 unclear, 1 flaky"; got != want {
		t.Errorf("the line in the JSON is %q, want %q", got, want)
	}
	for _, tt := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"terminal", func(w io.Writer) error { return terminal.Report(w, r, terminal.Options{Width: 120}) }},
		{"page", func(w io.Writer) error { return html.Write(w, r, html.Options{}) }},
	} {
		var b strings.Builder
		if err := tt.write(&b); err != nil {
			t.Fatal(err)
		}
		wants := []string{"1 regression (confirmed), 1 unclear, 1 flaky", "failed once, then passed 4 of 4 reruns: as likely noise"}
		if tt.name == "terminal" {
			wants = append(wants, "measured again: head ✗ ✗ ✗ ✗, base ✓ ✓ ✓ ✓")
		}
		if tt.name == "page" {
			wants = append(wants, "Measured again: head ✗ ✗ ✗ ✗, base ✓ ✓ ✓ ✓: failed in 4 of 4 reruns here", "Measured again: head ✓ ✓ ✓ ✓, base ✓ ✓ ✓ ✓<")
		}
		for _, want := range wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the %s lacks %q:\n%s", tt.name, want, b.String())
			}
		}
	}
	r.Cases[0].Confirmation.Samples = nil
	if got := rows.Headline(r); strings.Contains(got, "confirmed") {
		t.Errorf("the headline is %q although nothing was measured again", got)
	}
}

// TestWordsAreExplained: a comment with such words links to the page that has them, and
// one without does not.
func TestWordsAreExplained(t *testing.T) {
	page, err := os.ReadFile("../../examples/pull-requests.md")
	if err != nil {
		t.Fatal(err)
	}
	_, words, _ := strings.Cut(string(page), "\n### The words\n")
	words, _, _ = strings.Cut(words, "\n#")
	for _, word := range []string{"regression (confirmed)", "p", "unclear", "flaky", "may be noise", "got worse on the whole", "scores fell, certain", "passes as flaky", "may be below min_score"} {
		if !strings.Contains(words, "\n| "+word) {
			t.Errorf("the page has no row of %q", word)
		}
	}
	const link = "[what these words mean](https://github.com/gavel-evals/gavel/blob/main/examples/pull-requests.md#the-words)"
	for name, want := range map[string]bool{"regressions": true, "moved_removed_new": true, "first_run": false, "waiting": false} {
		if got := strings.Contains(comment.Markdown(reporttest.Stored(t, name), comment.Options{}), link); got != want {
			t.Errorf("%s: the words are explained: %v", name, got)
		}
	}
}

// TestWhatRunningTakes: a comment on cases that wait for somebody's word says what
// running them takes, and what telling regressions from noise takes beyond that.
func TestWhatRunningTakes(t *testing.T) {
	r := reporttest.Stored(t, "waiting")
	price := 1.25
	r.Estimate = &report.Estimate{Calls: 12, Again: &report.Expense{UsualCalls: 3, MostCalls: 312, MostUSD: &price}}
	text := comment.Markdown(r, comment.Options{})
	want := "> Running it takes about 12 calls, price unknown; usually 3 more calls to tell regressions from noise, at most 312 (&#36;1.25)."
	if !strings.Contains(strings.ReplaceAll(text, "\\", ""), want) {
		t.Errorf("the comment lacks %q:\n%s", want, text)
	}
}

// TestScoresFell: a fall of the scores that is certain is in every headline, although no
// verdict changed and the gate passes. Where it is a failure, the gate says so.
func TestScoresFell(t *testing.T) {
	for _, fails := range []bool{false, true} {
		s := reporttest.New()
		for i := range 8 {
			s.Add(fmt.Sprintf("math/1/%d", i), reporttest.Pass(.9), reporttest.Pass(.84), plan.Reason{Part: "prompt", Message: "the prompt changed"})
		}
		s.In.Gate.FailScores = fails
		s.In.Noise = &report.NoiseFindings{Index: map[string]int{}, Result: confirm.Result{
			Complete: true, Findings: make([]confirm.Finding, 8),
			Mean:   confirm.Mean{State: confirm.MeanTested, P: 1},
			Scores: confirm.ScoreMean{State: confirm.MeanTested, Called: true, P: 1. / 256, Fall: .06},
		}}
		r := report.Compare(s.In)
		const said = "scores fell by 0.06, certain; no verdict changed"
		_, verdict := comment.NewStatuses(r)
		var page, term strings.Builder
		if err := errors.Join(html.Write(&page, r, html.Options{}), terminal.Report(&term, r, terminal.Options{Width: 120})); err != nil {
			t.Fatal(err)
		}
		body, _ := json.Marshal(r)
		rows := reporters.Arrange(r)
		for name, text := range map[string]string{
			"headline": rows.Headline(r), "comment": comment.Markdown(r, comment.Options{}), "status": verdict.Description,
			"page": page.String(), "terminal": term.String(), "line": r.Remeasured.Line, "gate": r.Gate.Reason, "JSON": string(body),
		} {
			if !strings.Contains(strings.ReplaceAll(text, "Scores fell", "scores fell"), said) {
				t.Errorf("the %s lacks %q:\n%s", name, said, text)
			}
		}
		if !strings.Contains(string(body), `"scores":{"state":"tested","called":true,"p":0.00390625,"fall":0.06}`) {
			t.Errorf("the JSON is %s", body)
		}
		mark, result, reason := "### ⚠️ No regressions, scores fell", report.GatePass, "no case regressed, "+said+" (fail_on: regression)"
		if fails {
			mark, result, reason = "### ❌ Scores fell", report.GateFail, said+" (p = 0.004; scores: fail)"
		}
		if text := comment.Markdown(r, comment.Options{}); !strings.Contains(text, mark) || r.Gate.Result != result || r.Gate.Reason != reason {
			t.Errorf("gate %+v in\n%s", r.Gate, text)
		}
		s.In.Noise.Result.Mean.Called = true
		if fell := report.Compare(s.In).ScoresFell(); fell != "" {
			t.Errorf("that the cases got worse is said twice: %s", fell)
		}
	}
}

// TestOutageIsTold: measurements that were repeated after an outage are mentioned in
// every form of the report.
func TestOutageIsTold(t *testing.T) {
	s := reporttest.New()
	s.Add("math/1/a", reporttest.Pass(1), reporttest.Pass(1), plan.Reason{Part: "prompt", Message: "the prompt changed"})
	at := time.Date(2026, 1, 1, 14, 2, 10, 0, time.UTC)
	s.In.Noise = &report.NoiseFindings{Index: map[string]int{}, Result: confirm.Result{
		Complete: true, Findings: make([]confirm.Finding, 1), Retaken: 25,
		Outages: []confirm.Outage{{From: at, To: at.Add(time.Minute), Cases: 12}, {From: at.Add(time.Hour), To: at.Add(time.Hour), Cases: 1}},
	}}
	r := report.Compare(s.In)
	var page, term strings.Builder
	if err := errors.Join(html.Write(&page, r, html.Options{}), terminal.Report(&term, r, terminal.Options{Width: 120})); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"comment": comment.Markdown(r, comment.Options{}), "page": page.String(), "terminal": term.String()} {
		for _, want := range []string{"12 cases were measured again after errors between 14:02 and 14:03 UTC", "1 case was measured again after errors at 15:02 UTC"} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s lacks %q:\n%s", name, want, text)
			}
		}
	}
	if body, _ := json.Marshal(r); !strings.Contains(string(body), `"outages":[{"from":"2026-01-01T14:02:10Z","to":"2026-01-01T14:03:10Z","cases":12}`) {
		t.Errorf("the JSON is %s", body)
	}
}
