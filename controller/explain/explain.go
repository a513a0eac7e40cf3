// Package explain collects everything known about one case: its digests part by part,
// its transcripts and judgements, and its decision.
//
// Most callers want [Explain] and [Case.Write].
package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A Case is everything known about one case: the shape of explain --json.
type Case struct {
	Key        string          `json:"key"`
	File       string          `json:"file"`
	Form       string          `json:"form,omitempty"` // a later format version
	Differing  []string        `json:"differing_versions,omitempty"`
	Line       int             `json:"line"`
	Identity   *Identity       `json:"identity,omitempty"` // for a testcase
	Action     plan.Action     `json:"action"`
	Reasons    []plan.Reason   `json:"reasons"`
	Digests    Digests         `json:"digests"`
	Inputs     []Input         `json:"inputs"`
	Samples    []Sample        `json:"samples"`
	Judgements []Judgement     `json:"judgements"`
	Calls      []Call          `json:"calls"`
	Decision   *verdict.Result `json:"decision"`
	Usage      verdict.Usage   `json:"usage"`
	CostUSD    *float64        `json:"cost_usd"`
	Evaluator  []Evaluator     `json:"evaluators"`
	// Error is why the newest run has no verdict of this state; empty if it has one, or is
	// about another state.
	Error string `json:"error,omitempty"`

	scale float64 // the scale of shown scores
}

// Digests are the three digests of the case with their parts.
type Digests struct {
	E     string      `json:"e"`
	J     string      `json:"j"`
	D     string      `json:"d"`
	Parts []plan.Part `json:"parts"`
}

// An Input is a file that the case is built from.
type Input struct {
	File   string `json:"file"`
	Role   string `json:"role"`
	Absent bool   `json:"absent"`
}

// A Sample is a sample of the first attempt, or of the named variant: a later attempt
// such as "attempt 2", or the second prompt, "prompt B".
type Sample struct {
	Ordinal    int                `json:"ordinal"`
	Variant    string             `json:"variant,omitempty"`
	Transcript verdict.Transcript `json:"transcript"`
}

// A Judgement is a judged sample of a variant.
type Judgement struct {
	Variant string `json:"variant,omitempty"`
	verdict.Sample
}

// A Call is one request to a model or agent with its reply.
type Call struct {
	Ordinal int             `json:"ordinal"`
	Variant string          `json:"variant,omitempty"`
	Role    string          `json:"role"`
	Seq     int             `json:"seq"`
	Request json.RawMessage `json:"request"`
	Reply   json.RawMessage `json:"reply"`
	// Reused means that another judgement of the sample got the reply.
	Reused bool `json:"reused,omitempty"`
}

// An Evaluator is a measurement with its rule.
type Evaluator struct {
	Name string      `json:"name"`
	Kind string      `json:"kind"`
	Spec schema.Spec `json:"spec"`
	Rule schema.Rule `json:"rule"`
}

// Explain reads a planned case's ledger entries.
func Explain(ctx context.Context, store *ledger.Ledger, row plan.Row) (Case, error) {
	c, digests := row.HeadCase, row.HeadDigests
	if c == nil {
		c, digests = row.BaseCase, row.BaseDigests
	}
	out := Case{
		Key: row.Key, File: c.Origin.File, Form: c.Form, Differing: differing(c), Line: c.Origin.Line, Action: row.Action,
		Reasons: append([]plan.Reason{}, row.Reasons...), Digests: Digests{digests.E, digests.J, digests.D, digests.Parts()},
		Inputs: []Input{}, Samples: []Sample{}, Judgements: []Judgement{}, Calls: []Call{}, Evaluator: []Evaluator{},
	}
	for _, in := range c.Inputs {
		out.Inputs = append(out.Inputs, Input(in))
	}
	for _, ev := range c.Evaluators {
		out.Evaluator = append(out.Evaluator, Evaluator{ev.Name, ev.Spec.Kind(), ev.Spec, ev.Rule})
	}
	out.scale = c.Traits().Scale
	if err := out.read(ctx, store, digests); err != nil || out.Decision != nil {
		return out, err
	}
	var err error
	out.Error, err = lastError(ctx, store, row.Key, digests.D)
	return out, err
}

// lastError returns the error of a case under a digest in the newest run without a
// repository, as the runs of working trees are; empty for none.
func lastError(ctx context.Context, store *ledger.Ledger, key, digest string) (string, error) {
	const searched = 100
	runs, err := store.Runs(ctx, searched)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(runs, func(r ledger.Run) bool { return r.Repository == "" })
	if at < 0 {
		return "", nil
	}
	run, err := store.Run(ctx, runs[at].ID)
	if err != nil {
		return "", err
	}
	found, err := report.Decode(run.Report)
	if err != nil {
		return "", fmt.Errorf("read the report of run %s: %w", run.ID, err)
	}
	for i := range found.Cases {
		if row := &found.Cases[i]; row.Key == key && row.Digest == digest && row.Error != nil {
			return *row.Error, nil
		}
	}
	return "", nil
}

// SamplesOf reads the ledger's samples under a case's digests.
func SamplesOf(ctx context.Context, store *ledger.Ledger, digests plan.Digests) ([]Sample, error) {
	var out Case
	err := out.read(ctx, store, digests)
	return out.Samples, err
}

// read adds the ledger's entries under the digests.
func (out *Case) read(ctx context.Context, store *ledger.Ledger, digests plan.Digests) error {
	scope := ledger.Scope{Trust: ledger.Trust{Level: ledger.LevelOperator}}
	decided, err := store.Decided(ctx, scope, []string{digests.D})
	if err != nil {
		return err
	}
	parts := []variant{{digests: digests}}
	if d, ok := decided[digests.D]; ok {
		out.Decision, out.Usage, out.CostUSD = &d.Result, d.Usage, d.Usage.Cost()
		parts = variantsOf(digests, d.Result)
	}
	for _, part := range parts {
		if err := out.gather(ctx, store, part); err != nil {
			return err
		}
	}
	return nil
}

// A variant is all samples of a case under one prompt.
type variant struct {
	digests plan.Digests
	// name is empty for the first attempt.
	name string
	// besides are digests of calls that belong to no single sample.
	besides []string
}

// variantsOf lists the variants in a result.
func variantsOf(d plan.Digests, r verdict.Result) []variant {
	parts := []variant{{digests: d}}
	for n, attempt := range r.Attempts {
		if n > 0 {
			parts = append(parts, variant{d.Attempt(n, attempt.System), fmt.Sprintf("attempt %d", n+1), []string{d.Edit(n).E}})
		}
	}
	if r.Comparison != nil {
		parts = append(parts, variant{d.Alternative(), "prompt B", []string{d.Comparison().J}})
	}
	return parts
}

// gather reads the ledger's entries of a variant.
func (out *Case) gather(ctx context.Context, store *ledger.Ledger, part variant) error {
	scope, digests := ledger.Scope{Trust: ledger.Trust{Level: ledger.LevelOperator}}, part.digests
	executions, next, err := store.Executions(ctx, scope, digests.E)
	if err != nil {
		return err
	}
	ordinals := []int{next} // a sample that began but did not end
	for _, x := range executions {
		out.Samples = append(out.Samples, Sample{x.Ordinal, part.name, x.Transcript})
		ordinals = append(ordinals, x.Ordinal)
	}
	slices.Sort(ordinals)
	for _, ordinal := range ordinals {
		for _, digest := range append([]string{digests.E, digests.J}, part.besides...) {
			calls, err := store.Calls(ctx, scope, digest, ordinal)
			if err != nil {
				return err
			}
			for _, call := range calls {
				out.Calls = append(out.Calls, Call{ordinal, part.name, call.Key.Role, call.Key.Seq, call.Request, call.Reply, isReused(call)})
			}
		}
	}
	judgements, err := store.Judgements(ctx, scope, digests.J)
	for _, j := range judgements {
		out.Judgements = append(out.Judgements, Judgement{part.name, j.Sample})
	}
	return err
}

// isReused reports whether another judgement got the reply of a call, as the journal says.
func isReused(call ledger.Call) bool {
	var asked struct{ Reused bool }
	return json.Unmarshal(call.Request, &asked) == nil && asked.Reused
}
