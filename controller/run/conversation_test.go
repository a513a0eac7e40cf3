package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A conversationFixture is where conversations are held: the target and the simulator say
// their lines one after the other and fail when they have none left.
type conversationFixture struct {
	*fixture
	agent, user *script
	roles       map[schema.Role]string
	player      config.Target // whom user speaks for

	mu   sync.Mutex
	told []string // to programs, see written; guarded by mu
}

func newConversationFixture(t *testing.T, agent []target.Reply, user ...string) *conversationFixture {
	s := &conversationFixture{fixture: newFixture(t), player: config.Target{Name: "player", Kind: config.Model}, roles: map[schema.Role]string{schema.Simulator: "player"}}
	s.agent = &script{answer: func(n int, _ target.Request) (target.Reply, error) {
		if n >= len(agent) {
			return target.Reply{}, &target.Error{Target: "bot", Message: "the agent has no more lines"}
		}
		return agent[n], nil
	}}
	s.user = &script{answer: func(n int, _ target.Request) (target.Reply, error) {
		if n >= len(user) {
			return target.Reply{}, &target.Error{Target: "player", Message: "the user has no more lines"}
		}
		return says(user[n]), nil
	}}
	return s
}

func (s *conversationFixture) environment() *plan.Environment {
	return &plan.Environment{DefaultTarget: "bot", Roles: s.roles, Targets: map[string]plan.Target{"bot": {Agent: !s.cfg.RunsTools()}}}
}

func (s *conversationFixture) hold(t *testing.T, c *schema.Case) run.Outcome {
	t.Helper()
	operator := ledger.Trust{Level: ledger.LevelOperator}
	out, err := run.Run(t.Context(), run.Config{
		Ledger: s.store, Trust: operator, Roles: s.roles, Clock: clock.Funcs{NowFunc: s.now()},
		Targets: map[string]run.Target{
			"bot":    {Target: s.agent, Config: s.cfg},
			"player": {Target: s.user, Config: s.player},
		},
	}, []run.Job{{Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(c, s.environment())}})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// simulated is a case whose user begins with the given message, or with one by the
// simulator.
func simulated(first string) *schema.Case {
	c := &schema.Case{
		CaseInfo: schema.CaseInfo{Key: "talk", Dialect: schema.DialectTestcase},
		Drive:    schema.Drive{Simulation: &schema.Simulation{}},
		Policy:   schema.Policy{Iterations: 1, Timeout: time.Minute, MaxToolRounds: 3},
		Evaluators: []schema.Evaluator{{
			Name: "keyword", Weight: 1, Spec: evaluator.Keyword{Forbidden: []string{"never"}}, Rule: schema.Rule{},
		}},
	}
	if first != "" {
		c.Drive.Messages = []schema.Message{{Role: schema.RoleUser, Content: first}}
	}
	return c
}

func line(message string, done bool) string {
	raw, err := json.Marshal(map[string]any{"message": message, "done": done})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// spoken is the script of a transcript: "user: Hi", "assistant: Hello", a line for each.
func spoken(out run.Outcome) string {
	if len(out.Transcripts) == 0 {
		return ""
	}
	var lines []string
	for _, m := range out.Transcripts[0].Messages {
		text := m.Role + ": " + m.Content
		for _, c := range m.ToolCalls {
			text += c.Function.Name + "()"
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

func TestConversationsEnd(t *testing.T) {
	ended := says("Bye.")
	ended.End = true
	silentEnd := target.Reply{End: true, Traced: true, Usage: verdict.Usage{Calls: 1}}
	hangUp := says("Goodbye.", calls("hang_up", "{}"))
	for _, tt := range []struct {
		name          string
		first         string
		maxTurns, cap int
		agent         []target.Reply
		user          []string
		want          string // the transcript, or the error
		end           verdict.End
	}{
		{"the user is done", "Hi", 0, 50, []target.Reply{says("Hello")}, []string{line("", true)}, "user: Hi\nassistant: Hello", verdict.EndedByUser},
		{"last words", "Hi", 0, 50, []target.Reply{says("Hello")}, []string{line("Bye", true)}, "user: Hi\nassistant: Hello\nuser: Bye", verdict.EndedByUser},
		{"the simulator opens", "", 0, 50, []target.Reply{says("Hello")}, []string{line("Hey", false), line("", true)}, "user: Hey\nassistant: Hello", verdict.EndedByUser},
		{"an opening is not an end", "", 0, 50, []target.Reply{says("Hello")}, []string{line("Hey", true), line("", true)}, "user: Hey\nassistant: Hello", verdict.EndedByUser},
		{"the agent ends", "Hi", 0, 50, []target.Reply{says("Yes?"), ended}, []string{line("No", false)}, "user: Hi\nassistant: Yes?\nuser: No\nassistant: Bye.", verdict.EndedByTarget},
		{"the agent ends unheard", "Hi", 0, 50, []target.Reply{silentEnd}, nil, "user: Hi", verdict.EndedByTarget},
		{"a tool ends", "Hi", 0, 50, []target.Reply{hangUp}, nil, "user: Hi\nassistant: Goodbye.hang_up()\ntool: {\"ended\":true}", verdict.EndedByTarget},
		{"one turn", "Hi", 1, 0, []target.Reply{says("Hello")}, nil, "user: Hi\nassistant: Hello", verdict.EndedByLimit},
		{"one turn, opened", "", 1, 0, []target.Reply{says("Hello")}, []string{line("Hey", false)}, "user: Hey\nassistant: Hello", verdict.EndedByLimit},
		{"two turns", "Hi", 2, 0, []target.Reply{says("A"), says("B")}, []string{line("More", false)}, "user: Hi\nassistant: A\nuser: More\nassistant: B", verdict.EndedByLimit},
		{"done before the limit", "Hi", 9, 0, []target.Reply{says("A")}, []string{line("", true)}, "user: Hi\nassistant: A", verdict.EndedByUser},
		{"tools are no turns", "Hi", 2, 0, []target.Reply{says("", calls("get", "{}")), says("A"), says("B")}, []string{line("More", false)}, "user: Hi\nassistant: get()\ntool: {\"error\":\"there is no tool get\"}\nassistant: A\nuser: More\nassistant: B", verdict.EndedByLimit},
		{"no natural end", "Hi", 0, 2, []target.Reply{says("A"), says("B")}, []string{line("More", false), line("More", false)}, "error: no natural end: neither side ended the conversation within 2 replies", ""},
		{"an end at the cap", "Hi", 0, 2, []target.Reply{says("A"), says("B")}, []string{line("More", false), line("Fine", true)}, "user: Hi\nassistant: A\nuser: More\nassistant: B\nuser: Fine", verdict.EndedByUser},
		{"the agent ends at the cap", "Hi", 0, 1, []target.Reply{ended}, nil, "user: Hi\nassistant: Bye.", verdict.EndedByTarget},
		{"max_turns above the cap", "Hi", 3, 0, []target.Reply{says("A"), says("B"), says("C")}, []string{line("1", false), line("2", false)}, "user: Hi\nassistant: A\nuser: 1\nassistant: B\nuser: 2\nassistant: C", verdict.EndedByLimit},
		{"no cap", "Hi", 0, 0, []target.Reply{says("A")}, []string{line("", true)}, "user: Hi\nassistant: A", verdict.EndedByUser},
		{"unreadable twice", "Hi", 1, 0, []target.Reply{says("A")}, nil, "user: Hi\nassistant: A", verdict.EndedByLimit},
		{"the third can be read", "Hi", 0, 9, []target.Reply{says("A")}, []string{"Sure!", `{"message": "x"}`, line("", true)}, "user: Hi\nassistant: A", verdict.EndedByUser},
		{"never readable", "Hi", 0, 9, []target.Reply{says("A")}, []string{"x", "", `["y"]`}, "error: the simulator's reply could not be read in 3 attempts", ""},
		{"nothing to say", "Hi", 0, 9, []target.Reply{says("A")}, []string{line(" ", false), line("", false), line("\n", false)}, `error: its "message" is empty`, ""},
		{"an opening of nothing", "", 0, 9, nil, []string{line("", true), line("", true), line("", true)}, `error: its "message" is empty`, ""},
		{"done as a word", "Hi", 0, 9, []target.Reply{says("A")}, []string{`{"message": "", "done": "true"}`, `{"message": null, "done": true}`, `{"done": true}`}, "error: could not be read", ""},
		{"the simulator is down", "Hi", 0, 9, []target.Reply{says("A")}, nil, "error: the user has no more lines", ""},
		{"the agent says nothing", "Hi", 0, 9, []target.Reply{says("")}, []string{line("Hello?", true)}, "user: Hi\nassistant: \nuser: Hello?", verdict.EndedByUser},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newConversationFixture(t, tt.agent, tt.user...)
			s.cfg.EndsConversation = []string{"hang_up"}
			c := simulated(tt.first)
			c.Policy.MaxTurns, c.Policy.TurnCap = tt.maxTurns, tt.cap
			out := s.hold(t, c)
			if reason, isError := strings.CutPrefix(tt.want, "error: "); isError {
				if out.Result.Verdict != verdict.Error || !strings.Contains(out.Result.Reason, reason) {
					t.Errorf("the result is %+v, want an error with the reason of the table", out.Result)
				}
				return
			}
			if diff := cmp.Diff(tt.want, spoken(out)); diff != "" {
				t.Fatalf("%+v (-want +got):\n%s", out.Result, diff)
			}
			if got := out.Transcripts[0].Ended; got != tt.end {
				t.Errorf("ended by %q, want %q", got, tt.end)
			}
			if len(s.user.asked) != len(tt.user) {
				t.Errorf("the simulator was asked %d times, want %d", len(s.user.asked), len(tt.user))
			}
		})
	}
}

// TestAFixedConversationHasNoEnd leaves cases without a simulator as they were.
func TestAFixedConversationHasNoEnd(t *testing.T) {
	s := newConversationFixture(t, []target.Reply{says("", calls("hang_up", "{}")), says("hello")})
	s.cfg.EndsConversation = []string{"hang_up"}
	c := greeting("a")
	out := s.hold(t, c)
	if out.Result.Verdict != verdict.Pass || out.Transcripts[0].Ended != "" || len(s.agent.asked) != 2 {
		t.Errorf("the outcome is %+v, want a pass after 2 questions to the agent", out)
	}
}

// TestTheSimulatorHearsTheAgentInFlippedRoles holds what the simulator is sent:
// texts, no tools, no system prompt, and never a place of a delimiter.
func TestTheSimulatorHearsTheAgentInFlippedRoles(t *testing.T) {
	s := newConversationFixture(t, []target.Reply{
		says("Let me look.", calls("get", "{}")), says("Found\x00 it."), says(" "), says("Bye."),
	}, line("And now?", false), line("Hello?", false), line("", true))
	out := s.hold(t, simulated("Hi"))
	if out.Transcripts[0].Ended != verdict.EndedByUser {
		t.Fatalf("the outcome is %+v, want a conversation that the user ended", out)
	}
	last := s.user.asked[2]
	want := []schema.Message{
		{Role: schema.RoleUser, Content: "(The conversation begins. You speak first.)"},
		{Role: schema.RoleAssistant, Content: `{"message":"Hi","done":false}`},
		{Role: schema.RoleUser, Content: "Let me look.\n\nFound it."},
		{Role: schema.RoleAssistant, Content: `{"message":"And now?","done":false}`},
		{Role: schema.RoleUser, Content: "(The agent says nothing.)"},
		{Role: schema.RoleAssistant, Content: `{"message":"Hello?","done":false}`},
		{Role: schema.RoleUser, Content: "Bye."},
	}
	if diff := cmp.Diff(want, last.Messages); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if last.Format == nil || last.Temperature != nil || len(last.Tools) > 0 {
		t.Errorf("the last request is %+v, want a format, and neither a temperature nor tools", last)
	}
}

// TestTheSimulatorNeverSeesWhatIsExpected puts a sentinel into everything that
// a case has, and lets through persona and knowledge alone.
func TestTheSimulatorNeverSeesWhatIsExpected(t *testing.T) {
	c := simulated("")
	c.Key, c.System, c.Target = "sentinel-key", "sentinel-system", ""
	c.Labels = schema.Labels{ID: "sentinel-id", Name: "sentinel-name", Description: "sentinel-description", Tags: []string{"sentinel-tag"}, Groups: []string{"sentinel-group"}}
	c.Layers = []schema.Layer{{File: "sentinel-file", Text: "sentinel-layer"}}
	c.Tools = []schema.Tool{{Name: "sentinel-tool", Description: "sentinel-tool-text", Mock: &schema.Mock{Kind: "text", Body: "sentinel-body"}}}
	c.Mocks = []schema.CallMock{{Tool: "sentinel-tool", Response: rawMessage(`"sentinel-mock"`)}}
	c.Origin, c.Skip = schema.Position{File: "sentinel-origin"}, ""
	spec := evaluator.Conversation{
		Criteria: "sentinel-criteria", InitialMessage: "sentinel-initial",
		Outcomes: []evaluator.Outcome{{Label: "sentinel-label", Want: rawMessage(`"sentinel-want"`)}},
		Calls:    []evaluator.CallExpectation{{ID: "calls:sentinel", Tool: "sentinel-tool", Params: rawMessage(`{"a":"sentinel-param"}`)}},
	}
	c.Evaluators = append(c.Evaluators, schema.Evaluator{Name: "sentinel-evaluator", Weight: 1, Spec: spec, Rule: spec.Rule(0.75)})
	c.Drive.Simulation = &schema.Simulation{
		Persona: &schema.Persona{Type: "seen-type", Description: "seen-description", Instructions: "seen-instructions"},
		Context: rawMessage(`{"a":"seen-knowledge"}`),
	}
	s := newConversationFixture(t, []target.Reply{says("", calls("sentinel-tool", "{}")), says("Hello")}, line("Hey", false), line("", true))
	s.hold(t, c)
	if len(s.user.asked) != 2 {
		t.Fatalf("asked %d times", len(s.user.asked))
	}
	for _, req := range s.user.asked {
		raw, err := json.Marshal([]any{req.System, req.Messages, req.Tools, req.Format})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "sentinel") {
			t.Errorf("the simulator sees %s", raw)
		}
		for _, seen := range []string{"type", "description", "instructions", "knowledge"} {
			if !strings.Contains(req.System, "seen-"+seen) {
				t.Errorf("the simulator does not see its %s", seen)
			}
		}
	}
}

// TestAnInterruptedConversationGoesOn resumes after each call in turn, and
// makes no call twice: not to the target, not to the simulator.
func TestAnInterruptedConversationGoesOn(t *testing.T) {
	agent := []target.Reply{says("", calls("get", "{}")), says("One"), says("Two")}
	user := []string{line("Hey", false), "unreadable", line("More", false), line("Thanks", true)}
	whole := ""
	for crash := range len(agent) + len(user) {
		s := newConversationFixture(t, agent, user...)
		down := true
		n := 0
		for _, one := range []*script{s.agent, s.user} {
			answer := one.answer
			made := 0
			one.answer = func(int, target.Request) (target.Reply, error) {
				if n++; down && n > crash {
					return target.Reply{}, &target.Error{Target: "bot", Message: "gone"}
				}
				made++
				return answer(made-1, target.Request{})
			}
		}
		if out := s.hold(t, simulated("")); out.Result.Verdict != verdict.Error {
			t.Fatalf("crash after %d calls: %+v", crash, out.Result)
		}
		down = false
		n = crash
		out := s.hold(t, simulated(""))
		if n != len(agent)+len(user) {
			t.Errorf("crash after %d calls: %d calls in all", crash, n)
		}
		if whole == "" {
			whole = spoken(out)
		}
		if diff := cmp.Diff(whole, spoken(out)); diff != "" || !strings.HasSuffix(whole, "Thanks") {
			t.Errorf("crash after %d calls (-want +got):\n%s", crash, diff)
		}
		if out.Spent.Calls != n-crash || out.Made.Calls != n || out.Transcripts[0].Simulated.Calls != len(user) || out.Transcripts[0].Usage.Calls != len(agent) {
			t.Errorf("crash after %d calls: spent %d, made %d, %d by the simulator", crash, out.Spent.Calls, out.Made.Calls, out.Transcripts[0].Simulated.Calls)
		}
	}
}

func TestWithoutASimulatorNothingIsAsked(t *testing.T) {
	s := newConversationFixture(t, nil)
	s.roles = nil
	out := s.hold(t, simulated("Hi"))
	if !strings.Contains(out.Result.Reason, "no model has the role simulator") || len(s.agent.asked) > 0 {
		t.Errorf("%+v, %d calls", out.Result, len(s.agent.asked))
	}
}

// TestMocksOfACase answer after those of the target and before those of the tools;
// unanswered calls are recorded.
func TestMocksOfACase(t *testing.T) {
	mock := func(params, response string) schema.CallMock {
		m := schema.CallMock{Tool: "get", Response: rawMessage(response)}
		if params != "" {
			m.Params = rawMessage(params)
		}
		return m
	}
	ofTarget := map[string][]config.ToolMock{"get": {{Params: map[string]rawMessage{"q": rawMessage(`"t"`)}, Response: rawMessage(`"target"`)}}}
	own := []schema.Tool{{Name: "get", Mock: &schema.Mock{Kind: "text", Body: "own"}}}
	for _, tt := range []struct {
		name   string
		target map[string][]config.ToolMock
		mocks  []schema.CallMock
		tools  []schema.Tool
		args   []string
		want   []string
		notes  int
	}{
		{"any params", nil, []schema.CallMock{mock("", `{"a":1}`)}, nil, []string{`{"x":1}`, ``, `not json`}, []string{`{"a":1}`, `{"a":1}`, `{"a":1}`}, 0},
		{"trimmed and folded", nil, []schema.CallMock{mock(`{"q":" One"}`, `"x"`)}, nil, []string{`{"q":"ONE "}`}, []string{"x"}, 0},
		{"folded in depth", nil, []schema.CallMock{mock(`{"q":{"a":["One"]}}`, `"x"`)}, nil, []string{`{"q":{"a":["one "]}}`}, []string{"x"}, 0},
		{"deep, and equal", nil, []schema.CallMock{mock(`{"q":{"a":1}}`, `"x"`)}, nil, []string{`{"q":{"a":1,"b":2}}`}, []string{`{"error":"no mock response of tool get matches these arguments"}`}, 1},
		{"numbers", nil, []schema.CallMock{mock(`{"q":1}`, `"x"`)}, nil, []string{`{"q":1.0}`, `{"q":"1"}`}, []string{"x", `{"error":"no mock response of tool get matches these arguments"}`}, 1},
		{"null is not text", nil, []schema.CallMock{mock(`{"q":""}`, `null`)}, nil, []string{`{"q":null}`, `{"q":" "}`}, []string{`{"error":"no mock response of tool get matches these arguments"}`, "null"}, 1},
		{"each used once", nil, []schema.CallMock{mock("", `"1"`), mock(`{"q":2}`, `"2"`), mock("", `"3"`)}, nil, []string{`{}`, `{}`, `{"q":2}`, `{}`}, []string{"1", "3", "2", "3"}, 0},
		{"the case's first", ofTarget, []schema.CallMock{mock("", `"case"`)}, []schema.Tool{{Name: "get"}}, []string{`{"q":"t"}`, `{"q":"u"}`}, []string{"case", "case"}, 0},
		{"then the target's", ofTarget, []schema.CallMock{mock(`{"q":"c"}`, `"case"`)}, []schema.Tool{{Name: "get"}}, []string{`{"q":"t"}`, `{"q":"c"}`}, []string{"target", "case"}, 0},
		{"then the tool's", ofTarget, []schema.CallMock{mock(`{"q":"c"}`, `"case"`)}, own, []string{`{"q":"c"}`, `{"q":"z"}`}, []string{"case", "own"}, 0},
		{"of a tool not had", ofTarget, nil, nil, []string{`{"q":"t"}`}, []string{`{"error":"there is no tool get"}`}, 1},
		{"none", nil, nil, []schema.Tool{{Name: "get"}}, []string{`{}`}, []string{`{"error":"tool get has no mock response"}`}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var replies []target.Reply
			for _, args := range tt.args {
				replies = append(replies, says("", calls("get", args)))
			}
			s := newConversationFixture(t, append(replies, says("Done")), line("", true))
			s.cfg.Mocks = tt.target
			c := simulated("Hi")
			c.Mocks, c.Tools, c.Policy.MaxToolRounds = tt.mocks, tt.tools, 9
			out := s.hold(t, c)
			var got []string
			for _, m := range out.Transcripts[0].Messages {
				if m.Role == schema.RoleTool {
					got = append(got, m.Content)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if notes := out.Transcripts[0].Notes; len(notes) != tt.notes {
				t.Errorf("notes %v", notes)
			}
		})
	}
}

// TestWhatIsCapturedOnTheRun keeps the system prompt and the tools as the
// target had them, and nothing that came after them.
func TestWhatIsCapturedOnTheRun(t *testing.T) {
	c := simulated("Hi")
	c.System, c.Tools = "Be kind.", []schema.Tool{{Name: "get", Description: "Gets.", Parameters: rawMessage(`{}`), Mock: &schema.Mock{Kind: "text", Body: "hidden"}}}
	s := newConversationFixture(t, []target.Reply{says("Hello")}, line("", true))
	tr := s.hold(t, c).Transcripts[0]
	want := []schema.Tool{{Name: "get", Description: "Gets.", Parameters: rawMessage(`{}`)}}
	if diff := cmp.Diff(want, tr.Tools); diff != "" || tr.System != "Be kind." {
		t.Errorf("system %q (-want +got):\n%s", tr.System, diff)
	}
	if c.Tools[0].Mock == nil {
		t.Error("the case lost its mock")
	}
	agent := newConversationFixture(t, []target.Reply{says("Hello")}, line("", true))
	agent.cfg.Kind = config.Agent
	if tr := agent.hold(t, c).Transcripts[0]; len(tr.Tools) > 0 || len(agent.agent.asked[0].Tools) > 0 {
		t.Errorf("an agent was sent %v", tr.Tools)
	}
}

// TestWhatAnAgentSaysOfItself is captured in the place of what it was sent.
func TestWhatAnAgentSaysOfItself(t *testing.T) {
	told := says("Hello")
	told.System, told.Tools = "My own.", []schema.Tool{{Name: "mine", Mock: &schema.Mock{Body: "x"}}}
	s := newConversationFixture(t, []target.Reply{told, says("Bye")}, line("More", false), line("", true))
	s.cfg.Kind = config.Agent
	c := simulated("Hi")
	c.System = "Be kind."
	tr := s.hold(t, c).Transcripts[0]
	if diff := cmp.Diff([]schema.Tool{{Name: "mine"}}, tr.Tools); diff != "" || tr.System != "My own." {
		t.Errorf("system %q (-want +got):\n%s", tr.System, diff)
	}
	if got := s.agent.asked[1].System; got != "Be kind." {
		t.Errorf("the second turn was sent the system prompt %q", got)
	}
}

// TestTurnsAreCounted tells an agent which of its turns it is.
func TestTurnsAreCounted(t *testing.T) {
	s := newConversationFixture(t, []target.Reply{says("A"), says("B"), says("C")}, line("1", false), line("2", false), line("", true))
	s.cfg.Kind = config.Agent
	s.hold(t, simulated("Hi"))
	for i, req := range s.agent.asked {
		if req.Turn != i || req.Case != "talk" || req.Root == "" {
			t.Errorf("call %d is turn %d of %q", i, req.Turn, req.Case)
		}
	}
	if got := fmt.Sprint(len(s.agent.asked[2].Messages)); got != "5" {
		t.Errorf("the third turn has %s messages", got)
	}
}

// TestWhatEndedInAnErrorIsTriedAnew has an error about the messages, unlike one of an
// outage, leave nothing behind that would repeat it forever.
func TestWhatEndedInAnErrorIsTriedAnew(t *testing.T) {
	s := newConversationFixture(t, []target.Reply{says("A"), says("B")}, "mumble", "mumble", "mumble", line("", true))
	if out := s.hold(t, simulated("Hi")); !strings.Contains(out.Result.Reason, "could not be read") {
		t.Fatalf("the result is %+v, want one whose reply could not be read", out.Result)
	}
	out := s.hold(t, simulated("Hi"))
	if out.Result.Verdict != verdict.Pass || spoken(out) != "user: Hi\nassistant: B" || out.Spent.Calls != 2 {
		t.Errorf("the outcome is %+v: %s, want a pass by the answer B after 2 calls", out, spoken(out))
	}
	if s.hold(t, simulated("Hi")); len(s.agent.asked) != 2 {
		t.Error("what ended well was tried again")
	}
}

// TestAJudgeThatWasNotUnderstoodIsAskedAnew does so without the conversation.
func TestAJudgeThatWasNotUnderstoodIsAskedAnew(t *testing.T) {
	s := newConversationFixture(t, []target.Reply{says("A")}, "mumble", "mumble", "mumble", `{"score": 1, "reason": "fine"}`)
	s.roles[schema.Judge] = "player"
	c := greeting("a")
	c.Evaluators = []schema.Evaluator{{Name: "judge", Weight: 1, Spec: evaluator.Prompt{Template: "Good?"}}}
	if out := s.hold(t, c); out.Result.Verdict != verdict.Error {
		t.Fatalf("the result is %+v, want an error", out.Result)
	}
	out := s.hold(t, c)
	if out.Result.Verdict != verdict.Pass || len(s.agent.asked) != 1 || out.Spent.Calls != 1 || out.Made.Calls != 2 {
		t.Errorf("the outcome is %+v, want a pass by 1 new call of 2", out)
	}
}

// TestTheTimeoutIsThatOfTheWholeConversation has the calls to target and
// simulator share it, and the error name it whole.
func TestTheTimeoutIsThatOfTheWholeConversation(t *testing.T) {
	s := newConversationFixture(t, []target.Reply{says("A"), says("B"), says("C")}, line("1", false), line("2", false), line("3", true))
	s.clock = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for _, one := range []*script{s.agent, s.user} {
		answer := one.answer
		one.answer = func(n int, req target.Request) (target.Reply, error) {
			s.clock = s.clock.Add(25 * time.Second)
			return answer(n, req)
		}
	}
	out := s.hold(t, simulated("Hi"))
	if out.Result.Verdict != verdict.Error || !strings.Contains(out.Result.Reason, "target player timed out after 1m0s") || len(s.agent.asked) != 2 {
		t.Errorf("%+v after %d replies", out.Result, len(s.agent.asked))
	}
}
