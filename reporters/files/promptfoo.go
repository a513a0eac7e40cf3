package files

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// FormatPromptfoo is the name of the form of results.
const FormatPromptfoo = "promptfoo"

// The values of failureReason.
const (
	failedNone = iota
	failedAssertion
	failedError
)

// A promptfooDocument is a file of results.
type promptfooDocument struct {
	EvalID       string            `json:"evalId"`
	Results      promptfooResults  `json:"results"`
	Config       map[string]any    `json:"config"`
	ShareableURL *string           `json:"shareableUrl"`
	Metadata     promptfooMetadata `json:"metadata"`
}

type promptfooMetadata struct {
	ExportedAt time.Time `json:"exportedAt"`
	Writer     string    `json:"writer"`
}

type promptfooResults struct {
	Version   int               `json:"version"`
	Timestamp time.Time         `json:"timestamp"`
	Prompts   []promptfooPrompt `json:"prompts"`
	Results   []promptfooResult `json:"results"`
	Stats     promptfooStats    `json:"stats"`
}

// A promptfooPrompt is a template with a target.
type promptfooPrompt struct {
	Raw      string           `json:"raw"`
	Label    string           `json:"label"`
	ID       string           `json:"id,omitempty"`
	Provider string           `json:"provider,omitempty"`
	Metrics  *promptfooTotals `json:"metrics,omitempty"`
}

// promptfooTotals sum up the results of a prompt.
type promptfooTotals struct {
	Score           float64            `json:"score"`
	TestPassCount   int                `json:"testPassCount"`
	TestFailCount   int                `json:"testFailCount"`
	TestErrorCount  int                `json:"testErrorCount"`
	AssertPassCount int                `json:"assertPassCount"`
	AssertFailCount int                `json:"assertFailCount"`
	TotalLatencyMS  int64              `json:"totalLatencyMs"`
	TokenUsage      promptfooTokens    `json:"tokenUsage"`
	NamedScores     map[string]float64 `json:"namedScores"`
	Cost            float64            `json:"cost"`
}

type promptfooTokens struct {
	Prompt      int64 `json:"prompt"`
	Completion  int64 `json:"completion"`
	Total       int64 `json:"total"`
	Cached      int64 `json:"cached"`
	NumRequests int   `json:"numRequests"`
}

func (t *promptfooTokens) add(u promptfooTokens) {
	t.Prompt += u.Prompt
	t.Completion += u.Completion
	t.Total += u.Total
	t.NumRequests += u.NumRequests
}

type promptfooStats struct {
	Successes  int             `json:"successes"`
	Failures   int             `json:"failures"`
	Errors     int             `json:"errors"`
	TokenUsage promptfooTokens `json:"tokenUsage"`
}

type promptfooProvider struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// A promptfooResult is the result of one case.
type promptfooResult struct {
	ID            string                     `json:"id"`
	PromptIdx     int                        `json:"promptIdx"`
	TestIdx       int                        `json:"testIdx"`
	TestCase      promptfooCase              `json:"testCase"`
	PromptID      string                     `json:"promptId"`
	Provider      promptfooProvider          `json:"provider"`
	Prompt        promptfooPrompt            `json:"prompt"`
	Vars          map[string]json.RawMessage `json:"vars"`
	Response      *promptfooResponse         `json:"response,omitempty"`
	Error         string                     `json:"error,omitempty"`
	FailureReason int                        `json:"failureReason"`
	Success       bool                       `json:"success"`
	Score         float64                    `json:"score"`
	LatencyMS     int64                      `json:"latencyMs"`
	NamedScores   map[string]float64         `json:"namedScores"`
	Grading       *promptfooGrading          `json:"gradingResult"`
	Cost          float64                    `json:"cost"`
	Metadata      map[string]string          `json:"metadata"`
}

type promptfooCase struct {
	Description string                     `json:"description,omitempty"`
	Vars        map[string]json.RawMessage `json:"vars"`
	Assert      []schema.RowAssertion      `json:"assert"`
	Metadata    map[string][]string        `json:"metadata,omitempty"`
}

type promptfooResponse struct {
	Output     string          `json:"output"`
	TokenUsage promptfooTokens `json:"tokenUsage"`
	Cost       float64         `json:"cost"`
}

// A promptfooGrading is the grading of a case, or of one of its assertions.
type promptfooGrading struct {
	Pass       bool                 `json:"pass"`
	Score      float64              `json:"score"`
	Reason     string               `json:"reason"`
	Named      map[string]float64   `json:"namedScores,omitempty"`
	Components []promptfooGrading   `json:"componentResults,omitempty"`
	Assertion  *schema.RowAssertion `json:"assertion,omitempty"`
}

// PromptfooLeftOut counts the cases of other formats, which have no result.
func PromptfooLeftOut(r *report.Report) int {
	n := 0
	for _, c := range r.Cases {
		if c.Dialect != schema.DialectMatrix && c.Verdict != nil && *c.Verdict != verdict.Skipped {
			n++
		}
	}
	return n
}

// A promptfooWriter collects the results of a report.
type promptfooWriter struct {
	doc     promptfooDocument
	tests   map[string]int // numbers of tests by their names
	prompts map[string]int // numbers of prompts by label and target
}

// WritePromptfoo writes the results of a report. now is the time of writing.
func WritePromptfoo(out io.Writer, r *report.Report, now time.Time) error {
	w := &promptfooWriter{tests: map[string]int{}, prompts: map[string]int{}, doc: promptfooDocument{
		EvalID: "eval-" + cmp.Or(r.Run, "gavel") + "-" + now.UTC().Format("2006-01-02T15:04:05"), Config: map[string]any{},
		Metadata: promptfooMetadata{now.UTC(), "gavel"},
		Results:  promptfooResults{Version: 3, Timestamp: now.UTC(), Prompts: []promptfooPrompt{}, Results: []promptfooResult{}},
	}}
	for i := range r.Cases {
		c := &r.Cases[i]
		isJudged := c.Verdict != nil && *c.Verdict != verdict.Skipped
		if c.Dialect == schema.DialectMatrix && c.Result != nil && (isJudged || c.Error != nil) {
			w.add(c)
		}
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(w.doc)
}

func (w *promptfooWriter) add(c *report.Row) {
	from := c.Result.Row
	if from == nil {
		from = &schema.Row{Test: c.Key}
	}
	raw := from.Prompt
	id := hash(raw)
	out := promptfooResult{
		ID: hash(c.Name())[:16], PromptID: id, Provider: promptfooProvider{c.Target, c.Target},
		Prompt: promptfooPrompt{Raw: sent(c.Result.Transcript, raw), Label: cmp.Or(from.Label, raw)}, Vars: orEmpty(from.Vars),
		TestCase:    promptfooCase{Description: from.Description, Vars: orEmpty(from.Vars), Assert: from.Asserts, Metadata: tags(c)},
		NamedScores: map[string]float64{}, Metadata: map[string]string{"gavelKey": c.Key},
	}
	if out.TestCase.Assert == nil {
		out.TestCase.Assert = []schema.RowAssertion{}
	}
	definition := definitionOf(c)
	out.TestIdx = ordinal(w.tests, definition+"\x00"+from.Test)
	out.PromptIdx = ordinal(w.prompts, definition+"\x00"+from.Label+raw+"\x00"+c.Target)
	if out.PromptIdx == len(w.doc.Results.Prompts) {
		w.doc.Results.Prompts = append(w.doc.Results.Prompts, promptfooPrompt{
			Raw: raw, Label: out.Prompt.Label, ID: id, Provider: c.Target, Metrics: &promptfooTotals{NamedScores: map[string]float64{}},
		})
	}
	out.grade(c, from)
	w.count(&out)
	w.doc.Results.Results = append(w.doc.Results.Results, out)
}

// definitionOf returns the definition in the key of a case, whose prompts also the tests in
// its tables and other files are run with.
func definitionOf(c *report.Row) string {
	return c.Key[:max(0, strings.LastIndexByte(c.Key, '#'))]
}

// ordinal returns the number of a name; a new name gets the next one.
func ordinal(numbers map[string]int, name string) int {
	n, known := numbers[name]
	if !known {
		n = len(numbers)
		numbers[name] = n
	}
	return n
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func orEmpty(vars map[string]json.RawMessage) map[string]json.RawMessage {
	if vars == nil {
		return map[string]json.RawMessage{}
	}
	return vars
}

func tags(c *report.Row) map[string][]string {
	if len(c.Result.Labels.Tags) == 0 {
		return nil
	}
	return map[string][]string{"tags": c.Result.Labels.Tags}
}

// sent returns the prompt as it was sent: a text, or a chat as JSON; without if it is
// unknown.
func sent(t *verdict.Transcript, without string) string {
	if t == nil {
		return without
	}
	var chat []map[string]string
	if t.System != "" {
		chat = append(chat, map[string]string{"role": schema.RoleSystem, "content": t.System})
	}
	last := lastOfUser(t.Messages)
	for _, m := range t.Messages[:last+1] {
		chat = append(chat, map[string]string{"role": m.Role, "content": m.Content})
	}
	if len(chat) == 1 {
		return chat[0]["content"]
	}
	raw, err := json.Marshal(chat)
	if err != nil {
		return without
	}
	return string(raw)
}

// lastOfUser returns the index of the user's last message, or -1.
func lastOfUser(messages []schema.Message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == schema.RoleUser {
			return i
		}
	}
	return -1
}

// grade takes over the answer, the score and its parts.
func (out *promptfooResult) grade(c *report.Row, from *schema.Row) {
	if t := c.Result.Transcript; t != nil {
		u := t.Usage
		out.Response = &promptfooResponse{
			Output: cmp.Or(verdict.Answer(t.Messages[lastOfUser(t.Messages)+1:]), t.Calls()), Cost: u.CostUSD,
			TokenUsage: promptfooTokens{Prompt: u.InputTokens, Completion: u.OutputTokens, Total: u.InputTokens + u.OutputTokens, NumRequests: u.Calls},
		}
		out.LatencyMS, out.Cost = t.Latency.Milliseconds(), u.CostUSD
	}
	if c.Error != nil {
		out.Error, out.FailureReason = *c.Error, failedError
		return
	}
	out.Success = *c.Verdict == verdict.Pass
	if !out.Success {
		out.FailureReason, out.Error = failedAssertion, c.VerdictReason
	}
	if *c.Verdict == verdict.Error {
		out.FailureReason = failedError
		return
	}
	if c.Score != nil {
		out.Score = *c.Score
	}
	reason := cmp.Or(c.VerdictReason, "All assertions passed")
	out.Grading = &promptfooGrading{Pass: out.Success, Score: out.Score, Reason: reason, Components: []promptfooGrading{}}
	if len(from.Asserts) == 0 {
		return
	}
	weights := map[string]float64{}
	evaluators := c.Result.Evaluators
	if len(evaluators) == 1 && (evaluators[0].Aggregator == evaluator.JavaScript{}.Kind() || evaluators[0].Aggregator == evaluator.Function{}.Kind()) {
		evaluators = evaluators[0].Members // whose results are the assertions'
	}
	for i, e := range evaluators {
		g := promptfooComponent(e)
		if len(from.Asserts) == len(evaluators) {
			g.Assertion = &from.Asserts[i]
			out.name(weights, from.Asserts[i], e.Score)
		}
		out.Grading.Components = append(out.Grading.Components, g)
	}
	out.Grading.Named = out.NamedScores
}

// name adds the score of an assertion to the mean of its metric, by weight.
func (out *promptfooResult) name(weights map[string]float64, a schema.RowAssertion, score float64) {
	if a.Metric == "" {
		return
	}
	weight := 1.0
	if a.Weight != nil {
		weight = *a.Weight
	}
	before := weights[a.Metric]
	if weights[a.Metric] += weight; weights[a.Metric] > 0 {
		out.NamedScores[a.Metric] = (out.NamedScores[a.Metric]*before + score*weight) / weights[a.Metric]
	}
}

func promptfooComponent(e verdict.EvaluatorResult) promptfooGrading {
	g := promptfooGrading{Pass: e.Pass, Score: e.Score, Reason: e.Reason, Assertion: &schema.RowAssertion{Type: e.Type, Weight: e.Weight}}
	for _, c := range e.Criteria {
		g.Reason = cmp.Or(g.Reason, c.Note)
	}
	if g.Reason == "" && g.Pass {
		g.Reason = "Assertion passed"
	}
	g.Reason = cmp.Or(g.Reason, "the score is "+strconv.FormatFloat(e.Score, 'g', 3, 64))
	for _, m := range e.Members {
		g.Components = append(g.Components, promptfooComponent(m))
	}
	return g
}

// count adds a result to the totals.
func (w *promptfooWriter) count(out *promptfooResult) {
	m, s := w.doc.Results.Prompts[out.PromptIdx].Metrics, &w.doc.Results.Stats
	switch {
	case out.Success:
		m.TestPassCount++
		s.Successes++
	case out.FailureReason == failedError:
		m.TestErrorCount++
		s.Errors++
	default:
		m.TestFailCount++
		s.Failures++
	}
	m.Score += out.Score
	m.TotalLatencyMS += out.LatencyMS
	m.Cost += out.Cost
	if out.Response != nil {
		m.TokenUsage.add(out.Response.TokenUsage)
		s.TokenUsage.add(out.Response.TokenUsage)
	}
	for name, score := range out.NamedScores {
		m.NamedScores[name] += score
	}
	if out.Grading == nil {
		return
	}
	for _, g := range out.Grading.Components {
		if g.Pass {
			m.AssertPassCount++
		} else {
			m.AssertFailCount++
		}
	}
}
