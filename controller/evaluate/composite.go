package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// composite measures by several evaluators (the composite of the evalcase format). A
// member's findings carry its name, and its own rule turns them into its score. The
// composite's Rule, which is pure, combines the scores; or a model or a program sees
// them and gives the criterion [evaluator.AggregateCriterion]. Gates are measured
// first, and the others only if all gates are open. A member that cannot measure is an
// error of the whole and does not count as 0.
func composite(ctx context.Context, spec evaluator.Composite, in Input, d *dialogue) (finding, error) {
	var f finding
	var talks exchanges
	defer talks.show(d)
	in = in.viewed(spec.View)
	results := make([]Result, 0, len(spec.Members))
	members := slices.Clone(spec.Members)
	slices.SortStableFunc(members, func(a, b evaluator.Member) int { return cmp.Compare(gateFirst(spec, a), gateFirst(spec, b)) })
	shut := ""
	for _, m := range members {
		isGate := gateFirst(spec, m) == 0
		if shut != "" && !isGate {
			f.reason = "the gate " + shut
			break
		}
		turn := m.TurnOf()
		if turn > len(in.Transcript.Turns) {
			continue // the conversation ended before this turn
		}
		part, err := find(ctx, m.Spec, in, d)
		talks.moveExchange(m.ID, d)
		if err != nil {
			return finding{}, fmt.Errorf("%s: %w", m.ID, err)
		}
		score, pass := verdict.Score(schema.Evaluator{Spec: m.Spec, Rule: m.Rule}, part.criteria)
		if score == nil {
			return finding{}, fmt.Errorf("%s: its criteria give no score", m.ID)
		}
		results = append(results, Result{
			Name: m.ID, Type: m.Spec.Kind(), Score: *score, Pass: pass, Reasoning: part.reason, Criteria: uncontrasted(part.criteria),
		})
		for _, c := range part.criteria {
			c.ID = m.ID + "/" + c.ID
			f.criteria = append(f.criteria, c)
		}
		if isGate && shut == "" && !verdict.Reaches(*score, spec.Gate) {
			shut = m.ID + ": " + part.reason
		}
		if turn > 0 && !verdict.Reaches(*score, spec.Stop) {
			in.Transcript = in.Transcript.Until(turn)
		}
		if part.reason != "" && (f.reason == "" || !pass) {
			f.reason = m.ID + ": " + part.reason
		}
	}
	if spec.Function != nil {
		return scored(ctx, spec, in, f)
	}
	f, err := aggregated(ctx, spec, in.evalcase(d), f, results)
	talks.moveExchange("aggregator", d)
	return f, err
}

// gateFirst orders members: 0 for a gate of the composite, else 1.
func gateFirst(spec evaluator.Composite, m evaluator.Member) int {
	if slices.Contains(spec.Gates, m.ID) {
		return 0
	}
	return 1
}

// exchanges collects the exchanges of several evaluators with models, so that people
// can read all of them and not only the last.
type exchanges struct{ asked, answered []string }

// moveExchange moves an evaluator's exchange out of the dialogue.
func (x *exchanges) moveExchange(name string, d *dialogue) {
	if d.Asked != "" {
		x.asked = append(x.asked, "["+name+"]\n"+d.Asked)
		x.answered = append(x.answered, "["+name+"]\n"+d.Answered)
	}
	d.Asked, d.Answered = "", ""
}

// show puts all collected exchanges back into the dialogue.
func (x *exchanges) show(d *dialogue) {
	d.Asked, d.Answered = strings.Join(x.asked, "\n\n"), strings.Join(x.answered, "\n\n")
}

// aggregated adds the score of an aggregating model or program.
func aggregated(ctx context.Context, spec evaluator.Composite, in suiteInput, f finding, results []Result) (finding, error) {
	var all suiteFinding
	var err error
	switch {
	case spec.Judge != nil:
		all, err = llmJudge(ctx, *spec.Judge, in, compactJSON(results))
	case spec.Program != nil:
		all, err = codeJudge(ctx, *spec.Program, in, results)
	default:
		return f, nil
	}
	if err != nil {
		return finding{}, fmt.Errorf("aggregator: %w", err)
	}
	total := all.Criteria[0]
	total.ID = evaluator.AggregateCriterion
	f.criteria = append(f.criteria, total)
	f.reason = all.Reason
	return f, nil
}
