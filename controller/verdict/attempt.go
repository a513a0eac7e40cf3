package verdict

// An Attempt is all samples of one attempt at a case that was repeated because it
// failed.
type Attempt struct {
	Verdict Verdict  `json:"verdict"`
	Score   *float64 `json:"score"`
	Reason  string   `json:"reason,omitempty"`
	// System is the attempt's system prompt; an editor may have written it. Empty means
	// that none was sent.
	System string `json:"system_prompt,omitempty"`
	// Proposal is an editor's proposed prompt after the last attempt failed. It was not
	// run.
	Proposal string `json:"proposed_prompt,omitempty"`
}

// Prompts returns the system prompts of the first and of the last attempt; rewritten
// means that they differ.
func (r Result) Prompts() (before, after string, rewritten bool) {
	n := len(r.Attempts)
	if n == 0 {
		return "", "", false
	}
	before, after = r.Attempts[0].System, r.Attempts[n-1].System
	return before, after, before != after
}

// A Comparison compares a case's prompt, A, with a second one, B, on the same inputs.
// It does not affect the verdict, which is A's.
type Comparison struct {
	// SystemA and SystemB are the prompts; an empty one was not sent.
	SystemA string `json:"system_prompt_a,omitempty"`
	SystemB string `json:"system_prompt_b"`
	// Pairs counts the samples judged under both.
	Pairs int `json:"pairs"`
	// Score compares the scores of the case, Criteria the scores of each criterion.
	Score    *Difference  `json:"score,omitempty"`
	Criteria []Difference `json:"criteria,omitempty"`
	// Preferences come from a judge who saw both outputs; nil if scores are compared.
	Preferences *Preferences `json:"preferences,omitempty"`
	// Winner is A or B; empty without a clear one.
	Winner string `json:"winner,omitempty"`
	// Reason describes the result in one line.
	Reason string `json:"reason"`
	// Errors counts the pairs that could not be judged, for Error or a similar reason.
	Errors int    `json:"errors,omitempty"`
	Error  string `json:"error,omitempty"`
}

// A Difference is the mean of a score under A and under B, in [0,1].
type Difference struct {
	Evaluator string  `json:"evaluator,omitempty"`
	ID        string  `json:"id,omitempty"`
	A         float64 `json:"a"`
	B         float64 `json:"b"`
	// Delta is B − A. Low and High are the ends of its 95 % interval; nil with too few
	// pairs.
	Delta float64  `json:"delta"`
	Low   *float64 `json:"ci_low"`
	High  *float64 `json:"ci_high"`
}

// Preferences count pairs of outputs by the preferred one.
type Preferences struct {
	A    int `json:"a"`
	B    int `json:"b"`
	Ties int `json:"ties"`
	// P is the probability of a split at least this uneven between equals.
	P float64 `json:"p_value"`
}
