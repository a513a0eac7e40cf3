package plan

import (
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestControlsDoNotDependOnTheSkill: a control has other digests than its case, the same
// whatever the skill holds and in whatever skill the prompt is, and others for another
// prompt, another file of the case, another target and another demand.
func TestControlsDoNotDependOnTheSkill(t *testing.T) {
	env := Environment{Config: "gavel.yaml", DefaultTarget: "bot", Targets: map[string]Target{"bot": {Workspace: true}, "other": {Workspace: true, Facts: []Fact{{Name: "model", Value: "m"}}}}}
	row := func(edit string, change func(*schema.Case)) Row {
		c := withSkill(3, edit)
		change(c)
		return Row{Key: c.Key, Action: Run, Head: &c.CaseInfo, HeadCase: c, HeadDigests: Digest(c, &env)}
	}
	control := func(edit string, change func(*schema.Case)) Row {
		t.Helper()
		r := row(edit, change)
		out, ok := r.Control(Reason{Part: "lift"})
		if !ok || out.Key != r.Key+" (without the skill)" || out.ControlOf != r.Key || out.HeadCase.Drive.Workspace.Skill != nil || len(out.HeadCase.Drive.Workspace.Staged) != 1 {
			t.Fatalf("the control is %+v, %v", out, ok)
		}
		return out
	}
	same := func(*schema.Case) {}
	plain := row("", same)
	was := control("", same)
	if was.HeadDigests.E == plain.HeadDigests.E {
		t.Error("the control is executed as its case")
	}
	if plain.HeadCase.Drive.Workspace.Skill == nil {
		t.Error("the case lost its skill")
	}
	for _, tt := range []struct {
		name, edit string
		change     func(*schema.Case)
		same       bool
	}{
		{"a file of the skill", "f001.md", same, true},
		{"another skill", "", func(c *schema.Case) {
			c.Key, c.Drive.Workspace.Skill = "skills/csv#1", &schema.WorkspaceSkill{Name: "csv", Dir: "skills/csv"}
		}, true},
		{"a criterion about the use of the skill", "", func(c *schema.Case) {
			c.Evaluators = append(c.Evaluators, schema.Evaluator{Name: "skill", Spec: evaluator.SkillTrigger{Skill: "pdf"}})
		}, true},
		{"the prompt", "", func(c *schema.Case) { c.Drive.Messages = []schema.Message{{Role: schema.RoleUser, Content: "Bye."}} }, false},
		{"a file of the case", "in.csv", same, false},
		{"the target", "", func(c *schema.Case) { c.Target = "other" }, false},
		{"a demand", "", func(c *schema.Case) { c.Evaluators[0].Spec = evaluator.Keyword{Keywords: []string{"bye"}} }, false},
	} {
		is := control(tt.edit, tt.change)
		if (is.HeadDigests.Bare() == was.HeadDigests.Bare()) != tt.same {
			t.Errorf("%s: the digests are the same: %v, want %v", tt.name, !tt.same, tt.same)
		}
	}
}

// TestWhichCasesHaveAControl: one with a skill and a demand on the work, that is active.
func TestWhichCasesHaveAControl(t *testing.T) {
	env := Environment{Config: "gavel.yaml", DefaultTarget: "bot", Targets: map[string]Target{"bot": {Workspace: true}}}
	for _, tt := range []struct {
		name   string
		change func(*schema.Case)
		want   bool
	}{
		{"a skill", func(*schema.Case) {}, true},
		{"no skill", func(c *schema.Case) { c.Drive.Workspace.Skill = nil }, false},
		{"no folder", func(c *schema.Case) { c.Drive.Workspace = nil }, false},
		{"a draft", func(c *schema.Case) { c.Skip = "draft" }, false},
		{"only the use of the skill counts", func(c *schema.Case) {
			c.Evaluators = []schema.Evaluator{{Name: "skill", Spec: evaluator.SkillTrigger{Skill: "pdf"}}}
		}, false},
	} {
		c := withSkill(3, "")
		tt.change(c)
		r := Row{Key: c.Key, Head: &c.CaseInfo, HeadCase: c, HeadDigests: Digest(c, &env)}
		if _, got := r.Control(Reason{}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestControlsOfBase: a control is judged at base, for all heads, if base has the same
// one. Else it is new, and what is new at head is not asked as if base had it.
func TestControlsOfBase(t *testing.T) {
	env := Environment{Config: "gavel.yaml", DefaultTarget: "bot", Targets: map[string]Target{"bot": {Workspace: true}}}
	base, head := withSkill(3, ""), withSkill(3, "f001.md")
	r := Row{
		Key: head.Key, Head: &head.CaseInfo, HeadCase: head, HeadDigests: Digest(head, &env),
		Base: &base.CaseInfo, BaseCase: base, BaseDigests: Digest(base, &env),
	}
	if c, _ := r.Control(Reason{}); !c.Asked || c.Base == nil || c.Action != Run {
		t.Errorf("a changed skill: %+v, want the control of base", c)
	}
	head.Drive.Messages = []schema.Message{{Role: schema.RoleUser, Content: "Bye."}}
	r.HeadDigests = Digest(head, &env)
	if c, _ := r.Control(Reason{}); c.Asked || c.Base != nil || c.BaseCase != nil || c.Action != Run {
		t.Errorf("a changed prompt: %+v, want a control of head alone", c)
	}
}
