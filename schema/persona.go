package schema

import "encoding/json"

// A Simulation is a model that plays the user of a conversation. It sees its persona,
// its knowledge and the conversation, and not the expectations of the target, so that
// it cannot lead the target there.
//
// All of it is in the execution digest: even an empty field is part of the simulator's
// instructions.
type Simulation struct {
	// Persona is nil for a neutral user.
	Persona *Persona `json:"persona,omitempty"`
	// Instructions are the whole description of a user who has no Persona.
	Instructions string `json:"instructions,omitempty"`
	// Context is the user's knowledge, as a JSON object in canonical form, so that its
	// order in the file never reaches the simulator; nil if the user knows nothing.
	Context json.RawMessage `json:"user_context,omitempty"`
}

// A Persona describes the simulated user. The simulator gets all its fields.
type Persona struct {
	// Type is a short label, such as polite-customer.
	Type string `json:"type"`
	// Description describes the user's person, Instructions the behavior.
	Description  string `json:"description"`
	Instructions string `json:"instructions"`
}

// Version is the version of the simulator's template, and of the form of its answers.
func (Simulation) Version() int { return 1 }
