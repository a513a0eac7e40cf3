package plan

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// withoutSkill ends the key of a control.
const withoutSkill = " (without the skill)"

// ControlKey returns the key of the control of a case.
func ControlKey(key string) string { return key + withoutSkill }

// Control returns the control of a row's case, which runs it without its skill; false for
// a case without a skill, or with nothing to judge besides the use of the skill. Nothing
// of the skill is in its digests, so that a change of the skill leaves its stored verdict
// valid. It has a base only if base has the same control, whose verdict then serves every
// head.
func (r *Row) Control(why Reason) (Row, bool) {
	if r.Head == nil || r.Head.Skip != "" || r.HeadDigests.env == nil {
		return Row{}, false
	}
	head := control(r.HeadCase)
	if head == nil {
		return Row{}, false
	}
	out := Row{
		Key: head.Key, Dialect: r.Dialect, Target: r.Target, ControlOf: r.Key,
		Head: &head.CaseInfo, HeadCase: head, HeadDigests: Digest(head, r.HeadDigests.env), Samples: head.Samples(),
	}
	if r.Base != nil && r.Base.Skip == "" && r.BaseDigests.env != nil {
		if base := control(r.BaseCase); base != nil {
			if d := Digest(base, r.BaseDigests.env); d.D == out.HeadDigests.D {
				out.Base, out.BaseCase, out.BaseDigests = &base.CaseInfo, base, d
			}
		}
	}
	out.Action, out.Reasons = Run, []Reason{why}
	out.Asked = out.Base != nil // it is the same at base
	return out, true
}

// control returns a case without its skill, or nil. Whether a skill is used cannot be
// judged where there is none.
func control(c *schema.Case) *schema.Case {
	if c == nil || c.Drive.Workspace == nil || c.Drive.Workspace.Skill == nil {
		return nil
	}
	out := *c
	out.Evaluators = slices.DeleteFunc(slices.Clone(c.Evaluators), func(ev schema.Evaluator) bool {
		_, use := ev.Spec.(evaluator.SkillTrigger)
		return use
	})
	if len(out.Evaluators) == 0 {
		return nil
	}
	out.Key = ControlKey(c.Key)
	space := *c.Drive.Workspace
	out.Inputs = slices.DeleteFunc(slices.Clone(c.Inputs), func(in schema.Input) bool {
		staged := slices.ContainsFunc(space.Staged, func(f schema.StagedFile) bool { return f.From == in.File })
		return in.Role == "workspace" && !staged && (space.Skill.Dir == "." || in.File == space.Skill.Dir || strings.HasPrefix(in.File, space.Skill.Dir+"/"))
	})
	space.Skill = nil
	out.Drive.Workspace = &space
	return &out
}
