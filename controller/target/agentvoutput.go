package target

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// agentvMessage is a message as AgentV reads it of a program. The results of tool calls are
// in the calls.
type agentvMessage struct {
	Role      *string         `json:"role"`
	Name      string          `json:"name"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []agentvCall    `json:"tool_calls"`
}

type agentvCall struct {
	Tool       *string         `json:"tool"`
	Input      json.RawMessage `json:"input"`
	Output     json.RawMessage `json:"output"`
	ID         string          `json:"id"`
	DurationMS *float64        `json:"duration_ms"`
}

// agentvOutput has the fields that AgentV reads from a program that prints an object.
type agentvOutput struct {
	text     *string // the field text, if there are no messages
	isNull   bool    // text is null
	messages []agentvMessage
	failure  string
	usage    struct {
		Input  *float64 `json:"input"`
		Output *float64 `json:"output"`
	}
	cost, duration *float64
}

// decodeAgentV decodes an object with fields that AgentV reads. Output in another form,
// such as a field of another type, is text, as in AgentV.
func decodeAgentV(stdout []byte) (out agentvOutput, ok bool) {
	var fields map[string]json.RawMessage // by their exact names
	if json.Unmarshal(stdout, &fields) != nil || fields == nil {
		return out, false
	}
	var older []agentvMessage
	into := map[string]any{
		"error": &out.failure, "output": &out.messages, "output_messages": &older,
		"token_usage": &out.usage, "cost_usd": &out.cost, "duration_ms": &out.duration,
	}
	for name, value := range into {
		if raw, has := fields[name]; has && (string(raw) == "null" || json.Unmarshal(raw, value) != nil) {
			return out, false
		}
	}
	if _, has := fields["output"]; !has {
		out.messages = older
	}
	if _, has := fields["token_usage"]; has && (out.usage.Input == nil || out.usage.Output == nil) {
		return out, false
	}
	for _, m := range out.messages {
		if !m.isWhole() {
			return out, false
		}
	}
	if raw, has := fields["text"]; has {
		text := decodeText(raw)
		out.text, out.isNull = &text, isNull(raw)
	}
	return out, out.text != nil || len(out.messages) > 0 || strings.TrimSpace(out.failure) != ""
}

// isNull reports whether a message has null in the place of an answer.
func (m agentvMessage) isNull() bool {
	return *m.Role == schema.RoleAssistant && len(m.ToolCalls) == 0 && isNullContent(m.Content)
}

// isWhole reports whether a message has all fields that AgentV requires.
func (m agentvMessage) isWhole() bool {
	for _, c := range m.ToolCalls {
		if c.Tool == nil {
			return false
		}
	}
	return m.Role != nil
}

// agentvReply reads the output of a program of AgentV: {output, text, error,
// token_usage, cost_usd, duration_ms}. Other output is the answer, with its white space,
// even if that is all of it.
func agentvReply(stdout []byte) (Reply, error) {
	out, ok := decodeAgentV(stdout)
	switch {
	case !ok && hasMessages(stdout):
		return agentReply(stdout)
	case !ok:
		return Reply{
			Messages: []schema.Message{{Role: schema.RoleAssistant, Content: strings.ToValidUTF8(string(stdout), "\uFFFD")}},
			Usage:    verdict.Usage{Calls: 1},
		}, nil
	}
	if failure := strings.TrimSpace(out.failure); failure != "" {
		return Reply{}, errors.New("the program says that it failed: " + failure)
	}
	if err := out.checkMeasures(); err != nil {
		return Reply{}, err
	}
	reply := Reply{Usage: verdict.Usage{Calls: 1, InputTokens: count(out.usage.Input), OutputTokens: count(out.usage.Output)}}
	if out.cost != nil && *out.cost >= 0 {
		reply.Usage.Told, reply.Usage.ToldUSD = 1, *out.cost
	}
	if out.duration != nil && *out.duration >= 0 {
		reply.Latency = time.Duration(*out.duration * float64(time.Millisecond))
	}
	last := len(out.messages) - 1
	if last < 0 && out.isNull || last >= 0 && out.messages[last].isNull() {
		return Reply{}, errNull("the output")
	}
	if last < 0 {
		reply.Messages = []schema.Message{{Role: schema.RoleAssistant, Content: *out.text}}
		return reply, nil
	}
	reply.Traced = true
	for i, m := range out.messages {
		said, err := m.read(i, i == last)
		if err != nil {
			return Reply{}, fmt.Errorf("message %d of output: %w", i+1, err)
		}
		reply.Messages = append(reply.Messages, said...)
	}
	if len(reply.Messages) == 0 {
		return Reply{}, errors.New("output has no message of the role assistant")
	}
	return reply, nil
}

// checkMeasures refuses numbers that no call can have and no sum could hold.
func (out agentvOutput) checkMeasures() error {
	const most = 1e12 // tokens, USD, or milliseconds: 31 years
	for _, m := range []struct {
		name  string
		value *float64
	}{
		{"token_usage.input", out.usage.Input}, {"token_usage.output", out.usage.Output}, {"cost_usd", out.cost}, {"duration_ms", out.duration},
	} {
		if m.value != nil && *m.value > most {
			return fmt.Errorf("%s is %g, which no call comes to", m.name, *m.value)
		}
	}
	return nil
}

// read returns a message with the results of its calls. The answer is the text of the
// last message and follows the results. The texts of other roles are not the agent's,
// but its calls are.
func (m agentvMessage) read(at int, isLast bool) ([]schema.Message, error) {
	said := schema.Message{Role: schema.RoleAssistant, Name: m.Name}
	if kind := strings.TrimSpace(string(m.Content)); *m.Role == schema.RoleAssistant && kind != "" && strings.Contains(`"[`, kind[:1]) {
		var err error
		if said.Content, err = decodeContent(m.Content); err != nil {
			return nil, err
		}
	}
	var results []schema.Message
	for i, c := range m.ToolCalls {
		call := functionCall(cmp.Or(c.ID, fmt.Sprintf("call_%d_%d", at+1, i+1)), *c.Tool, cmp.Or(decodeText(c.Input), "{}"))
		call.DurationMS = c.DurationMS
		said.ToolCalls = append(said.ToolCalls, call)
		if len(c.Output) > 0 {
			results = append(results, schema.Message{Role: schema.RoleTool, ToolCallID: call.ID, Name: *c.Tool, Content: decodeText(c.Output)})
		}
	}
	switch {
	case len(said.ToolCalls) == 0 && *m.Role != schema.RoleAssistant:
		return nil, nil
	case len(said.ToolCalls) == 0 || !isLast || said.Content == "":
		return append([]schema.Message{said}, results...), nil
	}
	answer := schema.Message{Role: schema.RoleAssistant, Name: m.Name, Content: said.Content, Rest: true}
	said.Content = ""
	return append(append([]schema.Message{said}, results...), answer), nil
}

// count returns a number of tokens; a negative one is 0.
func count(n *float64) int64 {
	if n == nil {
		return 0
	}
	return max(int64(*n), 0)
}
