package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A deploymentRun is the subject of the notices.
type deploymentRun struct {
	// Input is the plan, with the outcomes known before judging.
	Input *report.Input
	// Config is the configuration that decides for head, and ConfigFile its path.
	Config     *config.Config
	ConfigFile string
	Now        time.Time
}

// An agent is an agent without a known version.
type agent struct {
	// changed is a changed file that the agent is built from.
	changed string
	// reused counts the reused verdicts, oldest is the time of the first.
	reused int
	oldest time.Time
}

// deploymentNotices warns about agents without a version: about changed source files of
// a called agent, since it may answer as before the change, and about verdicts reused
// whatever is deployed now.
func deploymentNotices(r deploymentRun) []report.Notice {
	agents := map[string]*agent{}
	for _, row := range r.Input.Plan.Rows {
		if !row.Unversioned || row.Head == nil || r.Config.Targets[row.Target].Revision == config.RevisionAny {
			continue
		}
		a := agents[row.Target]
		if a == nil {
			a = &agent{}
		}
		switch reused := reusedOutcome(row, r.Input); {
		case row.Action == plan.Run:
			if a.changed == "" {
				a.changed = changedInput(r.Config.Targets[row.Target], row.Reasons)
			}
		case reused != nil:
			a.add(reused)
		default:
			continue
		}
		agents[row.Target] = a
	}
	// One notice has all agents that lack the same change.
	byChange := map[string][]string{}
	for name, a := range agents {
		byChange[a.changed] = append(byChange[a.changed], name)
	}
	var notices []report.Notice
	for _, change := range slices.Sorted(maps.Keys(byChange)) {
		names := slices.Sorted(slices.Values(byChange[change]))
		all := *agents[names[0]]
		for _, name := range names[1:] {
			all.join(*agents[name])
		}
		notices = append(notices, report.Notice{File: r.ConfigFile, Message: all.text(names, r.Now)})
	}
	return notices
}

// reusedOutcome returns a row's stored verdict, from either side if both are the same.
func reusedOutcome(r plan.Row, in *report.Input) *report.Outcome {
	if r.Action != plan.Reuse {
		return nil
	}
	out := in.Head[r.Head.ID()]
	if out == nil && r.Base != nil {
		out = in.Base[r.Base.ID()]
	}
	if out == nil || !out.Reused {
		return nil
	}
	return out
}

func (a *agent) add(o *report.Outcome) {
	if a.reused == 0 || o.Judged.Before(a.oldest) {
		a.oldest = o.Judged
	}
	a.reused++
}

// join adds the reused verdicts of another agent.
func (a *agent) join(b agent) {
	if a.reused == 0 || b.reused > 0 && b.oldest.Before(a.oldest) {
		a.oldest = b.oldest
	}
	a.reused += b.reused
}

func (a *agent) text(names []string, now time.Time) string {
	message := fmt.Sprintf("target %s has no revision: the deployed version is unknown", names[0])
	at := "the target once its replies name one"
	if len(names) > 1 {
		message = fmt.Sprintf("targets %s have no revision: the deployed versions are unknown", strings.Join(names, ", "))
		at = "each target once its replies name one"
	}
	if a.changed != "" {
		message += fmt.Sprintf(", and may lack the change of %s", a.changed)
	}
	if a.reused > 0 {
		message += fmt.Sprintf("; %s reused, the oldest of %s (%s ago)", textfmt.Count(a.reused, "verdict"),
			a.oldest.UTC().Format("2006-01-02 15:04 UTC"), textfmt.Age(now.Sub(a.oldest)))
	}
	return message + "; set `revision: reply` at " + at
}

// changedInput returns the first file among reasons that a target is built from.
func changedInput(t config.Target, reasons []plan.Reason) string {
	for _, r := range reasons {
		for _, glob := range t.Inputs {
			if wildcard.Match(glob, r.File) {
				return r.File
			}
		}
	}
	return ""
}
