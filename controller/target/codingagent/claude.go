package codingagent

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// claudeCode is started as its documentation on headless use says
// (https://code.claude.com/docs/en/headless); its events are those that the parser of
// anthropics/claude-agent-sdk-python reads (message_parser.py).
var claudeCode = Agent{
	Name: "claude-code", Program: "claude", Package: "@anthropic-ai/claude-code", Version: "2",
	Keys: []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"},
	api:  func(string) *API { return &messagesAPI },
	// It refuses to skip permissions as root unless a sandbox is around it, as Gavel's is.
	// It looks for no updates, and reports nothing to its vendor.
	env:       []string{"IS_SANDBOX=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
	addressed: func(address string) []string { return []string{"ANTHROPIC_BASE_URL=" + address} },
	Bounds:    Bounds{Turns: true, USD: true}, Priced: true,
	argv: func(s Settings) []string {
		return slices.Concat([]string{"-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", "--no-session-persistence"},
			flag("--model", s.Model), flag("--max-turns", number(float64(s.Turns))), flag("--max-budget-usd", number(s.USD)))
	},
	read: readClaude,
}

// claudeLine has the fields of its events.
type claudeLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Model   string `json:"model"`
	Message struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
		Usage   claudeUsage     `json:"usage"`
	} `json:"message"`
	// Parent is the call that started the subagent whose event it is.
	Parent *string `json:"parent_tool_use_id"`

	IsError bool            `json:"is_error"`
	Result  json.RawMessage `json:"result"`
	Errors  []string        `json:"errors"`
	Cost    *float64        `json:"total_cost_usd"`
	Usage   claudeUsage     `json:"usage"`
}

// claudeUsage counts tokens: of the whole work, or of one message.
type claudeUsage struct {
	Input   int64 `json:"input_tokens"`
	Written int64 `json:"cache_creation_input_tokens"`
	Cached  int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
}

// claudeBlock is a part of the content of a message.
type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	ToolUse  string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
}

// readClaude reads the events of Claude Code. A message comes in several events, one for
// each block of its content. A subagent's calls and their results are kept, and its texts are
// not: its report is the result of the call that started it.
func readClaude(lines [][]byte) (Turn, error) {
	r := claudeReader{names: map[string]string{}, usage: map[string]claudeUsage{}, err: ErrSilent}
	for _, raw := range lines {
		var line claudeLine
		if json.Unmarshal(raw, &line) != nil {
			continue // of a form that a newer version may have
		}
		r.read(line)
	}
	if errors.Is(r.err, ErrSilent) {
		r.turn.InputTokens, r.turn.OutputTokens = r.spent()
	}
	return r.turn, r.err
}

// spent returns the tokens of the messages, each of which says so in all of its events. They
// are what is known of work that was ended.
func (r *claudeReader) spent() (input, output int64) {
	for _, u := range r.usage {
		input, output = input+u.Input+u.Written+u.Cached, output+u.Output
	}
	return input, output
}

// A claudeReader reads events in order.
type claudeReader struct {
	turn Turn
	// err is why the work failed; ErrSilent before its end.
	err error
	// last is the message of the event before; empty if it was none of the assistant's.
	last  string
	names map[string]string      // of tools, by call
	usage map[string]claudeUsage // by message
}

func (r *claudeReader) read(line claudeLine) {
	var blocks []claudeBlock // none for a text, which is the prompt
	if len(line.Message.Content) > 0 && json.Unmarshal(line.Message.Content, &blocks) != nil {
		return
	}
	switch line.Type {
	case "system":
		if line.Subtype == "init" {
			r.turn.Model = line.Model
		}
	case "assistant":
		r.usage[line.Message.ID] = line.Message.Usage
		r.say(line.Message.ID, claudeMessage(blocks, r.names, line.Parent != nil))
	case "user":
		for _, b := range blocks {
			if b.Type == "tool_result" {
				r.turn.Messages, r.last = append(r.turn.Messages, result(b.ToolUse, r.names[b.ToolUse], text(b.Content))), ""
			}
		}
	case "result":
		said := text(line.Result)
		r.turn.InputTokens = line.Usage.Input + line.Usage.Written + line.Usage.Cached
		r.turn.OutputTokens, r.turn.CostUSD = line.Usage.Output, line.Cost
		r.turn.Messages = answer(r.turn.Messages, said)
		if r.err = nil; line.IsError || line.Subtype != "success" {
			r.err = failed(strings.TrimPrefix(line.Subtype, "success"), append(line.Errors, said)...)
		}
	}
}

// say adds an event of a message, which may continue the one before.
func (r *claudeReader) say(id string, said schema.Message) {
	if n := len(r.turn.Messages); n > 0 && r.last != "" && r.last == id {
		r.turn.Messages[n-1] = joined(r.turn.Messages[n-1], said)
		return
	}
	if said.Content != "" || said.Reasoning != "" || len(said.ToolCalls) > 0 {
		r.turn.Messages = append(r.turn.Messages, said)
		r.last = id
	}
}

// claudeMessage returns the message of some blocks, and notes the names of tools.
func claudeMessage(blocks []claudeBlock, names map[string]string, subagent bool) schema.Message {
	m := schema.Message{Role: schema.RoleAssistant}
	for _, b := range blocks {
		switch {
		case b.Type == "tool_use":
			names[b.ID] = b.Name
			m.ToolCalls = append(m.ToolCalls, toolCall(b.ID, b.Name, b.Input))
		case b.Type == "text" && !subagent:
			m = joined(m, schema.Message{Content: b.Text})
		case b.Type == "thinking" && !subagent:
			m.Reasoning += b.Thinking
		}
	}
	return m
}

// joined returns a message with the parts of another one, with which it is one.
func joined(m, more schema.Message) schema.Message {
	if m.Content != "" && more.Content != "" {
		m.Content += "\n"
	}
	m.Content += more.Content
	m.Reasoning += more.Reasoning
	m.ToolCalls = append(m.ToolCalls, more.ToolCalls...)
	return m
}
