package evaluator

import "github.com/gavel-evals/gavel/schema"

// SkillTrigger looks whether the target turned to a skill: whether it called a tool
// named skill for it, or one with a path of the skill's folder.
type SkillTrigger struct {
	Skill string `json:"skill"`
	// Never asks for the opposite.
	Never bool `json:"never,omitempty"`
	// Loaded asks whether the target loaded the skill: by a tool for skills, or by reading
	// its SKILL.md.
	Loaded bool `json:"loaded,omitempty"`
}

// Kind returns "skill_trigger".
func (SkillTrigger) Kind() string { return "skill_trigger" }

// Version returns the version of recognizing a call for a skill.
func (SkillTrigger) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (SkillTrigger) Roles() []schema.Role { return nil }
