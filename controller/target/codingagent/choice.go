package codingagent

import (
	"bytes"

	"github.com/gavel-evals/gavel/schema"
)

// mostRounds is how often an agent may call tools and not load the skill that is asked
// about, until it counts as one that does not: agents look around first.
const mostRounds = 3

// A Choice follows what an agent prints until it is known whether the agent loads a skill.
type Choice struct {
	agent Agent
	loads func([]schema.Message) (asked, another bool)
	// rounds counts the rounds of calls that have ended, and isCalling says that one has
	// begun. hasAnother says that another skill was loaded.
	rounds                int
	isCalling, hasAnother bool
}

// Choice begins to follow the agent. loads reports whether calls in messages load the skill
// that is asked about, or another one.
func (a Agent) Choice(loads func([]schema.Message) (asked, another bool)) *Choice {
	return &Choice{agent: a, loads: loads}
}

// Decides reads the next line, and reports whether the choice is known: the skill is loaded,
// or a round of calls has loaded another one, or the agent has called other tools for
// several rounds.
func (c *Choice) Decides(line []byte) bool {
	turn, _ := c.agent.Read(line) // a single line is never all of the work
	asked, another := c.loads(turn.Messages)
	if asked {
		return true
	}
	c.hasAnother = c.hasAnother || another
	for _, m := range turn.Messages {
		switch {
		case len(m.ToolCalls) > 0:
			c.isCalling = true
		case m.Role == schema.RoleTool && c.isCalling:
			c.isCalling, c.rounds = false, c.rounds+1
		}
	}
	return c.rounds >= mostRounds || c.hasAnother && !c.isCalling
}

// IsIn reports whether the choice is known from all that an agent printed.
func (c *Choice) IsIn(printed []byte) bool {
	for line := range bytes.Lines(printed) {
		if c.Decides(line) {
			return true
		}
	}
	return false
}
