package dashboard

import (
	"math"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A criterionLine is one criterion over several judgements.
type criterionLine struct {
	Evaluator, Criterion string
	// Scores are in [0,1], one for each judgement; nil if the judgement has no score
	// for the criterion.
	Scores []*float64
}

// criterionLines returns the criteria of all judgements with their scores, in the order in
// which they appear first.
func criterionLines(judged []ledger.PastJudgement) []criterionLine {
	var lines []criterionLine
	at := map[[2]string]int{}
	for i, j := range judged {
		for _, next := range criterionScores(j) {
			if _, known := at[next.of]; !known {
				at[next.of] = len(lines)
				lines = append(lines, criterionLine{next.of[0], next.of[1], make([]*float64, len(judged))})
			}
			lines[at[next.of]].Scores[i] = &next.score
		}
	}
	return lines
}

// A criterionScore is the score of a criterion, which an evaluator and its own name identify.
type criterionScore struct {
	of    [2]string
	score float64
}

// criterionScores returns the scores of the criteria of a judgement that apply.
func criterionScores(j ledger.PastJudgement) []criterionScore {
	var out []criterionScore
	for _, e := range j.Evaluators {
		for _, c := range e.Criteria {
			if !c.NotApplicable {
				out = append(out, criterionScore{[2]string{e.Name, c.ID}, c.Score})
			}
		}
	}
	return out
}

// near is how much two scores differ at most that are the same but for rounding.
const sameScore = 1e-6

// sampleInterval returns the 95 % confidence interval of a judgement's score from its
// samples, within [0,1]. ok is false for fewer than two samples, for samples that are
// all equal, and if the scores of the samples do not follow from the stored values:
// their mean must be the score.
func sampleInterval(j ledger.PastJudgement, samples []verdict.Sample) (interval stats.Interval, ok bool) {
	if j.Score == nil || j.Samples < 2 {
		return stats.Interval{}, false
	}
	var scores []float64
	for _, s := range samples {
		if s.Ordinal > j.Last || s.Ordinal <= j.Last-j.Samples {
			continue
		}
		score, known := scoreOf(s, j.Evaluators)
		if !known {
			return stats.Interval{}, false
		}
		scores = append(scores, score)
	}
	if len(scores) != j.Samples || math.Abs(stats.Mean(scores)-*j.Score) > sameScore {
		return stats.Interval{}, false
	}
	interval, ok = stats.Paired(scores, 0)
	interval.Low, interval.High = max(0, interval.Low), min(1, interval.High)
	return interval, ok && interval.High-interval.Low > sameScore
}

// scoreOf returns the score of one sample if the criteria of every evaluator count
// equally. known is false for a sample that lacks a measurement.
func scoreOf(s verdict.Sample, evaluators []verdict.EvaluatorResult) (score float64, known bool) {
	if s.Error != "" || len(evaluators) == 0 || len(s.Measurements) != len(evaluators) {
		return 0, false
	}
	var sum, weights float64
	for i, m := range s.Measurements {
		measured, known := scoreOfCriteria(m.Criteria)
		if !known {
			return 0, false
		}
		weight := 1.0
		if w := evaluators[i].Weight; w != nil {
			weight = *w
		}
		sum += weight * measured
		weights += weight
	}
	return sum / weights, weights > 0
}

// scoreOfCriteria returns the mean of the criteria that apply, and 0 if a veto fails.
func scoreOfCriteria(criteria []verdict.Criterion) (score float64, known bool) {
	var sum, n float64
	for _, c := range criteria {
		switch {
		case c.NotApplicable:
		case c.Veto && c.Score == 0:
			return 0, true
		case !c.Veto:
			sum += c.Score
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / n, true
}
