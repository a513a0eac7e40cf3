package target

import "strings"

// finishes maps other reasons for the end of a reply to the reasons of OpenAI's Chat
// Completions API.
var finishes = map[string]string{
	"function_call": "tool_calls",
	"end_turn":      "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls",
	"max_output_tokens": "length",
}

// finishReason returns the reason for which a reply ended, as OpenAI's Chat Completions
// API names it: stop, length, tool_calls or content_filter. Another reason is in small
// letters, and an unknown one is empty. Gemini puts a detail behind a colon.
func finishReason(reason looseText) string {
	name, _, _ := strings.Cut(strings.ToLower(string(reason)), ":")
	if usual := finishes[name]; usual != "" {
		return usual
	}
	return name
}

// Finish returns the reason for which the response ended.
func (r *responsesReplyBody) Finish() string {
	switch {
	case r.Status == "incomplete":
		return finishReason(r.Incomplete.Reason)
	case r.Status != "completed":
		return ""
	}
	for _, item := range r.Output {
		if item.Type == "function_call" {
			return "tool_calls"
		}
	}
	return "stop"
}
