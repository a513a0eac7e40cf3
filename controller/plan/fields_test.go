package plan

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// conversing is a case with everything that a conversation may have, so that each of its
// fields counts.
func conversing() *schema.Case {
	return &schema.Case{
		CaseInfo: schema.CaseInfo{Key: "a", Dialect: schema.DialectTestcase, Origin: schema.Position{File: "a.json", Line: 1}, Weight: 1},
		System:   "Be kind.",
		Tools:    []schema.Tool{{Name: "add"}},
		Drive: schema.Drive{
			Messages:   []schema.Message{{Role: schema.RoleUser, Content: "hello"}},
			Simulation: &schema.Simulation{Instructions: "You are Ann."},
		},
		Evaluators: []schema.Evaluator{{Name: "keyword", Weight: 1, Spec: evaluator.Keyword{Keywords: []string{"hello"}}, Rule: schema.Rule{Threshold: 1}}},
		Policy:     schema.Policy{Iterations: 2, Timeout: time.Minute, MaxToolRounds: 3, MaxTurns: 4},
	}
}

// The changes of fields that no simple value makes, and why a field may be in no digest.
var (
	given   = "the answer"
	changes = map[string]func(*schema.Case){
		"Tools":             func(c *schema.Case) { c.Tools = append(c.Tools, schema.Tool{Name: "sub"}) },
		"Mocks":             func(c *schema.Case) { c.Mocks = []schema.CallMock{{Tool: "add"}} },
		"Alternative":       func(c *schema.Case) { c.Alternative = &schema.Alternative{System: "Be brief."} },
		"Evaluators":        func(c *schema.Case) { c.Evaluators[0].Spec = evaluator.Keyword{Keywords: []string{"bye"}} },
		"Drive.Messages":    func(c *schema.Case) { c.Drive.Messages = []schema.Message{{Role: schema.RoleUser, Content: "bye"}} },
		"Drive.Openings":    func(c *schema.Case) { c.Drive.Openings = [][]schema.Message{{}, {}} },
		"Drive.Script":      func(c *schema.Case) { c.Drive.Script = &schema.Script{Turns: [][]schema.Message{{}}} },
		"Drive.Workspace":   func(c *schema.Case) { c.Drive.Workspace = &schema.Workspace{} },
		"Drive.Program":     func(c *schema.Case) { c.Drive.Program = &schema.PromptProgram{} },
		"Drive.Row":         func(c *schema.Case) { c.Drive.Row = json.RawMessage(`{"vars":{}}`) },
		"Drive.Given":       func(c *schema.Case) { c.Drive.Given = &given },
		"Drive.Simulation":  func(c *schema.Case) { c.Drive.Simulation.Instructions = "You are Ben." },
		"Policy.Retry":      func(c *schema.Case) { c.Policy.Retry = &schema.Retry{Most: 2} },
		"Policy.Bands":      func(c *schema.Case) { c.Policy.Bands = &schema.Bands{Pass: 0.8} },
		"CaseInfo.Target":   func(c *schema.Case) { c.Target = "other" },
		"CaseInfo.Dialect":  func(c *schema.Case) { c.Dialect = schema.DialectPromptval },
		"Kept":              func(c *schema.Case) { c.Kept = []schema.Kept{{Name: "x", Case: conversing()}} },
		"Drive.TargetOpens": func(c *schema.Case) { c.Drive.TargetOpens, c.Drive.Messages = true, nil },
	}
	inNone = map[string]string{
		"Form":                 "for people",
		"Layers":               "what System was built from",
		"Peers":                "their digests are those of a selection",
		"Row":                  "for people; what is sent of it is in Drive",
		"CaseInfo.Key":         "a case may be renamed",
		"CaseInfo.Origin":      "a file may be moved",
		"CaseInfo.Labels":      "for people",
		"CaseInfo.PerTarget":   "the case is named after its target",
		"CaseInfo.Weight":      "counts in the score of a group, not in the verdict",
		"CaseInfo.Skip":        "a case that is not run has no result",
		"CaseInfo.AsksNothing": "follows from the evaluators",
		"CaseInfo.Trigger":     "follows from the evaluators",
		"CaseInfo.Inputs":      "what they say is in the other fields",
		"Policy.Whole":         "decides what is an error, and no error is stored",
	}
)

// TestEveryFieldOfACaseIsInADigest: a field that is in none would have verdicts reused that
// are no longer true. A new field is either covered, or says here why it need not be.
func TestEveryFieldOfACaseIsInADigest(t *testing.T) {
	env := &Environment{DefaultTarget: "bot", Targets: map[string]Target{
		"bot": {Workspace: true, Facts: []Fact{{Name: "model", Value: "small"}}}, "other": {Facts: []Fact{{Name: "model", Value: "large"}}},
	}}
	before := Digest(conversing(), env)
	for _, name := range fieldsOf("", reflect.TypeFor[schema.Case]()) {
		c := conversing()
		change, ok := changes[name.path]
		if !ok {
			change = name.change
		}
		change(c)
		after := Digest(c, env)
		covered := after.D != before.D
		if why, exempt := inNone[name.path]; exempt == covered {
			t.Errorf("%s is in a digest: %v (in none, since %q)", name.path, covered, why)
		}
	}
}

// A caseField is a field of a case, and a change of its value if that is simple.
type caseField struct {
	path   string
	change func(*schema.Case)
}

// fieldsOf lists the fields of a case, those of its parts Drive, Policy and CaseInfo among them.
func fieldsOf(prefix string, of reflect.Type) []caseField {
	var out []caseField
	for i := range of.NumField() {
		f := of.Field(i)
		path := prefix + f.Name
		switch f.Name {
		case "CaseInfo", "Drive", "Policy":
			out = append(out, fieldsOf(path+".", f.Type)...)
			continue
		}
		out = append(out, caseField{path, func(c *schema.Case) {
			v := reflect.ValueOf(c).Elem()
			if prefix != "" {
				v = v.FieldByName(prefix[:len(prefix)-1])
			}
			switch v = v.FieldByName(f.Name); v.Kind() {
			case reflect.String:
				v.SetString(v.String() + "x")
			case reflect.Bool:
				v.SetBool(!v.Bool())
			case reflect.Int, reflect.Int64:
				v.SetInt(v.Int() + 1)
			case reflect.Float64:
				v.SetFloat(v.Float() + 0.5)
			}
		}})
	}
	return out
}
