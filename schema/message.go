package schema

import "encoding/json"

// The roles of a Message.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// A Message is one turn of a conversation in the chat form that every target
// understands and that the http and command targets exchange as JSON.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	// ToolCalls are the calls that an assistant message asks for.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID and Name are set on tool messages only.
	ToolCallID string `json:"tool_call_id,omitempty"`
	Name       string `json:"name,omitempty"`
	// Blocks are the parts of a content that holds files or images; Content has their
	// text. nil if Content is complete.
	Blocks []Block `json:"blocks,omitempty"`
	// Opaque is the data that a provider wants back with its message, such as signed
	// thoughts. Nothing else reads it; nil if there is none.
	Opaque json.RawMessage `json:"opaque,omitempty"`
	// Reasoning has the model's thoughts before its answer, if its provider sends them.
	// It is stored and shown, and does not affect any judgement.
	Reasoning string `json:"reasoning,omitempty"`
	// Rest marks the text that a target sent in one message with calls of tools, which come
	// before it with their results.
	Rest bool `json:"rest,omitempty"`
}

// A Block is a part of the content of a message.
type Block struct {
	Type string `json:"type"` // text, json, file or image
	// Text is the content of a text, json or file block; Data the content of an image,
	// or of a file that is not text.
	Text  string `json:"text,omitempty"`
	Data  []byte `json:"data,omitempty"`
	Media string `json:"media_type,omitempty"` // of an image
	// Path is the file, relative to the repository root. Only agents see it.
	Path string `json:"-"`
}

// A ToolCall is a request of the model to run one function.
type ToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"` // always "function"
	Function FunctionCall `json:"function"`
	// DurationMS is how long the call took, if an agent reports it.
	DurationMS *float64 `json:"duration_ms,omitempty"`
}

// A FunctionCall names a function and carries its arguments as the JSON text
// that the model wrote, which need not parse.
type FunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// A Tool is a function that is offered to the target.
type Tool struct {
	// Name is the function's name, by which the model calls it.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON Schema of the arguments in canonical form.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Hosted is the whole tool in the form of its vendor, who runs it, in canonical form;
	// nil for a function. Its name is its type.
	Hosted json.RawMessage `json:"hosted,omitempty"`
	// Mock is the result of a call; nil means that a call gets a tool error.
	Mock *Mock `json:"mock,omitempty"`
	// File is the file that defines the tool; it is in no digest.
	File string `json:"-"`
}

// A Mock is the recorded answer of a tool.
type Mock struct {
	// Kind is json, text, javascript or python. Code is never executed: a call to a
	// tool whose mock is code makes the case an error.
	Kind string `json:"kind"`
	// Body is the text that the call returns, for json in canonical form.
	Body string `json:"body"`
}

// IsCode reports whether the mock is a program rather than an answer.
func (m *Mock) IsCode() bool {
	return m != nil && (m.Kind == "javascript" || m.Kind == "python")
}
