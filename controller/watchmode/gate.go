package watchmode

import (
	"context"
	"fmt"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// due counts the cases of a plan that must be judged.
func due(p *plan.Plan) int {
	n := 0
	for _, r := range p.Rows {
		if r.ControlOf != "" {
			continue // it decides nothing
		}
		if r.Action == plan.Run || r.Action == plan.Rejudge || r.Action == plan.Redecide {
			n++
		}
	}
	return n
}

// awaiting is the gate while cases must be judged. Before the first result about the
// current files there is none.
func awaiting(rule string, due int) report.Gate {
	if due == 0 {
		return report.Gate{}
	}
	g := report.Gate{FailOn: rule, Result: report.GateUndetermined}
	g.Reason = fmt.Sprintf("%s %s not judged yet", textfmt.Count(due, "case"), textfmt.Verb(due, "is", "are"))
	if rule == report.FailOnNever {
		g.Result, g.Reason = report.GatePass, "fail_on: never; otherwise: "+g.Reason
	}
	return g
}

// decide updates the gate from the stored results, after some cases were judged again
// by name.
func (s *Session) decide(ctx context.Context) error {
	prepared, err := prepare(ctx, s.view.Prepared.Request())
	if err != nil {
		return err
	}
	s.view.Prepared, s.fresh = prepared, true
	left := due(prepared.Plan)
	notRun := ""
	if left > 0 || prepared.Estimate().Calls > 0 {
		notRun = notYet
	}
	report, err := prepared.Preview(ctx, notRun)
	if err != nil {
		return err
	}
	s.board.Line = verdictLine(report)
	if s.board.Gate = report.Gate; notRun != "" {
		s.board.Gate = awaiting(report.Gate.FailOn, left)
	}
	return nil
}

// underOneGate returns a report with the board's gate: the gate of a partial or stopped
// run is weaker.
func (s *Session) underOneGate(r *report.Report) *report.Report {
	if r == nil || s.board.Gate.Result == "" {
		return r
	}
	out := *r
	out.Gate = s.board.Gate
	return &out
}

// verdictLine returns a report's verdict line; empty if nothing is compared.
func verdictLine(r *report.Report) string {
	if r.Remeasured == nil {
		return ""
	}
	return r.Remeasured.Line
}
