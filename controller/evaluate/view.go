package evaluate

import (
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// viewed narrows the input to a part of the conversation. For a turn, that is the
// target's input and its reply. The whole conversation becomes an answer as text, with
// nothing before it.
func (in Input) viewed(view *evaluator.View) Input {
	if view == nil {
		return in
	}
	tc, t := *in.Case, *in.Transcript
	in.Case, in.Transcript = &tc, &t
	if view.Turn == 0 {
		tc.Drive.Messages = nil
		t.Said = spoken(t.Messages)
		return in
	}
	turn := t.Turns[view.Turn-1]
	from := t.SentFrom(view.Turn-1, tc.Drive.Window())
	tc.Drive.Messages = t.Messages[from:turn.From]
	t.Messages, t.Latency, t.Usage = t.Messages[from:turn.To], turn.Latency, turn.Usage
	if view.Turn < len(t.Turns) {
		t.Finish = "" // of the last turn
	}
	t.Turns = nil
	return in
}

// spoken formats a conversation as text, without tool calls and their results.
func spoken(messages []schema.Message) string {
	var lines []string
	for _, m := range messages {
		if m.Role != schema.RoleTool && m.Content != "" {
			lines = append(lines, m.Role+": "+m.Content)
		}
	}
	return strings.Join(lines, "\n\n")
}
