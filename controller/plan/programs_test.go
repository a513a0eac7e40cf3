package plan

import (
	"reflect"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// judged is a case with everything that a suite's case has.
func judged() *schema.Case {
	judge := func() evaluator.CodeJudge {
		return evaluator.CodeJudge{Program: evaluator.Program{
			Argv: []string{"python", "judge.py"}, Built: &schema.ProgramFiles{Dir: "s", Files: []schema.ProgramFile{{Path: "s/judge.py", Hash: "1"}}}, Dir: "s",
		}}
	}
	outer := judge()
	return &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: "a#1", Dialect: schema.DialectEvalcase, Origin: schema.Position{File: "s/a.yaml", Line: 1},
			Labels: schema.Labels{Name: "1", Conversation: "c"},
			Weight: 1,
		},
		Drive: schema.Drive{Messages: []schema.Message{{
			Role: schema.RoleUser, Content: "look", Blocks: []schema.Block{
				{Type: "file", Text: "look", Path: "s/look.txt"}, {Type: "image", Data: []byte("png"), Media: "image/png", Path: "s/x.png"},
			},
		}}},
		Policy: schema.Policy{Iterations: 1, Timeout: time.Minute, MaxToolRounds: 16, Bands: &schema.Bands{Pass: 0.8, Borderline: 0.6}},
		Evaluators: []schema.Evaluator{
			{Name: "rubrics", Weight: 1, Spec: evaluator.Rubrics{
				Criteria: []evaluator.RubricCriterion{{ID: "a", Outcome: "x"}}, Target: "own", Subject: evaluator.Subject{Note: "n"},
			}, Rule: schema.Rule{Threshold: 0.8, Required: []string{"a"}, Least: map[string]float64{"a": 0.5}}},
			{Name: "both", Weight: 1, Spec: evaluator.Composite{
				Members: []evaluator.Member{
					{ID: "code", Spec: judge(), Rule: schema.Rule{Threshold: 0.8}},
					{ID: "cost", Spec: evaluator.Measured{Type: "cost", Quantities: []string{"cost_usd"}}, Rule: schema.Rule{Most: map[string]float64{"cost_usd": 1}}},
				},
				Program: &outer,
			}, Rule: schema.Rule{Aggregate: schema.Minimum}},
			{Name: "calls", Weight: 1, Spec: evaluator.Measured{Type: "execution_metrics", Quantities: []string{"tool_calls"}}, Rule: schema.Rule{Most: map[string]float64{"tool_calls": 3}}},
			{Name: "checks", Spec: evaluator.Checks{Checks: []evaluator.Check{{ID: "contains", Kind: "contains", Text: "x"}, {ID: "latency_ms", Kind: "latency_ms"}}},
				Rule: schema.Rule{Required: []string{"contains", "latency_ms"}, Most: map[string]float64{"latency_ms": 3}}, File: "s/a.checks.yaml"},
		},
	}
}

func judgedBy(c *schema.Case, own string) Digests {
	return Digest(c, &Environment{
		Config: "gavel.yaml", DefaultTarget: "model",
		Targets: map[string]Target{
			"model": {Facts: []Fact{{Name: "model", Value: "m"}}},
			"agent": {Agent: true},
			"own":   {Facts: []Fact{{Name: "model", Value: own}}},
		},
		Roles: map[schema.Role]string{schema.Judge: "model"},
	})
}

// TestSuiteDigests changes one thing at a time and says the outermost digest
// that has to follow, by the name of the part that tells why.
func TestSuiteDigests(t *testing.T) {
	blocks := func(c *schema.Case) []schema.Block { return c.Drive.Messages[0].Blocks }
	move := func(p *evaluator.Program) {
		p.Dir, p.Built.Dir, p.Built.Files[0].Path = "t", "t", "t/judge.py"
	}
	both := func(c *schema.Case) evaluator.Composite { return c.Evaluators[1].Spec.(evaluator.Composite) }
	for _, tt := range []struct {
		name   string
		change func(*schema.Case)
		layer  Layer // the first digest that changes; empty for none
		part   string
	}{
		{"text of a file", func(c *schema.Case) { blocks(c)[0].Text = "other" }, Execution, "messages"},
		{"bytes of an image", func(c *schema.Case) { blocks(c)[1].Data = []byte("gif") }, Execution, "messages"},
		{"path of a file", func(c *schema.Case) { blocks(c)[0].Path = "t/look.txt" }, Judgement, "program input 1 of both"},
		{"note", func(c *schema.Case) {
			r := c.Evaluators[0].Spec.(evaluator.Rubrics)
			r.Note = "m"
			c.Evaluators[0].Spec = r
		}, Judgement, "evaluator rubrics"},
		{"program of a member", func(c *schema.Case) { both(c).Members[0].Spec.(evaluator.CodeJudge).Built.Files[0].Hash = "2" }, Judgement, "program file judge.py of both"},
		{"program of composite", func(c *schema.Case) { both(c).Program.Built.Files[0].Hash = "2" }, Judgement, "program file judge.py again of both"},
		{"folder of a program", func(c *schema.Case) { move(&both(c).Program.Program) }, Judgement, "program input 2 of both"},
		{"name of a program", func(c *schema.Case) { both(c).Program.Built.Files[0].Path = "s/other.py" }, Judgement, "program file other.py of both"},
		{"folder of all", func(c *schema.Case) {
			for i := range blocks(c) {
				blocks(c)[i].Path = "t" + blocks(c)[i].Path[1:]
			}
			member := both(c).Members[0].Spec.(evaluator.CodeJudge)
			move(&member.Program)
			both(c).Members[0].Spec = member
			move(&both(c).Program.Program)
		}, "", ""},
		{"least score", func(c *schema.Case) { c.Evaluators[0].Rule.Least["a"] = 0.6 }, Decision, "least scores of rubrics"},
		{"aggregation", func(c *schema.Case) { c.Evaluators[1].Rule.Aggregate = schema.Maximum }, Decision, "aggregation of both"},
		{"bound of a member", func(c *schema.Case) { both(c).Members[1].Rule.Most["cost_usd"] = 2 }, Judgement, "evaluator both"},
		{"bound", func(c *schema.Case) { c.Evaluators[2].Rule.Most["tool_calls"] = 4 }, Decision, "bounds of calls"},
		{"quantity", func(c *schema.Case) {
			c.Evaluators[2].Spec = evaluator.Measured{Type: "execution_metrics", Quantities: []string{"llm_calls"}}
		}, Judgement, "evaluator calls"},
		{"type of a measurement", func(c *schema.Case) {
			c.Evaluators[2].Spec = evaluator.Measured{Type: "latency", Quantities: []string{"tool_calls"}}
		}, Judgement, "evaluator calls"},
		{"text of a check", func(c *schema.Case) {
			c.Evaluators[3].Spec.(evaluator.Checks).Checks[0].Text = "y"
		}, Judgement, "evaluator checks"},
		{"bound of a check", func(c *schema.Case) { c.Evaluators[3].Rule.Most["latency_ms"] = 4 }, Decision, "bounds of checks"},
		{"passing score", func(c *schema.Case) { c.Policy.Bands.Pass = 0.9 }, Decision, "passing score"},
		{"borderline score", func(c *schema.Case) { c.Policy.Bands.Borderline = 0.5 }, Decision, "borderline score"},
		{"conversation", func(c *schema.Case) { c.Labels.Conversation = "d" }, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := judged()
			tt.change(changed)
			before, after := judgedBy(judged(), "o"), judgedBy(changed, "o")
			wantChange(t, before, after, tt.layer, tt.part)
		})
	}
	if got := firstChange(judgedBy(judged(), "o"), judgedBy(judged(), "p")); got != Judgement {
		t.Errorf("another model of an evaluator's own changes %q, want %q", got, Judgement)
	}
}

// TestPricesCountWhereTheCostIsMeasured and nowhere else.
func TestPricesCountWhereTheCostIsMeasured(t *testing.T) {
	with := func(spec schema.Spec, price string) Digests {
		c := &schema.Case{Evaluators: []schema.Evaluator{{Name: "it", Weight: 1, Spec: spec}}}
		return Digest(c, &Environment{DefaultTarget: "model", Targets: map[string]Target{"model": {Price: price}}})
	}
	cost := evaluator.Measured{Type: "cost", Quantities: []string{"cost_usd"}}
	for _, tt := range []struct {
		name string
		spec schema.Spec
		want Layer
	}{
		{"cost", cost, Judgement},
		{"a member", evaluator.Composite{Members: []evaluator.Member{{ID: "cost", Spec: cost}}}, Judgement},
		{"a check", evaluator.Checks{Checks: []evaluator.Check{{ID: "cost_usd", Kind: "cost_usd"}}}, Judgement},
		{"no cost", evaluator.Measured{Type: "latency", Quantities: []string{"duration_ms"}}, ""},
		{"no checks", evaluator.Checks{Checks: []evaluator.Check{{ID: "contains", Kind: "contains", Text: "x"}}}, ""},
	} {
		if got := firstChange(with(tt.spec, "1 in, 2 out"), with(tt.spec, "1 in, 3 out")); got != tt.want {
			t.Errorf("%s: another price changes %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestRulesOfMembersDecide where no program and no model is shown what they make
// of the results.
func TestRulesOfMembersDecide(t *testing.T) {
	bounded := func(most float64) *schema.Case {
		c := judged()
		both := c.Evaluators[1].Spec.(evaluator.Composite)
		both.Program, both.Members[1].Rule.Most["cost_usd"] = nil, most
		c.Evaluators[1].Spec = both
		return c
	}
	before, after := judgedBy(bounded(1), "o"), judgedBy(bounded(2), "o")
	if got := firstChange(before, after); got != Decision || !changedParts(before, after)["rules of members of both"] {
		t.Errorf("the bound of a member changes %q, %v", got, changedParts(before, after))
	}
}

func TestAnAgentSeesPaths(t *testing.T) {
	one, other := judged(), judged()
	one.Target, other.Target = "agent", "agent"
	other.Drive.Messages[0].Blocks[0].Path = "t/look.txt"
	if got := firstChange(judgedBy(one, "o"), judgedBy(other, "o")); got != Execution {
		t.Errorf("the path of a file changes %q, want %q", got, Execution)
	}
}

// TestEveryFieldOfARuleDecides: a rule that says something else makes another
// decision, whichever of its fields it is.
func TestEveryFieldOfARuleDecides(t *testing.T) {
	rule := reflect.TypeFor[schema.Rule]()
	for i := range rule.NumField() {
		c := judged()
		c.Evaluators[2].Rule = schema.Rule{}
		before := judgedBy(c, "o")
		c = judged()
		c.Evaluators[2].Rule = schema.Rule{}
		field := reflect.ValueOf(&c.Evaluators[2].Rule).Elem().Field(i)
		switch field.Interface().(type) {
		case int:
			field.SetInt(7)
		case float64:
			field.SetFloat(0.7)
		case bool:
			field.SetBool(true)
		case map[string]float64:
			field.Set(reflect.ValueOf(map[string]float64{"tool_calls": 0.7}))
		case []string:
			field.Set(reflect.ValueOf([]string{"tool_calls"}))
		case schema.Aggregate:
			field.SetString("minimum")
		default:
			t.Fatalf("the field %s has a type that the test does not set", rule.Field(i).Name)
		}
		if got := firstChange(before, judgedBy(c, "o")); got != Decision {
			t.Errorf("another %s changes %q, want the decision", rule.Field(i).Name, got)
		}
	}
}

// TestTheFileOfAPrompt holds that a reason names the file that changed, whether a row
// of a matrix has its prompt, its test or its variables there.
func TestTheFileOfAPrompt(t *testing.T) {
	row := func(text string) *schema.Case {
		c := tc("rows", text, 1)
		c.Row, c.Origin.File = &schema.Row{}, "rows.csv"
		c.Inputs = []schema.Input{
			{File: "config.yaml", Role: "definition"}, {File: "judge.js", Role: "program"}, {File: "prompt.txt", Role: "prompt"},
			{File: "rows.csv", Role: "tests"}, {File: "value.json", Role: "variable"},
		}
		return c
	}
	for _, edited := range []string{"config.yaml", "prompt.txt", "rows.csv", "value.json"} {
		both := func(file string) bool { return file == edited || file == "judge.js" }
		reasons := comparison{
			was: judgedBy(row("before"), "m").Parts(), is: judgedBy(row("after"), "m").Parts(),
			before: row("before"), after: row("after"), changed: both,
		}.reasons()
		if len(reasons) != 1 || reasons[0].File != edited {
			t.Errorf("reasons %+v, want one that names %s", reasons, edited)
		}
	}
}

// TestUnconfinedProgramsAreApart: without a sandbox a program sees files that no digest
// covers, so that its verdicts have digests of their own. Other cases keep theirs.
func TestUnconfinedProgramsAreApart(t *testing.T) {
	plain := judged()
	plain.Evaluators = plain.Evaluators[:1]
	written, prepared := judged(), judged()
	written.Evaluators, prepared.Evaluators = nil, judged().Evaluators[1:2]
	written.Drive.Program = &schema.PromptProgram{Argv: []string{"sh", "p.sh"}}
	prepared.Drive.Workspace = &schema.Workspace{Before: []schema.WorkspaceHook{{Argv: []string{"sh", "h.sh"}}}}
	for _, tt := range []struct {
		name    string
		c       *schema.Case
		e, j, d bool
	}{
		{"no program", plain, true, true, true},
		{"a judge", judged(), true, false, false},
		{"a prompt", written, false, false, false},
		{"a hook before a judge", prepared, true, false, false},
	} {
		env := Environment{Config: "gavel.yaml", DefaultTarget: "bot", Targets: map[string]Target{"bot": {}}}
		is := Digest(tt.c, &env)
		env.Unconfined = true
		apart := Digest(tt.c, &env)
		if is.E == apart.E != tt.e || is.J == apart.J != tt.j || is.D == apart.D != tt.d {
			t.Errorf("%s without a sandbox: E, J and D stay %t, %t and %t, want %t, %t and %t", tt.name, is.E == apart.E, is.J == apart.J, is.D == apart.D, tt.e, tt.j, tt.d)
		}
	}
}
