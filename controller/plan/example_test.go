package plan_test

import (
	"fmt"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

func ExampleCompare() {
	env := &plan.Environment{DefaultTarget: "bot", Targets: map[string]plan.Target{"bot": {}}}
	side := func(commit, question string) plan.Side {
		asks := func(key, text string) *plan.Entry {
			c := &schema.Case{CaseInfo: schema.CaseInfo{Key: key, Target: "bot", Origin: schema.Position{File: key + ".json", Line: 1}}}
			c.Drive.Messages = []schema.Message{{Role: schema.RoleUser, Content: text}}
			return plan.NewEntry(c, env)
		}
		return plan.NewSide(commit, "bot", []*plan.Entry{asks("greeting", "Hello"), asks("question", question)})
	}
	base, head := side("base", "How are you?"), side("head", "Who are you?")
	p := plan.Compare(&base, head, plan.Options{Changed: func(file string) bool { return file == "question.json" }})
	for _, row := range p.Rows {
		fmt.Println(row.Key, row.Action, len(row.Reasons) > 0)
	}
	// Output:
	// greeting reuse false
	// question run true
}
