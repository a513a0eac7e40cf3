package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
)

// row has evaluators such as "judge+", which passed, and "keyword-", which failed.
func row(key string, evaluators ...string) report.Row {
	out := report.Row{Key: key}
	for _, text := range evaluators {
		name, pass := text[:len(text)-1], strings.HasSuffix(text, "+")
		out.Evaluators = append(out.Evaluators, report.EvaluatorScore{Name: name, Pass: pass})
	}
	return out
}

func TestCount(t *testing.T) {
	composite := row("e", "panel+")
	composite.Evaluators[0].Evaluators = row("", "strict-", "mild+").Evaluators
	r := &report.Report{Cases: []report.Row{
		row("a", "judge+", "keyword+"), row("b", "keyword-", "judge+"), row("c", "judge-", "keyword-"),
		row("d", "judge+", "keyword+", "sql+"), row("f", "judge-", "keyword+"), composite, row("g", "judge+"),
	}}
	var got []string
	pairs, _ := countPairs(r)
	for _, p := range pairs {
		text := fmt.Sprintf("%s, %s: %d %d %d %d of %d, rate %.2f", p.A, p.B, p.BothPass, p.BothFail, p.OnlyA, p.OnlyB, p.Cases(), p.Rate())
		if kappa, ok := p.Kappa(); ok {
			text += fmt.Sprintf(", kappa %.3f", kappa)
		}
		for _, row := range p.Disputed {
			text += " " + row.Key
		}
		got = append(got, text)
	}
	want := []string{
		// Agreement 3/5, by chance 3/5·3/5 + 2/5·2/5 = 13/25.
		"judge, keyword: 2 1 1 1 of 5, rate 0.60, kappa 0.167 b f",
		"panel / mild, panel / strict: 0 0 1 0 of 1, rate 0.00, kappa 0.000 e",
		"judge, sql: 1 0 0 0 of 1, rate 1.00",
		"keyword, sql: 1 0 0 0 of 1, rate 1.00",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the pairs are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestCountOfManyEvaluators compares the first of a case that has very many, and counts it.
func TestCountOfManyEvaluators(t *testing.T) {
	var names []string
	for i := range mostEvaluators + 1 {
		names = append(names, fmt.Sprintf("e%d+", i))
	}
	pairs, unpaired := countPairs(&report.Report{Cases: []report.Row{row("a", names...), row("b", names[1:]...)}})
	if most := (mostEvaluators + 1) * mostEvaluators / 2; len(pairs) >= most || unpaired != 1 {
		t.Errorf("%d pairs, and %d cases with more evaluators; want less than %d, and 1", len(pairs), unpaired, most)
	}
}
