// Package evaluate measures transcripts: one file per evaluator.
//
// Most callers want [Measure]. Evaluators see only their input, keep no state and
// decide nothing: they list criteria with scores, and verdict.Decide decides whether
// those pass. Text of a model under test reaches another model only between delimiters
// that it cannot guess, and never reaches a shell or a file.
package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// An Input is the input of an evaluator.
type Input struct {
	Case       *schema.Case
	Transcript *verdict.Transcript
	Ask        Ask
	// Programs runs programs of the repository. If it is nil, an evaluator that needs a
	// program fails.
	Programs Programs

	transformed json.RawMessage // the output of transforms, as JSON; nil without transforms
	before      *Input          // the input without transforms; nil if it is this one
}

// untransformed returns the input that the target's answer is in.
func (in Input) untransformed() Input {
	if in.before != nil {
		return *in.before
	}
	return in
}

// value returns the answer as the input of functions.
func (in Input) value() json.RawMessage {
	if in.transformed != nil {
		return in.transformed
	}
	if in.Case.Drive.CallsAnswer && in.Transcript.Said != "" {
		return json.RawMessage(in.Transcript.Said) // the list of calls
	}
	return jsonText(in.Transcript.Final())
}

// told adds what came of the call to the argument context of functions, as promptfoo
// has it.
func (in Input) told(context json.RawMessage) json.RawMessage {
	said := map[string]json.RawMessage{}
	if len(context) > 0 && json.Unmarshal(context, &said) != nil {
		return context
	}
	t := in.Transcript
	said["providerResponse"], _ = json.Marshal(map[string]any{ // JSON and numbers
		"output": in.value(), "cached": false, "cost": t.Usage.CostUSD, "latencyMs": t.Latency.Milliseconds(), "finishReason": t.Finish,
		"tokenUsage": map[string]int64{"total": t.Usage.InputTokens + t.Usage.OutputTokens, "prompt": t.Usage.InputTokens, "completion": t.Usage.OutputTokens},
	})
	raw, _ := json.Marshal(said) // JSON values
	return raw
}

// evalcase converts the input for evaluators of that format.
func (in Input) evalcase(d *dialogue) suiteInput {
	return suiteInput{Case: in.Case, Transcript: in.Transcript, dialogue: d, Programs: in.Programs}
}

// Question returns the user's last message.
func (in Input) Question() string {
	for i := len(in.Case.Drive.Messages) - 1; i >= 0; i-- {
		if m := in.Case.Drive.Messages[i]; m.Role == schema.RoleUser {
			return m.Content
		}
	}
	return ""
}

// A finding is the result of an evaluator without its calls.
type finding struct {
	criteria []verdict.Criterion
	reason   string
}

// Measure runs one evaluator over a transcript, ignoring the target's thinking. The
// measurement holds criteria with scores in [0,1], or an Error if nothing could be
// measured, including an error of Ask or the end of ctx. It always has the usage of
// every answered call. The returned error is a [*Fault] of Ask, unchanged.
func Measure(ctx context.Context, ev schema.Evaluator, in Input) (verdict.Measurement, error) {
	in.Transcript = in.Transcript.Judged()
	d := &dialogue{Ask: in.Ask, isCut: isCut(in.Transcript)}
	f, err := find(ctx, ev.Spec, in, d)
	if _, isFinish := ev.Spec.(evaluator.Finish); isCut(in.Transcript) && !isFinish {
		f.reason = strings.TrimPrefix(f.reason+"; "+cutNote, "; ")
	}
	return measurement(ev.Name, d, f, err)
}

// measurement combines an evaluator's finding with its dialogue.
func measurement(name string, d *dialogue, f finding, err error) (verdict.Measurement, error) {
	m := verdict.Measurement{Evaluator: name, Usage: d.Usage, Asked: d.Asked, Answered: d.Answered}
	if fault, ok := errors.AsType[*Fault](err); ok {
		return m, fault
	}
	if err != nil {
		m.Error = err.Error()
		return m, nil
	}
	m.Criteria, m.Reason = f.criteria, f.reason
	return m, nil
}

// isViolated reports whether a criterion is a veto that is violated.
func isViolated(c verdict.Criterion) bool { return c.Veto && c.Score == 0 }

// find measures, but for an inverted evaluator that holds of an answer that was cut off:
// it may not hold of the whole.
func find(ctx context.Context, spec schema.Spec, in Input, d *dialogue) (finding, error) {
	if err := ctx.Err(); err != nil {
		return finding{}, err
	}
	f, err := findUncut(ctx, spec, in, d)
	if name := inverted(spec, f); err == nil && name != "" && isCut(in.Transcript) {
		err = errLacks(name + " holds of the whole")
	}
	return f, err
}

func findUncut(ctx context.Context, spec schema.Spec, in Input, d *dialogue) (finding, error) {
	switch s := spec.(type) {
	case evaluator.Keyword:
		f, err := keyword(s, in.Transcript.Final())
		if err == nil && isCut(in.Transcript) && len(s.Forbidden) > 0 && !slices.ContainsFunc(f.criteria, isViolated) {
			err = errLacks("the rest has a forbidden word")
		}
		return f, err
	case evaluator.TwoPass:
		return twoPass(ctx, s, in, d)
	case evaluator.SQLExecutor:
		return sqlExecutor(ctx, s, in, d)
	case evaluator.ToolCalls:
		return toolCalls(s, in.Transcript)
	case evaluator.Regex:
		c, err := regex(s, in.Transcript.Final())
		return finding{[]verdict.Criterion{c}, c.Note}, err
	case evaluator.ICDCodes:
		list, reason := icdCodes(s, in.Transcript.Final())
		return finding{list, reason}, nil
	case evaluator.Prompt:
		return prompt(ctx, s, in, d)
	case evaluator.Conversation:
		return conversation(ctx, s, in, d)
	case evaluator.Criteria:
		return criteria(ctx, s, in, d)
	case evaluator.Semantic:
		return semantic(ctx, s, in, d)
	case evaluator.ToolCounts:
		criteria, reason, err := Counts(s, in.Transcript)
		return finding{criteria, reason}, err
	case evaluator.Composite:
		return composite(ctx, s, in, d)
	case evaluator.Checks:
		return checks(s, in.evalcase(d))
	case evaluator.Assertion:
		c, err := assertion(ctx, s, in.Transcript.Final())
		return finding{criteria: []verdict.Criterion{c}, reason: cmp.Or(c.Note, "the answer is as it should be")}, err
	case evaluator.Refusal:
		return isRefusal(s, in)
	case evaluator.Counted:
		return countedParts(ctx, s, in, d)
	case evaluator.Overlap:
		return overlap(s, in)
	case evaluator.Graded:
		return graded(ctx, s, in, d)
	case evaluator.JavaScript:
		return script(ctx, s, in)
	case evaluator.Function:
		got, err := callFunction(ctx, s, in, in.Programs)
		return got.finding(s.Not), err
	case evaluator.Transformed:
		return transformed(ctx, s, in, d)
	case evaluator.Similar:
		return similarity(ctx, s, in.Transcript.Final(), d)
	case evaluator.Finish:
		c, err := finish(s, in.Transcript)
		return finding{criteria: []verdict.Criterion{c}, reason: cmp.Or(c.Note, "the reply ended as it should")}, err
	case evaluator.Classified:
		c, err := classification(ctx, s, in.Transcript.Final(), d)
		return finding{criteria: []verdict.Criterion{c}, reason: c.Note}, err
	case evaluator.Calls:
		c, err := traceCalls(s, in.Transcript)
		return finding{criteria: []verdict.Criterion{c}, reason: cmp.Or(c.Note, "the calls are as they should be")}, err
	}
	return findEvalcase(ctx, spec, in.evalcase(d))
}

// findEvalcase runs the evaluators of the evalcase format.
func findEvalcase(ctx context.Context, spec schema.Spec, in suiteInput) (finding, error) {
	var f suiteFinding
	var err error
	switch s := spec.(type) {
	case evaluator.Rubrics:
		f, err = rubrics(ctx, s, in)
	case evaluator.LLMJudge:
		f, err = llmJudge(ctx, s, in, "")
	case evaluator.CodeJudge:
		f, err = codeJudge(ctx, s, in, nil)
	case evaluator.SkillTrigger:
		f, err = skillTrigger(s, in)
	case evaluator.Traces:
		f, err = traces(s, in)
	case evaluator.Trajectory:
		f, err = trajectory(s, in)
	case evaluator.FieldAccuracy:
		f, err = fieldAccuracy(s, in)
	case evaluator.Measured:
		f, err = Measured(s, in)
	default:
		err = fmt.Errorf("evaluator of type %T is not known", spec)
	}
	return finding{f.Criteria, f.Reason}, err
}

// share returns 1 if holds is true, else 0.
func share(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
