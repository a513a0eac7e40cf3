package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// withSkill is a case with a skill of some files and a file of its own.
func withSkill(n int, edit string) *schema.Case {
	c := judged()
	c.Evaluators = c.Evaluators[:1]
	hash := func(name string) string {
		if name == edit {
			return "edited"
		}
		return "same"
	}
	skill := &schema.WorkspaceSkill{Name: "pdf", Dir: "skills/pdf"}
	for i := range n {
		name := fmt.Sprintf("f%03d.md", i)
		skill.Files = append(skill.Files, schema.WorkspaceFile{Path: name, Hash: hash(name)})
	}
	c.Drive.Workspace = &schema.Workspace{Skill: skill, Staged: []schema.StagedFile{{WorkspaceFile: schema.WorkspaceFile{Path: "in.csv", Hash: hash("in.csv")}, From: "fixtures/in.csv"}}}
	return c
}

// TestSkillsAreExecuted: the files of a skill and of its case are in E where the target
// works in a folder, however many they are, and nowhere else. The reason names the file.
func TestSkillsAreExecuted(t *testing.T) {
	for _, n := range []int{3, mostNamed + 1} {
		for _, edit := range []string{"f001.md", "in.csv"} {
			for _, works := range []bool{true, false} {
				env := Environment{Config: "gavel.yaml", DefaultTarget: "bot", Targets: map[string]Target{"bot": {Workspace: works}}}
				was, is := Digest(withSkill(n, ""), &env), Digest(withSkill(n, edit), &env)
				if (was.E != is.E) != works {
					t.Errorf("%d files, %s is edited, works %v: E %s and %s", n, edit, works, was.E, is.E)
				}
			}
		}
	}
	env := Environment{Config: "gavel.yaml", DefaultTarget: "bot", Targets: map[string]Target{"bot": {Workspace: true}}}
	for name, file := range map[string]string{"skill file f001.md": "skills/pdf/f001.md", "workspace file in.csv": "fixtures/in.csv"} {
		i := slices.IndexFunc(parts(withSkill(3, ""), &env), func(p Part) bool { return p.Name == name && slices.Equal(p.Files, []string{file}) })
		if i < 0 {
			t.Errorf("there is no part %s of %s", name, file)
		}
	}
	moved := withSkill(3, "")
	moved.Drive.Workspace.Skill.Dir = "elsewhere/pdf"
	if Digest(moved, &env).E != Digest(withSkill(3, ""), &env).E {
		t.Error("a skill that moves is another one")
	}
	renamed := withSkill(3, "")
	renamed.Drive.Workspace.Skill.Name = "doc"
	if Digest(renamed, &env).E == Digest(withSkill(3, ""), &env).E {
		t.Error("the name of a skill does not count")
	}
}

// TestChoicesAreExecuted: the heads of the skills that an agent chooses from are in E where
// the target works in a folder, however many they are; what is wanted is in J, and the reason
// names the file.
func TestChoicesAreExecuted(t *testing.T) {
	env := Environment{Config: "gavel.yaml", DefaultTarget: "bot", Targets: map[string]Target{"bot": {Workspace: true}}}
	choosing := func(n int, edit, dir string) *schema.Case {
		c := judged()
		var heads []schema.SkillHead
		for i := range n {
			heads = append(heads, schema.SkillHead{Name: fmt.Sprintf("s%03d", i), Text: "head", Dir: dir})
		}
		if edit != "" {
			heads[1].Text = edit
		}
		c.Drive.Workspace = &schema.Workspace{Choice: schema.NewSkillChoice("s000", heads)}
		return c
	}
	for _, n := range []int{3, mostNamed + 1} {
		was := Digest(choosing(n, "", "skills"), &env)
		if is := Digest(choosing(n, "edited", "skills"), &env); is.E == was.E {
			t.Errorf("%d skills: an edited description asks nothing again", n)
		}
		if is := Digest(choosing(n, "", "elsewhere"), &env); is.E != was.E {
			t.Errorf("%d skills: skills that move ask again", n)
		}
		if is := Digest(choosing(n-1, "", "skills"), &env); is.E == was.E {
			t.Errorf("%d skills: one less asks nothing again", n)
		}
	}
	other := choosing(3, "", "skills")
	other.Drive.Workspace.Choice.Skill = "s001"
	if Digest(other, &env).E == Digest(choosing(3, "", "skills"), &env).E {
		t.Error("the skill that is asked about does not count, and the agent is ended by it")
	}
	if !slices.ContainsFunc(parts(choosing(3, "", "skills/x"), &env), func(p Part) bool {
		return p.Name == "description of the skill s001" && slices.Equal(p.Files, []string{"skills/x/SKILL.md"})
	}) {
		t.Error("no part names the file")
	}
}
