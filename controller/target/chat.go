package target

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/controller/target/httpagent"
)

// A chatRequestBody is a request of OpenAI's Chat Completions API.
type chatRequestBody struct {
	Model       string            `json:"model"`
	Messages    []chatMessageBody `json:"messages"`
	Tools       []chatTool        `json:"tools,omitempty"`
	Format      any               `json:"response_format,omitempty"` // a chatFormatBody, or as it is configured
	Temperature *float64          `json:"temperature,omitempty"`
}

// A chatMessageBody is one message of the conversation. wireContent is left out if it
// is nil.
type chatMessageBody struct {
	Role       string                 `json:"role"`
	Content    *wireContent[chatPart] `json:"content,omitempty"`
	ToolCalls  []chatCall             `json:"tool_calls,omitempty"`
	ToolCallID string                 `json:"tool_call_id,omitempty"`
}

// A chatPart is a text or an image of a message.
type chatPart struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *chatImage `json:"image_url,omitempty"`
}

// A chatImage is an image by its address.
type chatImage struct {
	URL string `json:"url"`
}

// A chatCall is a tool call, sent or answered.
type chatCall struct {
	ID       looseText    `json:"id"`
	Type     looseText    `json:"type"`
	Function chatFunction `json:"function"`
	// Extra is the data that Gemini wants back with a call.
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// A chatFunction is the function of a call with its arguments, which are JSON.
type chatFunction struct {
	Name      looseText `json:"name"`
	Arguments looseText `json:"arguments"`
}

// A chatTool offers a function.
type chatTool struct {
	Type     string   `json:"type"`
	Function wireTool `json:"function"`
}

// MarshalJSON writes a tool that the vendor runs as it is.
func (t chatTool) MarshalJSON() ([]byte, error) {
	if t.Function.hosted != nil {
		return t.Function.hosted, nil
	}
	type fields chatTool
	return json.Marshal(fields(t))
}

// A chatFormatBody asks for an answer that follows a JSON wireSchema.
type chatFormatBody struct {
	Type   string     `json:"type"`
	Schema wireSchema `json:"json_schema"`
}

// A chatReplyBody is an answer of OpenAI's Chat Completions API.
type chatReplyBody struct {
	Model   looseText    `json:"model"`
	Choices []chatChoice `json:"choices"`
	// Error is of gateways whose provider failed in the middle of a reply.
	Error json.RawMessage `json:"error"`
	Usage struct {
		Prompt     wireCount `json:"prompt_tokens"`
		Completion wireCount `json:"completion_tokens"`
		Total      wireCount `json:"total_tokens"`
	} `json:"usage"`
}

// A chatChoice is one of the answers; Gavel asks for one.
type chatChoice struct {
	Message struct {
		// Content is nil if it is null or is not there.
		Content *looseText `json:"content"`
		Refusal looseText  `json:"refusal"`
		// Reasoning has the thoughts of the model. It is not part of OpenAI's own API;
		// servers with a similar API have one or the other.
		Reasoning        looseText  `json:"reasoning"`
		ReasoningContent looseText  `json:"reasoning_content"`
		ToolCalls        []chatCall `json:"tool_calls"`
	} `json:"message"`
	FinishReason looseText       `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

// failure returns the error that the provider had; empty for none.
func (r *chatReplyBody) failure() string {
	failed := httpagent.ErrorText(r.Error)
	if len(r.Choices) == 0 {
		return failed
	}
	if choice := r.Choices[0]; failed == "" {
		failed = httpagent.ErrorText(choice.Error)
		if failed == "" && finishReason(choice.FinishReason) == "error" {
			failed = "finish_reason is error"
		}
	}
	return failed
}
