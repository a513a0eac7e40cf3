package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// A PromptProgram is a program of the repository that writes a prompt when a sample begins, or makes
// a part of a definition while that is read. It reads Stdin, and prints a text, a chat or {prompt} as
// JSON.
type PromptProgram struct {
	// Argv is the program with its arguments, as it is started in Dir.
	Argv []string `json:"argv"`
	// Files are the files that Argv names, by the names that the program knows.
	Files []string `json:"-"`
	// Built are the files that it consists of and is shown.
	Built *ProgramFiles `json:"files,omitempty"`
	// Dir is relative to the repository root.
	Dir string `json:"-"`
	// Stdin is an object with vars, provider and config.
	Stdin json.RawMessage `json:"stdin"`
	// Plain means that Stdin is also the last argument, and that the program prints the prompt itself,
	// whose surrounding white space is removed.
	Plain bool `json:"plain,omitempty"`
	// Prefix and Suffix are put around the prompt before variables are filled in.
	Prefix string `json:"prefix,omitempty"`
	Suffix string `json:"suffix,omitempty"`
}

// Vars returns the variables that the program reads, and that are filled into its prompt.
func (p *PromptProgram) Vars() map[string]json.RawMessage {
	var said struct {
		Vars map[string]json.RawMessage `json:"vars"`
	}
	_ = json.Unmarshal(p.Stdin, &said) // as it was written
	return said.Vars
}

// Name returns the file of the program, with the function that it calls.
func (p *PromptProgram) Name() string {
	if p.Plain {
		return strings.Join(p.Argv, " ")
	}
	i := slices.IndexFunc(p.Argv, func(word string) bool {
		return slices.Contains(p.Files, word)
	})
	return strings.Join(p.Argv[max(i, 0):], ":")
}
