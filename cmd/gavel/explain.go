package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

func (a *app) explainCommand() *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use:   "explain CASE",
		Short: "Show everything that is known about one case",
		Long: `Show everything that is known about one case: its digests by part, what
changed since base, the calls, the transcript, what the evaluators measured,
and what it cost.`,
		Example: `  gavel explain support/level_1/test_refund_window
  gavel explain support/level_1/test_refund_window --base main`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("explain takes the key of one case, such as math/level_1/test_sum")
			}
			return a.explain(cmd.Context(), args[0], base)
		},
	}
	cmd.Flags().StringVar(&base, "base", "", "also say what changed since the merge base of this ref and HEAD, such as main")
	return cmd
}

// explained is the shape of explain --json.
type explained struct {
	Key       string               `json:"key"`
	File      string               `json:"file"`
	Line      int                  `json:"line"`
	Action    plan.Action          `json:"action"`
	Reasons   []plan.Reason        `json:"reasons"`
	Digests   plan.Digests         `json:"digests"`
	Inputs    []explainedInput     `json:"inputs"`
	Samples   []explainedSample    `json:"samples"`
	Judged    []explainedJudgement `json:"judged"`
	Calls     []explainedCall      `json:"calls"`
	Decision  *verdict.Result      `json:"decision"`
	Usage     verdict.Usage        `json:"usage"`
	CostUSD   *float64             `json:"cost_usd"`
	Evaluator []explainedEvaluator `json:"evaluators"`

	scale float64 // that scores are shown on
}

type explainedInput struct {
	File   string `json:"file"`
	Role   string `json:"role"`
	Absent bool   `json:"absent"`
}

// An explainedSample is one of the first attempt, or of the series that it
// names: a later attempt, or the second prompt.
type explainedSample struct {
	Ordinal    int                `json:"ordinal"`
	Series     string             `json:"series,omitempty"`
	Transcript verdict.Transcript `json:"transcript"`
}

// An explainedJudgement is a judged sample of a series.
type explainedJudgement struct {
	Series string `json:"series,omitempty"`
	verdict.Sample
}

type explainedCall struct {
	Ordinal int             `json:"ordinal"`
	Series  string          `json:"series,omitempty"`
	Role    string          `json:"role"`
	Seq     int             `json:"seq"`
	Request json.RawMessage `json:"request"`
	Reply   json.RawMessage `json:"reply"`
}

type explainedEvaluator struct {
	Name string      `json:"name"`
	Kind string      `json:"kind"`
	Spec schema.Spec `json:"spec"`
	Rule schema.Rule `json:"rule"`
}

func (a *app) explain(ctx context.Context, key, base string) error {
	w, err := a.workspace()
	if err != nil {
		return err
	}
	defer w.close()
	book, err := a.openLedger(ctx, w)
	if err != nil {
		return err
	}
	defer book.Close()
	prepared, err := a.local(ctx, w, book, base, selection{})
	if err != nil {
		return err
	}
	row, err := findRow(prepared, key)
	if err != nil {
		return err
	}
	out, err := gather(ctx, book, row)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(out)
	}
	return a.printExplained(out)
}

func findRow(p *controller.Prepared, key string) (plan.Row, error) {
	known := map[string]bool{}
	for _, r := range p.Plan.Rows {
		if r.Key == key {
			return r, nil
		}
		known[r.Key] = true
	}
	for _, problem := range p.Problems {
		if problem.Severity == schema.Error && strings.Contains(problem.File, key) {
			return plan.Row{}, usageError("the definition of %s is invalid: %s", key, problem)
		}
	}
	hint := schema.DidYouMean(key, slices.Collect(maps.Keys(known)))
	return plan.Row{}, usageError("there is no case %q; %s", key, strings.TrimSpace(hint+" gavel plan lists all"))
}

// gather reads what the ledger has of a case.
func gather(ctx context.Context, book *ledger.Ledger, row plan.Row) (explained, error) {
	c, digests := row.Head, row.HeadDigests
	if c == nil {
		c, digests = row.Base, row.BaseDigests
	}
	out := explained{
		Key: row.Key, File: c.Origin.File, Line: c.Origin.Line, Action: row.Action,
		Reasons: slices.Concat([]plan.Reason{}, row.Reasons), Digests: digests,
	}
	for _, in := range c.Inputs {
		out.Inputs = append(out.Inputs, explainedInput(in))
	}
	for _, ev := range c.Evaluators {
		out.Evaluator = append(out.Evaluator, explainedEvaluator{ev.Name, ev.Spec.Kind(), ev.Spec, ev.Rule})
	}
	scope := ledger.Scope{Trust: ledger.Trust{Level: ledger.LevelOperator}}
	decided, err := book.Decided(ctx, scope, []string{digests.D})
	if err != nil {
		return out, err
	}
	parts := []caseSeries{{digests: digests}}
	if d, ok := decided[digests.D]; ok {
		out.Decision, out.Usage, out.CostUSD = &d.Result, d.Usage, d.Usage.Cost()
		parts = seriesOf(digests, d.Result)
	}
	out.scale = (&reporters.Row{Dialect: c.Dialect}).Scale()
	for _, part := range parts {
		if err := out.gather(ctx, book, part); err != nil {
			return out, err
		}
	}
	return out, nil
}

// A caseSeries is all samples of a case under one prompt.
type caseSeries struct {
	digests plan.Digests
	// name is empty for the first attempt.
	name string
	// besides are digests of calls that belong to no sample of it alone.
	besides []string
}

// seriesOf are those that a result consists of.
func seriesOf(d plan.Digests, r verdict.Result) []caseSeries {
	parts := []caseSeries{{digests: d}}
	for n, attempt := range r.Attempts {
		if n > 0 {
			parts = append(parts, caseSeries{d.Attempt(n, attempt.System), fmt.Sprintf("attempt %d", n+1), []string{d.Edit(n).E}})
		}
	}
	if r.Contest != nil {
		parts = append(parts, caseSeries{d.Rival(), "prompt B", []string{d.Comparison().J}})
	}
	return parts
}

// gather reads what the ledger has of a series.
func (out *explained) gather(ctx context.Context, book *ledger.Ledger, part caseSeries) error {
	scope, digests := ledger.Scope{Trust: ledger.Trust{Level: ledger.LevelOperator}}, part.digests
	executions, next, err := book.Executions(ctx, scope, digests.E)
	if err != nil {
		return err
	}
	ordinals := []int{next} // of a sample that was begun and not ended
	for _, x := range executions {
		out.Samples = append(out.Samples, explainedSample{x.Ordinal, part.name, x.Transcript})
		ordinals = append(ordinals, x.Ordinal)
	}
	slices.Sort(ordinals)
	for _, ordinal := range ordinals {
		for _, digest := range append([]string{digests.E, digests.J}, part.besides...) {
			calls, err := book.Calls(ctx, scope, digest, ordinal)
			if err != nil {
				return err
			}
			for _, call := range calls {
				out.Calls = append(out.Calls, explainedCall{ordinal, part.name, call.Key.Role, call.Key.Seq, call.Request, call.Reply})
			}
		}
	}
	judgements, err := book.Judgements(ctx, scope, digests.J)
	for _, j := range judgements {
		out.Judged = append(out.Judged, explainedJudgement{part.name, j.Sample})
	}
	return err
}
