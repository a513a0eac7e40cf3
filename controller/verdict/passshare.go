package verdict

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// A PassShare is the outcome of a case that asks for a share of its samples.
type PassShare struct {
	// Passes of Samples passed. Samples leaves out the ones that ended in an error.
	Passes  int `json:"passes"`
	Samples int `json:"samples"`
	// Need of Of samples have to pass. Samples is less than Of if the others could not
	// change the outcome.
	Need int `json:"need"`
	Of   int `json:"of"`
	// PassK has pass^k for k from 1 to Need: the estimated chance that k samples in a row
	// pass.
	PassK []float64 `json:"pass_k"`
}

// A Tally counts the samples of a case that asks for a share of them.
type Tally struct{ Passes, Fails, Need, Of int }

// NewTally counts the samples of a case. An error is neither a pass nor a fail.
func NewTally(c *schema.Case, samples []Sample) Tally {
	t := Tally{Of: c.Samples()}
	t.Need = schema.NeededPasses(c.Policy.PassShare, t.Of)
	judged, _ := judgeable(c.Evaluators, samples)
	for _, s := range judged {
		switch alone(c, s).Verdict {
		case Pass:
			t.Passes++
		case Fail, Borderline:
			t.Fails++
		}
	}
	return t
}

// Missing returns the least number of further samples by which the outcome can be known; 0
// if no sample can change it.
func (t Tally) Missing() int {
	return max(0, min(t.Need-t.Passes, t.most()+1-t.Fails))
}

// most is the number of fails that a pass leaves room for.
func (t Tally) most() int { return t.Of - t.Need }

// decideShare decides by the share of judged samples that pass. problem is the error of a
// sample that could not be judged.
func decideShare(c *schema.Case, judged []Sample, problem string) Result {
	res := DecideCase(&schema.Case{Evaluators: c.Evaluators}, judged)
	if res.Verdict == Error {
		return res
	}
	t := NewTally(c, judged)
	counts := fmt.Sprintf("%d passed and %d failed; %d of %d samples must pass", t.Passes, t.Fails, t.Need, t.Of)
	if t.Missing() > 0 {
		return Result{Verdict: Error, Samples: len(judged), Reason: fmt.Sprintf("%s; the others could not be judged: %s", counts, problem)}
	}
	res.Verdict = Fail
	if t.Passes >= t.Need {
		res.Verdict = Pass
	}
	i := slices.IndexFunc(judged, func(s Sample) bool { return (alone(c, s).Verdict == Pass) == (res.Verdict == Pass) })
	res.Reason = fmt.Sprintf("%s (%s)", alone(c, judged[max(0, i)]).Reason, counts)
	for i := range res.Evaluators {
		res.Evaluators[i].Pass = evaluatorShare(c, i, judged)
	}
	res.PassShare = &PassShare{Passes: t.Passes, Samples: t.Passes + t.Fails, Need: t.Need, Of: t.Of, PassK: passK(c, judged)}
	return res
}

// evaluatorShare reports whether the i-th evaluator passes in enough of the samples.
func evaluatorShare(c *schema.Case, i int, judged []Sample) bool {
	passed := 0
	for _, s := range judged {
		if applyRule(c.Evaluators[i].Spec, c.Evaluators[i].Rule, s.Measurements[i].Criteria).pass {
			passed++
		}
	}
	return Reaches(float64(passed)/float64(len(judged)), c.Policy.PassShare)
}

// passK estimates pass^k of τ-bench (Yao et al. 2024, arXiv:2406.12045), the chance that k
// samples in a row pass, for k from 1 to the needed passes. Its estimate C(c,k)/C(n,k) is
// unbiased for a fixed number n of samples. Samples end here once the outcome is known,
// and the unbiased estimate is then the share of the orders of outcomes with this end that
// begin with k passes (Girshick, Mosteller and Savage 1946, "Unbiased estimates for certain
// binomial sampling problems with applications"). Samples after the end are left out.
func passK(c *schema.Case, judged []Sample) []float64 {
	end := NewTally(c, nil)
	for i := range judged {
		if end.Missing() == 0 {
			break
		}
		one := NewTally(c, judged[i:i+1])
		end.Passes, end.Fails = end.Passes+one.Passes, end.Fails+one.Fails
	}
	out := make([]float64, end.Need)
	for k := range out {
		out[k] = end.passK(k + 1)
	}
	return out
}

// passK returns the unbiased estimate of the chance that k samples pass, from the tally at
// which sampling ended. The last sample is a pass if enough passed, else a fail, and the
// others may be in any order.
func (t Tally) passK(k int) float64 {
	free, fixed := t.Passes, 0 // passes that may be in any order, and the last
	n := t.Passes + t.Fails - 1
	if t.Passes >= t.Need {
		free, fixed = t.Passes-1, 1
	}
	switch {
	case k <= free:
		after := new(big.Int).Binomial(int64(n-k), int64(free-k))
		share, _ := new(big.Rat).SetFrac(after, new(big.Int).Binomial(int64(n), int64(free))).Float64()
		return share
	case k == free+fixed && t.Fails == 0:
		return 1
	}
	return 0
}
