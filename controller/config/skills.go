package config

import (
	"fmt"
	"strings"
)

// Skills say how the evals of agent skills are run.
type Skills struct {
	// Target runs them; empty for the default target, if that is a coding agent.
	Target string `json:",omitempty"`
	// JudgesOutput makes the expected output of an eval a criterion, even next to others.
	JudgesOutput bool `json:",omitempty"`
	// Lift runs the cases without their skill, too.
	Lift bool `json:",omitempty"`
}

// skills demands that the target of skills works in a folder, in which it finds them.
func (k *checker) skills() {
	name := k.config.Skills.Target
	k.reference(name, "skills", "target")
	if t, ok := k.config.Targets[name]; ok && !t.HasWorkspace() {
		var fit []string
		for _, name := range k.names() {
			if k.config.Targets[name].HasWorkspace() {
				fit = append(fit, name)
			}
		}
		hint := "add a target with a coding agent, such as provider: claude-code"
		if len(fit) > 0 {
			hint = "write " + strings.Join(fit, " or ")
		}
		k.Fail("no-workspace", fmt.Sprintf("the target %q has no folder to work in, in which it would find a skill", name), hint, "skills", "target")
	}
}

// Dearer names the setting by which head makes more calls for the cases of skills.
func (s Skills) Dearer(head Skills) []string {
	if !s.Lift && head.Lift {
		return []string{"skills.lift off → on, so that cases of skills are also run without them"}
	}
	return nil
}

// Looser names the setting by which head demands less of the cases of skills.
func (s Skills) Looser(head Skills) []string {
	if s.JudgesOutput && !head.JudgesOutput {
		return []string{"skills.expected_output criterion → context"}
	}
	return nil
}
