package target

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A messagesRequest is a request of Anthropic's Messages API.
type messagesRequest struct {
	Model       string         `json:"model"`
	MaxTokens   int            `json:"max_tokens"`
	System      []messageBlock `json:"system,omitempty"`
	Messages    []messagesTurn `json:"messages"`
	Tools       []messagesTool `json:"tools,omitempty"`
	Output      map[string]any `json:"output_config,omitempty"`
	Temperature *float64       `json:"temperature,omitempty"`
}

// A messagesTurn is one turn of the user or the assistant.
type messagesTurn struct {
	Role    string         `json:"role"`
	Content []messageBlock `json:"content"`
}

// A messageBlock is a text, an image, a tool call or the result of one. One that was
// decoded is encoded again as it came, with every field that it had.
type messageBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Source    *imageSource    `json:"source,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []messageBlock  `json:"content,omitempty"`

	came json.RawMessage
}

// MarshalJSON writes a block that was decoded as it came.
func (b messageBlock) MarshalJSON() ([]byte, error) {
	if b.came != nil {
		return b.came, nil
	}
	type fields messageBlock
	return json.Marshal(fields(b))
}

// UnmarshalJSON keeps an object as it is. Anything else is an error.
func (b *messageBlock) UnmarshalJSON(raw []byte) error {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return errors.New("a content block is not an object")
	}
	*b = messageBlock{came: bytes.Clone(raw)}
	return nil
}

// An imageSource is an image itself, in base64.
type imageSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// A messagesTool offers a function.
type messagesTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`

	// hosted is sent in place of the fields: a tool that the vendor runs.
	hosted json.RawMessage
}

// MarshalJSON writes a tool that the vendor runs as it is.
func (t messagesTool) MarshalJSON() ([]byte, error) {
	if t.hosted != nil {
		return t.hosted, nil
	}
	type fields messagesTool
	return json.Marshal(fields(t))
}

// A messagesReply is an answer of Anthropic's Messages API.
type messagesReply struct {
	Model looseText `json:"model"`
	// Error is of a gateway whose provider failed.
	Error json.RawMessage `json:"error"`
	// wireContent is the blocks as they came; Blocks reads them.
	Content     json.RawMessage `json:"content"`
	StopReason  looseText       `json:"stop_reason"`
	StopDetails struct {
		Explanation looseText `json:"explanation"`
	} `json:"stop_details"`
	Usage struct {
		Input         wireCount `json:"input_tokens"`
		CacheCreation wireCount `json:"cache_creation_input_tokens"`
		CacheRead     wireCount `json:"cache_read_input_tokens"`
		Output        wireCount `json:"output_tokens"`
	} `json:"usage"`
}

// A replyBlock has the fields of an answer's block that Gavel reads.
type replyBlock struct {
	Type looseText  `json:"type"`
	Text *looseText `json:"text"` // nil if it is null or is not there
	// Thinking is the text of a block of that type.
	Thinking looseText       `json:"thinking"`
	ID       looseText       `json:"id"`
	Name     looseText       `json:"name"`
	Input    json.RawMessage `json:"input"`
}

// Blocks returns the content of an answer; nil if it has none.
func (r *messagesReply) Blocks() []replyBlock {
	var blocks []replyBlock
	// A block that is not an object is left empty, and content that is not a
	// list has no blocks.
	_ = json.Unmarshal(r.Content, &blocks)
	return blocks
}

// objectSchema returns the unchanged schema of a tool, which must describe an object:
// the API demands its type from a tool without parameters, too.
func objectSchema(tool string, parameters json.RawMessage) (json.RawMessage, error) {
	const object = `{"type":"object"`
	if len(parameters) == 0 {
		return json.RawMessage(object + "}"), nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(parameters, &fields); err != nil {
		return nil, fmt.Errorf("the parameters of the tool %s are not a JSON object", tool)
	}
	if _, typed := fields["type"]; typed {
		return parameters, nil
	}
	if len(fields) == 0 {
		return json.RawMessage(object + "}"), nil
	}
	_, rest, _ := bytes.Cut(parameters, []byte("{"))
	return slices.Concat(json.RawMessage(object+","), rest), nil
}
