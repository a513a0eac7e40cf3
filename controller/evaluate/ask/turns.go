package ask

import (
	"fmt"

	"github.com/gavel-evals/gavel/schema"
)

// Turns shows every message in a block of its own. What the agent wrote cannot
// begin a block, and so it cannot put words into the mouth of user or tool.
func Turns(messages []schema.Message) []string {
	var parts []string
	calls := 0
	byID := map[string]int{}
	for i, m := range messages {
		turn := fmt.Sprintf("TURN %d ", i+1)
		switch m.Role {
		case schema.RoleTool:
			name := "RESULT"
			if n, ok := byID[m.ToolCallID]; ok {
				name = fmt.Sprintf("RESULT OF CALL %d", n)
			}
			parts = append(parts, Block(turn+name, m.Content))
			continue
		case schema.RoleAssistant:
			if m.Content != "" || len(m.ToolCalls) == 0 {
				parts = append(parts, Block(turn+"AGENT", m.Content))
			}
		case schema.RoleUser:
			parts = append(parts, Block(turn+"USER", m.Content+unseen(m)))
		default:
			parts = append(parts, Block(turn+"SYSTEM", m.Content))
		}
		for _, c := range m.ToolCalls {
			calls++
			byID[c.ID] = calls
			parts = append(parts, Block(fmt.Sprintf("%sCALL %d", turn, calls), OneLine(c.Function.Name)+" "+c.Function.Arguments))
		}
	}
	return parts
}

// unseen says that a message holds images, which judges are not shown.
func unseen(m schema.Message) string {
	text := ""
	for _, b := range m.Blocks {
		if b.Type == "image" {
			text += "\n[an image, which is not shown to you]"
		}
	}
	return text
}
