package schema

import "encoding/json"

// A Simulation is a model that plays the user of a conversation. It sees its
// persona, what it knows and the conversation, never what is expected of the
// target, so that it cannot lead the target there.
//
// The whole of it is in the execution digest: an empty field says what the
// simulator is told, not that it is left to chance.
type Simulation struct {
	// Persona is nil for a neutral user.
	Persona *Persona `json:"persona,omitempty"`
	// Instructions are all that is said of a user who has no Persona.
	Instructions string `json:"instructions,omitempty"`
	// Context is what the user knows, as a JSON object in canonical form, so
	// that the order in which it is written never reaches the simulator; nil
	// where the user knows nothing.
	Context json.RawMessage `json:"user_context,omitempty"`
}

// A Persona is who the simulated user is. All its fields are told to the
// simulator.
type Persona struct {
	// Type is a short label, such as polite-customer.
	Type string `json:"type"`
	// Description says who it is, Instructions how it behaves.
	Description  string `json:"description"`
	Instructions string `json:"instructions"`
}

// Version is the version of the template that the simulator is told its part
// by, and of the form that its answers have.
func (Simulation) Version() int { return 1 }
