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
	// RootFiles are further definitions in the repository root, which are read if they
	// exist; then the folders may be missing.
	RootFiles []string `json:",omitempty"`
	// Listed says that they are written as a list, which may grow: keys begin at the
	// repository root.
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
	// PassShares are the shares of samples that must pass, by globs of keys.
	PassShares map[string]PassShare `json:",omitempty"`
	// Iterations and Timeout are 0 if gavel.yaml does not set them.
	Iterations int
	Timeout    time.Duration
	// MaxTurns ends a conversation whose case leaves max_turns out; 0 never.
	MaxTurns int `json:",omitempty"`
	// MaxTurnsCap ends a conversation without its own max_turns after this many
	// replies, as an error; 0 means never, nil that gavel.yaml does not set it.
	// Defaults to 0.
	MaxTurnsCap *int
	// Difficulties are the weights of cases by difficulty. Each defaults to 1.
	Difficulties map[string]float64
	// Skills say how the evals of agent skills are found and run.
	Skills SkillSettings `json:",omitzero"`
	// ProgramInputs are globs of files that count for every program of a definition and
	// of a target that names no inputs, in addition to the files around it.
	ProgramInputs []string `json:",omitempty"`
	// ConfigFile is the file that the settings are of; empty for gavel.yaml.
	ConfigFile string `json:",omitempty"`
	// Constraints are the files with the team's demands on its definitions beyond their
	// formats.
	Constraints []ConstraintFile `json:",omitempty"`
}

// SkillSettings say how the evals of agent skills are found and run.
type SkillSettings struct {
	// Find reads evals that are next to skills, whatever the definition folders are.
	Find bool `json:",omitempty"`
	// Target runs the cases; empty for the default target, if that is a coding agent.
	Target string `json:",omitempty"`
	// JudgesOutput makes the expected output of an eval a criterion, even next to others.
	JudgesOutput bool `json:",omitempty"`
}

// Judge returns the name of the target that judges when a target with this name is
// asked to.
func (s Settings) Judge(name string) string { return cmp.Or(s.Judges[name], name) }

// DefaultTargetProblem says why cases that name no target have none; nil if the default
// target serves them. It has no position.
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

// CompileAgainst returns the settings by which every case has this target. The kind of
// target that a definition requires is not checked then.
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
	// File is the definition that names it; empty for gavel.yaml.
	File string `json:",omitempty"`
	// Timeout is 0 if the target does not set it.
	Timeout time.Duration
	// MaxTurns is the target's limit, which wins over the Settings; 0 if the target
	// does not set it.
	MaxTurns int `json:",omitempty"`
	// Prompt is the target's system prompt; the zero value is none.
	Prompt TargetPrompt `json:",omitzero"`
	// Tools are the ids of tools that every case of the target is offered; nil if they
	// are not set.
	Tools []string
	// ToolsAt is the place of their list.
	ToolsAt Position
	// Mocks that the target brings itself, by tool name.
	Mocks map[string]bool
	// Agent marks a target that runs its own tools: mocks never reach it.
	Agent bool
	// Kind is model, agent, workflow or custom_workflow; if empty, a definition that asks for one is not checked.
	Kind string
	// Judge is the target that judges this one's answers; empty for the role's.
	Judge string `json:",omitempty"`
	// AcceptsPrompt reports whether the target takes a system prompt from outside: a
	// rewritten one, or one to compare with its own. If it is nil, that is not checked.
	AcceptsPrompt *bool
	// AcceptsImages reports whether the target takes images. If it is nil, that
	// is not checked.
	AcceptsImages *bool
	// HasWorkspace marks a target that works in the folder of a case.
	HasWorkspace bool `json:",omitempty"`
	// CodingAgent marks a target that finds skills by itself.
	CodingAgent bool `json:",omitempty"`
	// TakesRow marks a program that gets the row of a matrix with each turn.
	TakesRow bool `json:",omitempty"`
	// Structured marks a model whose replies promptfoo reads as JSON.
	Structured bool `json:",omitempty"`
}

// A TargetPrompt is the system prompt of a target: a text, or the text of a file in the
// loaded state of the repository.
type TargetPrompt struct {
	Text string `json:",omitempty"`
	// File is relative to the root of the repository.
	File string `json:",omitempty"`
	// At is its place in gavel.yaml.
	At Position `json:"-"`
}

// A ConstraintFile is one of the .cue files in which a team demands more of its
// definitions than their formats do: <definitions>/schema/*.cue.
type ConstraintFile struct {
	File string
	Text string
	// Unreadable says why there is no text.
	Unreadable string
}

// Root is the definitions folder that the file concerns.
func (f ConstraintFile) Root() string { return path.Dir(path.Dir(f.File)) }
