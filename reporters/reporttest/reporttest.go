// Package reporttest builds reports for tests: scenarios that are built case by case,
// including the golden files' ones.
package reporttest

import (
	"fmt"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

const (
	headSHA = "9f31c2e0c1a74f0b8f9d1f2f4f4c8a6f0f2b7e11"
	baseSHA = "4b07d1a6d8aa4b6f9a6f9b3f6b8f0c1d2e3f4a5b"
)

// A Side is one case on one side: its verdict, or the reason for a missing one.
type Side struct {
	Verdict verdict.Verdict
	Score   float64
	Reason  string
	// Skip marks the case as skipped.
	Skip       string
	Transcript []schema.Message
	Criteria   []verdict.Criterion
	Usage      verdict.Usage
}

// Pass returns a case that passes with a score.
func Pass(score float64) *Side { return &Side{Verdict: verdict.Pass, Score: score} }

// Fail returns a case that fails with a score and a reason.
func Fail(score float64, reason string) *Side {
	return &Side{Verdict: verdict.Fail, Score: score, Reason: reason}
}

// A Scenario builds the input of Compare case by case.
type Scenario struct {
	// In may be changed between the steps.
	In report.Input
}

// New returns a scenario without cases, between two commits.
func New() *Scenario {
	return &Scenario{report.Input{
		Run:  "run-1",
		Plan: &plan.Plan{Base: baseSHA, Head: headSHA},
		Head: map[string]*report.Outcome{}, Base: map[string]*report.Outcome{},
		Duration: 134 * time.Second, ConfigDigest: "a41c0de5b2",
	}}
}

// File returns the definition of a key of the domain dialect.
func File(key string) string { return "test_definitions/" + key + ".json" }

func caseOf(key string, s *Side) (*schema.CaseInfo, *schema.Case) {
	if s == nil {
		return nil, nil
	}
	c := &schema.Case{CaseInfo: schema.CaseInfo{
		Key: key, Dialect: schema.DialectDomain, Origin: schema.Position{File: File(key), Line: 1, Column: 1},
		Labels: schema.Labels{Groups: strings.Split(key, "/")[:2]}, Skip: s.Skip, Weight: 1,
	}}
	return &c.CaseInfo, c
}

func (s *Side) outcome() *report.Outcome {
	o := &report.Outcome{Usage: s.Usage, Result: verdict.Result{
		Verdict: s.Verdict, Samples: 1, Reason: s.Reason,
		Evaluators: []verdict.EvaluatorResult{{Name: "keyword", Criteria: s.Criteria}},
	}}
	if s.Verdict != verdict.Error {
		o.Result.Score = &s.Score
	}
	if s.Transcript != nil {
		o.Transcript = &verdict.Transcript{Messages: s.Transcript}
	}
	return o
}

// Add adds a case that is judged again for the reason; nil is a side that lacks it.
func (s *Scenario) Add(key string, base, head *Side, why plan.Reason) *plan.Row {
	row := plan.Row{
		Key: key, Dialect: schema.DialectDomain, Target: "support-agent", Action: plan.Run,
		Reasons: []plan.Reason{why}, Samples: 1,
		BaseDigests: plan.Digests{J: "base " + key, D: "base " + key}, HeadDigests: plan.Digests{J: "head " + key, D: "head " + key},
	}
	row.Base, row.BaseCase = caseOf(key, base)
	row.Head, row.HeadCase = caseOf(key, head)
	switch {
	case head == nil:
		row.Action = plan.Removed
	case head.Skip != "":
		row.Action = plan.Skip
	case head.Verdict != "":
		s.In.Head[key] = head.outcome()
	}
	if base != nil && base.Verdict != "" {
		s.In.Base[key] = base.outcome()
	}
	s.In.Plan.Rows = append(s.In.Plan.Rows, row)
	return &s.In.Plan.Rows[len(s.In.Plan.Rows)-1]
}

// Same adds n unaffected cases of a level, judged alike on both sides before this run.
func (s *Scenario) Same(level string, n int, score float64) {
	for i := range n {
		key := fmt.Sprintf("%s/case_%03d", level, i+1)
		c, _ := caseOf(key, Pass(score))
		s.In.Plan.Rows = append(s.In.Plan.Rows, plan.Row{
			Key: key, Dialect: c.Dialect, Target: "support-agent", Action: plan.Reuse,
			Base: c, Head: c, BaseDigests: plan.Digests{D: key}, HeadDigests: plan.Digests{D: key},
		})
		o := Pass(score).outcome()
		o.Reused, o.Saved = true, verdict.Usage{Calls: 5, InputTokens: 3100, OutputTokens: 410, CostUSD: 0.005}
		s.In.Base[key] = o
	}
}

// Unjudged adds n unaffected cases of a level that nobody has judged.
func (s *Scenario) Unjudged(level string, n int) {
	first := len(s.In.Plan.Rows)
	s.Same(level, n, 0)
	for _, row := range s.In.Plan.Rows[first:] {
		delete(s.In.Base, row.Key)
	}
}

// Move adds a case of which only the key changed.
func (s *Scenario) Move(from, to string, was *Side) {
	row := s.Add(to, was, was, plan.Reason{Part: "moved", File: File(to), Message: "moved from " + from})
	row.Action, row.MovedFrom = plan.Reuse, from
	row.Base, row.BaseCase = caseOf(from, was)
	row.HeadDigests = row.BaseDigests
	delete(s.In.Head, to)
	s.In.Base[from] = s.In.Base[to]
	delete(s.In.Base, to)
}

func prompt(file string) plan.Reason {
	return plan.Reason{Part: "system prompt", File: file, Message: "system prompt changed"}
}

// Definition is the reason of a case whose own definition changed.
func Definition() plan.Reason {
	return plan.Reason{Part: "messages", Message: "messages changed"}
}

func newCase(key string) plan.Reason {
	return plan.Reason{Part: "new", File: File(key), Message: "the case is new"}
}

// Refund returns the regression with everything that a fold can show.
func Refund() (base, head *Side) {
	base = &Side{Verdict: verdict.Pass, Score: 0.92, Reason: "names the 30 days", Criteria: []verdict.Criterion{
		{ID: "keyword 30 days", Score: 1}, {ID: "keyword receipt", Score: 1}, {ID: "keyword unopened", Score: 0.76},
	}}
	head = &Side{
		Verdict: verdict.Fail, Score: 0.41, Reason: "Promises 60 days; the policy says 30.",
		Usage: verdict.Usage{Calls: 3, InputTokens: 2_140, OutputTokens: 388, CostUSD: 0.0031},
		Criteria: []verdict.Criterion{
			{ID: "keyword 30 days", Score: 0, Note: "not in the reply"},
			{ID: "keyword receipt", Score: 1},
			{ID: "keyword unopened", Score: 0.4},
			{ID: "forbidden 60 days", Score: 0, Veto: true, Note: "found: “within 60 days of purchase”"},
		},
		Transcript: []schema.Message{
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

// NothingAffected has no case that differs.
func NothingAffected() *Scenario {
	s := New()
	s.Same("math/1", 8, 1)
	s.Same("support/1", 4, 0.9)
	s.In.Duration = 210 * time.Millisecond
	return s
}

// FirstRun has no base.
func FirstRun() *Scenario {
	s := New()
	s.In.Plan.Base = ""
	for i := range 4 {
		s.Add(fmt.Sprintf("math/1/sum_%d", i+1), nil, Pass(1), plan.Reason{Part: "ledger", Message: "not judged before"})
	}
	_, head := Refund()
	s.Add("support/3/refund_window", nil, head, plan.Reason{Part: "ledger", Message: "not judged before"})
	s.Add("support/3/warranty", nil, &Side{Skip: "enabled is false"}, plan.Reason{Part: "status", Message: "enabled is false"})
	return s
}

// Regressions has two regressions among cases of every other usual kind.
func Regressions() *Scenario {
	s := New()
	base, head := Refund()
	s.Same("conversation/1", 6, 0.98)
	s.Same("math/1", 9, 1)
	s.Same("math/2", 5, 0.97)
	s.Same("support/1", 7, 0.95)
	s.Same("support/3", 4, 0.85)
	s.Same("tool_calling/2", 3, 0.95)
	s.Add("math/4/percent_of_percent", Fail(0, "answered 12, expected 10.5"), Pass(1), Definition())
	s.Add("support/3/refund_window", base, head, prompt("test_definitions/support/domain.json"))
	s.Add("support/3/returns_abroad", Pass(0.9), Pass(0.8), prompt("test_definitions/support/domain.json"))
	s.Add("support/3/standing", Fail(0.2, "no"), Fail(0.2, "no"), prompt("test_definitions/support/domain.json"))
	s.Add("tool_calling/2/order_then_notify", Pass(1), Fail(0.5, "send_notification was called before get_order."),
		plan.Reason{Part: "tool get_order", File: "test_definitions/tools/get_order.json", Message: "tool get_order changed"})
	s.In.Config = report.ConfigChange{File: "gavel.yaml", Files: []string{"gavel.yaml"}, DecidedBy: "base"}
	s.In.Problems = []schema.Problem{{Position: schema.Position{File: "test_definitions/support/3/x.json", Line: 1}, Severity: schema.Warning, Rule: "extra-key", Message: "odd key"}}
	return s
}

// OneCause has n regressions with one changed prompt, and one with another cause. The
// transcripts of both sides are known.
func OneCause(n int) *Scenario {
	s := New()
	s.Same("support/1", 4, 0.9)
	ask := schema.Message{Role: schema.RoleUser, Content: "How long can I return it?"}
	say := func(text string) []schema.Message {
		return []schema.Message{ask, {Role: schema.RoleAssistant, Content: text}}
	}
	for i := range n {
		base, head := Pass(1), Fail(0, "Promises 60 days; the policy says 30.")
		base.Transcript, head.Transcript = say("Within 30 days."), say("Within 60 days | of course.")
		s.Add(fmt.Sprintf("support/3/case_%02d", i+1), base, head, prompt("test_definitions/support/domain.json"))
	}
	s.Add("math/1/sum", Pass(1), Fail(0.5, "answered 12, expected 10.5"), Definition())
	return s
}

// Commanded has the regressions after somebody approved the head, requested a rerun of
// one of them, and accepted the other with a reason.
func Commanded(by, reason string) *Scenario {
	s := Regressions()
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	s.In.Commands = []report.Command{
		{CommentID: 1, Author: by, TakenAt: at, Verb: report.CommandApprove, Argument: headSHA},
		{CommentID: 2, Author: by, TakenAt: at, Verb: report.CommandRerun, Argument: "failed", Cases: []string{"support/3/refund_window", "tool_calling/2/order_then_notify"}},
		{CommentID: 3, Author: by, TakenAt: at, Verb: report.CommandRun, Argument: "math/**", Cases: []string{"math/**"}},
		{CommentID: 4, Author: by, TakenAt: at, Verb: report.CommandAccept, Argument: reason, Cases: []string{"support/3/refund_window"}},
	}
	return s
}

// InvalidDefinitions has a case of base that is unreadable at head.
func InvalidDefinitions() *Scenario {
	s := New()
	s.Same("math/1", 6, 1)
	s.invalidate("math/2/ratio", `unknown field "expcted"`)
	s.In.Problems[0].Hint = `did you mean "expected"?`
	s.In.Problems = append(s.In.Problems, []schema.Problem{
		{
			Position: schema.Position{File: File("math/2/ratio"), Line: 9, Column: 15}, Severity: schema.Error,
			Rule: "type", Message: `timeout_ms is a string, wanted a number`, Hint: `write 30000`,
		},
		{
			Position: schema.Position{File: "test_definitions/sql/domain.json"}, Severity: schema.Error,
			Rule: "missing-file", Message: `domain.json is missing`,
		},
		{Position: schema.Position{File: File("math/1/case_001"), Line: 3, Column: 3}, Severity: schema.Warning, Rule: "extra-key", Message: `extra key "owner"`},
	}...)
	return s
}

// invalidate adds a case that passed at base and is unreadable at head.
func (s *Scenario) invalidate(key, problem string) {
	s.Add(key, Pass(1), nil, plan.Reason{Part: "invalid", File: File(key), Message: "the definition is invalid"}).Action = plan.Skip
	s.In.Problems = append(s.In.Problems, schema.Problem{
		Position: schema.Position{File: File(key), Line: 7, Column: 5}, Severity: schema.Error, Rule: "unknown-field", Message: problem,
	})
}

// WaitingDefinition has a definition whose tests a program makes, which does not start before
// the head is approved, and cases of other definitions.
func WaitingDefinition() *Scenario {
	s := New()
	s.Same("math/1", 6, 1)
	file := File("math/2/ratio")
	s.Add("math/2/ratio", Pass(1), nil, plan.Reason{Part: "invalid", File: file, Message: plan.Waits}).Action = plan.Skip
	s.In.Problems = append(s.In.Problems, schema.Problem{
		Position: schema.Position{File: file, Line: 3, Column: 10}, Severity: schema.Error, Rule: schema.RuleWaits,
		Message: "the tests of gen.js: it starts a program, and word.js is changed here: programs run as base has them until the head is approved", Hint: "have somebody with write access approve the head",
	})
	return s
}

// FreshLedger has cases that nobody has judged before, and an invalid definition.
func FreshLedger() *Scenario {
	s := New()
	s.Unjudged("math/1", 9)
	s.Same("sql/1", 1, 0.9)
	base, head := Refund()
	s.Add("support/3/refund_window", base, head, prompt("test_definitions/support/domain.json"))
	s.Unjudged("talk/1", 2)
	s.invalidate("talk/2/capital", "unknown field")
	return s
}

// ChangedCases has n cases, every third of which got worse.
func ChangedCases(n int) *Scenario {
	s := New()
	for i := range n {
		key := fmt.Sprintf("domain_%02d/%d/case_%04d", i%40, i%5+1, i)
		base, head := Refund()
		switch i % 3 {
		case 1:
			base, head = head, base
		case 2:
			base, head = nil, Pass(0.9)
		}
		why := prompt("test_definitions/" + key + "/domain.json")
		if base == nil {
			why = newCase(key)
		}
		s.Add(key, base, head, why)
	}
	return s
}

// ErrorsOnly has cases without a judgement.
func ErrorsOnly() *Scenario {
	s := New()
	s.Same("math/1", 6, 1)
	failed := &Side{Verdict: verdict.Error, Reason: "target timed out after 30 s, 3 attempts"}
	s.Add("support/1/greeting", Pass(1), failed, prompt("test_definitions/support/domain.json"))
	s.Add("support/1/farewell", Pass(1), &Side{}, prompt("test_definitions/support/domain.json"))
	s.Add("support/2/unknown_at_base", &Side{}, Fail(0.3, "no greeting"), prompt("test_definitions/support/domain.json"))
	s.In.Notices = []report.Notice{{File: "gavel.yaml", Message: "support-agent has no revision: the deployed version is unknown"}}
	return s
}

// MovedRemovedNew has cases that were added, removed, moved, skipped or accepted.
func MovedRemovedNew() *Scenario {
	s := New()
	s.Same("math/1", 3, 1)
	s.Move("math/2/sum", "math/1/sum", Pass(1))
	s.Add("returns/1/double_charge", Fail(0.2, "charged twice"), &Side{Skip: "enabled is false"}, plan.Reason{Part: "status", Message: "enabled is false"})
	s.Add("returns/1/other", Pass(1), &Side{Skip: "enabled is false"}, plan.Reason{Part: "status", Message: "enabled is false"})
	s.Add("sql/1/select_star", Pass(1), nil, plan.Reason{Part: "removed", Message: "the case is gone"})
	s.Add("sql/1/was_red", Fail(0, "wrong columns"), nil, plan.Reason{Part: "removed", Message: "the case is gone"})
	s.Add("sql/2/join_three_tables", nil, Pass(1), newCase("sql/2/join_three_tables"))
	s.Add("sql/2/left_join", nil, Fail(0.5, "expected_columns: total is missing"), newCase("sql/2/left_join"))
	row := s.Add("math/1/lax", Fail(0.6, "2 of 3 keywords"), Pass(0.6), plan.Reason{Part: "threshold", File: File("math/1/lax"), Message: "threshold 0.7 → 0.5"})
	row.Action, row.HeadDigests.J = plan.Redecide, row.BaseDigests.J
	row.BaseCase.Evaluators = []schema.Evaluator{{Name: "keyword", Rule: schema.Rule{Threshold: 0.7}}}
	row.HeadCase.Evaluators = []schema.Evaluator{{Name: "keyword", Rule: schema.Rule{Threshold: 0.5}}}
	flaky := s.Add("talk/2/capital", Pass(1), Fail(0.4, "Lyon"), plan.Reason{Part: "all", Message: "--all"})
	flaky.HeadDigests = flaky.BaseDigests
	return s
}

// Lightened reduces the weight of a case that fails on both sides; another case with
// weight 0 fails, too.
func Lightened() *Scenario {
	s := New()
	s.Same("math/1", 3, 1)
	for _, key := range []string{"math/2/ratio", "math/2/units"} {
		row := s.Add(key, Fail(0, "wrong"), Fail(0, "wrong"), plan.Reason{})
		row.Action, row.Reasons, row.HeadDigests = plan.Reuse, nil, row.BaseDigests
	}
	rows := s.In.Plan.Rows
	ratio, units := &rows[len(rows)-2], &rows[len(rows)-1]
	ratio.Base.Weight, ratio.Head.Weight = 1, 0
	units.Base.Weight, units.Head.Weight = 0, 0
	least := 0.9
	s.In.Gate = report.GateSettings{MinScore: &least}
	return s
}

// Weightless has a full score because the failing case has weight 0.
func Weightless() *Scenario {
	s := Lightened()
	rows := s.In.Plan.Rows
	rows[len(rows)-2].Base.Weight = 0
	return s
}

// Withdrawn drops cases of base in every way, and base has a verdict of only one.
func Withdrawn() *Scenario {
	s := New()
	s.Unjudged("math/1", 3)
	for i := range 10 {
		s.Add(fmt.Sprintf("returns/1/case_%02d", i+1), &Side{}, nil, plan.Reason{Part: "removed", Message: "the case is gone"})
	}
	s.Add("returns/2/red", Fail(0.2, "wrong amount"), nil, plan.Reason{Part: "removed", Message: "the case is gone"})
	s.Add("returns/2/ignored", &Side{}, nil, plan.Reason{Part: plan.Ignored, File: ".gavelignore", Message: "the case is gone: its file is ignored"})
	s.Add("sql/1/disabled", &Side{}, &Side{Skip: "the test is not enabled"}, plan.Reason{Part: "status", Message: "the test is not enabled"})
	draft := s.Add("sql/1/drafted", Pass(1), &Side{Skip: "the status is draft"}, plan.Reason{Part: "status", Message: "the status is draft"})
	draft.Head.Labels.Status = "draft"
	return s
}

// Superseded was cancelled after its first case by another head.
func Superseded() *Scenario {
	s := New()
	s.Same("math/1", 30, 1)
	base, head := Refund()
	why := prompt("test_definitions/support/domain.json")
	s.Add("support/3/refund_window", base, head, why)
	for _, key := range []string{"support/3/returns_abroad", "support/3/warranty"} {
		s.Add(key, Pass(1), &Side{}, why)
		s.In.Head[key] = &report.Outcome{Unrun: "not run: another head came"}
	}
	return s
}

// Waiting has cases that may not run yet.
func Waiting() *Scenario {
	s := New()
	s.Same("math/1", 30, 1)
	for _, key := range []string{"support/1/greeting", "support/3/refund_window"} {
		s.Add(key, Pass(1), &Side{}, prompt("test_definitions/support/domain.json"))
	}
	s.Add("math/2/new", nil, &Side{}, newCase("math/2/new"))
	judge := s.Add("talk/1/tone", Pass(1), &Side{}, plan.Reason{Part: "evaluator", File: "test_definitions/evaluators/tone.json", Message: "evaluator tone: criteria.warmth.description changed"})
	judge.Action = plan.Rejudge
	s.In.NotRun = "the pull request comes from a fork and waits for approval"
	return s
}

// HostileTexts returns hostile texts, one for each known way out of the text.
func HostileTexts() []string {
	return []string{
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
}

// Hostile has a hostile text in every possible field.
func Hostile(texts []string) *Scenario {
	n := 0
	next := func() string { n++; return texts[(n-1)%len(texts)] }
	s := New()
	for i := range texts {
		key := fmt.Sprintf("%d/%s/%s/%s", i, next(), next(), next())
		base, head := Refund()
		head.Reason = next()
		for m := range head.Transcript {
			head.Transcript[m].Content = next()
			head.Transcript[m].Role = next()
		}
		head.Transcript[3].ToolCalls[0].Function = schema.FunctionCall{Name: next(), Arguments: next()}
		for c := range head.Criteria {
			head.Criteria[c].ID, head.Criteria[c].Note = next(), next()
			head.Criteria[c].Expected, head.Criteria[c].Actual = head.Criteria[c].ID, head.Criteria[c].Note
		}
		switch i % 5 {
		case 1:
			head.Verdict = verdict.Error
		case 2:
			base, head = head, base
		case 3:
			head = &Side{Skip: next()}
		}
		row := s.Add(key, base, head, plan.Reason{Part: next(), File: next(), Message: next()})
		if i%5 == 4 {
			row.MovedFrom, row.Action = next(), plan.Reuse
			if row.Base != nil {
				row.Base.Key = row.MovedFrom
			}
		}
		row.Target = next()
		s.In.Problems = append(s.In.Problems, schema.Problem{
			Position: schema.Position{File: next(), Line: 1}, Severity: schema.Error, Rule: next(), Message: next(), Hint: next(),
		})
		s.In.Notices = append(s.In.Notices, report.Notice{File: next(), Line: 3, Case: next(), Message: next()})
	}
	s.In.ConfigDigest, s.In.Run = next(), next()
	s.In.Gate.Required = []string{next()}
	return s
}

// Costlier has cases that pass on both sides, and whose answers took more at head.
func Costlier() *Scenario {
	s := New()
	taking := func(cents, tokens float64) *report.Outcome {
		usd := cents / 100
		return &report.Outcome{EffortUSD: &usd, Effort: &verdict.Effort{
			Samples: 1, Calls: 1, InputTokens: int64(tokens), Latency: time.Duration(cents * float64(time.Second)), Turns: 1, ToolCalls: 1 + int(cents),
		}}
	}
	for i, head := range []float64{1.2, 1.4, 1.1, 2.3} {
		key := fmt.Sprintf("math/1/c%d", i)
		row := s.Add(key, Pass(1), Pass(1), prompt("test_definitions/math/domain.json"))
		row.BaseDigests.E, row.HeadDigests.E = "base "+key, "head "+key
		for outcomes, took := range map[*map[string]*report.Outcome]*report.Outcome{&s.In.Base: taking(1, 900), &s.In.Head: taking(head, 1000)} {
			o := (*outcomes)[key]
			o.Effort, o.EffortUSD = took.Effort, took.EffortUSD
		}
	}
	s.Same("sql/1", 6, 1)
	return s
}
