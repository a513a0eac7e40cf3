package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

func (a *app) planCommand() *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "plan [KEY-GLOB...]",
		Short: "Print which cases would be judged, and why, without a call",
		Example: `  gavel plan
  gavel plan --base main
  gavel plan --base origin/main --domain support --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.keys = args
			return a.plan(cmd.Context(), s)
		},
	}
	s.bind(cmd)
	return cmd
}

func (a *app) plan(ctx context.Context, s selection) error {
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
	// The JSON form has a row for every case; the text counts the rest.
	s.affectedOnly = !a.json
	prepared, err := a.local(ctx, w, book, s.base, s)
	if err != nil {
		return err
	}
	if err := a.printProblems(w.files, prepared.Problems); err != nil {
		return err
	}
	if a.json {
		return a.print(planned(prepared.Plan))
	}
	width, isTerminal := screen(a.stdout)
	return terminal.Plan(a.stdout, prepared.Plan, terminal.Options{Width: width, Color: isTerminal && a.colour()})
}

// plannedShape is the shape of plan --json.
type plannedShape struct {
	Base    *string        `json:"base"`
	Head    string         `json:"head"`
	Cases   []plannedCase  `json:"cases"`
	Summary plannedSummary `json:"summary"`
}

type plannedCase struct {
	Key     string        `json:"key"`
	Dialect string        `json:"dialect"`
	Target  string        `json:"target"`
	Action  plan.Action   `json:"action"`
	Reasons []plan.Reason `json:"reasons"`
	// Digest is D; null for a case that only base has.
	Digest *string `json:"digest"`
}

type plannedSummary struct {
	Run      int `json:"run"`
	Rejudge  int `json:"rejudge"`
	Redecide int `json:"redecide"`
	Reuse    int `json:"reuse"`
	Skip     int `json:"skip"`
	Removed  int `json:"removed"`
	Moved    int `json:"moved"`
}

func planned(p *plan.Plan) plannedShape {
	out := plannedShape{Head: p.Head, Cases: []plannedCase{}}
	if p.Base != "" {
		out.Base = &p.Base
	}
	count := map[plan.Action]*int{
		plan.Run: &out.Summary.Run, plan.Rejudge: &out.Summary.Rejudge, plan.Redecide: &out.Summary.Redecide,
		plan.Reuse: &out.Summary.Reuse, plan.Skip: &out.Summary.Skip, plan.Removed: &out.Summary.Removed,
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		c := plannedCase{Key: r.Key, Dialect: r.Dialect, Target: r.Target, Action: r.Action, Reasons: r.Reasons}
		if c.Reasons == nil {
			c.Reasons = []plan.Reason{}
		}
		if r.Head != nil {
			c.Digest = &r.HeadDigests.D
		}
		*count[r.Action]++
		if r.MovedFrom != "" {
			out.Summary.Moved++
		}
		out.Cases = append(out.Cases, c)
	}
	return out
}
