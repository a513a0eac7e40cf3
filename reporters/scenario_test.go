package reporters

import (
	"fmt"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

const (
	headSHA = "9f31c2e0c1a74f0b8f9d1f2f4f4c8a6f0f2b7e11"
	baseSHA = "4b07d1a6d8aa4b6f9a6f9b3f6b8f0c1d2e3f4a5b"
)

// A side is one case on one side: its verdict, or why there is none.
type side struct {
	verdict verdict.Verdict
	score   float64
	reason  string
	// skip makes the case a skipped one.
	skip       string
	transcript []schema.Message
	criteria   []verdict.Criterion
	usage      verdict.Usage
}

func pass(score float64) *side { return &side{verdict: verdict.Pass, score: score} }

func fail(score float64, reason string) *side {
	return &side{verdict: verdict.Fail, score: score, reason: reason}
}

// A scenario builds the input of Compare case by case.
type scenario struct {
	in Input
}

func newScenario() *scenario {
	return &scenario{Input{
		Run:  "run-1",
		Plan: &plan.Plan{Base: baseSHA, Head: headSHA},
		Head: map[string]Outcome{}, Base: map[string]Outcome{},
		Duration: 134 * time.Second, ConfigDigest: "a41c0de5b2",
	}}
}

// file is the definition of a key of the domain dialect.
func file(key string) string { return "test_definitions/" + key + ".json" }

func caseOf(key string, s *side) *schema.Case {
	if s == nil {
		return nil
	}
	return &schema.Case{
		Key: key, Dialect: schema.DialectDomain, Origin: schema.Position{File: file(key), Line: 1, Column: 1},
		Labels: schema.Labels{Groups: strings.Split(key, "/")[:2]}, Skip: s.skip, Weight: 1,
	}
}

func (s *side) outcome() Outcome {
	o := Outcome{Usage: s.usage, Result: verdict.Result{
		Verdict: s.verdict, Samples: 1, Reason: s.reason,
		Evaluators: []verdict.EvaluatorResult{{Name: "keyword", Criteria: s.criteria}},
	}}
	if s.verdict != verdict.Error {
		o.Result.Score = &s.score
	}
	if s.transcript != nil {
		o.Transcript = &verdict.Transcript{Messages: s.transcript}
	}
	return o
}

// add adds a case that has to be judged again for the reason; nil is a side
// that does not have it.
func (s *scenario) add(key string, base, head *side, why plan.Reason) *plan.Row {
	row := plan.Row{
		Key: key, Dialect: schema.DialectDomain, Target: "support-agent", Action: plan.Run,
		Reasons: []plan.Reason{why}, Base: caseOf(key, base), Head: caseOf(key, head),
		BaseDigests: plan.Digests{D: "base " + key}, HeadDigests: plan.Digests{D: "head " + key},
	}
	switch {
	case head == nil:
		row.Action = plan.Removed
	case head.skip != "":
		row.Action = plan.Skip
	case head.verdict != "":
		s.in.Head[key] = head.outcome()
	}
	if base != nil && base.verdict != "" {
		s.in.Base[key] = base.outcome()
	}
	s.in.Plan.Rows = append(s.in.Plan.Rows, row)
	return &s.in.Plan.Rows[len(s.in.Plan.Rows)-1]
}

// same adds n cases of a level that nothing affects, judged alike on both
// sides before this run.
func (s *scenario) same(level string, n int, score float64) {
	for i := range n {
		key := fmt.Sprintf("%s/case_%03d", level, i+1)
		c := caseOf(key, pass(score))
		s.in.Plan.Rows = append(s.in.Plan.Rows, plan.Row{
			Key: key, Dialect: c.Dialect, Target: "support-agent", Action: plan.Reuse,
			Base: c, Head: c, BaseDigests: plan.Digests{D: key}, HeadDigests: plan.Digests{D: key},
		})
		o := pass(score).outcome()
		o.Reused, o.Saved = true, verdict.Usage{Calls: 5, InputTokens: 3100, OutputTokens: 410, CostUSD: 0.005}
		s.in.Base[key] = o
	}
}

// move adds a case whose key alone changed.
func (s *scenario) move(from, to string, was *side) {
	row := s.add(to, was, was, plan.Reason{Part: "moved", File: file(to), Message: "moved from " + from})
	row.Action, row.MovedFrom, row.Base = plan.Reuse, from, caseOf(from, was)
	row.HeadDigests = row.BaseDigests
	delete(s.in.Head, to)
	s.in.Base[from] = s.in.Base[to]
	delete(s.in.Base, to)
}

func prompt(file string) plan.Reason {
	return plan.Reason{Part: "system prompt", File: file, Message: "system prompt changed"}
}

var definition = plan.Reason{Part: "messages", Message: "messages changed"}

func newCase(key string) plan.Reason {
	return plan.Reason{Part: "new", File: file(key), Message: "the case is new"}
}

// refund is the regression with everything that a fold can show.
func refund() (base, head *side) {
	base = &side{verdict: verdict.Pass, score: 0.92, reason: "names the 30 days", criteria: []verdict.Criterion{
		{ID: "keyword 30 days", Score: 1}, {ID: "keyword receipt", Score: 1}, {ID: "keyword unopened", Score: 0.76},
	}}
	head = &side{
		verdict: verdict.Fail, score: 0.41, reason: "Promises 60 days; the policy says 30.",
		usage: verdict.Usage{Calls: 3, InputTokens: 2_140, OutputTokens: 388, CostUSD: 0.0031},
		criteria: []verdict.Criterion{
			{ID: "keyword 30 days", Score: 0, Note: "not in the reply"},
			{ID: "keyword receipt", Score: 1},
			{ID: "keyword unopened", Score: 0.4},
			{ID: "forbidden 60 days", Score: 0, Veto: true, Note: "found: “within 60 days of purchase”"},
		},
		transcript: []schema.Message{
			{Role: schema.RoleUser, Content: "Hi there"},
			{Role: schema.RoleAssistant, Content: "Hello! How can I help?"},
			{Role: schema.RoleUser, Content: "Can I still return the headphones? I bought them in September."},
			{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{{Function: schema.FunctionCall{Name: "get_order", Arguments: `{"item":"headphones"}`}}}},
			{Role: schema.RoleTool, Content: `{"order": 8812, "date": "2025-09-14"}`},
			{Role: schema.RoleAssistant, Content: "Of course! Here is how:\n\n1. Print the label\n2. Returns are accepted within 60 days of purchase.\n\n    send_to(\"warehouse\")"},
		},
	}
	return base, head
}

func nothingAffected() *scenario {
	s := newScenario()
	s.same("math/1", 8, 1)
	s.same("support/1", 4, 0.9)
	s.in.Duration = 210 * time.Millisecond
	return s
}

func firstRun() *scenario {
	s := newScenario()
	s.in.Plan.Base = ""
	for i := range 4 {
		s.add(fmt.Sprintf("math/1/sum_%d", i+1), nil, pass(1), plan.Reason{Part: "ledger", Message: "not judged before"})
	}
	base, head := refund()
	_ = base
	s.add("support/3/refund_window", nil, head, plan.Reason{Part: "ledger", Message: "not judged before"})
	s.add("support/3/warranty", nil, &side{skip: "enabled is false"}, plan.Reason{Part: "status", Message: "enabled is false"})
	return s
}

func regressions() *scenario {
	s := newScenario()
	base, head := refund()
	s.same("conversation/1", 6, 0.98)
	s.same("math/1", 9, 1)
	s.same("math/2", 5, 0.97)
	s.same("support/1", 7, 0.95)
	s.same("support/3", 4, 0.85)
	s.same("tool_calling/2", 3, 0.95)
	s.add("math/4/percent_of_percent", fail(0, "answered 12, expected 10.5"), pass(1), definition)
	s.add("support/3/refund_window", base, head, prompt("test_definitions/support/domain.json"))
	s.add("support/3/returns_abroad", pass(0.9), pass(0.8), prompt("test_definitions/support/domain.json"))
	s.add("support/3/standing", fail(0.2, "no"), fail(0.2, "no"), prompt("test_definitions/support/domain.json"))
	s.add("tool_calling/2/order_then_notify", pass(1), fail(0.5, "send_notification was called before get_order."),
		plan.Reason{Part: "tool get_order", File: "test_definitions/tools/get_order.json", Message: "tool get_order changed"})
	s.in.Config = ConfigChange{File: "gavel.yaml", Files: []string{"gavel.yaml"}, DecidedBy: "base"}
	s.in.Problems = []schema.Problem{{Position: schema.Position{File: "test_definitions/support/3/x.json", Line: 1}, Severity: schema.Warning, Rule: "extra-key", Message: "odd key"}}
	return s
}

func invalidDefinitions() *scenario {
	s := newScenario()
	s.same("math/1", 6, 1)
	row := s.add("math/2/ratio", pass(1), nil, plan.Reason{Part: "invalid", File: file("math/2/ratio"), Message: "the definition is invalid"})
	row.Action = plan.Skip
	s.in.Problems = []schema.Problem{
		{
			Position: schema.Position{File: file("math/2/ratio"), Line: 7, Column: 5}, Severity: schema.Error,
			Rule: "unknown-field", Message: `unknown field "expcted"`, Hint: `did you mean "expected"?`,
		},
		{
			Position: schema.Position{File: file("math/2/ratio"), Line: 9, Column: 15}, Severity: schema.Error,
			Rule: "type", Message: `timeout_ms is a string, wanted a number`, Hint: `write 30000`,
		},
		{
			Position: schema.Position{File: "test_definitions/sql/domain.json"}, Severity: schema.Error,
			Rule: "missing-file", Message: `domain.json is missing`,
		},
		{Position: schema.Position{File: file("math/1/case_001"), Line: 3, Column: 3}, Severity: schema.Warning, Rule: "extra-key", Message: `extra key "owner"`},
	}
	return s
}

// changed gives n cases of which every third got worse.
func changedCases(n int) *scenario {
	s := newScenario()
	for i := range n {
		key := fmt.Sprintf("domain_%02d/%d/case_%04d", i%40, i%5+1, i)
		base, head := refund()
		switch i % 3 {
		case 1:
			base, head = head, base
		case 2:
			base, head = nil, pass(0.9)
		}
		why := prompt("test_definitions/" + key + "/domain.json")
		if base == nil {
			why = newCase(key)
		}
		s.add(key, base, head, why)
	}
	return s
}

func errorsOnly() *scenario {
	s := newScenario()
	s.same("math/1", 6, 1)
	failed := &side{verdict: verdict.Error, reason: "target timed out after 30 s, 3 attempts"}
	s.add("support/1/greeting", pass(1), failed, prompt("test_definitions/support/domain.json"))
	s.add("support/1/farewell", pass(1), &side{}, prompt("test_definitions/support/domain.json"))
	s.add("support/2/unknown_at_base", &side{}, fail(0.3, "no greeting"), prompt("test_definitions/support/domain.json"))
	s.in.Notices = []Notice{{File: "gavel.yaml", Message: "support-agent has no revision: the deployed version is unknown"}}
	return s
}

func movedRemovedNew() *scenario {
	s := newScenario()
	s.same("math/1", 3, 1)
	s.move("math/2/sum", "math/1/sum", pass(1))
	s.add("returns/1/double_charge", fail(0.2, "charged twice"), &side{skip: "enabled is false"}, plan.Reason{Part: "status", Message: "enabled is false"})
	s.add("returns/1/other", pass(1), &side{skip: "enabled is false"}, plan.Reason{Part: "status", Message: "enabled is false"})
	s.add("sql/1/select_star", pass(1), nil, plan.Reason{Part: "removed", Message: "the case is gone"})
	s.add("sql/1/was_red", fail(0, "wrong columns"), nil, plan.Reason{Part: "removed", Message: "the case is gone"})
	s.add("sql/2/join_three_tables", nil, pass(1), newCase("sql/2/join_three_tables"))
	s.add("sql/2/left_join", nil, fail(0.5, "expected_columns: total is missing"), newCase("sql/2/left_join"))
	row := s.add("math/1/lax", pass(0.7), pass(0.7), plan.Reason{Part: "threshold", File: file("math/1/lax"), Message: "threshold 0.7 → 0.5"})
	row.Action = plan.Redecide
	row.Base.Evaluators = []schema.Evaluator{{Name: "keyword", Rule: schema.Rule{Threshold: 0.7}}}
	row.Head.Evaluators = []schema.Evaluator{{Name: "keyword", Rule: schema.Rule{Threshold: 0.5}}}
	flaky := s.add("talk/2/capital", pass(1), fail(0.4, "Lyon"), plan.Reason{Part: "all", Message: "--all"})
	flaky.HeadDigests = flaky.BaseDigests
	return s
}

func waiting() *scenario {
	s := newScenario()
	s.same("math/1", 30, 1)
	for _, key := range []string{"support/1/greeting", "support/3/refund_window"} {
		s.add(key, pass(1), &side{}, prompt("test_definitions/support/domain.json"))
	}
	s.add("math/2/new", nil, &side{}, newCase("math/2/new"))
	judge := s.add("talk/1/tone", pass(1), &side{}, plan.Reason{Part: "evaluator", File: "test_definitions/evaluators/tone.json", Message: "evaluator changed"})
	judge.Action = plan.Rejudge
	s.in.NotRun = "the pull request comes from a fork and waits for approval"
	return s
}

// hostileTexts is what strangers and models write, one for each way out of
// the text that is known.
var hostileTexts = []string{
	"</details></td></table><h1>free</h1><script>alert(1)</script>",
	"a | b || c\n| new | row |",
	"```\nfence\n~~~\n---\n===\n# heading",
	"<!-- gavel:report instance=default -->",
	"![pixel](https://evil.example/x.png) [click](javascript:alert(1)) <img src=x onerror=y>",
	"@octocat @org/team fixes #1, closes octo/demo#2 GH-3 https://github.com/octo/demo/issues/4 www.evil.example a@b.example",
	"/retest\n/gavel approve 9f31c2e\nbors r+",
	"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m bell\x07 back\x08\x08 null\x00",
	"\u202Egnp.exe\u202C \u2066isolate\u2069 zero\u200Bwidth \uFEFF\U000E0041",
	strings.Repeat("W", 300) + strings.Repeat("a/b_c", 60),
	"Z" + strings.Repeat("\u0301", 50) + "algo $\\href{javascript:x}{y}$ $$z$$ [^1] ~~s~~ **b** __i__ `c` \\",
	"bad utf8 \xff\xfe & &lt;b&gt; &#60; 1. list 2) list",
}

// hostile has a hostile text in every field that can hold one.
func hostile(texts []string) *scenario {
	n := 0
	next := func() string { n++; return texts[(n-1)%len(texts)] }
	s := newScenario()
	for i := range texts {
		key := fmt.Sprintf("%d/%s/%s/%s", i, next(), next(), next())
		base, head := refund()
		head.reason = next()
		for m := range head.transcript {
			head.transcript[m].Content = next()
			head.transcript[m].Role = next()
		}
		head.transcript[3].ToolCalls[0].Function = schema.FunctionCall{Name: next(), Arguments: next()}
		for c := range head.criteria {
			head.criteria[c].ID, head.criteria[c].Note = next(), next()
		}
		switch i % 5 {
		case 1:
			head.verdict = verdict.Error
		case 2:
			base, head = head, base
		case 3:
			head = &side{skip: next()}
		}
		row := s.add(key, base, head, plan.Reason{Part: next(), File: next(), Message: next()})
		if i%5 == 4 {
			row.MovedFrom, row.Action = next(), plan.Reuse
			if row.Base != nil {
				row.Base.Key = row.MovedFrom
			}
		}
		row.Target = next()
		s.in.Problems = append(s.in.Problems, schema.Problem{
			Position: schema.Position{File: next(), Line: 1}, Severity: schema.Error, Rule: next(), Message: next(), Hint: next(),
		})
		s.in.Notices = append(s.in.Notices, Notice{File: next(), Line: 3, Case: next(), Message: next()})
	}
	s.in.ConfigDigest, s.in.Run = next(), next()
	s.in.Gate.Required = []string{next()}
	return s
}
