package remeasure_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// outcome is the outcome of a case that passes with a score.
func outcome(score float64) *report.Outcome {
	return &report.Outcome{Result: verdict.Result{Verdict: verdict.Pass, Score: &score, Samples: 1}}
}

// turns compares four conversations of three turns each, whose scores moved together.
// label names the conversation of a turn.
func turns(t *testing.T, label func(conversation, turn int) (name, target string)) float64 {
	t.Helper()
	cfg, problems := config.Parse("gavel.yaml", []byte("version: 1\ndefault_target: bot\ntargets: {bot: {provider: openai, model: m}, other: {provider: openai, model: m}}\n"))
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	c := remeasure.Comparison{
		Head: map[string]*report.Outcome{}, Base: map[string]*report.Outcome{}, HeadConfig: cfg, BaseConfig: cfg,
		Required: func(string) bool { return false }, Ledger: ledgertest.Open(t, ledger.Config{}),
	}
	for n := range 12 {
		conversation, turn := n/3, n%3
		one := &schema.Case{CaseInfo: schema.CaseInfo{Key: fmt.Sprint("talk#", n), Weight: 1}}
		var target string
		one.Labels.Conversation, target = label(conversation, turn)
		head := plan.Digests{E: fmt.Sprint("e", n), J: fmt.Sprint("j", n), D: fmt.Sprint("d", n)}
		base := plan.Digests{E: "b" + head.E, J: "b" + head.J, D: "b" + head.D}
		c.Rows = append(c.Rows, remeasure.Row{
			Row: &plan.Row{
				Key: one.Key, Target: target, Action: plan.Run, Head: &one.CaseInfo, Base: &one.CaseInfo, HeadCase: one, BaseCase: one,
				HeadDigests: head, BaseDigests: base, Samples: 1,
			},
			Head: run.Job{Case: one, Digests: head, Target: target}, Base: &run.Job{Case: one, Digests: base, Target: target},
		})
		c.Head[one.ID()], c.Base[one.ID()] = outcome(0.5+0.1*float64(conversation)), outcome(0.5)
	}
	found, err := c.Decide(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found.Result.Interval == nil {
		t.Fatal("there is no interval of the difference")
	}
	return found.Result.Interval.High - found.Result.Interval.Low
}

// TestTurnsOfAConversationAreOneCluster: turns of a conversation move together, so they
// say less about the difference than the same number of independent cases. Turns for
// another target are another conversation.
func TestTurnsOfAConversationAreOneCluster(t *testing.T) {
	alone := turns(t, func(int, int) (string, string) { return "", "bot" })
	named := turns(t, func(conversation, _ int) (string, string) { return fmt.Sprint("talk ", conversation), "bot" })
	if named <= alone {
		t.Errorf("the interval is %.3f wide with conversations, want more than the %.3f of single cases", named, alone)
	}
	apart := turns(t, func(conversation, turn int) (string, string) {
		return fmt.Sprint("talk ", conversation), map[bool]string{true: "bot", false: "other"}[turn == 0]
	})
	if apart >= named {
		t.Errorf("the interval is %.3f wide with a conversation per target, want less than %.3f", apart, named)
	}
}

// TestGivenAnswersAreCertain: where nobody is asked, what got worse is a regression without
// being measured again, however much the target leaves to chance.
func TestGivenAnswersAreCertain(t *testing.T) {
	cfg, problems := config.Parse("gavel.yaml", []byte("version: 1\ntargets: {bot: {provider: openai, model: m}}\n"))
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	right, wrong := "right", "wrong"
	for _, tt := range []struct {
		base, head *string
		peers      []*schema.Case
		certain    bool
	}{
		{nil, nil, nil, false},
		{nil, &wrong, nil, false},
		{&right, &wrong, nil, true},
		{&right, &wrong, []*schema.Case{{Drive: schema.Drive{Given: &right}}}, true},
		{&right, &wrong, []*schema.Case{{}}, false},
	} {
		of := func(given *string) *schema.Case {
			return &schema.Case{CaseInfo: schema.CaseInfo{Key: "a", Weight: 1}, Drive: schema.Drive{Given: given}, Peers: tt.peers}
		}
		base, head := of(tt.base), of(tt.head)
		was, is := plan.Digests{E: "e", J: "j", D: "d"}, plan.Digests{E: "e2", J: "j2", D: "d2"}
		failed := outcome(0)
		failed.Result.Verdict = verdict.Fail
		c := remeasure.Comparison{
			Rows: []remeasure.Row{{
				Row: &plan.Row{
					Key: "a", Target: "bot", Action: plan.Run, Head: &head.CaseInfo, Base: &base.CaseInfo, HeadCase: head, BaseCase: base,
					HeadDigests: is, BaseDigests: was, Samples: 1,
				},
				Head: run.Job{Case: head, Digests: is, Target: "bot"}, Base: &run.Job{Case: base, Digests: was, Target: "bot"},
			}},
			Head: map[string]*report.Outcome{head.ID(): failed}, Base: map[string]*report.Outcome{base.ID(): outcome(1)},
			HeadConfig: cfg, BaseConfig: cfg, Required: func(string) bool { return false }, Ledger: ledgertest.Open(t, ledger.Config{}),
		}
		found, err := c.Decide(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := found.Result.Findings[0]; got.Certain != tt.certain || got.Confirmed != tt.certain {
			t.Errorf("the finding is %+v, want certain and confirmed to be %v", got, tt.certain)
		}
	}
}

// A judged spec is an evaluator that a role judges.
type judged struct{ role schema.Role }

func (judged) Kind() string           { return "judged" }
func (judged) Version() int           { return 1 }
func (j judged) Roles() []schema.Role { return []schema.Role{j.role} }

// got compares cases that base passed and head failed, with changes to the comparison.
func got(t *testing.T, text string, cases []*schema.Case, change func(*remeasure.Comparison)) (*remeasure.Comparison, *report.NoiseFindings, error) {
	t.Helper()
	cfg, problems := config.Parse("gavel.yaml", []byte("version: 1\n"+text))
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	c := &remeasure.Comparison{
		Head: map[string]*report.Outcome{}, Base: map[string]*report.Outcome{},
		HeadConfig: cfg, BaseConfig: cfg, Required: func(string) bool { return false }, Ledger: ledgertest.Open(t, ledger.Config{}),
	}
	for _, one := range cases {
		failed := outcome(0)
		failed.Result.Verdict = verdict.Fail
		was, is := plan.Digests{E: one.Key + "e", J: one.Key + "j", D: one.Key + "d"}, plan.Digests{E: one.Key + "e2", J: one.Key + "j2", D: one.Key + "d2"}
		c.Rows = append(c.Rows, remeasure.Row{
			Row: &plan.Row{
				Key: one.Key, Target: "bot", Action: plan.Run, Head: &one.CaseInfo, Base: &one.CaseInfo, HeadCase: one, BaseCase: one,
				HeadDigests: is, BaseDigests: was, Samples: 1,
			},
			Head: run.Job{Case: one, Digests: is, Target: "bot"}, Base: &run.Job{Case: one, Digests: was, Target: "bot"},
		})
		c.Head[one.ID()], c.Base[one.ID()] = failed, outcome(1)
	}
	change(c)
	found, err := c.Decide(t.Context())
	return c, found, err
}

func keyed(key string) *schema.Case {
	return &schema.Case{CaseInfo: schema.CaseInfo{Key: key, Weight: 1}}
}

// TestAJudgeThatAnEvaluatorNames is asked, too: what it says of a deterministic agent is
// left to chance, and one fail is not a regression.
func TestAJudgeThatAnEvaluatorNames(t *testing.T) {
	const targets = "default_target: bot\ntargets: {bot: {provider: mock, replies: [{reply: hi}]}, noisy: {provider: openai, model: m}, usual: {provider: openai, model: m}}\n"
	for _, tt := range []struct {
		name, roles string
		spec        schema.Spec
		certain     bool
	}{
		{"the judge of the file", "roles: {judge: usual}\n", judged{schema.Judge}, false},
		{"the deterministic judge of the file", "roles: {judge: bot}\n", judged{schema.Judge}, true},
		{"a judge of its own", "roles: {judge: bot}\n", judged{evaluator.JudgeBy("noisy")}, false},
		{"a deterministic one of its own", "roles: {judge: usual}\n", judged{evaluator.JudgeBy("bot")}, true},
		{"a rubric with a model", "roles: {judge: bot}\n", evaluator.Graded{Target: "noisy"}, false},
		{"a rubric with a deterministic model", "roles: {judge: usual}\n", evaluator.Graded{Target: "bot"}, true},
		{"a transformed one with a model", "roles: {judge: bot}\n", evaluator.Transformed{Spec: evaluator.Graded{Target: "noisy"}}, false},
		{"a judge of a model", "roles: {judge: bot}\n", evaluator.LLMJudge{Target: "noisy"}, false},
		{"rubrics of a model", "roles: {judge: bot}\n", evaluator.Rubrics{Target: "noisy"}, false},
		{"a similarity by a model", "roles: {judge: bot}\n", evaluator.Similar{Target: "noisy"}, false},
		{"a class by a model", "roles: {judge: bot}\n", evaluator.Classified{Target: "noisy"}, false},
		{"a selection by a model", "roles: {judge: bot}\n", evaluator.SelectBest{Target: "noisy"}, false},
		{"a program that may ask a model", "roles: {judge: bot}\n", evaluator.CodeJudge{Target: "noisy", MaxCalls: 1}, false},
		{"a program that may not ask it", "roles: {judge: bot}\n", evaluator.CodeJudge{Target: "noisy"}, true},
	} {
		one := keyed("a")
		one.Evaluators = []schema.Evaluator{{Name: "judged", Spec: tt.spec}}
		_, found, err := got(t, targets+tt.roles, []*schema.Case{one}, func(*remeasure.Comparison) {})
		if err != nil {
			t.Fatal(err)
		}
		if f := found.Result.Findings[0]; f.Certain != tt.certain || f.Confirmed != tt.certain {
			t.Errorf("%s: the finding is %+v, want certain and confirmed to be %v", tt.name, f, tt.certain)
		}
	}
}

// TestALedgerThatCannotBeRead is an error of the comparison, and not a case without
// stored outcomes.
func TestALedgerThatCannotBeRead(t *testing.T) {
	for _, tt := range []struct {
		name string
		base bool
	}{{"with a base", true}, {"a new case", false}} {
		_, found, err := got(t, "targets: {bot: {provider: openai, model: m}}\nnoise: {new: {runs: 3, pass: 2}}\n", []*schema.Case{keyed("a")}, func(c *remeasure.Comparison) {
			if !tt.base {
				c.Rows[0].Row.Base, c.Rows[0].BaseCase, c.Rows[0].Base = nil, nil, nil
			}
			if err := c.Ledger.Close(); err != nil {
				t.Fatal(err)
			}
		})
		if err == nil {
			t.Errorf("%s: there is no error, and the findings are %+v", tt.name, found)
		}
	}
}

// TestHistoriesOfCasesThatWereCompared begin again, and no others.
func TestHistoriesOfCasesThatWereCompared(t *testing.T) {
	c, found, err := got(t, "targets: {bot: {provider: openai, model: m}}\n", []*schema.Case{keyed("compared"), keyed("unjudged"), keyed("new")}, func(c *remeasure.Comparison) {
		delete(c.Head, keyed("unjudged").ID())
		c.Rows[2].Row.Base, c.Rows[2].BaseCase, c.Rows[2].Base, c.Rows[2].BaseDigests = nil, nil, nil, plan.Digests{}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.BeginHistories(t.Context(), found, time.UnixMilli(1000)); err != nil {
		t.Fatal(err)
	}
	begun, err := ledger.HistoriesBegun(t.Context(), c.Ledger, []string{"comparedj", "unjudgedj", ""})
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(begun)); !slices.Equal(names, []string{"comparedj"}) {
		t.Errorf("the histories of %q begin again, want that of comparedj alone", names)
	}
}

// TestAnOutageOfABaseThatIsGone is measured again at head alone: nobody can be asked as
// at base, and head's agent is not asked in its place.
func TestAnOutageOfABaseThatIsGone(t *testing.T) {
	var cases []*schema.Case
	for i := range 6 {
		cases = append(cases, keyed(fmt.Sprint("case", i)))
	}
	said := &verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "Sorry."}}}
	asked := 0
	_, _, err := got(t, "targets: {bot: {provider: openai, model: m}}\n", cases, func(c *remeasure.Comparison) {
		c.Started = time.UnixMilli(1000)
		for i := range c.Rows {
			c.Rows[i].Base.Case = nil
			for _, side := range []map[string]*report.Outcome{c.Base, c.Head} {
				failed := outcome(0)
				failed.Result.Verdict, failed.Transcript = verdict.Fail, said
				side[cases[i].ID()] = failed
			}
		}
		c.Measure = func(_ context.Context, jobs [2][]run.Job) (out [2][]run.Outcome, err error) {
			asked += len(jobs[confirm.Base])
			for side := range jobs {
				for i := range jobs[side] {
					out[side] = append(out[side], run.Outcome{Result: c.Head[jobs[side][i].Case.ID()].Result})
				}
			}
			return out, nil
		}
	})
	if err != nil || asked > 0 {
		t.Errorf("base is asked %d times, %v; want that it is not", asked, err)
	}
}
