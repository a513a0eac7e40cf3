package run

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

// openingOf returns the case with only the opening of the sample with an ordinal.
func openingOf(c *schema.Case, ordinal int) *schema.Case {
	out := *c
	if n := len(c.Drive.Openings); n > 0 {
		out.Drive.Messages, out.Drive.Openings = c.Drive.Openings[ordinal%n], nil
	}
	return &out
}

// OpeningRequests returns the first requests of a case's samples, one per opening: to
// its simulator if that opens the conversation, else to a target that is sent tools and
// has no workspace. Their digests identify the lines of a recording that can serve the
// case.
func OpeningRequests(c *schema.Case) []target.Request {
	var out []target.Request
	for i := range max(1, len(c.Drive.Openings)) {
		out = append(out, openingRequest(openingOf(c, i)))
	}
	return out
}

// openingRequest returns the first request of a case with one opening.
func openingRequest(c *schema.Case) target.Request {
	m := c.Drive.Messages
	if sim := c.Drive.Simulation; sim != nil && !c.Drive.TargetOpens && (len(m) == 0 || m[len(m)-1].Role == schema.RoleAssistant) {
		return simulatorRequest(*sim, m)
	}
	if c.Drive.Program != nil { // distinguishes cases whose prompts are not known yet
		raw, _ := json.Marshal(c.Drive.Program) // texts and JSON
		return target.Request{System: string(raw), Tools: c.Tools, Row: c.Drive.Row}
	}
	return target.Request{System: c.System, Messages: c.Drive.Messages, Tools: c.Tools, Row: c.Drive.Row}
}
