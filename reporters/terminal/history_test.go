package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema/golden"
)

func judgements(scores ...float64) []report.PastJudgement {
	var out []report.PastJudgement
	for i, score := range scores {
		j := report.PastJudgement{
			Run: "run", Head: strings.Repeat("9f31c2e0", 5), At: time.Date(2026, 3, 1+i, 12, 0, 0, 0, time.UTC),
			Verdict: verdict.Pass, Score: &score, Digest: "d",
		}
		if score < 0.7 {
			j.Verdict = verdict.Fail
		}
		out = append(out, j)
	}
	return out
}

func TestHistoryGolden(t *testing.T) {
	many := make([]float64, 40)
	for i := range many {
		many[i] = float64(i%11) / 10
	}
	one := judgements(1, 0.5, 0.9)
	one[1].PullRequest, one[1].Changed = 7, true
	one[2].Head = "worktree"
	h := report.CaseHistory{
		"support/refunds#window": one,
		"math/level_2/a_name_that_is_much_too_long_for_a_terminal_of_eighty_columns\x1b[31m": judgements(many...),
	}
	var b strings.Builder
	if err := Histories(&b, h, Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := textfmt.Columns(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	b.WriteString("\n")
	if err := Histories(&b, report.CaseHistory{"support/refunds#window": one, "a": judgements(many[:3]...)}, Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n")
	if err := History(&b, "support/refunds#window", one, Options{Width: 80, Color: true}); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n")
	if err := Histories(&b, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/history.txt", b.String())
}
