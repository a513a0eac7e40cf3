package evaluate

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// held is the result of a conversation of AgentV 4 in which the target gives these answers.
func held(t *testing.T, tr *trial, answers ...string) verdict.Result {
	t.Helper()
	c := compiled(t, tr.text+"\nmode: conversation")
	said := &verdict.Transcript{Traced: true, Latency: time.Duration(len(answers)) * time.Second, Messages: append([]schema.Message(nil), c.Drive.Messages...)}
	for i, answer := range answers {
		if i > 0 {
			said.Messages = append(said.Messages, c.Drive.Turns()[i-1]...)
		}
		turn := verdict.Turn{From: len(said.Messages), Latency: time.Second}
		said.Messages = append(said.Messages, schema.Message{Role: schema.RoleAssistant, Content: answer})
		turn.To = len(said.Messages)
		said.Turns = append(said.Turns, turn)
	}
	m, err := Measure(t.Context(), c.Evaluators[0], Input{Case: c, Transcript: said, Ask: tr.ask, Programs: tr.program})
	if err != nil {
		t.Fatal(err)
	}
	return verdict.DecideCase(c, []verdict.Sample{{Measurements: []verdict.Measurement{m}}})
}

// TestScoresOfTurns: each turn is scored by itself, one without assertions scores 1, the
// assertions of the test see the conversation as a text and give one more score, and these
// become one as AgentV does it.
func TestScoresOfTurns(t *testing.T) {
	const three = `assertions: []
turns:
- {input: One, assertions: [{type: equals, value: a}, {type: contains, value: z, weight: 3}]}
- {input: Two}
- {input: Three, assertions: [{type: contains, value: c}]}
`
	for _, tt := range []struct {
		name, text string
		answers    string
		want       verdict.Verdict
		score      float64
	}{
		{"the mean of three", three, "a b c", verdict.Fail, (0.25 + 1 + 1) / 3},
		{"the least", three + "aggregation: min", "a b c", verdict.Fail, 0.25},
		{"the most", three + "aggregation: max", "a b x", verdict.Pass, 1},
		{"the whole conversation", strings.Replace(three, "[]", `[{type: contains, value: "user: Two\n\nassistant: b"}]`, 1), "a b c", verdict.Pass, (0.25 + 1 + 1 + 1) / 4},
		{"a turn that stops", three + "on_turn_failure: stop", "a b c", verdict.Fail, 0.25 / 3},
		{"a turn that stops ends the conversation", strings.Replace(three, "[]", "[{type: contains, value: Two}]", 1) + "on_turn_failure: stop", "a b c", verdict.Fail, 0.25 / 4},
		{"nothing that stops", three + "on_turn_failure: stop\nexecution: {threshold: 0.2}", "a b x", verdict.Pass, (0.25 + 1 + 0) / 3},
		{"what is required of a turn", strings.Replace(three, "value: a}", "value: q, required: true}", 1), "z b c", verdict.Fail, 2. / 3},
		{"what is required of a turn is its own", strings.Replace(three, "value: a}", "value: q, required: true}", 1) + "execution: {threshold: 0.6}", "z b c", verdict.Pass, 2. / 3},
		{"the time of a turn", "assertions: []\nturns: [{input: One, assertions: [{type: latency, threshold: 1000}]}, {input: Two, assertions: [{type: latency, threshold: 900}]}]", "a b", verdict.Fail, 0.5},
	} {
		got := held(t, &trial{text: strings.TrimRight(tt.text, "\n")}, strings.Fields(tt.answers)...)
		if got.Verdict != tt.want || got.Score == nil || !verdict.Reaches(*got.Score, tt.score) || !verdict.Reaches(tt.score, *got.Score) {
			t.Errorf("%s: %s with %s (%s), want %s with %v", tt.name, got.Verdict, show(got.Score), got.Reason, tt.want, tt.score)
		}
	}
}

// TestJudgesOfTurns: the judge of a turn sees the conversation up to it and the answer that is
// expected of the turn, within the window; the judge of the whole sees all of it.
func TestJudgesOfTurns(t *testing.T) {
	met := `{"criteria": [{"id": "rubric-1", "met": true, "reason": "r"}], "summary": ""}`
	tr := &trial{text: `assertions: [Stays kind]
window_size: 1
turns:
- {input: One, assertions: [Begins]}
- {input: Two, expected_output: Second}
- {input: Three, assertions: [Ends]}`, replies: []string{met, `{"score": 1, "reasoning": "", "hits": [], "misses": []}`, met, met}}
	if got := held(t, tr, "first answer", "second answer", "third answer"); got.Verdict != verdict.Pass || len(tr.asked) != 4 {
		t.Fatalf("%s (%s) after %d questions, want a pass after four", got.Verdict, got.Reason, len(tr.asked))
	}
	for i, tt := range []struct{ has, lacks string }{
		{"One/first answer/Begins", "second answer"},
		{"One/first answer/Two/second answer/Second/It works.", "third answer/Begins"},
		{"Two/second answer/Three/third answer/Ends", "first answer/Second"},
		{"One/first answer/Two/second answer/Three/third answer/Stays kind", "Second"},
	} {
		for _, text := range strings.Split(tt.has, "/") {
			if !strings.Contains(tr.asked[i], text) {
				t.Errorf("judge %d is not told %q:\n%s", i+1, text, tr.asked[i])
			}
		}
		for _, text := range strings.Split(tt.lacks, "/") {
			if strings.Contains(tr.asked[i], text) {
				t.Errorf("judge %d is told %q:\n%s", i+1, text, tr.asked[i])
			}
		}
	}
}

// TestTurnsAreShown: the result has every turn by its name, also those that were not judged.
func TestTurnsAreShown(t *testing.T) {
	got := held(t, &trial{text: "assertions: []\non_turn_failure: stop\nturns: [{input: One, assertions: [{type: equals, value: x}]}, {input: Two, assertions: [{type: contains, value: b}]}]"}, "a", "b")
	members := got.Evaluators[0].Members
	if len(members) != 2 || members[0].Name != "turn-1" || members[0].Pass || members[1].Name != "turn-2" || members[1].Score != 0 {
		t.Errorf("the members are %+v, want two turns that failed", members)
	}
	if got.Reason != `turn-1: equals: the answer is not equal to "x"` && !strings.HasPrefix(got.Reason, "turn-1: equals") {
		t.Errorf("the reason is %q, want that of turn 1", got.Reason)
	}
}
