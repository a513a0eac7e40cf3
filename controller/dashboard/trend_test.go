package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// judged is a judgement whose one evaluator has criteria such as "tone 0.5".
func judged(criteria ...string) ledger.PastJudgement {
	e := verdict.EvaluatorResult{Name: "judge"}
	for _, text := range criteria {
		var c verdict.Criterion
		if _, err := fmt.Sscan(text, &c.ID, &c.Score); err != nil {
			panic(err)
		}
		e.Criteria = append(e.Criteria, c)
	}
	return ledger.PastJudgement{Evaluators: []verdict.EvaluatorResult{e}}
}

func TestCriteria(t *testing.T) {
	skipped := judged("facts 0.3")
	skipped.Evaluators[0].Criteria[0].NotApplicable = true
	lines := criterionLines([]ledger.PastJudgement{judged("tone 0.5", "facts 1"), skipped, judged("tone 0", "brief 0.25")})
	var got []string
	for _, line := range lines {
		text := line.Evaluator + "/" + line.Criterion
		for _, score := range line.Scores {
			if score == nil {
				text += " –"
			} else {
				text += fmt.Sprintf(" %v", *score)
			}
		}
		got = append(got, text)
	}
	if got, want := strings.Join(got, "; "), "judge/tone 0.5 – 0; judge/facts 1 – –; judge/brief – – 0.25"; got != want {
		t.Errorf("the criteria are %s, want %s", got, want)
	}
}

// samplesOf are samples with one criterion, whose ordinals count from 0.
func samplesOf(scores ...float64) []verdict.Sample {
	var out []verdict.Sample
	for i, score := range scores {
		out = append(out, verdict.Sample{Ordinal: i, Measurements: []verdict.Measurement{
			{Evaluator: "judge", Criteria: []verdict.Criterion{{ID: "x", Score: score}}},
		}})
	}
	return out
}

func TestInterval(t *testing.T) {
	failed := samplesOf(0.2, 0.4, 0.6)
	failed[1].Error = "the agent did not answer"
	vetoed := samplesOf(0, 0.5)
	vetoed[0].Measurements[0].Criteria = append(vetoed[0].Measurements[0].Criteria, verdict.Criterion{ID: "never", Veto: true})
	for _, tt := range []struct {
		name    string
		score   float64
		n, last int
		samples []verdict.Sample
		want    string
	}{
		{"Student's interval of 0.2, 0.4, 0.6", 0.4, 3, 2, samplesOf(0.2, 0.4, 0.6), "0.000 0.897"},
		{"within 0 and 1", 0.75, 4, 3, samplesOf(0.5, 1, 0.5, 1), "0.291 1.000"},
		{"the last two of four", 0.9, 2, 3, samplesOf(0, 0, 0.85, 0.95), "0.265 1.000"},
		{"without those that came later", 0.4, 3, 2, samplesOf(0.2, 0.4, 0.6, 1), "0.000 0.897"},
		{"a veto makes a sample 0", 0.25, 2, 1, vetoed, "0.000 1.000"},
		{"one sample", 0.4, 1, 0, samplesOf(0.4), "none"},
		{"all alike", 0.5, 2, 1, samplesOf(0.5, 0.5), "none"},
		{"another mean than the score, because of weights", 0.5, 2, 1, samplesOf(0.2, 0.4), "none"},
		{"a sample is gone", 0.4, 3, 3, samplesOf(0.2, 0.4, 0.6), "none"},
		{"a sample failed", 0.4, 3, 2, failed, "none"},
	} {
		j := judged("x 0")
		j.Score, j.Samples, j.Last = &tt.score, tt.n, tt.last
		got := "none"
		if i, ok := sampleInterval(j, tt.samples); ok {
			got = fmt.Sprintf("%.3f %.3f", i.Low, i.High)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
