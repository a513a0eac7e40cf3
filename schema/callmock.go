package schema

import "encoding/json"

// A CallMock is the prepared answer of a case to calls of a tool with certain
// arguments. The first matching mock of a tool answers; each is used once, and the last
// that matches repeats. A call that matches none gets a tool error.
type CallMock struct {
	Tool string `json:"tool"`
	// Params are compared with the arguments of the call, listed keys only,
	// strings trimmed and without regard to case; nil matches every call.
	Params json.RawMessage `json:"params,omitempty"`
	// Response is canonical JSON; a string is returned as its text.
	Response json.RawMessage `json:"response"`
}
