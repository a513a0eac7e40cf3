package schema

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"time"
)

// Settings are the values of gavel.yaml that loading and compiling need. They
// come in as values so that schema stays a leaf.
type Settings struct {
	// Definitions are the definition folders, relative to the repository root.
	Definitions []string
	// RootFiles are further definitions, which are read where they exist, in the repository root; then folders need not.
	RootFiles []string `json:",omitempty"`
	// Listed says that they are written as a list, which may grow: keys begin at the repository root.
	Listed bool `json:",omitempty"`
	// Tools are further folders with tool definitions.
	Tools []string
	// Dialects pins files to a dialect by glob.
	Dialects map[string]string
	// Targets are the configured targets by name; nil means that there is no
	// configuration and that target names cannot be checked.
	Targets map[string]TargetSettings
	// Unusable are targets that are written and cannot be used, with the reason.
	Unusable      map[string]Problem `json:",omitempty"`
	DefaultTarget string
	// Against is the target of every case, whatever its definition names; empty for the case's own.
	Against string `json:",omitempty"`
	// Aliases map names that definitions use to targets.
	Aliases map[string]string
	// Judges are the targets that judge in the place of others of these names.
	Judges map[string]string `json:",omitempty"`
	// Thresholds are the passing scores by dialect that the file sets.
	Thresholds map[string]float64
	// Iterations is 0 and Timeout is 0 where gavel.yaml does not set them.
	Iterations int
	Timeout    time.Duration
	// MaxTurns ends a conversation whose case leaves max_turns out; 0 never.
	MaxTurns int `json:",omitempty"`
	// MaxTurnsCap ends a conversation that has no max_turns of its own after so many replies, as an
	// error; 0 means never, nil that gavel.yaml does not set it. Defaults to 0.
	MaxTurnsCap *int
	// Difficulties are the weights of cases by difficulty. Each defaults to 1.
	Difficulties map[string]float64
	// ProgramInputs are globs of files that count for every program of a definition and of
	// a target that names no inputs, besides those around it.
	ProgramInputs []string `json:",omitempty"`
	// ConfigFile is the file that the settings are of; empty for gavel.yaml.
	ConfigFile string `json:",omitempty"`
	// Constraints are the files with what the team demands of its definitions beyond their formats.
	Constraints []ConstraintFile `json:",omitempty"`
}

// Judge is the name of the target that judges where one of a name is asked to.
func (s Settings) Judge(name string) string { return cmp.Or(s.Judges[name], name) }

// DefaultTargetProblem says why cases that name no target have none; nil where the
// default target serves them. It has no position.
func (s Settings) DefaultTargetProblem() *Problem {
	if _, ok := s.Targets[s.DefaultTarget]; ok {
		return nil
	}
	if why, ok := s.Unusable[s.DefaultTarget]; ok {
		return &Problem{
			Severity: Error, Rule: why.Rule, Message: fmt.Sprintf("the default target %s cannot be used (%s:%d): %s", s.DefaultTarget, why.File, why.Line, why.Message),
			Hint: cmp.Or(why.Hint, "correct it there") + ", or add default_target: … to gavel.yaml",
		}
	}
	return &Problem{
		Severity: Error, Rule: "no-target", Message: "there is no default target: a target that has a role, such as the judge, is none by itself",
		Hint: "name a target, or add default_target: … to gavel.yaml",
	}
}

// CompileAgainst returns the settings by which every case is one of the target.
// The kind of target that a definition asks for is not checked then.
func (s Settings) CompileAgainst(target string) Settings {
	s.DefaultTarget, s.Against = target, target
	if t, ok := s.Targets[target]; ok {
		s.Targets = maps.Clone(s.Targets)
		t.Kind = ""
		s.Targets[target] = t
	}
	return s
}

// TargetSettings are the values of one target that compiling needs.
type TargetSettings struct {
	// File is the definition that says how it is called; empty for gavel.yaml.
	File string `json:",omitempty"`
	// Timeout is 0 where the target does not set it.
	Timeout time.Duration
	// MaxTurns is that of the target, which wins over that of the Settings; 0 where the
	// target does not set it.
	MaxTurns int `json:",omitempty"`
	// Prompt is the target's system prompt; the zero value is none.
	Prompt TargetPrompt `json:",omitzero"`
	// Tools are the ids of tools that every case of the target is offered; nil where
	// that is not set.
	Tools []string
	// ToolsAt is where they are listed.
	ToolsAt Position
	// Mocks that the target brings itself, by tool name.
	Mocks map[string]bool
	// Agent marks a target that runs its own tools: mocks never reach it.
	Agent bool
	// Kind is model, agent, workflow or custom_workflow; if empty, a definition that asks for one is not checked.
	Kind string
	// Judge is the target that judges what this one answers; empty for the role's.
	Judge string `json:",omitempty"`
	// AcceptsPrompt reports whether the target takes a system prompt from outside:
	// one that was rewritten, or one to compare with its own. If it is nil,
	// that is not checked.
	AcceptsPrompt *bool
	// AcceptsImages reports whether the target takes images. If it is nil, that
	// is not checked.
	AcceptsImages *bool
	// TakesRow marks a program that is told the row of a matrix with each turn.
	TakesRow bool `json:",omitempty"`
}

// A TargetPrompt says which system prompt a target has: a text, or what a file
// says in the state of the repository that is loaded.
type TargetPrompt struct {
	Text string `json:",omitempty"`
	// File is relative to the root of the repository.
	File string `json:",omitempty"`
	// At is where gavel.yaml sets it.
	At Position `json:"-"`
}

// A ConstraintFile is one of the .cue files with which a team demands more of
// its definitions than their formats do: <definitions>/schema/*.cue.
type ConstraintFile struct {
	File string
	Text string
	// Unreadable says why there is no text.
	Unreadable string
}

// Root is the definitions folder that the file is about.
func (f ConstraintFile) Root() string { return path.Dir(path.Dir(f.File)) }
