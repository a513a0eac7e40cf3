package run_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A rejudgeFixture judges a case by two models with different answers.
type rejudgeFixture struct {
	*fixture
	agent, judge, other *script
	model               string // of the judge
	reuse               *config.Reuse
	trust               ledger.Trust
	notBefore           time.Time
	again               int
}

func newRejudgeFixture(t *testing.T) *rejudgeFixture {
	s := &rejudgeFixture{fixture: newFixture(t), model: "large", trust: ledger.Trust{Level: ledger.LevelOperator}}
	s.clock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s.agent = &script{answer: always("hello")}
	s.judge = &script{answer: func(n int, _ target.Request) (target.Reply, error) {
		return says(fmt.Sprintf(`{"score": 1, "reasoning": "judged %d"}`, n)), nil
	}}
	s.other = &script{answer: always(`{"score": 1, "reasoning": "by the other one"}`)}
	return s
}

// judged runs a case and counts the calls that it takes: of the agent, the judge and the other
// one.
func (s *rejudgeFixture) judged(t *testing.T, c *schema.Case, wantCalls string) run.Outcome {
	t.Helper()
	s.agent.asked, s.judge.asked, s.other.asked = nil, nil, nil
	facts := func(model string) plan.Target { return plan.Target{Facts: []plan.Fact{{Name: "model", Value: model}}} }
	env := &plan.Environment{DefaultTarget: "bot", Roles: map[schema.Role]string{schema.Judge: "judge"}, Targets: map[string]plan.Target{
		"bot": facts("small"), "judge": facts(s.model), "other": facts("other"),
	}}
	job := run.Job{Case: c, Target: "bot", Scope: ledger.Scope{Trust: s.trust, NotBefore: s.notBefore}, Digests: plan.Digest(c, env), Again: s.again}
	if s.again > 0 {
		job.Digests = job.Digests.Remeasured("base", s.again, plan.KeptTranscript)
	}
	out, err := run.Run(t.Context(), run.Config{
		Ledger: s.store, Trust: s.trust, Roles: env.Roles, Clock: clock.Funcs{NowFunc: s.now()},
		Targets: map[string]run.Target{
			"bot": {Target: s.agent, Config: s.cfg}, "judge": {Target: s.judge, Config: config.Target{Name: "judge", Kind: config.Model, Reuse: s.reuse}},
			"other": {Target: s.other, Config: config.Target{Name: "other", Kind: config.Model}},
		},
	}, []run.Job{job})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(len(s.agent.asked), len(s.judge.asked), len(s.other.asked)); got != wantCalls {
		t.Errorf("the agent, the judge and the other one were called %s times, want %s", got, wantCalls)
	}
	if n := len(s.agent.asked) + len(s.judge.asked) + len(s.other.asked); out[0].Spent.Calls != n && out[0].Fault.At.IsZero() {
		t.Errorf("%d calls were spent, and %d made", out[0].Spent.Calls, n)
	}
	return out[0]
}

// reasons are the judges' reasons in an outcome.
func reasons(out run.Outcome) string {
	var all []string
	for _, e := range out.Result.Evaluators[1:] {
		all = append(all, e.Reason)
	}
	return strings.Join(all, ", ")
}

// judgedBy is a case with a check of a word and questions: to the judge, or to another target
// behind its name and a colon.
func judgedBy(word string, questions ...string) *schema.Case {
	c := greeting("a")
	c.Evaluators[0].Spec = evaluator.Keyword{Keywords: []string{word}}
	for i, question := range questions {
		spec := evaluator.LLMJudge{Template: question}
		if name, asked, ok := strings.Cut(question, ": "); ok {
			spec.Target, spec.Template = name, asked
		}
		c.Evaluators = append(c.Evaluators, schema.Evaluator{Name: fmt.Sprint("judge ", i), Weight: 1, Spec: spec, Rule: schema.Rule{Threshold: 1}})
	}
	return c
}

// TestUnchangedQuestionsOfAJudgeAreNotAskedAgain changes a case that two models have judged.
func TestUnchangedQuestionsOfAJudgeAreNotAskedAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		was    []string
		change func(*rejudgeFixture)
		is     []string
		calls  string // to the agent, the judge and the other one
		want   string // the reasons
	}{
		{"a check", []string{"polite?"}, nil, []string{"polite?"}, "0 0 0", "judged 0"},
		{"another question", []string{"polite?", "short?"}, nil, []string{"polite?", "brief?"}, "0 1 0", "judged 0, judged 0"},
		{"a question is added before", []string{"polite?"}, nil, []string{"short?", "polite?"}, "0 1 0", "judged 0, judged 0"},
		{"a question is removed", []string{"polite?", "short?"}, nil, []string{"short?"}, "0 0 0", "judged 1"},
		{"the order", []string{"polite?", "short?"}, nil, []string{"short?", "polite?"}, "0 0 0", "judged 1, judged 0"},
		{"two votes", []string{"polite?", "polite?"}, nil, []string{"polite?", "polite?"}, "0 0 0", "judged 0, judged 1"},
		{"one vote less", []string{"polite?", "polite?"}, nil, []string{"polite?"}, "0 0 0", "judged 0"},
		{"one vote more", []string{"polite?", "polite?"}, nil, []string{"polite?", "polite?", "polite?"}, "0 1 0", "judged 0, judged 1, judged 0"},
		{"the model", []string{"polite?"}, func(s *rejudgeFixture) { s.model = "larger" }, []string{"polite?"}, "0 1 0", "judged 0"},
		{"another model, first", []string{"other: polite?", "polite?"}, nil, []string{"polite?"}, "0 0 0", "judged 0"},
		{"another model", []string{"polite?"}, nil, []string{"other: polite?"}, "0 0 1", "by the other one"},
		{"no reuse of the judge", []string{"polite?", "other: short?"}, func(s *rejudgeFixture) { s.reuse = &config.Reuse{} }, []string{"polite?", "other: short?"}, "0 1 0", "judged 0, by the other one"},
		{"the judge's replies are too old", []string{"polite?"}, func(s *rejudgeFixture) {
			s.reuse = &config.Reuse{On: true, MaxAge: time.Hour}
			s.clock = s.clock.Add(time.Hour + time.Millisecond)
		}, []string{"polite?"}, "0 1 0", "judged 0"},
		{"the judge's replies are not too old", []string{"polite?"}, func(s *rejudgeFixture) {
			s.reuse = &config.Reuse{On: true, MaxAge: time.Hour}
			s.clock = s.clock.Add(time.Hour)
		}, []string{"polite?"}, "0 0 0", "judged 0"},
		{"the pull request reads what the operator asked", []string{"polite?"}, func(s *rejudgeFixture) {
			s.trust = ledger.Trust{Level: ledger.LevelPull, Repository: "o/r", PullRequest: 7}
		}, []string{"polite?"}, "0 0 0", "judged 0"},
		{"judged again on purpose", []string{"polite?"}, func(s *rejudgeFixture) { s.again = 1 }, []string{"polite?"}, "0 1 0", "judged 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRejudgeFixture(t)
			asked := len(tt.was)
			other := strings.Count(strings.Join(tt.was, " "), "other:")
			before := s.judged(t, judgedBy("hello", tt.was...), fmt.Sprint(1, asked-other, other))
			if before.Saved.Calls != 0 {
				t.Errorf("%d calls were saved where nothing is stored", before.Saved.Calls)
			}
			if tt.change != nil {
				tt.change(s)
			}
			changed := judgedBy("hell", tt.is...)
			out := s.judged(t, changed, tt.calls)
			if got := reasons(out); got != tt.want || out.Result.Verdict != verdict.Pass {
				t.Errorf("%s: %q, want %q", out.Result.Verdict, got, tt.want)
			}
			if saved := len(tt.is) - len(s.judge.asked) - len(s.other.asked); out.Saved.Calls != saved || out.Made.Calls != 1+len(tt.is) {
				t.Errorf("%d calls of %d were saved, want %d of %d", out.Saved.Calls, out.Made.Calls, saved, 1+len(tt.is))
			}
			s.judged(t, changed, "0 0 0")
		})
	}
}

// TestReusedRepliesAreInTheJournal has the journal of the second judgement say which of its
// replies the first one got, and when.
func TestReusedRepliesAreInTheJournal(t *testing.T) {
	s := newRejudgeFixture(t)
	s.judged(t, judgedBy("hello", "polite?", "short?"), "1 2 0")
	began := s.clock
	s.clock = s.clock.Add(time.Hour)
	changed := judgedBy("hell", "short?", "brief?")
	s.judged(t, changed, "0 1 0")
	env := &plan.Environment{DefaultTarget: "bot", Roles: map[schema.Role]string{schema.Judge: "judge"}, Targets: map[string]plan.Target{
		"bot": {Facts: []plan.Fact{{Name: "model", Value: "small"}}}, "judge": {Facts: []plan.Fact{{Name: "model", Value: "large"}}},
	}}
	calls, err := s.store.Calls(t.Context(), ledger.Scope{Trust: s.trust}, plan.Digest(changed, env).J, 0)
	if err != nil || len(calls) != 2 {
		t.Fatalf("%d calls, %v", len(calls), err)
	}
	for i, want := range []struct {
		asked  string
		reused bool
		at     time.Time
	}{{"short?", true, began}, {"brief?", false, s.clock}} {
		request := string(calls[i].Request)
		if !strings.Contains(request, want.asked) || strings.Contains(request, `"reused":true`) != want.reused || !calls[i].At.Equal(want.at) {
			t.Errorf("call %d at %v is %s", i, calls[i].At, request)
		}
	}
}

// TestAFurtherMeasurementIsNotReused judges a conversation again on purpose: a changed case has
// the reply of the first judgement.
func TestAFurtherMeasurementIsNotReused(t *testing.T) {
	s := newRejudgeFixture(t)
	s.judge.answer = func(int, target.Request) (target.Reply, error) {
		return says(fmt.Sprintf(`{"score": 1, "reasoning": "measurement %d"}`, s.again)), nil
	}
	s.judged(t, judgedBy("hello", "polite?"), "1 1 0")
	for s.again = range 3 {
		if s.again > 0 {
			s.judged(t, judgedBy("hello", "polite?"), "0 1 0")
		}
	}
	s.again = 0
	if out := s.judged(t, judgedBy("hell", "polite?"), "0 0 0"); reasons(out) != "measurement 0" {
		t.Errorf("the reply of %s came", reasons(out))
	}
}

// TestReusedRepliesAreTrusted has base ask where only a pull request, or another one, has asked.
func TestReusedRepliesAreTrusted(t *testing.T) {
	pull := func(n int) ledger.Trust {
		return ledger.Trust{Level: ledger.LevelPull, Repository: "o/r", PullRequest: n}
	}
	s := newRejudgeFixture(t)
	s.trust = pull(7)
	s.judged(t, judgedBy("hello", "polite?"), "1 1 0")
	s.judged(t, judgedBy("hell", "polite?"), "0 0 0")
	s.trust = pull(8)
	s.judged(t, judgedBy("hell", "polite?"), "1 1 0")
	s.trust = ledger.Trust{Level: ledger.LevelBase}
	s.judged(t, judgedBy("hell", "polite?"), "1 1 0")
	s.trust = pull(9)
	s.judged(t, judgedBy("ello", "polite?"), "0 0 0")
}

// TestARejudgedSampleIsTheSameOne has the judge asked about each sample, although all say the
// same.
func TestARejudgedSampleIsTheSameOne(t *testing.T) {
	s := newRejudgeFixture(t)
	s.judge.answer = func(n int, _ target.Request) (target.Reply, error) {
		return says(fmt.Sprintf(`{"score": 0.%d}`, 4+4*n)), nil
	}
	c := judgedBy("hello", "polite?")
	c.Policy.Iterations = 2
	before := s.judged(t, c, "2 2 0").Result.Score
	c = judgedBy("hell", "polite?")
	c.Policy.Iterations = 2
	if now := s.judged(t, c, "0 0 0").Result.Score; math.Abs(*before-0.8) > 1e-9 || math.Abs(*now-0.8) > 1e-9 {
		t.Errorf("the score was %v and is %v, want the mean of 0.4 and 0.8, and 1 of the check", *before, *now)
	}
	c.Policy.Iterations = 3
	s.judged(t, c, "1 1 0")
	s.clock = s.clock.Add(time.Hour)
	s.notBefore = time.Now().Add(time.Hour) // of the ledger's clock
	s.judged(t, judgedBy("ello", "polite?"), "1 1 0")
}

// TestRepliesThatCouldNotBeReadAreNotReused asks the judge again at once.
func TestRepliesThatCouldNotBeReadAreNotReused(t *testing.T) {
	s := newRejudgeFixture(t)
	readable := s.judge.answer
	s.judge.answer = always("mumble")
	if out := s.judged(t, judgedBy("hello", "polite?"), "1 3 0"); out.Result.Verdict != verdict.Error {
		t.Fatal(out.Result.Verdict)
	}
	s.judge.answer = readable
	if out := s.judged(t, judgedBy("hell", "polite?"), "0 1 0"); out.Result.Verdict != verdict.Pass || out.Saved.Calls != 0 {
		t.Errorf("%s: %s, %d calls saved", out.Result.Verdict, out.Result.Reason, out.Saved.Calls)
	}
	if out := s.judged(t, judgedBy("ello", "polite?"), "0 0 0"); out.Result.Verdict != verdict.Pass || reasons(out) != "judged 0" {
		t.Errorf("%s: %s", out.Result.Verdict, reasons(out))
	}
}

// TestAnUnfinishedJudgementIsReused changes a case of which some questions were answered, in a
// sample that was stored, and in a run that was killed before.
func TestAnUnfinishedJudgementIsReused(t *testing.T) {
	s := newRejudgeFixture(t)
	readable := s.other.answer
	s.other.answer = func(int, target.Request) (target.Reply, error) {
		return target.Reply{}, &target.Error{Target: "other", Message: "gone"}
	}
	if out := s.judged(t, judgedBy("hello", "polite?", "other: short?"), "1 1 1"); out.Result.Verdict != verdict.Error {
		t.Fatal(out.Result.Verdict)
	}
	s.other.answer = readable
	if out := s.judged(t, judgedBy("hello", "polite?", "other: brief?"), "0 0 1"); out.Result.Verdict != verdict.Pass {
		t.Error(out.Result.Reason)
	}
	err := s.store.Store().Submit(t.Context(), func(tx *store.Tx) error {
		for _, table := range []string{"verdicts", "judgements", "transcripts", "samples"} {
			if err := tx.Exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := s.judged(t, judgedBy("hell", "polite?", "other: brief?"), "0 0 0"); out.Result.Verdict != verdict.Pass || out.Saved.Calls != 2 {
		t.Errorf("%s, %d calls saved", out.Result.Reason, out.Saved.Calls)
	}
}

// TestComparedOutputsAreNotComparedAgain changes a check of a case with two prompts, whose
// outputs a judge has compared.
func TestComparedOutputsAreNotComparedAgain(t *testing.T) {
	s := newRejudgeFixture(t)
	s.agent.answer = func(_ int, req target.Request) (target.Reply, error) { return says("hello" + req.System), nil }
	s.judge.answer = always(`{"better": "first", "analysis": "clearer"}`)
	compared := func(word string) *schema.Case {
		c := judgedBy(word)
		c.Alternative = &schema.Alternative{System: "B", Comparison: evaluator.Comparison{}}
		return c
	}
	out := s.judged(t, compared("hello"), "2 2 0")
	if c := out.Result.Comparison; c == nil || c.Errors > 0 {
		t.Fatalf("the comparison is %+v", c)
	}
	if out = s.judged(t, compared("hell"), "0 0 0"); out.Saved.Calls != 2 || out.Result.Comparison.Errors > 0 {
		t.Errorf("%d calls saved, %+v", out.Saved.Calls, out.Result.Comparison)
	}
}

// TestAJudgeIsNotAskedAgainBecauseOfAnotherCheck has a check that cannot be measured next to a
// judge, in a run and in the runs after it.
func TestAJudgeIsNotAskedAgainBecauseOfAnotherCheck(t *testing.T) {
	s := newRejudgeFixture(t)
	c := judgedBy("hello", "polite?")
	c.Evaluators[0].Spec = evaluator.Measured{Type: "cost", Quantities: []string{"cost_usd"}} // without a price
	for _, calls := range []string{"1 1 0", "0 0 0", "0 0 0"} {
		if out := s.judged(t, c, calls); out.Result.Verdict != verdict.Error {
			t.Errorf("%s: %s", out.Result.Verdict, out.Result.Reason)
		}
	}
	if out := s.judged(t, judgedBy("hello", "polite?"), "0 0 0"); out.Result.Verdict != verdict.Pass {
		t.Errorf("%s: %s", out.Result.Verdict, out.Result.Reason)
	}
}
