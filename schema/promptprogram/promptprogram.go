// Package promptprogram has what a program is made of that writes what a case sends.
package promptprogram

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/program"
)

// A Program is one of the repository that writes a prompt when a sample begins. It reads
// Stdin, and prints a text, a chat or {prompt} as JSON.
type Program struct {
	// Argv is the program with its arguments, as it is started in Dir.
	Argv []string `json:"argv"`
	// Files are those that Argv names, by the names that the program knows them by.
	Files []string `json:"-"`
	// Built is what it is made of and shown.
	Built *program.Build `json:"files,omitempty"`
	// Dir is relative to the repository root.
	Dir string `json:"-"`
	// Stdin is an object with vars, provider and config.
	Stdin json.RawMessage `json:"stdin"`
	// Plain means that Stdin is one more argument, too, and that what it prints is the prompt
	// itself, without white space around it.
	Plain bool `json:"plain,omitempty"`
	// Prefix and Suffix are put around what it writes, before variables are filled in.
	Prefix string `json:"prefix,omitempty"`
	Suffix string `json:"suffix,omitempty"`
}

// Vars are the variables that the program is told, and that are filled into what it writes.
func (p *Program) Vars() map[string]json.RawMessage {
	var said struct {
		Vars map[string]json.RawMessage `json:"vars"`
	}
	_ = json.Unmarshal(p.Stdin, &said) // as it was written
	return said.Vars
}

// Name is the file of the program, with the function that it calls.
func (p *Program) Name() string {
	if p.Plain {
		return strings.Join(p.Argv, " ")
	}
	i := slices.IndexFunc(p.Argv, func(word string) bool {
		return slices.Contains(p.Files, word)
	})
	return strings.Join(p.Argv[max(i, 0):], ":")
}
