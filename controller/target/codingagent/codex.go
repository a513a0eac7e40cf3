package codingagent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// codex is started as docs/exec.md of openai/codex says; its events are those of
// codex-rs/exec/src/exec_events.rs.
var codex = Agent{
	Name: "codex", Program: "codex", Package: "@openai/codex", Version: "exec_events.rs of 2026",
	Keys:   []string{"CODEX_API_KEY"},
	api:    func(string) *API { return &responsesAPI },
	Priced: true,
	argv: func(s Settings) []string {
		// Gavel's sandbox is around it, in which another one of its own cannot be made.
		return slices.Concat([]string{"exec", "--json", "--skip-git-repo-check", "--ephemeral", "--ignore-user-config", "--color", "never", "--dangerously-bypass-approvals-and-sandbox"},
			codexProvider(s.Address), flag("--model", s.Model), []string{"-"})
	},
	read: readCodex,
}

// codexProvider returns the settings of a model provider of its own (docs/config.md), which
// speaks the Responses API and takes its key from the environment. A name is needed.
func codexProvider(address string) (flags []string) {
	if address == "" {
		return nil
	}
	for _, set := range []string{"model_provider=gavel", "model_providers.gavel.name=gavel", "model_providers.gavel.base_url=" + address, "model_providers.gavel.env_key=CODEX_API_KEY", "model_providers.gavel.wire_api=responses"} {
		flags = append(flags, flag("--config", set)...)
	}
	return flags
}

// codexLine has the fields of its events.
type codexLine struct {
	Type    string    `json:"type"`
	Item    codexItem `json:"item"`
	Message string    `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage struct {
		// Cached tokens are a part of them.
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
}

type codexItem struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Text string `json:"text"`
	// A command has these.
	Command json.RawMessage `json:"command"`
	Output  string          `json:"aggregated_output"`
	Exit    *int            `json:"exit_code"`
	// A change of files has these.
	Changes json.RawMessage `json:"changes"`
	Status  string          `json:"status"`
	// A call to an MCP server has these.
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
	// A search has a query.
	Query string `json:"query"`
}

// readCodex reads the events of Codex. Its answer is its last message.
func readCodex(lines [][]byte) (turn Turn, err error) {
	ended := false
	for _, raw := range lines {
		var line codexLine
		if json.Unmarshal(raw, &line) != nil {
			continue // of a form that a newer version may have
		}
		switch line.Type {
		case "item.completed":
			turn.Messages = append(turn.Messages, line.Item.messages()...)
		case "turn.completed":
			ended, err = true, nil
			turn.InputTokens += line.Usage.Input
			turn.OutputTokens += line.Usage.Output
		case "turn.failed":
			ended, err = true, failed("", line.Error.Message)
		case "error":
			ended, err = true, failed("", line.Message)
		}
	}
	if !ended {
		return turn, ErrSilent
	}
	return turn, err
}

// messages returns what an item adds to the conversation.
func (i codexItem) messages() []schema.Message {
	done := func(name string, arguments any, output string) []schema.Message {
		encoded, err := json.Marshal(arguments)
		if err != nil {
			return nil // it was decoded
		}
		return []schema.Message{call(i.ID, name, encoded), result(i.ID, name, output)}
	}
	switch i.Type {
	case "agent_message":
		return []schema.Message{{Role: schema.RoleAssistant, Content: i.Text}}
	case "reasoning":
		return []schema.Message{{Role: schema.RoleAssistant, Reasoning: i.Text}}
	case "command_execution":
		output := i.Output
		if i.Exit != nil && *i.Exit != 0 {
			output = strings.TrimPrefix(output+"\n", "\n") + "exit status " + number(float64(*i.Exit))
		}
		return done("command_execution", map[string]json.RawMessage{"command": orNull(i.Command)}, output)
	case "file_change":
		return done("file_change", map[string]json.RawMessage{"changes": orNull(i.Changes)}, i.Status)
	case "mcp_tool_call":
		output := text(i.Result)
		if i.Error != nil {
			output = i.Error.Message
		}
		return done("mcp__"+i.Server+"__"+i.Tool, orNull(i.Arguments), output)
	case "web_search":
		return done("web_search", map[string]string{"query": i.Query}, "")
	}
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}
