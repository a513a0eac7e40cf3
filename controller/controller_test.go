package controller_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// files is a repository with two domains.
func files() fstest.MapFS {
	f := fstest.MapFS{}
	for _, tt := range []struct{ name, text string }{
		{"test_definitions/math/domain.json", `{"id": "math", "name": "Math", "evaluator_id": "two_pass", "system_prompt": "Calculate."}`},
		{"test_definitions/math/level_1/sum.json", `{"id": "sum", "name": "Sum", "prompt": "1 + 1?", "expected": {"answer": 2}}`},
		{"test_definitions/math/level_2/product.json", `{"id": "product", "name": "Product", "prompt": "3 * 4?", "expected": {"answer": "12"}}`},
		{"test_definitions/talk/domain.json", `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`},
		{"test_definitions/talk/level_1/hello.json", `{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["hello", "hi"]}}`},
		{"test_definitions/talk/level_1/forbidden.json", `{"id": "forbidden", "name": "Never", "prompt": "say no", "expected": {"forbidden": ["yes"]}}`},
	} {
		f[tt.name] = &fstest.MapFile{Data: []byte(tt.text)}
	}
	return f
}

// clone copies a repository and changes some files; an empty text removes one.
func clone(f fstest.MapFS, changes map[string]string) (fstest.MapFS, []string) {
	out := fstest.MapFS{}
	for name, file := range f {
		out[name] = file
	}
	var changed []string
	for name, text := range changes {
		changed = append(changed, name)
		if text == "" {
			delete(out, name)
			continue
		}
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out, changed
}

// calculator answers what it is asked, and counts.
type calculator struct{ calls atomic.Int64 }

func (c *calculator) Respond(_ context.Context, req target.Request) (target.Reply, error) {
	c.calls.Add(1)
	answers := map[string]string{"1 + 1?": "2", "3 * 4?": "12", "hello": "Hello, hi!", "say no": "no"}
	text, ok := answers[req.Messages[len(req.Messages)-1].Content]
	if !ok {
		text = "7"
	}
	return target.Reply{
		Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text}},
		Traced:   true, Usage: verdict.Usage{Calls: 1, InputTokens: 10, OutputTokens: 1},
	}, nil
}

type fixture struct {
	*calculator
	store *ledger.Ledger
	// trust is head's.
	trust ledger.Trust
}

var operator = ledger.Trust{Level: ledger.LevelOperator}

func newFixture(t *testing.T) fixture {
	t.Helper()
	return fixture{&calculator{}, ledgertest.Open(t, ledger.Config{}), operator}
}

func settings() *config.Config {
	c := config.Default()
	c.Targets = map[string]config.Target{"bot": {Name: "bot", Provider: config.Mock, Kind: config.Model}}
	c.DefaultTarget = "bot"
	c.Reuse.On = true
	return c
}

// run judges head against base, which may be nil.
func (b fixture) run(t *testing.T, base, head fstest.MapFS, changed []string) (*controller.Prepared, *report.Report) {
	t.Helper()
	req := controller.Request{
		Head:       controller.Checkout{Commit: controller.Worktree, FS: head, Config: settings()},
		ConfigFile: "gavel.yaml", Ledger: b.store, HeadTrust: b.trust, BaseTrust: operator,
		LookupEnv: nowhere,
	}
	if base != nil {
		req.Base = &controller.Checkout{Commit: "4b07d1a4b07d1a4b07d1a4b07d1a4b07d1a4b07d", FS: base, Config: settings()}
		req.Changed = func(context.Context, []string) ([]string, error) { return changed, nil }
	}
	p, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	report, err := p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return b.calculator, nil }), controller.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p, report
}

func TestUnchangedTreeMakesNoCall(t *testing.T) {
	b := newFixture(t)
	_, first := b.run(t, nil, files(), nil)
	if first.Summary.Pass != 4 || b.calls.Load() != 4 {
		out, _ := json.Marshal(first)
		t.Fatalf("the first run passed %d cases with %d calls: %s", first.Summary.Pass, b.calls.Load(), out)
	}
	_, second := b.run(t, nil, files(), nil)
	if b.calls.Load() != 4 || second.Summary.Reused != 4 || second.Summary.Pass != 4 {
		t.Errorf("the second run made %d calls and reused %d", b.calls.Load()-4, second.Summary.Reused)
	}
}

func TestOnlyTheAffectedCaseIsCalled(t *testing.T) {
	b := newFixture(t)
	b.run(t, nil, files(), nil)
	b.calls.Store(0)
	head, changed := clone(files(), map[string]string{
		"test_definitions/math/level_1/sum.json": `{"id": "sum", "name": "Sum", "prompt": "What is 1 + 1?", "expected": {"answer": 2}}`,
	})
	p, rep := b.run(t, files(), head, changed)
	if b.calls.Load() != 1 {
		t.Errorf("%d calls, want 1", b.calls.Load())
	}
	if rep.Diff.Regressions != 1 || rep.Gate.Result != report.GateFail {
		t.Errorf("regressions %d, gate %+v", rep.Diff.Regressions, rep.Gate)
	}
	for _, row := range p.Plan.Rows {
		if row.Key != "math/level_1/sum" {
			if row.Action != plan.Reuse || len(row.Reasons) > 0 {
				t.Errorf("%s: %s %v, want it reused without a reason", row.Key, row.Action, row.Reasons)
			}
			continue
		}
		if len(row.Reasons) != 1 || row.Reasons[0].Part != "messages" || row.Reasons[0].File != changed[0] {
			t.Errorf("reasons %+v", row.Reasons)
		}
	}
}

func TestAnExpectationIsJudgedAgainWithoutACall(t *testing.T) {
	b := newFixture(t)
	b.run(t, nil, files(), nil)
	b.calls.Store(0)
	head, changed := clone(files(), map[string]string{
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["hello", "goodbye"]}}`,
	})
	_, report := b.run(t, files(), head, changed)
	if b.calls.Load() != 0 || report.Summary.Rejudged != 1 || report.Diff.Regressions != 1 {
		t.Errorf("%d calls, %d rejudged, %d regressions", b.calls.Load(), report.Summary.Rejudged, report.Diff.Regressions)
	}
	again, changed := clone(head, map[string]string{
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["hello", "goodbye"], "match": "any"}}`,
	})
	_, report = b.run(t, files(), again, changed)
	if b.calls.Load() != 0 || report.Summary.Redecided != 1 || report.Summary.Pass != 4 {
		t.Errorf("%d calls, %d redecided, %d pass", b.calls.Load(), report.Summary.Redecided, report.Summary.Pass)
	}
}

// TestBothSidesAskOnce has a stranger's head judge what base is asked, too, so
// that one call has to do for both: base reads nothing that head has stored.
func TestBothSidesAskOnce(t *testing.T) {
	b := newFixture(t)
	b.trust = ledger.Trust{Level: ledger.LevelPull, Repository: "octo/demo", PullRequest: 1}
	head, changed := clone(files(), map[string]string{
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["hello", "goodbye"]}}`,
		"test_definitions/math/level_1/sum.json":   `{"id": "sum", "name": "Sum", "prompt": "What is 1 + 1?", "expected": {"answer": 2}}`,
	})
	_, report := b.run(t, files(), head, changed)
	if b.calls.Load() != 3 || report.Diff.Regressions != 2 || report.Diff.Pairs != 2 {
		t.Errorf("%d calls, %+v", b.calls.Load(), report.Diff)
	}
}

func TestWhatDoesNotBearOnAVerdictRerunsNothing(t *testing.T) {
	b := newFixture(t)
	b.run(t, nil, files(), nil)
	b.calls.Store(0)
	head, changed := clone(files(), map[string]string{
		"test_definitions/math/level_1/sum.json": "{\n  \"prompt\": \"1 + 1?\",\n \"weight\": 3, \"description\": \"new\", \"name\": \"Another\",\n \"expected\": {\"answer\": 2.0}, \"id\": \"total\"}\n",
		"test_definitions/talk/domain.json":      `{"name": "Small talk", "id": "talk", "icon": "chat", "evaluator_id": "keyword", "color": "#fff"}`,
	})
	p, rep := b.run(t, files(), head, changed)
	for _, row := range p.Plan.Rows {
		if row.Action != plan.Reuse || len(row.Reasons) > 0 {
			t.Errorf("%s: %s %+v, want it reused without a reason", row.Key, row.Action, row.Reasons)
		}
	}
	if b.calls.Load() != 0 || rep.Gate.Result != report.GatePass {
		t.Errorf("%d calls, gate %+v", b.calls.Load(), rep.Gate)
	}
}

func TestAMovedCaseIsNotRemovedAndNew(t *testing.T) {
	b := newFixture(t)
	head, changed := clone(files(), map[string]string{
		"test_definitions/math/level_1/sum.json": "",
		"test_definitions/math/level_2/add.json": `{"id": "sum", "name": "Sum", "prompt": "1 + 1?", "expected": {"answer": 2}}`,
	})
	_, report := b.run(t, files(), head, changed)
	if report.Diff.Moved != 1 || report.Diff.New != 0 || report.Diff.Removed != 0 || b.calls.Load() != 0 {
		t.Errorf("diff %+v, %d calls", report.Diff, b.calls.Load())
	}
}

func TestABrokenDefinitionIsNoRemovedCase(t *testing.T) {
	b := newFixture(t)
	head, changed := clone(files(), map[string]string{
		"test_definitions/math/level_1/sum.json": `{"id": "sum", "name": "Sum", "prompt": "1 + 1?", "expcted": {"answer": 2}}`,
	})
	p, report := b.run(t, files(), head, changed)
	if report.Diff.Removed != 0 || report.ExitCode() != 2 || len(report.Problems) != 1 {
		t.Errorf("diff %+v, exit code %d, problems %v", report.Diff, report.ExitCode(), report.Problems)
	}
	for _, row := range p.Plan.Rows {
		if row.Key == "math/level_1/sum" && row.Action != plan.Skip {
			t.Errorf("action %s", row.Action)
		}
	}
}
