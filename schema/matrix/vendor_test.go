package matrix

import "testing"

func TestMeantVendor(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"opnai:chat:gpt-5", "openai:chat:gpt-5"},
		{"antropic:messages:claude", "anthropic:messages:claude"},
		{"openai:chat:gpt-5", ""},
		{"vertex:gemini-pro", ""}, // known, and not supported
		{"acme:house-model", ""},  // quite another one
		{"opnai", ""},             // the name of a target
	} {
		if got := meantVendor([]string{tt.name}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
