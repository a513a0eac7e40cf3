// Package evaluate measures transcripts: one file per evaluator.
//
// Most callers want [Measure]. Evaluators see only what they are given, keep
// no state and decide nothing: whether a score passes is verdict.Decide's.
package evaluate

import (
	"context"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// Ask calls the model that has the role. The caller journals, limits and
// retries transport errors; evaluators repeat only replies that do not parse.
type Ask func(ctx context.Context, role schema.Role, req target.Request) (target.Reply, error)

// An Input is what evaluators look at.
type Input struct {
	Case       *schema.Case
	Transcript *verdict.Transcript
	Ask        Ask
}
