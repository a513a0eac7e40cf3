package testcase_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/golden"
	"github.com/gavel-evals/gavel/schema/testcase"
)

// TestMain answers as the child that evaluates .cue files.
func TestMain(m *testing.M) {
	if cueeval.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// load compiles a file of the definitions folder defs.
func load(t testing.TB, settings schema.Settings, name, text string) ([]*schema.Case, []schema.Problem) {
	t.Helper()
	doc, problems := document.Parse("defs/"+name, []byte(text))
	if doc == nil {
		t.Fatalf("%s does not parse: %v", name, problems)
	}
	return testcase.Load(document.Source{Root: "defs", KeyRoot: "defs", Settings: settings}, doc)
}

// one compiles a file that is one case without problems.
func one(t testing.TB, settings schema.Settings, text string) *schema.Case {
	t.Helper()
	cases, problems := load(t, settings, "a.json", text)
	if len(cases) != 1 || len(problems) > 0 {
		t.Fatalf("%s gives %d cases and %v", text, len(cases), problems)
	}
	return cases[0]
}

// conversation is the only evaluator of a case.
func conversation(t testing.TB, c *schema.Case) evaluator.Conversation {
	t.Helper()
	spec, ok := c.Evaluators[0].Spec.(evaluator.Conversation)
	if !ok || len(c.Evaluators) != 1 {
		t.Fatalf("the evaluators are %+v", c.Evaluators)
	}
	return spec
}

// TestGolden compiles a file of each kind that the format names, in each form
// that a file can have.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/definitions/*")
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cases, problems := load(t, schema.Settings{}, "shop/"+name, string(text))
			if len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
			golden.JSON(t, filepath.Join("testdata/golden", name+".json"), cases)
		})
	}
}

func TestDefaults(t *testing.T) {
	c := one(t, schema.Settings{}, `{"name": "x"}`)
	rule := evaluator.Conversation{}.Rule(0.75)
	want := &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: "a", Dialect: "testcase", Origin: schema.Position{File: "defs/a.json", Line: 1, Column: 1},
			Labels: schema.Labels{Name: "x", Difficulty: "normal", Status: "active"},
			Weight: 1, Inputs: []schema.Input{{File: "defs/a.json", Role: "definition"}},
		},
		Drive:      schema.Drive{Simulation: &schema.Simulation{}},
		Evaluators: []schema.Evaluator{{Name: "conversation", Weight: 1, Spec: evaluator.Conversation{}, Rule: rule}},
		Policy:     schema.Policy{Iterations: 1, Timeout: 2 * time.Minute, MaxToolRounds: 16},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	nulls := one(t, schema.Settings{}, `{"name": "x", "description": null, "persona": null, "initial_message": null, "user_context": null,
		"max_turns": null, "expected_outcomes": null, "expected_tool_calls": null, "evaluation_criteria_override": null, "id": null}`)
	if diff := cmp.Diff(want, nulls); diff != "" {
		t.Errorf("null is not as if left out (-want +got):\n%s", diff)
	}
}

func TestSettings(t *testing.T) {
	none := 0
	settings := schema.Settings{
		Targets:       map[string]schema.TargetSettings{"slow": {Timeout: time.Hour}},
		DefaultTarget: "slow", Timeout: time.Minute, Iterations: 3, MaxTurnsCap: &none,
		Thresholds:   map[string]float64{"testcase": 0.9, "domain": 0.1},
		Difficulties: map[string]float64{"hard": 2.5},
	}
	c := one(t, settings, `{"name": "x", "difficulty": "hard"}`)
	want := schema.Policy{Iterations: 3, Timeout: time.Hour, MaxToolRounds: 16}
	if diff := cmp.Diff(want, c.Policy); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := c.Evaluators[0].Rule.Threshold; got != 0.9 || c.Weight != 2.5 {
		t.Errorf("the threshold is %v, the weight %v", got, c.Weight)
	}
	settings.DefaultTarget = ""
	if c := one(t, settings, `{"name": "x"}`); c.Policy.Timeout != time.Minute || c.Weight != 1 {
		t.Errorf("the timeout is %v, the weight %v", c.Policy.Timeout, c.Weight)
	}
}

func TestTurns(t *testing.T) {
	five := 5
	for _, tt := range []struct {
		name      string
		cap       *int
		text      string
		most, cut int
	}{
		{"neither", nil, `{"name": "x"}`, 0, 0},
		{"a cap", &five, `{"name": "x"}`, 0, 5},
		{"max_turns below", &five, `{"name": "x", "max_turns": 2}`, 2, 0},
		{"max_turns above", &five, `{"name": "x", "max_turns": 1000}`, 1000, 0},
		{"max_turns, no limit", &five, `{"name": "x", "max_turns": null}`, 0, 5},
	} {
		p := one(t, schema.Settings{MaxTurnsCap: tt.cap}, tt.text).Policy
		if p.MaxTurns != tt.most || p.TurnCap != tt.cut {
			t.Errorf("%s: max turns %d, cap %d", tt.name, p.MaxTurns, p.TurnCap)
		}
	}
}

// TestTurnsOfATarget apply where the case leaves the key out, and never to null.
func TestTurnsOfATarget(t *testing.T) {
	cap := 9
	for _, tt := range []struct {
		name             string
		target, defaults int
		text             string
		most, cut        int
	}{
		{"of the target", 4, 6, `{"name": "x"}`, 4, 0},
		{"of the defaults", 0, 6, `{"name": "x"}`, 6, 0},
		{"of the case", 4, 6, `{"name": "x", "max_turns": 2}`, 2, 0},
		{"of a case that is above", 4, 6, `{"name": "x", "max_turns": 20}`, 20, 0},
		{"of a case with null", 4, 6, `{"name": "x", "max_turns": null}`, 0, 9},
		{"of nobody", 0, 0, `{"name": "x"}`, 0, 9},
	} {
		p := one(t, schema.Settings{
			Targets: map[string]schema.TargetSettings{"desk": {MaxTurns: tt.target}}, DefaultTarget: "desk", MaxTurns: tt.defaults, MaxTurnsCap: &cap,
		}, tt.text).Policy
		if p.MaxTurns != tt.most || p.TurnCap != tt.cut {
			t.Errorf("%s: max turns %d, cap %d, want %d and %d", tt.name, p.MaxTurns, p.TurnCap, tt.most, tt.cut)
		}
	}
}

// TestTheFormOfLaterVersions reads the names of later versions as what they were
// before.
func TestTheFormOfLaterVersions(t *testing.T) {
	later := one(t, schema.Settings{}, `{"name": "x", "persona_context": "Be brief.", "first_turn": "user", "first_message": "Hi",
		"expected_outcomes": ["The order is refunded", "No data is leaked"], "agent_id": "a", "source_call_id": "c",
		"expected_tool_calls": [{"tool": "refund", "expected_params": {"id": 7}, "mock_response": {"ok": true}}]}`)
	today := one(t, schema.Settings{}, `{"name": "x", "initial_message": "Hi",
		"expected_outcomes": {"No data is leaked": true, "The order is refunded": true},
		"expected_tool_calls": [{"tool": "refund", "expected_params": {"id": 7}, "mock_responses": [{"expected_params": {"id": 7}, "response": {"ok": true}}]}]}`)
	if got := later.Drive.Simulation.Instructions; got != "Be brief." || later.Drive.Simulation.Persona != nil {
		t.Errorf("the simulator is told %+v, want the context alone", later.Drive.Simulation)
	}
	if later.Form != "Connexity after 1.0.0" || today.Form != "" {
		t.Errorf("the forms are %q and %q, want that of later versions and none", later.Form, today.Form)
	}
	later.Drive.Simulation.Instructions, later.Form = "", ""
	if diff := cmp.Diff(today, later); diff != "" {
		t.Errorf("the form of today against that of later versions (-today +later):\n%s", diff)
	}
	for _, tt := range []struct {
		name string
		text string
		want schema.Drive
	}{
		{"the agent's message", `{"name": "x", "first_turn": "agent", "first_message": "Welcome"}`, schema.Drive{Messages: []schema.Message{{Role: "assistant", Content: "Welcome"}}}},
		{"the agent is called", `{"name": "x", "first_turn": "agent"}`, schema.Drive{TargetOpens: true}},
		{"a blank message", `{"name": "x", "first_turn": "agent", "first_message": null}`, schema.Drive{TargetOpens: true}},
		{"the user", `{"name": "x", "first_turn": null, "first_message": "Hi"}`, schema.Drive{Messages: []schema.Message{{Role: "user", Content: "Hi"}}}},
	} {
		c := one(t, schema.Settings{}, tt.text)
		tt.want.Simulation = &schema.Simulation{}
		if diff := cmp.Diff(tt.want, c.Drive); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if spec, _ := c.Evaluators[0].Spec.(evaluator.Conversation); (spec.InitialMessage != "") != (tt.name == "the user") {
			t.Errorf("%s: the judge is told that the user came with %q", tt.name, spec.InitialMessage)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct{ status, skip string }{{"active", ""}, {"draft", "the status is draft"}, {"archived", "the status is archived"}} {
		c := one(t, schema.Settings{}, `{"name": "x", "status": "`+tt.status+`"}`)
		if c.Skip != tt.skip || c.Labels.Status != tt.status {
			t.Errorf("%s: skip %q, status %q", tt.status, c.Skip, c.Labels.Status)
		}
	}
}

// TestKeys holds that a case is named by its file, its uuid or its name, and
// never by its position.
func TestKeys(t *testing.T) {
	const id = "0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c"
	for _, tt := range []struct {
		name       string
		file, text string
		want       []string
	}{
		{"one case", "s/a.json", `{"name": "N", "id": "` + id + `"}`, []string{"s/a"}},
		{"list", "s/a.yaml", `[{name: "Refund, please!"}, {name: B}]`, []string{"s/a#refund-please", "s/a#b"}},
		{"list of one", "a.json", `[{"name": "N"}]`, []string{"a#n"}},
		{"envelope", "a.b.json", `{"test_cases": [{"name": "N"}]}`, []string{"a.b#n"}},
		{"lines", "a.jsonl", `{"name": "N"}` + "\n", []string{"a#n"}},
		{"uuid before name", "a.json", `[{"name": "N", "id": "` + strings.ToUpper(id) + `"}, {"name": "N"}]`, []string{"a#" + id, "a#n"}},
		{"letters and marks", "a.json", `[{"name": "Größe: ÉTÉ"}, {"name": "हिन्दी 2"}, {"name": "返金"}]`, []string{"a#größe-été", "a#हिन्दी-2", "a#返金"}},
		{"invisible", "a.json", `[{"name": "re\u00adfund\u200b now"}]`, []string{"a#refund-now"}},
		{"nothing but letter", "a.json", `[{"name": "  --x.. "}, {"name": "a/b#c*d"}]`, []string{"a#x", "a#a-b-c-d"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cases, problems := load(t, schema.Settings{}, tt.file, tt.text)
			var keys []string
			for _, c := range cases {
				keys = append(keys, c.Key)
			}
			if diff := cmp.Diff(tt.want, keys); diff != "" || len(problems) > 0 {
				t.Errorf("%v (-want +got):\n%s", problems, diff)
			}
		})
	}
}

func TestGroups(t *testing.T) {
	for _, tt := range []struct {
		name       string
		file, text string
		want       []string
	}{
		{"a list is a suite", "s/a.json", `[{"name": "N"}]`, []string{"s/a"}},
		{"a folder of files is one", "s/a.json", `{"name": "N"}`, []string{"s"}},
		{"the definitions folder none", "a.json", `{"name": "N"}`, nil},
	} {
		cases, _ := load(t, schema.Settings{}, tt.file, tt.text)
		if diff := cmp.Diff(tt.want, cases[0].Labels.Groups); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestWhoIsTold puts a different word into every field and checks where it appears: the
// simulator must not see the expectations, and notes for people reach no model.
func TestWhoIsTold(t *testing.T) {
	c := one(t, schema.Settings{}, `{
		"name": "w-name", "description": "w-description", "tags": ["w-tag"], "initial_message": "w-initial",
		"persona": {"type": "w-type", "description": "w-who", "instructions": "w-how"},
		"user_context": {"w-key": {"deep": "w-value"}},
		"expected_outcomes": {"w-label": "w-state"},
		"expected_tool_calls": [{"tool": "w-tool", "expected_params": {"p": "w-param"}, "mock_responses": [{"expected_params": {"q": "w-asked"}, "response": "w-answer"}]}],
		"evaluation_criteria_override": "w-criteria"
	}`)
	words := map[string]string{ // to the places where they come out
		"w-name": "", "w-description": "", "w-tag": "",
		"w-initial": "messages judge", "w-type": "simulator", "w-who": "simulator", "w-how": "simulator",
		"w-key": "simulator", "w-value": "simulator", "w-label": "judge rule", "w-state": "judge", "w-tool": "mocks judge rule",
		"w-param": "judge", "w-asked": "mocks", "w-answer": "mocks", "w-criteria": "judge",
	}
	places := []struct {
		name  string
		value any
	}{
		{"messages", c.Drive.Messages}, {"simulator", c.Drive.Simulation}, {"mocks", c.Mocks},
		{"judge", c.Evaluators[0].Spec}, {"rule", c.Evaluators[0].Rule}, {"policy", c.Policy},
	}
	for word, want := range words {
		var found []string
		for _, place := range places {
			raw, err := json.Marshal(place.value)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(raw, []byte(word)) {
				found = append(found, place.name)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s comes out in %q, want %q", word, got, want)
		}
	}
}

// TestOrderSaysNothing writes the same case twice, keys, outcomes and calls in
// another order and numbers in another form.
func TestOrderSaysNothing(t *testing.T) {
	a := one(t, schema.Settings{}, `{"name": "x", "user_context": {"a": 1, "b": {"c": 100, "d": 2}}, "expected_outcomes": {"p": 1.50, "q": {"r": 1, "s": 2}},
		"expected_tool_calls": [{"tool": "t", "expected_params": {"a": 1, "b": 2}}, {"tool": "t"}, {"tool": "s", "should_call": false}, {"tool": "u"}]}`)
	b := one(t, schema.Settings{}, `{"expected_tool_calls": [{"tool": "u"}, {"should_call": false, "tool": "s"}, {"expected_params": {}, "tool": "t"}, {"expected_params": {"b": 2.0, "a": 1}, "tool": "t"}],
		"expected_outcomes": {"q": {"s": 2, "r": 1.0}, "p": 1.5}, "user_context": {"b": {"d": 2, "c": 1e2}, "a": 1}, "name": "x"}`)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestCalls(t *testing.T) {
	c := one(t, schema.Settings{}, `{"name": "x", "expected_tool_calls": [
		{"tool": "b", "should_call": false}, {"tool": "b2"}, {"tool": "a", "expected_params": {"k": [1]}}, {"tool": "a", "should_call": true}, {"tool": "a"}
	]}`)
	want := []evaluator.CallExpectation{
		{ID: "calls:a", Tool: "a"}, {ID: "calls:a#2", Tool: "a"}, {ID: "calls:a#3", Tool: "a", Params: json.RawMessage(`{"k":[1]}`)},
		{ID: "calls:b2", Tool: "b2"}, {ID: "avoids:b", Tool: "b", Forbidden: true},
	}
	if diff := cmp.Diff(want, conversation(t, c).Calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := c.Evaluators[0].Rule.Required; len(got) != 5 {
		t.Errorf("required are %v", got)
	}
}

// TestMocksKeepTheirOrder holds that for one tool the first mock stays first, whichever
// expectation it is combined with.
func TestMocksKeepTheirOrder(t *testing.T) {
	c := one(t, schema.Settings{}, `{"name": "x", "expected_tool_calls": [
		{"tool": "z", "mock_responses": [{"response": 2}, {"response": 1}]}, {"tool": "a", "mock_responses": [{"response": {"b": 1, "a": 2.0}}]},
		{"tool": "z", "expected_params": {"k": 1}, "mock_responses": [{"expected_params": {}, "response": 0}]}
	]}`)
	want := []schema.CallMock{
		{Tool: "a", Response: json.RawMessage(`{"a":2,"b":1}`)},
		{Tool: "z", Response: json.RawMessage(`2`)}, {Tool: "z", Response: json.RawMessage(`1`)}, {Tool: "z", Response: json.RawMessage(`0`)},
	}
	if diff := cmp.Diff(want, c.Mocks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCriteria(t *testing.T) {
	own := one(t, schema.Settings{}, `{"name": "x", "evaluation_criteria_override": "Be kind.", "expected_outcomes": {"o": true}}`)
	want := schema.Rule{Threshold: 0.75, Weights: map[string]float64{"overall": 1, "outcome:o": 0}, Required: []string{"outcome:o"}}
	if diff := cmp.Diff(want, own.Evaluators[0].Rule); diff != "" || conversation(t, own).Criteria != "Be kind." {
		t.Errorf("the override does not replace the criteria (-want +got):\n%s", diff)
	}
}
