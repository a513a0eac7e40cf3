package files

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

var now = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

func number(x float64) *float64 { return &x }

// suiteRow is a case of the suite shop with a verdict.
func suiteRow(id string, v verdict.Verdict, score float64, evaluators ...verdict.EvaluatorResult) report.Row {
	r := report.Row{
		Key: "sub/shop#" + id, Dialect: schema.DialectEvalcase, Target: "bot", Verdict: &v, Groups: []string{"sub/shop"},
		Result: &report.Result{Evaluators: evaluators},
	}
	if v.Rank() >= 0 {
		r.Score = &score
	} else {
		why := "the judge is down"
		r.Error = &why
	}
	return r
}

func judge(score float64, hits, misses []string) verdict.EvaluatorResult {
	return verdict.EvaluatorResult{
		Name: "style", Type: "llm_judge", Weight: number(2), Score: score, Reason: "As it is.",
		Criteria: []verdict.Criterion{{ID: "score", Score: score, Hits: hits, Misses: misses}},
	}
}

// TestResultsHaveALineForEachCase covers the fields of a line, the names of both
// levels of a composite, and a reused verdict.
func TestResultsHaveALineForEachCase(t *testing.T) {
	gate := verdict.EvaluatorResult{
		Name: "release", Type: "composite", Weight: number(1), Score: 0.5, Aggregator: "safety_gate",
		Criteria: []verdict.Criterion{
			{ID: "safe", Score: 1}, {ID: "safe/rubric-1", Score: 1, Note: "nothing harmful"},
			{ID: "program", Score: 0}, {ID: "program/score", Score: 0, Note: "too long", Details: json.RawMessage(`{"words":90}`)},
		},
		Members: []verdict.EvaluatorResult{
			{Name: "safe", Type: "rubric", Weight: number(1), Score: 1}, {Name: "program", Type: "code_judge", Weight: number(1)},
		},
	}
	one := suiteRow("greets", verdict.Borderline, 0.7, judge(0.8, []string{"kind"}, []string{"long"}), gate)
	one.Result.Labels.Conversation = "flow"
	one.Result.Judged = now.Add(-time.Hour)
	one.File, one.Samples = "evals/shop.yaml", 3
	one.Result.Samples = []report.Sample{
		{Score: number(0.9), Verdict: verdict.Pass, Usage: verdict.Usage{InputTokens: 7, OutputTokens: 2, CostUSD: 0.02}, Latency: 1500 * time.Millisecond},
		{Score: number(0.5), Verdict: verdict.Fail, Usage: verdict.Usage{Calls: 1, Unpriced: 1}},
	}
	one.Result.Labels.Tags = []string{"short", "experiment=with_skills"}
	one.Result.Labels.Facts = schema.Facts{Category: "support", Tags: map[string]string{"experiment": "with_skills"}, Metadata: json.RawMessage(`{"ticket":7}`)}
	call := schema.ToolCall{Function: schema.FunctionCall{Name: "search"}}
	one.Result.Transcript = &verdict.Transcript{
		Traced: true, Latency: 1500 * time.Millisecond, Usage: verdict.Usage{CostUSD: 0.02},
		Messages: []schema.Message{
			{Role: "assistant", ToolCalls: []schema.ToolCall{call}}, {Role: "user", Content: "Hi"},
			{Role: "assistant", ToolCalls: []schema.ToolCall{call, call}}, {Role: "tool", Content: "{}"}, {Role: "assistant", Content: "Hello"},
		},
	}
	other := suiteRow("x", verdict.Pass, 1)
	other.Dialect = schema.DialectDomain
	unknown := suiteRow("nobody", verdict.Pass, 1)
	unknown.Verdict = nil
	r := &report.Report{Cases: []report.Row{one, suiteRow("broken", verdict.Error, 0), suiteRow("off", verdict.Skipped, 0), other, unknown}}
	r.Cases[2].Error = nil

	var b strings.Builder
	if err := WriteAgentEvals(&b, r, now); err != nil {
		t.Fatal(err)
	}
	want := `{"timestamp":"2026-03-05T11:00:00Z","evalId":"greets","dataset":"shop","conversationId":"flow","score":0.7,"verdict":"borderline",` +
		`"hits":["kind","[safe] rubric-1: nothing harmful"],"misses":["long","[program] score: too long"],"candidateAnswer":"Hello","target":"bot",` +
		`"traceSummary":{"eventCount":2,"toolNames":["search"],"costUsd":0.02,"durationMs":1500},"evaluatorResults":[` +
		`{"name":"style","type":"llm_judge","score":0.8,"weight":2,"hits":["kind"],"misses":["long"],"reasoning":"As it is."},` +
		`{"name":"release","type":"composite","score":0.5,"weight":1,"hits":["[safe] rubric-1: nothing harmful"],"misses":["[program] score: too long"],"aggregator":"safety_gate","evaluatorResults":[` +
		`{"name":"safe","type":"rubric","score":1,"weight":1,"hits":["rubric-1: nothing harmful"],"misses":[],"reasoning":"nothing harmful"},` +
		`{"name":"program","type":"code_judge","score":0,"weight":1,"hits":[],"misses":["score: too long"],"reasoning":"too long","details":{"words":90}}]}],` +
		`"test_id":"greets","suite":"shop","conversation_id":"flow","execution_status":"quality_failure","failure_stage":"evaluator","failure_reason_code":"threshold_not_met","cost_usd":0.02,"duration_ms":1500,"tags":{"experiment":"with_skills"},"scores":[` +
		`{"name":"style","type":"llm_judge","score":0.8,"weight":2},{"name":"release","type":"composite","score":0.5,"weight":1,"scores":[` +
		`{"name":"safe","type":"rubric","score":1,"weight":1},{"name":"program","type":"code_judge","score":0,"weight":1}]}],"named_scores":{"release":0.5,"style":0.8},` +
		`"eval_path":"evals/shop.yaml","category":"support","experiment":"with_skills","sample_count":3,"samples":[{"sample":0,"score":0.9,"verdict":"pass","execution_status":"ok","token_usage":{"input":7,"output":2},"cost_usd":0.02,"duration_ms":1500},` +
		`{"sample":1,"score":0.5,"verdict":"fail","execution_status":"quality_failure","failure_stage":"evaluator","failure_reason_code":"threshold_not_met","duration_ms":0}],"aggregation":{"strategy":"mean","mean":0.7},"metadata":{"ticket":7}}` + "\n" +
		`{"timestamp":"2026-03-05T12:00:00Z","evalId":"broken","dataset":"shop","score":null,"verdict":"error","hits":[],"misses":[],"candidateAnswer":"","target":"bot","evaluatorResults":[],"error":"the judge is down",` +
		`"test_id":"broken","suite":"shop","execution_status":"execution_error","failure_stage":"agent","failure_reason_code":"provider_error","scores":[]}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := AgentEvalsLeftOut(r); n != 1 {
		t.Errorf("%d cases of other formats, want 1", n)
	}
}

// TestSummaryCountsWhatWasJudged: errors are counted apart, and are in no rate or
// mean.
func TestSummaryCountsWhatWasJudged(t *testing.T) {
	r := &report.Report{Cases: []report.Row{
		suiteRow("a", verdict.Pass, 0.9, judge(0.9, nil, []string{"long"})),
		suiteRow("b", verdict.Borderline, 0.7, judge(0.7, nil, []string{"rude", "long"})),
		suiteRow("c", verdict.Fail, 0.2, judge(0.2, []string{"short"}, nil)),
		suiteRow("d", verdict.Error, 0),
	}}
	var b strings.Builder
	if err := WriteAgentEvalsSummary(&b, r, now); err != nil {
		t.Fatal(err)
	}
	var got, want any
	const text = `{"suite": "shop", "timestamp": "2026-03-05T12:00:00Z", "target": "bot",
		"summary": {"total": 3, "pass": 1, "borderline": 1, "fail": 1, "error": 1, "passRate": 0.3333333333333333, "averageScore": 0.6},
		"byEvaluator": {"style": {"averageScore": 0.6, "minScore": 0.2, "maxScore": 0.9}},
		"topMisses": [{"miss": "long", "count": 2}, {"miss": "rude", "count": 1}]}`
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("%v in %s", err, b.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSummaryOfSeveralSuitesIsAList, and so is the summary of several targets.
func TestSummaryOfSeveralSuitesIsAList(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*report.Row)
	}{
		{"suites", func(r *report.Row) { r.Groups = []string{"named"} }},
		{"targets", func(r *report.Row) { r.Target = "other" }},
	} {
		cases := []report.Row{suiteRow("a", verdict.Pass, 1), suiteRow("b", verdict.Pass, 1)}
		tt.change(&cases[1])
		var b strings.Builder
		if err := WriteAgentEvalsSummary(&b, &report.Report{Cases: cases}, now); err != nil {
			t.Fatal(err)
		}
		var got []struct{ Suite, Target string }
		if err := json.Unmarshal([]byte(b.String()), &got); err != nil || len(got) != 2 || got[0] == got[1] {
			t.Errorf("%s: %v in %s", tt.name, err, b.String())
		}
	}
}

// TestAnAnswerHasNoThinking: what a model thought is in the transcript, and not in
// the answer that was judged.
func TestAnAnswerHasNoThinking(t *testing.T) {
	for _, tt := range []struct {
		said schema.Message
		want string
	}{
		{schema.Message{Content: "<think>It may be 7.</think>It is 105."}, "It is 105."},
		{schema.Message{Content: "It is 105.", Reasoning: "It may be 7."}, "It is 105."},
		{schema.Message{Content: "<think>It may be 7, or"}, ""},
	} {
		one := suiteRow("sums", verdict.Pass, 1)
		tt.said.Role = schema.RoleAssistant
		one.Result.Transcript = &verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleUser, Content: "15 × 7?"}, tt.said}}
		var b strings.Builder
		if err := WriteAgentEvals(&b, &report.Report{Cases: []report.Row{one}}, now); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Answer string `json:"candidateAnswer"`
		}
		if err := json.Unmarshal([]byte(b.String()), &got); err != nil || got.Answer != tt.want {
			t.Errorf("%+v: the answer is %q (%v), want %q", tt.said, got.Answer, err, tt.want)
		}
	}
}

// TestTurnsAreListed: the scores of a line are the scores of the turns of a
// conversation, as in AgentV, and each has a name.
func TestTurnsAreListed(t *testing.T) {
	talk := suiteRow("talk", verdict.Pass, 0.75, verdict.EvaluatorResult{
		Name: "turns", Type: "composite", Weight: number(1), Score: 0.75, Aggregator: "weighted_average",
		Members: []verdict.EvaluatorResult{{Name: "turn-1", Type: "composite", Weight: number(1), Score: 1}, {Name: "conversation", Type: "composite", Weight: number(1), Score: 0.5}},
	})
	talk.Result.Labels.Tags = []string{"daily"}
	var b strings.Builder
	if err := WriteAgentEvals(&b, &report.Report{Cases: []report.Row{talk}}, now); err != nil {
		t.Fatal(err)
	}
	want := `"tags":["daily"],"scores":[{"name":"turn-1","type":"composite","score":1,"weight":1},{"name":"conversation","type":"composite","score":0.5,"weight":1}],"named_scores":{"conversation":0.5,"turn-1":1}}`
	if !strings.Contains(b.String(), want) {
		t.Errorf("the line is %s, want %s", b.String(), want)
	}
}
