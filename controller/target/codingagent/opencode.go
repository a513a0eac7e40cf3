package codingagent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// openCode is started as its documentation of `opencode run` says; its events are those of
// version 1.
var openCode = Agent{
	Name: "opencode", Program: "opencode", Package: "opencode-ai", Version: "1",
	env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"},
	api: func(model string) *API {
		switch provider, _, _ := strings.Cut(model, "/"); provider {
		case "anthropic":
			return &messagesAPI
		case "openai":
			return &responsesAPI
		}
		return nil // one of many, each with an API of its own
	},
	addressed: func(address string) []string {
		// The settings of a provider that it does not use have no effect. They win over the
		// ones of the folder.
		return []string{`OPENCODE_CONFIG_CONTENT={"provider":{"anthropic":{"options":{"baseURL":"` + address + `/v1"}},"openai":{"options":{"baseURL":"` + address + `"}}}}`}
	},
	Priced: true,
	argv: func(s Settings) []string {
		return slices.Concat([]string{"run", "--format", "json"}, flag("--model", s.Model), []string{"--", ""})
	},
	argues: true,
	read:   readOpenCode,
}

// openCodeLine has the fields of its events.
type openCodeLine struct {
	Type string `json:"type"`
	Part struct {
		Text   string `json:"text"`
		CallID string `json:"callID"`
		Tool   string `json:"tool"`
		State  struct {
			Status string          `json:"status"`
			Input  json.RawMessage `json:"input"`
			Output string          `json:"output"`
			Error  string          `json:"error"`
		} `json:"state"`
		Reason string   `json:"reason"`
		Cost   *float64 `json:"cost"`
		Tokens struct {
			Input     int64 `json:"input"`
			Output    int64 `json:"output"`
			Reasoning int64 `json:"reasoning"`
			Cache     struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	} `json:"error"`
}

// readOpenCode reads the events of opencode. A step ends with a reason: one of tool calls is
// followed by another step, any other one ends the work.
func readOpenCode(lines [][]byte) (turn Turn, err error) {
	ended := false
	for _, raw := range lines {
		var line openCodeLine
		if json.Unmarshal(raw, &line) != nil {
			continue // of a form that a newer version may have
		}
		switch p := line.Part; line.Type {
		case "text":
			turn.Messages = append(turn.Messages, schema.Message{Role: schema.RoleAssistant, Content: p.Text})
		case "tool_use":
			if p.State.Status != "completed" && p.State.Status != "error" {
				continue // it comes again once it has ended
			}
			output := p.State.Output
			if p.State.Status == "error" {
				output = p.State.Error
			}
			turn.Messages = append(turn.Messages, call(p.CallID, p.Tool, p.State.Input), result(p.CallID, p.Tool, output))
		case "step_finish":
			ended = p.Reason != "tool-calls"
			turn.InputTokens += p.Tokens.Input + p.Tokens.Cache.Read + p.Tokens.Cache.Write
			turn.OutputTokens += p.Tokens.Output + p.Tokens.Reasoning
			turn.CostUSD = sum(turn.CostUSD, p.Cost)
		case "error":
			return turn, failed(line.Error.Name, line.Error.Data.Message)
		}
	}
	if !ended {
		return turn, ErrSilent
	}
	return turn, nil
}

// sum returns the sum of two costs, each of which may not be known.
func sum(a, b *float64) *float64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	both := *a + *b
	return &both
}
