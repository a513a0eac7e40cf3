package run

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

// openingOf is a case with the one opening that the sample of an ordinal has.
func openingOf(c *schema.Case, ordinal int) *schema.Case {
	out := *c
	if n := len(c.Drive.Openings); n > 0 {
		out.Drive.Messages, out.Drive.Openings = c.Drive.Openings[ordinal%n], nil
	}
	return &out
}

// OpeningRequests are the first requests of the samples of a case, one for each of
// its openings: to its simulator where that opens the conversation and else to a
// target that is sent tools and has no workspace. The lines of a recording that can serve the case
// are known by their digests.
func OpeningRequests(c *schema.Case) []target.Request {
	var out []target.Request
	for i := range max(1, len(c.Drive.Openings)) {
		out = append(out, openingRequest(openingOf(c, i)))
	}
	return out
}

// openingRequest is the first request of a case that has one opening.
func openingRequest(c *schema.Case) target.Request {
	m := c.Drive.Messages
	if sim := c.Drive.Simulation; sim != nil && !c.Drive.TargetOpens && (len(m) == 0 || m[len(m)-1].Role == schema.RoleAssistant) {
		return simulatorRequest(*sim, m)
	}
	if c.Drive.Program != nil { // which tells cases apart whose prompts are not known yet
		raw, _ := json.Marshal(c.Drive.Program) // texts and JSON
		return target.Request{System: string(raw), Tools: c.Tools, Row: c.Drive.Row}
	}
	return target.Request{System: c.System, Messages: c.Drive.Messages, Tools: c.Tools, Row: c.Drive.Row}
}
