package evaluate_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestCounted has the shares that a judge's replies come to, as promptfoo 0.123.1 counts
// them.
func TestCounted(t *testing.T) {
	faithful := evaluator.Counted{By: evaluator.ByFaithfulness, Query: "Where?", Passages: []string{"Paris is in France."}, Least: 0.5}
	recall := evaluator.Counted{By: evaluator.ByRecall, Truth: "Paris is in France. It is big.", Passages: []string{"Paris is in France."}, Least: 0.5}
	relevance := evaluator.Counted{By: evaluator.ByRelevance, Query: "Where?", Passages: []string{"Paris is in France. It is big! Is it? 1. Yes"}, Least: 0.5}
	apart := evaluator.Counted{By: evaluator.ByRelevance, Query: "Where?", Passages: []string{"Paris is in France. It is big.", "No."}, Apart: true, Least: 0.5}
	coded := relevance
	coded.Passages, coded.Steps = nil, []string{"output.split(' ')"}
	talk := evaluator.Counted{By: evaluator.ByConversation, Window: 2, Least: 0.5}
	long := talk
	long.Turns = []evaluator.Turn{{Input: "one", Output: "1"}, {Input: "two", Output: "2"}, {Input: "three", Output: "3"}}
	const twoStatements = `{"statements": ["Paris is in France", "Paris is big"]}`
	for _, tt := range []struct {
		name        string
		spec        evaluator.Counted
		replies     []string
		pass, score float64
	}{
		{"faithfulness", faithful, []string{twoStatements, `{"claims": [{"statement": "a", "supported": true}, {"statement": "b", "supported": false}]}`}, 1, 0.5},
		{"one verdict too few is asked again", faithful, []string{twoStatements, `{"claims": [{"statement": "a", "supported": true}]}`, `{"claims": [{"statement": "a", "supported": false}, {"statement": "b", "supported": false}]}`}, 0, 0},
		{"recall", recall, []string{`{"claims": [{"statement": "a", "supported": true}, {"statement": "b", "supported": false}]}`}, 1, 0.5},
		{"no claim is asked again", recall, []string{`{"claims": []}`, `{"claims": [{"statement": "a", "supported": true}]}`}, 1, 1},
		{"relevance", relevance, []string{`{"sentences": ["paris is  in France."]}`}, 0, 0.25},
		{"a sentence twice counts once", relevance, []string{`{"sentences": ["It is big!", "It is big!"]}`}, 0, 0.25},
		{"a sentence of its own is asked again", relevance, []string{`{"sentences": ["Rome is in Italy."]}`, `{"sentences": []}`}, 0, 0},
		{"passages", apart, []string{`{"sentences": ["It is big."]}`}, 1, 0.5},
		{"contextTransform", coded, []string{`{"sentences": ["hello"]}`}, 1, 0.5},
		{"a turn", talk, []string{`{"reason": "r", "relevant": true}`}, 1, 1},
		{"turns", long, []string{`{"relevant": true, "reason": "r"}`, `{"relevant": false, "reason": "off"}`, `{"relevant": true, "reason": "r"}`}, 1, 2. / 3},
	} {
		for _, not := range []bool{false, true} {
			tt.spec.Not = not
			s := &script{replies: tt.replies}
			m := measure(t, tt.spec, "hello you", s)
			pass, score := tt.pass, tt.score
			if not {
				pass, score = 1-pass, 1-score
			}
			if m.Error != "" || len(m.Criteria) != 2 || m.Criteria[0].Score != pass || m.Criteria[1].Score != score || len(s.asked) != len(tt.replies) {
				t.Errorf("%s, not %v: %+v after %d questions, want pass %v and score %v", tt.name, not, m, len(s.asked), pass, score)
			}
		}
	}
	s := &script{replies: []string{`{"relevant": true, "reason": "r"}`, `{"relevant": true, "reason": "r"}`, `{"relevant": true, "reason": "r"}`}}
	measure(t, long, "hello", s)
	if last := s.asked[2].Messages[0].Content; strings.Contains(last, "\none\n") || !strings.Contains(last, "\ntwo\n") || !strings.Contains(last, "\nthree\n") {
		t.Errorf("the judge sees other turns than the last two: %s", last)
	}
}

// TestCountedQuestions: the definition's own questions are asked in the place of Gavel's, with
// what is known then in blocks, and with the form of the reply.
func TestCountedQuestions(t *testing.T) {
	block := func(name, text string) string { return evaluate.Block(name, text) }
	const statements, claims, own, second = `{"statements": ["Paris is big"]}`, `{"claims": [{"statement": "a", "supported": true}]}`, "MINE {{answer}} | {{context}} | {{input}}", "MINE {{context}} {{statements}}"
	for _, tt := range []struct {
		name    string
		spec    evaluator.Counted
		replies []string
		nth     int
		want    string
	}{
		{"statements", evaluator.Counted{By: evaluator.ByFaithfulness, Passages: []string{"c"}, Prompts: []string{own}}, []string{statements, claims}, 0,
			"MINE " + block("ANSWER", "hello you") + " | " + block("CONTEXT", "c") + " | " + block("INPUT", "What is it?") + "\n\nReply with one JSON object {\"statements\""},
		{"verdicts", evaluator.Counted{By: evaluator.ByFaithfulness, Passages: []string{"c", "d"}, Prompts: []string{"", second}}, []string{statements, claims}, 1,
			"MINE " + block("CONTEXT", "c\n\nd") + " " + block("STATEMENTS", `["Paris is big"]`)},
		{"a question that is not replaced", evaluator.Counted{By: evaluator.ByFaithfulness, Passages: []string{"c"}, Prompts: []string{"", own}}, []string{statements, claims}, 0, "YOUR TASK. Take the ANSWER apart"},
		{"recall", evaluator.Counted{By: evaluator.ByRecall, Passages: []string{"c"}, Prompts: []string{own}}, []string{claims}, 0, "MINE "},
		{"relevance", evaluator.Counted{By: evaluator.ByRelevance, Passages: []string{"c"}, Prompts: []string{own}}, []string{`{"sentences": []}`}, 0, "MINE "},
		{"the second turn", evaluator.Counted{By: evaluator.ByConversation, Window: 5, Turns: []evaluator.Turn{{Input: "1"}, {Input: "2"}}, Prompts: []string{"ONE", "TWO"}}, []string{`{"relevant": true, "reason": "r"}`, `{"relevant": true, "reason": "r"}`}, 1, "TWO\n\nReply with one JSON object"},
		{"asked again", evaluator.Counted{By: evaluator.ByFaithfulness, Passages: []string{"c"}, Prompts: []string{"ONE", "TWO"}}, []string{"what?", statements, claims}, 2, "TWO"},
	} {
		s := &script{replies: tt.replies}
		m := measure(t, tt.spec, "hello you", s)
		if m.Error != "" || len(s.asked) != len(tt.replies) {
			t.Errorf("%s: %+v after %d questions", tt.name, m, len(s.asked))
			continue
		}
		if got := s.asked[tt.nth].Messages[0].Content; !strings.Contains(got, tt.want) || strings.Contains(tt.want, "MINE") && strings.Contains(got, "YOUR TASK") {
			t.Errorf("%s: the question is\n%s\nwant in it\n%s", tt.name, got, tt.want)
		}
	}
}

// TestContextBeforeTransforms: the context is taken from the answer as it was sent, and the
// judge sees the transformed one.
func TestContextBeforeTransforms(t *testing.T) {
	spec := evaluator.Transformed{Steps: []string{"output.split('|')[1]"}, Spec: evaluator.Counted{By: evaluator.ByFaithfulness, Steps: []string{"output.split('|')", "output[0]"}, Query: "q"}}
	s := &script{replies: []string{`{"statements": ["a"]}`, `{"claims": [{"statement": "a", "supported": true}]}`}}
	if m := measure(t, spec, "docs|text", s); m.Error != "" || len(s.asked) != 2 {
		t.Fatalf("%+v after %d questions", m, len(s.asked))
	}
	for i, want := range []string{evaluate.Block("ANSWER", "text"), evaluate.Block("CONTEXT", "docs")} {
		if got := s.asked[i].Messages[0].Content; !strings.Contains(got, want) {
			t.Errorf("question %d is\n%s\nwant in it\n%s", i+1, got, want)
		}
	}
}

// TestCountedErrors: what cannot be judged is an error, never a fail.
func TestCountedErrors(t *testing.T) {
	recall := evaluator.Counted{By: evaluator.ByRecall, Truth: "x", Passages: []string{"y"}, Least: 0.5}
	coded := evaluator.Counted{By: evaluator.ByRecall, Truth: "x", Steps: []string{"output.context.text"}, Least: 0.5}
	number := coded
	number.Steps = []string{"5"}
	for _, tt := range []struct {
		spec  evaluator.Counted
		reply string
		want  string
	}{
		{recall, `{"claims": [{"statement": "a"}]}`, `no true or false under "supported"`},
		{recall, "fine", "not the JSON"},
		{coded, "", "contextTransform: the transform throws"},
		{number, "", "contextTransform returns 5 in place of"},
	} {
		fails(t, measure(t, tt.spec, "hello", &script{replies: []string{tt.reply, tt.reply, tt.reply}}), tt.want)
	}
}
