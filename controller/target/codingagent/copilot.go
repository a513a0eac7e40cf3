package codingagent

import (
	"encoding/json"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// copilot is started as GitHub's references of its command line and of its programmatic use
// say (github/docs); its events are not documented there, and are those of versions 1.0.70
// to 1.0.83.
var copilot = Agent{
	Name: "copilot", Program: "copilot", Package: "@github/copilot", Version: "1.0.70 to 1.0.83",
	Keys:   []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"},
	Bounds: Bounds{Turns: true},
	argv: func(s Settings) []string {
		return slices.Concat([]string{"--output-format", "json", "--allow-all-tools", "--no-ask-user", "--no-auto-update", "--no-color"},
			flag("--model", s.Model), flag("--max-autopilot-continues", number(float64(s.Turns))), []string{"--prompt="})
	},
	argues: true,
	read:   readCopilot,
}

// copilotLine has the fields of its events.
type copilotLine struct {
	Type string `json:"type"`
	Data struct {
		Content  string `json:"content"`
		Model    string `json:"model"`
		Output   int64  `json:"outputTokens"`
		Requests []struct {
			ID        string          `json:"toolCallId"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolRequests"`
		CallID  string `json:"toolCallId"`
		Message string `json:"message"`
		Result  struct {
			Content json.RawMessage `json:"content"`
		} `json:"result"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	} `json:"data"`
	Exit *int `json:"exitCode"`
}

// readCopilot reads the events of Copilot, which reports neither money nor the tokens of its
// input. Its answer is its last message.
func readCopilot(lines [][]byte) (turn Turn, err error) {
	ended, problem := false, ""
	names := map[string]string{} // of tools, by call
	for _, raw := range lines {
		var line copilotLine
		if json.Unmarshal(raw, &line) != nil {
			continue // of a form that a newer version may have
		}
		switch d := line.Data; line.Type {
		case "assistant.message":
			m := schema.Message{Role: schema.RoleAssistant, Content: d.Content}
			for _, r := range d.Requests {
				names[r.ID] = r.Name
				m.ToolCalls = append(m.ToolCalls, toolCall(r.ID, r.Name, r.Arguments))
			}
			turn.Messages = append(turn.Messages, m)
			turn.OutputTokens += d.Output
			if d.Model != "" {
				turn.Model = d.Model
			}
		case "tool.execution_complete":
			said := text(d.Result.Content)
			if said == "" {
				said = d.Error.Message
			}
			turn.Messages = append(turn.Messages, result(d.CallID, names[d.CallID], said))
		case "session.error":
			problem = d.Message
		case "result":
			ended, err = true, nil
			if line.Exit == nil || *line.Exit != 0 {
				err = failed("", problem)
			}
		}
	}
	if !ended {
		return turn, ErrSilent
	}
	return turn, err
}
