package remeasure_test

import (
	"fmt"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// outcome is that of a case that passes with a score.
func outcome(score float64) report.Outcome {
	return report.Outcome{Result: verdict.Result{Verdict: verdict.Pass, Score: &score, Samples: 1}}
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
		Head: map[string]report.Outcome{}, Base: map[string]report.Outcome{}, HeadConfig: cfg, BaseConfig: cfg,
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

// TestTurnsOfAConversationAreOneCluster: turns of a conversation move together, so that
// they say less of the difference than as many cases that have nothing in common. Those
// of another target are another conversation.
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
			Head: map[string]report.Outcome{head.ID(): failed}, Base: map[string]report.Outcome{base.ID(): outcome(1)},
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
