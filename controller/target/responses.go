package target

import (
	"bytes"
	"encoding/json"
)

// A responsesRequestBody is a request of OpenAI's Responses API.
type responsesRequestBody struct {
	Model        string         `json:"model"`
	Instructions string         `json:"instructions,omitempty"`
	Input        []inputItem    `json:"input"`
	Tools        []wireTool     `json:"tools,omitempty"`
	Text         map[string]any `json:"text,omitempty"`
	Temperature  *float64       `json:"temperature,omitempty"`
}

// An inputItem is a message, a function call or the output of one. A message
// has a role and no type.
type inputItem struct {
	Type      string                  `json:"type,omitempty"`
	Role      string                  `json:"role,omitempty"`
	Content   *wireContent[inputPart] `json:"content,omitempty"`
	CallID    string                  `json:"call_id,omitempty"`
	Name      string                  `json:"name,omitempty"`
	Arguments *string                 `json:"arguments,omitempty"`
	Output    *wireContent[inputPart] `json:"output,omitempty"`
}

// An inputPart is a text or an image of a message or an output.
type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Detail   string `json:"detail,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

// A responsesReplyBody is an answer of OpenAI's Responses API.
type responsesReplyBody struct {
	Model  looseText    `json:"model"`
	Status looseText    `json:"status"`
	Output []outputItem `json:"output"`
	Error  struct {
		Code    looseText `json:"code"`
		Message looseText `json:"message"`
	} `json:"error"`
	Incomplete struct {
		Reason looseText `json:"reason"`
	} `json:"incomplete_details"`
	Usage struct {
		Input  wireCount `json:"input_tokens"`
		Output wireCount `json:"output_tokens"`
	} `json:"usage"`
}

// An outputPart is a text or a refusal. Text is nil if it is null or is not there.
type outputPart struct {
	Text    *looseText `json:"text"`
	Refusal looseText  `json:"refusal"`
}

// said returns the text; empty without one.
func (p outputPart) said() string {
	if p.Text == nil {
		return ""
	}
	return string(*p.Text)
}

// An outputItem is a message, a function call, reasoning, or something that Gavel
// does not read.
type outputItem struct {
	Type    looseText    `json:"type"`
	Content []outputPart `json:"content"`
	// Summary is the model's own summary of its reasoning.
	Summary []struct {
		Text looseText `json:"text"`
	} `json:"summary"`
	CallID    looseText `json:"call_id"`
	Name      looseText `json:"name"`
	Arguments looseText `json:"arguments"`

	came json.RawMessage
}

// UnmarshalJSON keeps an item that Gavel does not read as it came.
func (i *outputItem) UnmarshalJSON(raw []byte) error {
	type fields outputItem
	var kind struct {
		Type looseText `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	switch kind.Type {
	case "message", "reasoning", "function_call":
		return json.Unmarshal(raw, (*fields)(i))
	}
	i.Type, i.came = kind.Type, bytes.Clone(raw)
	return nil
}
