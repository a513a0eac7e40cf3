package controller_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/golden"
)

// A tap writes down what targets are sent and what they answer.
type tap struct {
	mu    sync.Mutex
	calls []string // names of the targets that were asked; guarded by mu
	log   strings.Builder
}

func (p *tap) open(c config.Target, s controller.Checkout) (target.Target, error) {
	t, err := target.New(c, target.Env{Files: s.FS})
	return tapped{t, c.Name, p}, err
}

// A tapped target is one that is listened to.
type tapped struct {
	target.Target
	name string
	tap  *tap
}

func (t tapped) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	reply, err := t.Target.Respond(ctx, req)
	t.tap.mu.Lock()
	defer t.tap.mu.Unlock()
	t.tap.calls = append(t.tap.calls, t.name)
	b := &t.tap.log
	fmt.Fprintf(b, "===== %d to the %s\n", len(t.tap.calls), t.name)
	if req.Temperature != nil {
		fmt.Fprintf(b, "--- temperature %v\n", *req.Temperature)
	}
	if req.Format != nil {
		fmt.Fprintf(b, "--- format %s\n", req.Format.Name)
	}
	for _, tool := range req.Tools {
		fmt.Fprintf(b, "--- tool %s: %s %s\n", tool.Name, tool.Description, tool.Parameters)
	}
	if req.System != "" {
		fmt.Fprintf(b, "--- system\n%s\n", req.System)
	}
	write := func(messages []schema.Message) {
		for _, m := range messages {
			fmt.Fprintf(b, "--- %s\n%s\n", m.Role, m.Content)
			for _, c := range m.ToolCalls {
				fmt.Fprintf(b, "calls %s %s\n", c.Function.Name, c.Function.Arguments)
			}
		}
	}
	write(req.Messages)
	b.WriteString("----- answers\n")
	if err != nil {
		fmt.Fprintf(b, "%v\n", err)
	}
	write(reply.Messages)
	return reply, err
}

// judgeAll runs a repository on a ledger.
func judgeAll(t *testing.T, store *ledger.Ledger, texts map[string]string, p *tap) (*report.Report, *controller.Prepared) {
	t.Helper()
	repo := fstest.MapFS{}
	for name, text := range texts {
		repo[name] = &fstest.MapFile{Data: []byte(text)}
	}
	cfg, problems := config.Parse("gavel.yaml", repo["gavel.yaml"].Data)
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	prepared, err := controller.Prepare(t.Context(), controller.Request{
		Head:       controller.Checkout{Commit: controller.Worktree, FS: repo, Config: cfg},
		ConfigFile: "gavel.yaml", Ledger: store, HeadTrust: operator, BaseTrust: operator,
		LookupEnv: nowhere,
	})
	if err != nil || schema.HasErrors(prepared.Problems) {
		t.Fatal(err, prepared.Problems)
	}
	report, err := prepared.Execute(t.Context(), controller.Opener(p.open), controller.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return report, prepared
}

// conversationFiles are a test case with all features of the dialect: the simulator
// opens, tools are answered by mocks of every kind and by none, a call matches the
// expectation in other words, the judge has to be asked twice, and a tool ends the
// conversation.
func conversationFiles() map[string]string {
	return map[string]string{
		"gavel.yaml": `
version: 1
default_target: desk
targets:
  desk:
    provider: mock
    tools: [get_order, say_goodbye]
    ends_conversation: [say_goodbye]
    mocks: {get_order: [{params: {order_id: x}, response: {error: none}}]}
    replies:
      - {match: "parcel", reply: "Let me see.", tool_calls: [{name: get_order, arguments: {order_id: X}}, {name: get_order, arguments: {order_id: " a 1042"}}, {name: get_weather}]}
      - {match: "no tool", reply: "It arrives on Friday. Anything else?"}
      - {match: "that was all", reply: "Bye!", tool_calls: [{name: say_goodbye}]}
  customer:
    provider: mock
    replies:
      - {match: "You speak first", reply: '{"message": "Where is my parcel?", "done": false}'}
      - {match: "Friday", reply: '{"message": "No, that was all.", "done": false}'}
  judge:
    provider: mock
    replies:
      - {match: "could not be read", reply: '{"metrics": {` + metrics + `}, "outcomes": [{"outcome": 1, "met": true, "reasoning": "It named the day.", "turns": [6]}], "comparisons": [{"comparison": 1, "same": false}, {"comparison": 2, "same": true}], "summary": "It did well."}'}
      - {reply: "It did well: 5/5."}
roles: {judge: judge, simulator: customer}
`,
		"test_definitions/parcel.json": `{
  "name": "Asks for a parcel",
  "persona": {"type": "busy", "description": "Waits for a parcel.", "instructions": "Be brief."},
  "user_context": {"order": "A-1042", "city": "Köln"},
  "expected_outcomes": {"day_named": true},
  "expected_tool_calls": [
    {"tool": "get_order", "expected_params": {"order_id": "A-1042"}, "mock_responses": [{"expected_params": {"order_id": "A 1042"}, "response": {"arrives": "Friday"}}]},
    {"tool": "cancel_order", "should_call": false}
  ]
}`,
		"test_definitions/tools/get_order.json":   `{"id": "get_order", "function": {"name": "get_order", "description": "Finds an order.", "parameters": {"type": "object"}}}`,
		"test_definitions/tools/say_goodbye.json": `{"id": "say_goodbye", "function": {"name": "say_goodbye", "description": "Ends the conversation.", "parameters": {"type": "object"}}}`,
	}
}

const metrics = `"tool_routing": {"score": 4, "justification": "There is no get_weather.", "failure_code": "", "turns": [2]}, ` +
	`"parameter_extraction": {"score": 5}, "result_interpretation": {"score": 5}, "grounding_fidelity": {"score": 5}, "instruction_compliance": {"score": null}, ` +
	`"information_gathering": {"score": 5}, "conversation_management": {"score": 5}, "response_delivery": {"score": 5}`

// TestConversationTranscript holds every message of a case of the testcase
// dialect from its file on: to the simulator, the target and the judge.
func TestConversationTranscript(t *testing.T) {
	store := ledgertest.Open(t, ledger.Config{})
	var p tap
	report, _ := judgeAll(t, store, conversationFiles(), &p)
	row := report.Cases[0]
	// (.15·4 + .725·5) / .875 of 5
	if row.Verdict == nil || *row.Verdict != "pass" || row.Native.Value < 4.828 || row.Native.Value > 4.829 || row.Calls != 7 {
		t.Errorf("the row is %+v, %+v; want a pass at about 4.828 after 7 calls", row, row.Native)
	}
	got := delimiters.ReplaceAllString(p.log.String(), "␀")
	const file = "testdata/testcase.golden"
	if golden.Update() {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("(-want +got; rewrite with -update and count up the version of what changed):\n%s", diff)
	}
}

// TestConversationsAreRepeatedAsFarAsNeeded changes one thing at a time in a
// repository that was judged, and says who is asked again.
func TestConversationsAreRepeatedAsFarAsNeeded(t *testing.T) {
	store := ledgertest.Open(t, ledger.Config{})
	files := conversationFiles()
	judgeAll(t, store, files, &tap{})
	const parcel = "test_definitions/parcel.json"
	for _, tt := range []struct {
		name           string
		file, from, to string
		action         plan.Action
		asked          string
	}{
		{"nothing", parcel, "", "", plan.Reuse, ""},
		{"description", parcel, `"name"`, `"description": "x", "difficulty": "hard", "tags": ["a"], "name"`, plan.Reuse, ""},
		{"key order", parcel, `{"order": "A-1042", "city": "Köln"}`, `{"city": "K\u00f6ln", "order": "A-1042"}`, plan.Reuse, ""},
		{"threshold", "gavel.yaml", "version: 1", "version: 1\nthresholds: {testcase: 0.99}", plan.Redecide, ""},
		{"outcome", parcel, "day_named", "day_told", plan.Rejudge, "judge judge"},
		{"expectation", parcel, "cancel_order", "drop_order", plan.Rejudge, "judge judge"},
		{"persona", parcel, "Be brief.", "Be curt.", plan.Run, "customer desk desk customer desk judge judge"},
		{"knowledge", parcel, "Köln", "Bonn", plan.Run, "customer desk desk customer desk judge judge"},
		{"mock", parcel, `"arrives": "Friday"`, `"arrives": "on Friday"`, plan.Run, "customer desk desk customer desk judge judge"},
		{"max_turns", parcel, `"name"`, `"max_turns": 1, "name"`, plan.Run, "customer desk desk judge judge"},
		{"opening", parcel, `"name"`, `"initial_message": "My parcel?", "name"`, plan.Run, "desk desk customer desk judge judge"},
		{"cap", "gavel.yaml", "version: 1", "version: 1\ndefaults: {max_turns_cap: 9}", plan.Run, "customer desk desk customer desk judge judge"},
		{"end by tool", "gavel.yaml", "ends_conversation: [say_goodbye]", "ends_conversation: [say_goodbye, x]", plan.Run, "customer desk desk customer desk judge judge"},
		{"another role", "gavel.yaml", "simulator: customer", "simulator: judge", plan.Run, "judge judge judge"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := conversationFiles()
			if !strings.Contains(changed[tt.file], tt.from) {
				t.Fatalf("%s does not hold %q", tt.file, tt.from)
			}
			changed[tt.file] = strings.Replace(changed[tt.file], tt.from, tt.to, 1)
			var p tap
			_, prepared := judgeAll(t, store, changed, &p)
			if got := prepared.Plan.Rows[0].Action; got != tt.action {
				t.Errorf("action %s, want %s: %v", got, tt.action, prepared.Plan.Rows[0].Reasons)
			}
			if got := strings.Join(p.calls, " "); got != tt.asked {
				t.Errorf("asked %q, want %q", got, tt.asked)
			}
		})
	}
}
