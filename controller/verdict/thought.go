package verdict

import (
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// Thought splits a model's message into its thinking and its answer. Thinking is the
// provider's own field, and the blocks from <think> to </think> at the beginning of the
// text. An unclosed block extends to the end, so that the answer is empty. Other
// messages have no thinking.
func Thought(m schema.Message) (thinking, answer string) {
	if m.Role != schema.RoleAssistant {
		return "", m.Content
	}
	thoughts := []string{m.Reasoning}
	answer = m.Content
	for {
		rest, ok := cutTag(strings.TrimSpace(answer), "<think>")
		if !ok {
			break
		}
		block := rest
		answer = ""
		if end := strings.Index(strings.ToLower(rest), "</think>"); end >= 0 {
			block, answer = rest[:end], strings.TrimLeft(rest[end+len("</think>"):], " \t\r\n")
		}
		thoughts = append(thoughts, strings.TrimSpace(block))
	}
	return strings.TrimSpace(strings.Join(thoughts, "\n\n")), answer
}

func cutTag(s, tag string) (rest string, ok bool) {
	if len(s) < len(tag) || !strings.EqualFold(s[:len(tag)], tag) {
		return s, false
	}
	return s[len(tag):], true
}

// hidden replaces thinking in a transcript that is judged.
const hidden = "…"

// Judged returns the transcript as evaluators see it: without the target's thinking.
// Turns keep their numbers.
func (t *Transcript) Judged() *Transcript {
	out := *t
	out.Messages = nil
	for i, m := range t.Messages {
		thinking, answer := Thought(m)
		if thinking == "" && answer == m.Content {
			continue
		}
		if out.Messages == nil {
			out.Messages = append([]schema.Message{}, t.Messages...)
		}
		// A provider's own form of the message may contain the thinking, too.
		m.Content, m.Reasoning, m.Opaque = answer, hidden, nil
		out.Messages[i] = m
	}
	if out.Messages == nil {
		return t
	}
	return &out
}

// Answer returns the text of the last assistant message that has one, without the
// model's thinking. It is empty if the model only thought.
func Answer(messages []schema.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Role != schema.RoleAssistant {
			continue
		}
		if thinking, answer := Thought(m); answer != "" || thinking != "" && len(m.ToolCalls) == 0 {
			return answer
		}
	}
	return ""
}
