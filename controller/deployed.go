package controller

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters"
)

// deployed warns of agents that are called and do not say what they run, and of
// files that such an agent is built from and that are changed here: it may
// answer as before the change.
func (p *Prepared) deployed() []reporters.Notice {
	changed := map[string]string{} // a changed file by target, or none
	for _, r := range p.Plan.Rows {
		t := p.Head.Config.Targets[r.Target]
		if r.Action != plan.Run || t.Provider != config.HTTP || t.Revision != config.RevisionNone {
			continue
		}
		if changed[r.Target] == "" {
			changed[r.Target] = input(t, r.Reasons)
		}
	}
	var notices []reporters.Notice
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		message := fmt.Sprintf("target %s has no revision: the deployed version is unknown", name)
		if file := changed[name]; file != "" {
			message += fmt.Sprintf(", and need not have the change of %s", file)
		}
		notices = append(notices, reporters.Notice{File: p.ConfigFile, Message: message})
	}
	return notices
}

// input is the first file among reasons that a target is built from.
func input(t config.Target, reasons []plan.Reason) string {
	for _, r := range reasons {
		start := Start{Inputs: t.Inputs}
		if file, _ := start.Changed([]string{r.File}); file != "" {
			return file
		}
	}
	return ""
}
