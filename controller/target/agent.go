package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gavel-evals/gavel/controller/target/httpagent"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A turn is the input of an http or command agent: the conversation so far and the
// system prompt, which an agent may ignore. It has no tools; such an agent runs its
// own.
type turn struct {
	Messages     []sentMessage `json:"messages"`
	SystemPrompt string        `json:"system_prompt,omitempty"`
	Metadata     turnMetadata  `json:"metadata"`
	// Context is the part of a matrix row that a command gets.
	Context json.RawMessage `json:"context,omitempty"`
}

// A sentMessage is a message in the form that agents receive. Its content is a text, or
// blocks {type, value} if it has files or images.
type sentMessage struct {
	Role       string            `json:"role"`
	Content    any               `json:"content"`
	ToolCalls  []schema.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
	Name       string            `json:"name,omitempty"`
}

type sentBlock struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

type turnMetadata struct {
	TestCaseID string `json:"test_case_id"`
	TurnIndex  int    `json:"turn_index"`
	// Workspace is the path of the folder that a command works in.
	Workspace string `json:"workspace,omitempty"`
}

// agentRequest encodes a request for an agent. workspace is the folder in which it
// works, and files is then the repository's folder; both are empty for an agent that
// starts in the repository.
func agentRequest(req Request, workspace, files string) ([]byte, error) {
	messages := make([]sentMessage, 0, len(req.Messages))
	for _, m := range req.Messages {
		messages = append(messages, sentMessage{m.Role, agentContent(m, files), m.ToolCalls, m.ToolCallID, m.Name})
	}
	raw, err := json.Marshal(turn{messages, req.System, turnMetadata{req.Case, req.Turn, workspace}, req.Row})
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return raw, nil
}

// agentContent names files and images by their paths: an agent opens them
// itself. An image that is not a file becomes a data: URI. files is the folder that the
// paths begin at, empty for the one that the agent starts in.
func agentContent(m schema.Message, files string) any {
	if m.Blocks == nil {
		return m.Content
	}
	blocks := make([]sentBlock, 0, len(m.Blocks))
	for i := range m.Blocks {
		b := &m.Blocks[i]
		value := any(b.Text)
		switch {
		case b.Path != "":
			value = filepath.Join(files, filepath.FromSlash(b.Path))
		case b.Type == "image":
			value = dataURL(b)
		case b.Type == "json":
			value = json.RawMessage(b.Text)
		}
		blocks = append(blocks, sentBlock{b.Type, value})
	}
	return blocks
}

// agentTurn is the answer of an agent.
type agentTurn struct {
	Messages []agentMessage             `json:"messages"`
	Model    string                     `json:"model"`
	Usage    agentUsage                 `json:"usage"`
	Metadata map[string]json.RawMessage `json:"metadata"`
	Revision string                     `json:"revision"`
	// Error says that the agent failed, whatever the messages are.
	Error json.RawMessage `json:"error"`
}

// A failedError is an error that an agent reports in its reply.
type failedError string

// Error quotes it.
func (e failedError) Error() string { return "the agent answered with an error: " + string(e) }

type agentMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []agentCall     `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Name       string          `json:"name"`
}

type agentCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	DurationMS *float64 `json:"duration_ms"`
}

// agentUsage accepts the names of both common forms.
type agentUsage struct {
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// hasMessages reports whether a text is a JSON object with the key messages,
// and so is meant to be an agent's reply.
func hasMessages(data []byte) bool {
	var probe struct {
		Messages json.RawMessage `json:"messages"`
	}
	return json.Unmarshal(data, &probe) == nil && probe.Messages != nil
}

// agentReply reads `{messages, model?, usage?, metadata?, error?}`. The revision that the agent
// runs is metadata.revision, or else revision next to it; metadata.end is true when the
// conversation is over; metadata.system_prompt and metadata.tools describe the agent's
// input.
func agentReply(data []byte) (Reply, error) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return Reply{}, errors.New("the reply is not a JSON object with messages")
	}
	var in agentTurn
	if err := json.Unmarshal(data, &in); err != nil {
		return Reply{}, agentFormError(err)
	}
	reply := Reply{
		Messages: make([]schema.Message, 0, len(in.Messages)),
		Model:    in.Model,
		Revision: cmp.Or(decodeText(in.Metadata["revision"]), in.Revision),
		End:      string(in.Metadata["end"]) == "true",
		System:   decodeText(in.Metadata["system_prompt"]),
		Tools:    decodeTools(in.Metadata["tools"]),
		Traced:   true,
		Usage: verdict.Usage{
			Calls:        1,
			InputTokens:  max(cmp.Or(in.Usage.InputTokens, in.Usage.PromptTokens), 0),
			OutputTokens: max(cmp.Or(in.Usage.OutputTokens, in.Usage.CompletionTokens), 0),
		},
	}
	if failed := httpagent.ErrorText(in.Error); failed != "" && (in.Messages != nil || reply.End) {
		return Reply{}, failedError(failed)
	}
	if len(in.Messages) == 0 && !reply.End {
		return Reply{}, errors.New("the reply has no messages")
	}
	for i, m := range in.Messages {
		message, err := m.read()
		if err != nil {
			return Reply{}, fmt.Errorf("the reply's message %d: %w", i+1, err)
		}
		if m.isNull() && !reply.End {
			return Reply{}, errNull(fmt.Sprintf("the reply's message %d", i+1))
		}
		reply.Messages = append(reply.Messages, message)
	}
	if !reply.End && !slices.ContainsFunc(in.Messages, func(m agentMessage) bool { return m.Role == schema.RoleAssistant }) {
		return Reply{}, errors.New("the reply has no message of the role assistant")
	}
	return reply, nil
}

// agentFormError describes which field of an agent's reply has another type than the
// contract says.
func agentFormError(err error) error {
	const form = "the reply is not of the form {messages: [{role, content}], model, usage, metadata}"
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" {
		return fmt.Errorf("%s: %w", form, err)
	}
	// The value is "number 1.5" where another number would fit.
	is := map[string]string{"bool": "true or false", "array": "a list", "object": "an object", "string": "a text", "number": "a number"}[wrong.Value]
	return fmt.Errorf("%s: %s cannot be %s", form, wrong.Field, cmp.Or(is, "the "+wrong.Value))
}

// isNull reports whether a message has null in the place of an answer: its content is
// null or is not there, and it has no calls.
func (m agentMessage) isNull() bool {
	return m.Role == schema.RoleAssistant && len(m.ToolCalls) == 0 && isNullContent(m.Content)
}

// errNull is the error of a reply that has null in the place of an answer: what is asked of
// it would be asked of nothing.
func errNull(where string) error {
	return fmt.Errorf("%s has null in the place of an answer, and no tool call", where)
}

func (m agentMessage) read() (schema.Message, error) {
	out := schema.Message{Role: m.Role, ToolCallID: m.ToolCallID, Name: m.Name}
	if m.Role != schema.RoleAssistant && m.Role != schema.RoleTool {
		return out, fmt.Errorf("its role is %q; a reply holds only what the agent added, of roles assistant and tool", m.Role)
	}
	var err error
	if out.Content, err = decodeContent(m.Content); err != nil {
		return out, err
	}
	for _, c := range m.ToolCalls {
		if c.Function.Name == "" {
			return out, errors.New("a tool call has no function name")
		}
		arguments := cmp.Or(decodeText(c.Function.Arguments), "{}")
		call := functionCall(c.ID, c.Function.Name, arguments)
		call.DurationMS = c.DurationMS
		out.ToolCalls = append(out.ToolCalls, call)
	}
	return out, nil
}
