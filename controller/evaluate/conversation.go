package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// metricScale is the best score of a metric.
const metricScale = 5

// failing is the highest score at which the judge must name the kind of failure.
const failing = 2.0

// conversation asks a judge to score a conversation (the judge of the testcase
// dialect). Each metric is a criterion of
//
//	score / 5
//
// or does not apply and leaves its weight to the others. If the case has its own
// criteria, the only metric is overall, which always applies. So the Rule's weighted
// mean is Σ weight·score/5 over the metrics that apply, divided by their Σ weight. Each
// outcome is a criterion of 1 if it is met, else 0, and so is each expectation of a
// tool call, see [expectations].
//
// One call asks for all of it.
func conversation(ctx context.Context, spec evaluator.Conversation, in Input, d *dialogue) (finding, error) {
	tr := in.Transcript
	if !tr.Traced && len(spec.Calls) > 0 {
		return finding{}, errors.New("the target does not report its tool calls")
	}
	calls, err := newExpectations(spec.Calls, tr)
	if err != nil {
		return finding{}, err
	}
	question := Question{
		System: conversationSystem, Text: conversationQuestion(spec, tr, calls), Format: conversationFormat(spec, calls),
	}
	j, err := askJudge(ctx, d, question, func(reply string) (conversationJudgement, error) {
		return readConversation(reply, spec, len(tr.Messages), len(calls.doubts))
	})
	if err != nil {
		return finding{}, err
	}
	criteria := slices.Concat(j.metrics, j.outcomes, calls.criteria(j.same))
	return finding{criteria, conversationReason(spec, criteria, j.summary)}, nil
}

// A conversationJudgement is a parsed reply of the judge.
type conversationJudgement struct {
	metrics, outcomes []verdict.Criterion
	same              []bool // by doubt
	summary           string
}

// conversationReply is the shape of the judge's reply.
type conversationReply struct {
	Metrics  map[string]metricReply `json:"metrics"`
	Outcomes []struct {
		Outcome   int    `json:"outcome"`
		Met       *bool  `json:"met"`
		Reasoning string `json:"reasoning"`
		Turns     []int  `json:"turns"`
	} `json:"outcomes"`
	Comparisons []struct {
		Comparison int   `json:"comparison"`
		Same       *bool `json:"same"`
	} `json:"comparisons"`
	Summary string `json:"summary"`
}

type metricReply struct {
	// Score is raw to distinguish null, which means not applicable, from a missing
	// field.
	Score         json.RawMessage `json:"score"`
	Justification string          `json:"justification"`
	Code          string          `json:"failure_code"`
	Turns         []int           `json:"turns"`
}

// readConversation requires exactly one answer to every question. Answers to other
// questions are ignored.
func readConversation(reply string, spec evaluator.Conversation, turns, doubts int) (conversationJudgement, error) {
	var j conversationJudgement
	var r conversationReply
	if err := readJSON(reply, &r); err != nil {
		return j, err
	}
	applies := false
	for _, m := range spec.Metrics() {
		got, ok := r.Metrics[m.ID]
		if !ok {
			return j, formOf(r).lacks("it has no metric " + m.ID)
		}
		c, err := got.criterion(m.ID, turns)
		if err != nil {
			return j, err
		}
		applies = applies || !c.NotApplicable
		j.metrics = append(j.metrics, c)
	}
	if !applies {
		return j, errors.New("none of its metrics has a score, and there must be one at least")
	}
	met := answers{what: "outcome", values: make([]*bool, len(spec.Outcomes))}
	j.outcomes = make([]verdict.Criterion, len(spec.Outcomes))
	for _, o := range r.Outcomes {
		if err := met.put(o.Outcome, o.Met); err != nil {
			return j, err
		}
		j.outcomes[o.Outcome-1] = verdict.Criterion{
			ID: spec.Outcomes[o.Outcome-1].ID(), Score: share(*o.Met), Note: strings.TrimSpace(o.Reasoning), Turns: knownTurns(o.Turns, turns),
		}
	}
	same := answers{what: "comparison", values: make([]*bool, doubts)}
	for _, c := range r.Comparisons {
		if err := same.put(c.Comparison, c.Same); err != nil {
			return j, err
		}
	}
	if err := errors.Join(met.complete(), same.complete()); err != nil {
		return j, err
	}
	for _, s := range same.values {
		j.same = append(j.same, *s)
	}
	j.summary = strings.TrimSpace(r.Summary)
	return j, nil
}

// answers are yes or no to numbered questions.
type answers struct {
	what   string
	values []*bool
}

// put stores the answer to the n-th question, counted from 1.
func (a *answers) put(n int, value *bool) error {
	switch {
	case n < 1 || n > len(a.values):
		return fmt.Errorf("there is no %s %d", a.what, n)
	case value == nil:
		return fmt.Errorf("%s %d is neither true nor false", a.what, n)
	case a.values[n-1] != nil:
		return fmt.Errorf("%s %d is there twice", a.what, n)
	}
	a.values[n-1] = value
	return nil
}

func (a *answers) complete() error {
	if i := slices.Index(a.values, nil); i >= 0 {
		return fmt.Errorf("%s %d is missing", a.what, i+1)
	}
	return nil
}

func (m metricReply) criterion(id string, turns int) (verdict.Criterion, error) {
	c := verdict.Criterion{ID: id, Note: strings.TrimSpace(m.Justification), Turns: knownTurns(m.Turns, turns)}
	if string(m.Score) == "null" && id != evaluator.OverallMetric {
		c.NotApplicable = true
		return c, nil
	}
	var score *float64
	if json.Unmarshal(m.Score, &score) != nil || score == nil {
		return c, fmt.Errorf("the score of %s is not a number from 0 to %d", id, metricScale)
	}
	var err error
	if c.Score, err = Share(*score, metricScale); err != nil {
		return c, fmt.Errorf("the metric %s: %w", id, err)
	}
	if *score <= failing {
		c.Code = failureCode(m.Code)
	}
	return c, nil
}

// failureCode converts the judge's name for a failure to snake_case.
func failureCode(s string) string {
	const most = 60
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	code := strings.Join(words, "_")
	return code[:min(len(code), most)]
}

// knownTurns returns the existing turns, sorted and without duplicates.
func knownTurns(turns []int, last int) []int {
	turns = slices.DeleteFunc(slices.Clone(turns), func(n int) bool { return n < 1 || n > last })
	slices.Sort(turns)
	if turns = slices.Compact(turns); len(turns) == 0 {
		return nil
	}
	return turns
}

// conversationReason returns the unmet demands first, then the lowest metric if it is a
// failure, else the judge's summary.
func conversationReason(spec evaluator.Conversation, criteria []verdict.Criterion, summary string) string {
	var broken []string
	worst := -1
	metrics := len(spec.Metrics())
	for i, c := range criteria {
		switch {
		case i >= metrics && c.Score == 0:
			broken = append(broken, demandReason(c))
		case i < metrics && !c.NotApplicable && c.Score*metricScale <= failing && (worst < 0 || c.Score < criteria[worst].Score):
			worst = i
		}
	}
	switch {
	case len(broken) > 0:
		return strings.Join(broken, "; ")
	case worst >= 0 && criteria[worst].Note != "":
		return criteria[worst].ID + ": " + criteria[worst].Note
	}
	return summary
}

// demandReason returns the reason why a demand is not met.
func demandReason(c verdict.Criterion) string {
	label, isOutcome := strings.CutPrefix(c.ID, "outcome:")
	switch {
	case !isOutcome:
		return c.Note
	case c.Note == "":
		return quote(label) + " is not met"
	}
	return quote(label) + " is not met: " + c.Note
}
