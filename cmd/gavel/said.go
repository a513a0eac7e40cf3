package main

import (
	"context"
	"strings"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
)

// mostSaid bounds the failures whose transcript a run shows.
const mostSaid = 5

// printSaid shows the agent's answers in the first failed cases, or how to examine a
// target that gave no answer. An unknown answer only costs its line.
func printSaid(ctx context.Context, a *App, p *controller.Prepared, r *report.Report) error {
	blocking := reporters.Arrange(r).Blocking
	if a.JSON {
		return nil
	}
	if len(blocking) == 0 {
		return printUnanswered(a, r)
	}
	rows := map[string]plan.Row{}
	for _, row := range p.Plan.Rows {
		rows[row.Key+"\x00"+row.Target] = row
	}
	var all []terminal.LastReply
	for _, failed := range blocking {
		row, ok := rows[failed.Key+"\x00"+failed.Target]
		if !ok || len(all) == mostSaid {
			continue
		}
		samples, err := explain.SamplesOf(ctx, p.Ledger(), row.HeadDigests)
		if err != nil {
			continue
		}
		if text := lastSaid(samples); text != "" {
			all = append(all, controller.Redacted(p, terminal.LastReply{Case: failed.Name(), Text: text}))
		}
	}
	return terminal.Said(a.Stdout, all, terminal.OptionsFor(a.Stdout, a.LookupEnv))
}

// printUnanswered names the first target whose case ended with an error.
func printUnanswered(a *App, r *report.Report) error {
	for _, row := range r.Cases {
		if row.Error != nil && strings.HasPrefix(*row.Error, "target "+row.Target+": ") {
			return terminal.Unanswered(a.Stdout, row.Target)
		}
	}
	return nil
}

// lastSaid returns the agent's last text in the last sample of a case.
func lastSaid(samples []explain.Sample) string {
	text := ""
	for _, s := range samples {
		for _, m := range s.Transcript.Messages {
			if _, said := verdict.Thought(m); m.Role == schema.RoleAssistant && said != "" {
				text = said
			}
		}
	}
	return text
}
