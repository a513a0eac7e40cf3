package schema

// An Alternative is a second system prompt to compare with the first: it is run on
// the same messages and as often, in the first attempt only. It bears neither
// on the verdict nor on a retry, which are the first prompt's.
type Alternative struct {
	System string
	// Comparison makes evaluators compare the outputs of both prompts side by side; nil
	// if their scores for each of them are enough.
	Comparison Spec
}
