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
