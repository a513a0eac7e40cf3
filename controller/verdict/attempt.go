package verdict

// An Attempt is all samples of a case that was run again because it failed.
type Attempt struct {
	Verdict Verdict  `json:"verdict"`
	Score   *float64 `json:"score"`
	Reason  string   `json:"reason,omitempty"`
	// System is the system prompt that the attempt was run with; an editor may
	// have written it. Empty means that none was sent.
	System string `json:"system_prompt,omitempty"`
	// Proposal is the prompt that an editor proposes after the last attempt failed. It
	// was not run.
	Proposal string `json:"proposed_prompt,omitempty"`
}

// Prompts are the system prompts of the first and of the last attempt; rewritten
// says that they differ.
func (r Result) Prompts() (before, after string, rewritten bool) {
	n := len(r.Attempts)
	if n == 0 {
		return "", "", false
	}
	before, after = r.Attempts[0].System, r.Attempts[n-1].System
	return before, after, before != after
}

// A Comparison compares a case's prompt, A, with a second one, B, on the same
// inputs. It says nothing about the verdict, which is A's.
type Comparison struct {
	// SystemA and SystemB are the prompts; an empty one was not sent.
	SystemA string `json:"system_prompt_a,omitempty"`
	SystemB string `json:"system_prompt_b"`
	// Pairs counts the samples that were judged under both.
	Pairs int `json:"pairs"`
	// Score compares the scores of the case, Criteria those of each criterion.
	Score    *Difference  `json:"score,omitempty"`
	Criteria []Difference `json:"criteria,omitempty"`
	// Preferences are those of a judge who saw both outputs; nil where the
	// scores are what is compared.
	Preferences *Preferences `json:"preferences,omitempty"`
	// Winner is A or B; empty where neither is clear.
	Winner string `json:"winner,omitempty"`
	// Reason says in one line how it came out.
	Reason string `json:"reason"`
	// Errors counts the pairs that could not be judged, for Error or another
	// such reason.
	Errors int    `json:"errors,omitempty"`
	Error  string `json:"error,omitempty"`
}

// A Difference is the mean of something under A and under B, in [0,1].
type Difference struct {
	Evaluator string  `json:"evaluator,omitempty"`
	ID        string  `json:"id,omitempty"`
	A         float64 `json:"a"`
	B         float64 `json:"b"`
	// Delta is B − A. Low and High are the ends of its 95 % interval; nil where
	// there are too few pairs for one.
	Delta float64  `json:"delta"`
	Low   *float64 `json:"ci_low"`
	High  *float64 `json:"ci_high"`
}

// Preferences count pairs of outputs by which of them was preferred.
type Preferences struct {
	A    int `json:"a"`
	B    int `json:"b"`
	Ties int `json:"ties"`
	// P is the probability of a split at least this uneven between equals.
	P float64 `json:"p_value"`
}
