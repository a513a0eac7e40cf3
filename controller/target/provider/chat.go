package provider

import "encoding/json"

// A ChatRequest is a request of OpenAI's Chat Completions API.
type ChatRequest struct {
	Model       string        `json:"model"`
	Messages    []ChatMessage `json:"messages"`
	Tools       []ChatTool    `json:"tools,omitempty"`
	Format      any           `json:"response_format,omitempty"` // a ChatFormat, or as it is configured
	Temperature *float64      `json:"temperature,omitempty"`
}

// A ChatMessage is one message of the conversation. Content is left out where
// it is nil.
type ChatMessage struct {
	Role       string             `json:"role"`
	Content    *Content[ChatPart] `json:"content,omitempty"`
	ToolCalls  []ChatCall         `json:"tool_calls,omitempty"`
	ToolCallID string             `json:"tool_call_id,omitempty"`
}

// A ChatPart is a text or an image of a message.
type ChatPart struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *ChatImage `json:"image_url,omitempty"`
}

// A ChatImage is an image by its address.
type ChatImage struct {
	URL string `json:"url"`
}

// A ChatCall is a tool call, sent or answered.
type ChatCall struct {
	ID       Text         `json:"id"`
	Type     Text         `json:"type"`
	Function ChatFunction `json:"function"`
	// Extra is what Gemini wants back with a call.
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// A ChatFunction is the function of a call with its arguments, which are JSON.
type ChatFunction struct {
	Name      Text `json:"name"`
	Arguments Text `json:"arguments"`
}

// A ChatTool offers a function.
type ChatTool struct {
	Type     string `json:"type"`
	Function Tool   `json:"function"`
}

// A ChatFormat asks for an answer that follows a JSON Schema.
type ChatFormat struct {
	Type   string `json:"type"`
	Schema Schema `json:"json_schema"`
}

// A ChatReply is an answer of OpenAI's Chat Completions API.
type ChatReply struct {
	Model   Text         `json:"model"`
	Choices []ChatChoice `json:"choices"`
	Usage   struct {
		Prompt     Count `json:"prompt_tokens"`
		Completion Count `json:"completion_tokens"`
		Total      Count `json:"total_tokens"`
	} `json:"usage"`
}

// A ChatChoice is one of the answers; Gavel asks for one.
type ChatChoice struct {
	Message struct {
		Content Text `json:"content"`
		Refusal Text `json:"refusal"`
		// Reasoning is what the model thought. It is not part of OpenAI's own API;
		// servers that speak like it have one or the other.
		Reasoning        Text       `json:"reasoning"`
		ReasoningContent Text       `json:"reasoning_content"`
		ToolCalls        []ChatCall `json:"tool_calls"`
	} `json:"message"`
	FinishReason Text `json:"finish_reason"`
}
