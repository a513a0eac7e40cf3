package evaluate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/golden"
)

// The golden file holds the exact messages that models are sent. A change of it
// needs a higher Version of the spec, so that stored measurements are made
// again.
func TestMessagesGolden(t *testing.T) {
	const question, reply = "Which city is the capital, and how many live there?", "It is Jakarta, with about 10.6 million people.\nOr 10 million?"
	answer, heavy := raw(`"1"`), 0.7
	weighed := evaluator.Criteria{Instruction: "Judge how complete\nand clear it is.", Criteria: rubric("Clarity", `The "what"`).Criteria}
	var b strings.Builder
	for _, tt := range []struct {
		name    string
		spec    schema.Spec
		replies []string
	}{
		{"extractor: numeric", evaluator.TwoPass{Answer: answer, Type: "numeric"}, nil},
		{"extractor: string", evaluator.TwoPass{Answer: answer, Type: "string"}, nil},
		{"extractor: contains", evaluator.TwoPass{Answer: raw(`"people"`), Type: "contains"}, nil},
		{"extractor: boolean", evaluator.TwoPass{Answer: answer, Type: "boolean"}, nil},
		{"extractor: choice", evaluator.TwoPass{Answer: answer, Type: "choice"}, nil},
		{"extractor: json", evaluator.TwoPass{Answer: answer, Type: "json"}, nil},
		{"extractor: sql", evaluator.SQLExecutor{QueryType: "SELECT"}, nil},
		{"extractor: second attempt", evaluator.TwoPass{Answer: answer, Type: "numeric"}, []string{"Jakarta"}},
		{"judge: prompt", evaluator.Prompt{Template: "Question: {prompt}\nReply: {response}\nExpected: {expected} at level {level}.", Expected: raw(`["Jakarta",10.6]`), Level: "2"}, nil},
		{"judge: prompt with max_score", evaluator.Prompt{Template: "Is it polite?", MaxScore: 10}, nil},
		{"judge: hybrid", evaluator.Prompt{Template: "Rate {response} and end with `Score: n`.", Pattern: `score: (\d+)`, MaxScore: 10}, nil},
		{"judge: hybrid, second attempt", evaluator.Prompt{Template: "Rate {response} and end with `Score: n`.", Pattern: `score: (\d+)`, MaxScore: 10}, []string{"Very good."}},
		{"judge: criteria", weighed, nil},
		{"judge: criteria, second attempt", weighed, []string{`{"criteria":[{"name":"Clarity","score":8,"reason":""}],"summary":""}`}},
		{"judge: semantic", evaluator.Semantic{Instruction: "Is it a fact?"}, nil},
		{"judge: semantic with criteria", evaluator.Semantic{Instruction: "Is it a fact?", Criteria: []evaluator.Criterion{{Name: "Truth", Description: "true", Weight: &heavy}, {Name: "Tone"}}}, nil},
	} {
		long := reply
		if strings.Contains(tt.name, "contains") {
			long += strings.Repeat(" And so on.", 20)
		}
		s := &script{replies: tt.replies}
		measured(t.Context(), t, schema.Evaluator{Spec: tt.spec}, input(question, long, s))
		if len(s.asked) != len(tt.replies)+1 {
			t.Fatalf("%s: %d requests", tt.name, len(s.asked))
		}
		writeRequest(&b, tt.name, s.asked[len(s.asked)-1])
	}
	writeConversations(t, &b)
	writeSuites(t, &b)
	writeComparison(t, &b)
	writeSelection(t, &b)
	// The mark is shown as a visible character.
	got := strings.ReplaceAll(b.String(), target.Mark, "␀")
	const file = "testdata/messages.golden"
	golden.Compare(t, file, got)
}

func writeRequest(b *strings.Builder, name string, req target.Request) {
	fmt.Fprintf(b, "===== %s\n", name)
	if req.Format != nil {
		fmt.Fprintf(b, "--- format %s: %s\n", req.Format.Name, req.Format.Schema)
	}
	fmt.Fprintf(b, "--- temperature %v\n--- system\n%s\n", *req.Temperature, req.System)
	for _, m := range req.Messages {
		fmt.Fprintf(b, "--- %s\n%s\n", m.Role, m.Content)
	}
	b.WriteString("\n")
}

// writeConversations adds what the judge of a conversation is sent: with all
// that there can be, and with as little.
func writeConversations(t *testing.T, b *strings.Builder) {
	full := talk(`get_order {"order_id":"a 1042"}`, `refund {"order_id":"A-1042"}`)
	full.Tools = []schema.Tool{{Name: "get_order", Description: "Finds an order.", Parameters: raw(`{"type":"object"}`), Mock: &schema.Mock{Kind: "text", Body: "hidden"}}}
	full.Ended, full.Notes = verdict.EndedByUser, []string{"turn 5: tool refund has no mock response"}
	untraced := talk()
	untraced.System, untraced.Traced, untraced.Ended = "", false, verdict.EndedByLimit
	spec := expecting(`get_order {"order_id":"A-1042"}`, "!refund")
	spec.InitialMessage = "Where is my order?"
	spec.Outcomes = []evaluator.Outcome{{Label: "leaked", Want: raw("false")}, {Label: "refund", Want: raw(`"within 14 days"`)}}
	for _, tt := range []struct {
		name string
		spec evaluator.Conversation
		tr   *verdict.Transcript
	}{
		{"judge: conversation", spec, full},
		{"judge: conversation by criteria of the case", evaluator.Conversation{Criteria: "Does it rhyme?"}, untraced},
	} {
		s := &script{}
		judge(t, tt.spec, tt.tr, s)
		writeRequest(b, tt.name, s.asked[0])
	}
}

// writeSuites adds what the judges of the evalcase format are sent.
func writeSuites(t *testing.T, b *strings.Builder) {
	tr := talk(`get_order {"order_id":"A-1042"}`)
	tr.Messages[0].Blocks = []schema.Block{{Type: "text", Text: tr.Messages[0].Content}, {Type: "image", Media: "image/png"}}
	untraced := talk()
	untraced.System, untraced.Traced = "", false
	full := evaluator.Subject{ExpectedOutcome: "The day of arrival is named.\n", Reference: "It arrives on 5 March.", Note: "Today is 3 March."}
	rubrics := criteriaOf("names the day", "tone*")
	rubrics.Subject = full
	for _, tt := range []struct {
		name string
		spec schema.Spec
		tr   *verdict.Transcript
		sent int // messages that are history and question
	}{
		{"judge: rubric", rubrics, tr, 1},
		{"judge: rubric, met or not", criteriaOf("a"), untraced, 1},
		{"judge: llm_judge", evaluator.LLMJudge{Subject: full}, tr, 3},
		{"judge: llm_judge without an answer", evaluator.LLMJudge{Subject: full}, untraced, len(untraced.Messages)},
		{"judge: llm_judge by a template", evaluator.LLMJudge{Template: "Is {{candidate_answer}} right? It should be {{expected_outcome}}.", Subject: full}, tr, 1},
		{"judge: llm_judge by a program", evaluator.LLMJudge{Program: &evaluator.Program{}}, tr, 1},
		{"judge: aggregator", evaluator.Composite{
			Members: []evaluator.Member{{ID: "answer", Spec: evaluator.Regex{Pattern: "(arrives)"}}}, Judge: &evaluator.LLMJudge{Subject: full},
		}, tr, 1},
	} {
		s := &script{}
		in := evaluate.Input{
			Case: &schema.Case{Drive: schema.Drive{Messages: tt.tr.Messages[:tt.sent]}}, Transcript: tt.tr, Ask: s.ask,
			Programs: printed("Is that polite?\n", nil),
		}
		measured(t.Context(), t, schema.Evaluator{Spec: tt.spec}, in)
		if len(s.asked) != 1 {
			t.Fatalf("%s: %d requests", tt.name, len(s.asked))
		}
		writeRequest(b, tt.name, s.asked[0])
	}
}

// writeSelection writes the request that chooses the best of two answers.
func writeSelection(t *testing.T, b *strings.Builder) {
	s := &script{replies: []string{`{"analysis": "", "best": 1}`}}
	var candidates []evaluate.Input
	for _, answer := range []string{"Hello", "Welcome!"} {
		in := input("Greet the guest.", answer, s)
		in.Case.Evaluators = []schema.Evaluator{{Name: "best", Spec: evaluator.SelectBest{Criterion: "It is the warmest."}}}
		candidates = append(candidates, in)
	}
	if _, err := evaluate.Select(t.Context(), candidates); err != nil {
		t.Fatal(err)
	}
	writeRequest(b, "judge: select-best", s.asked[0])
}
