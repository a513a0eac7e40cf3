package verdict

import (
	"time"
)

// A DecisionReader is a result with what it took to get there.
type DecisionReader struct {
	Result   Result        `json:"result"`
	Usage    Usage         `json:"usage"`
	Duration time.Duration `json:"duration_ns"`
	Samples  int           `json:"samples"`
	Effort   *Effort       `json:"effort,omitempty"`
}

// Decision reads a decision. It reports false for JSON that has to be read by
// encoding/json, as every decision with attempts, a comparison or the details of a
// program has to. Nothing in it refers to body.
func (r *JSONReader) Decision(body []byte) (out DecisionReader, ok bool) {
	if r.shared == nil {
		r.shared = map[string]string{}
	}
	*r = JSONReader{text: body, evaluators: r.evaluators[:0], criteria: r.criteria[:0], shared: r.shared}
	defer func() { r.text = nil }()
	r.open()
	if r.field("result") {
		r.result(&out.Result)
	}
	if r.field("usage") {
		r.usage(&out.Usage)
	}
	if r.field("duration_ns") {
		out.Duration = time.Duration(r.integer())
	}
	if r.field("samples") {
		out.Samples = int(r.integer())
	}
	if r.field("effort") {
		out.Effort = &Effort{}
		r.effort(out.Effort)
	}
	r.close()
	if r.bad || r.at < len(r.text) {
		return DecisionReader{}, false
	}
	return out, true
}

// result reads a result.
func (r *JSONReader) result(out *Result) {
	r.open()
	if r.field("verdict") {
		out.Verdict = Verdict(r.quoted())
	}
	if r.field("score") {
		out.Score = r.optional()
	}
	if r.field("samples") {
		out.Samples = int(r.integer())
	}
	if r.field("best") {
		out.Best = r.bool()
	}
	if r.field("evaluators") {
		out.Evaluators = r.results()
	}
	if r.field("reason") {
		out.Reason = r.quoted()
	}
	if r.field("no_threshold") {
		out.NoThreshold = r.bool()
	}
	if r.field("pass_share") {
		out.PassShare = r.passShare()
	}
	r.close()
}

// passShare reads the counts of a case that asks for a share of its samples.
func (r *JSONReader) passShare() *PassShare {
	var out PassShare
	r.open()
	for _, count := range []struct {
		name string
		to   *int
	}{{"passes", &out.Passes}, {"samples", &out.Samples}, {"need", &out.Need}, {"of", &out.Of}} {
		if r.field(count.name) {
			*count.to = int(r.integer())
		}
	}
	if r.field("pass_k") {
		out.PassK = []float64{}
		r.list(func() { out.PassK = append(out.PassK, r.number()) })
	}
	r.close()
	return &out
}

// usage reads what calls cost.
func (r *JSONReader) usage(out *Usage) {
	r.open()
	if r.field("calls") {
		out.Calls = int(r.integer())
	}
	if r.field("input_tokens") {
		out.InputTokens = r.integer()
	}
	if r.field("output_tokens") {
		out.OutputTokens = r.integer()
	}
	if r.field("cost_usd") {
		out.CostUSD = r.number()
	}
	if r.field("unpriced") {
		out.Unpriced = int(r.integer())
	}
	if r.field("told") {
		out.Told = int(r.integer())
	}
	if r.field("told_usd") {
		out.ToldUSD = r.number()
	}
	r.close()
}

// effort reads what the answers took from the agent.
func (r *JSONReader) effort(out *Effort) {
	r.open()
	if r.field("samples") {
		out.Samples = int(r.integer())
	}
	if r.field("calls") {
		out.Calls = int(r.integer())
	}
	if r.field("input_tokens") {
		out.InputTokens = r.integer()
	}
	if r.field("output_tokens") {
		out.OutputTokens = r.integer()
	}
	if r.field("told") {
		out.Told = int(r.integer())
	}
	if r.field("told_usd") {
		out.ToldUSD = r.number()
	}
	if r.field("latency_ns") {
		out.Latency = time.Duration(r.integer())
	}
	if r.field("turns") {
		out.Turns = int(r.integer())
	}
	if r.field("tool_calls") {
		out.ToolCalls = int(r.integer())
	}
	if r.field("untraced") {
		out.Untraced = r.bool()
	}
	r.close()
}

// results reads a list of results of evaluators.
func (r *JSONReader) results() []EvaluatorResult {
	from := len(r.evaluators)
	r.list(func() {
		e := r.evaluator() // its members use the same list
		r.evaluators = append(r.evaluators, e)
	})
	return cut(&r.evaluators, from)
}

// evaluator reads the result of an evaluator.
func (r *JSONReader) evaluator() (out EvaluatorResult) {
	r.open()
	if r.field("name") {
		out.Name = r.quoted()
	}
	if r.field("type") {
		out.Type = r.quoted()
	}
	if r.field("weight") {
		out.Weight = r.optional()
	}
	if r.field("score") {
		out.Score = r.number()
	}
	if r.field("pass") {
		out.Pass = r.bool()
	}
	if r.field("criteria") {
		from := len(r.criteria)
		r.list(r.criterion)
		out.Criteria = cut(&r.criteria, from)
	}
	if r.field("reason") {
		out.Reason = r.quoted()
	}
	if r.field("aggregator") {
		out.Aggregator = r.quoted()
	}
	if r.field("members") {
		out.Members = r.results()
	}
	r.close()
	return out
}

// criterion reads a criterion and adds it to the list of criteria.
func (r *JSONReader) criterion() {
	r.criteria = append(r.criteria, Criterion{})
	out := &r.criteria[len(r.criteria)-1]
	r.open()
	if r.field("id") {
		out.ID = r.quoted()
	}
	if r.field("score") {
		out.Score = r.number()
	}
	if r.field("veto") {
		out.Veto = r.bool()
	}
	if r.field("not_applicable") {
		out.NotApplicable = r.bool()
	}
	if r.field("value") {
		out.Value = r.optional()
	}
	if r.field("note") {
		out.Note = r.quoted()
	}
	if r.field("expected") {
		out.Expected = r.quoted()
	}
	if r.field("actual") {
		out.Actual = r.quoted()
	}
	if r.field("sample") {
		out.Sample = int(r.integer())
	}
	if r.field("code") {
		out.Code = r.quoted()
	}
	if r.field("turns") {
		out.Turns = r.integers()
	}
	if r.field("hits") {
		out.Hits = r.texts()
	}
	if r.field("misses") {
		out.Misses = r.texts()
	}
	r.close()
}
