package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// setReuseSince works out which cases are asked again whatever is stored, and since when
// it counts what is. Cases that nothing affects are not among them: their
// verdicts are those that base has.
func (p *Prepared) setReuseSince() {
	p.reuseSince = map[string]time.Time{}
	began := p.Now()
	if p.Invocation != nil {
		began = p.Invocation.began
	}
	for i := range p.Plan.Rows {
		row := &p.Plan.Rows[i]
		t := p.Head.Config.Targets[row.Target]
		row.Unversioned = t.Unversioned()
		if row.Action != plan.Run || p.Fresh == nil && (!row.Unversioned || t.Reuse != nil) {
			continue
		}
		since := began
		if p.ReuseSince != nil {
			since = p.ReuseSince(*row)
		}
		p.reuseSince[row.Head.ID()] = since
	}
}

// addPassed notes on rows that what is stored of them is too old to count, where
// there is anything.
func (p *Prepared) addPassed(ctx context.Context, g scopeKey, rows []int, known []plan.Known) error {
	if !g.again {
		return nil
	}
	digests := make([]plan.Digests, len(rows))
	for i, r := range rows {
		digests[i] = p.Plan.Rows[r].HeadDigests
	}
	found, err := p.Ledger.Known(ctx, p.headScope(scopeKey{target: g.target}), digests)
	if err != nil {
		return err
	}
	for i, r := range rows {
		isStored := found[i].Decided != nil || found[i].Executed > 0
		if isStored && known[r].Decided == nil && known[r].Executed == 0 {
			known[r].Passed = p.whyPassed(p.Plan.Rows[r])
		}
	}
	return nil
}

// whyPassed is why a case is asked again although it is stored.
func (p *Prepared) whyPassed(row plan.Row) *plan.Reason {
	if p.Fresh != nil {
		reason := *p.Fresh
		return &reason
	}
	return &plan.Reason{
		Part: "revision", File: p.ConfigFile,
		Message: fmt.Sprintf("the deployed version of agent %s is unknown; set `revision` or `reuse: on`", row.Target),
	}
}

// A deployment is what is known of an agent that does not say what it runs.
type deployment struct {
	// changed is a file that the agent is built from and that is changed here.
	changed string
	// reused counts the verdicts that were stored before, oldest is when the
	// first of them was made.
	reused int
	oldest time.Time
}

// revisionNotices warns of agents that do not say what they run: of those that are
// called, of files that such an agent is built from and that are changed here,
// since it may answer as before the change, and of verdicts that are reused
// whatever is deployed by now.
func (p *Prepared) revisionNotices(in *report.Input) []report.Notice {
	agents := map[string]*deployment{}
	for _, r := range p.Plan.Rows {
		if !r.Unversioned || r.Head == nil {
			continue
		}
		d := agents[r.Target]
		if d == nil {
			d = &deployment{}
		}
		switch reused, known := reusedOutcome(r, in); {
		case r.Action == plan.Run:
			if d.changed == "" {
				d.changed = input(p.Head.Config.Targets[r.Target], r.Reasons)
			}
		case known:
			d.add(reused)
		default:
			continue
		}
		agents[r.Target] = d
	}
	var notices []report.Notice
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		notices = append(notices, report.Notice{File: p.ConfigFile, Message: agents[name].text(name, p.Now())})
	}
	return notices
}

// reusedOutcome gives the stored verdict that serves a row, of either side where it is
// the same.
func reusedOutcome(r plan.Row, in *report.Input) (report.Outcome, bool) {
	if r.Action != plan.Reuse {
		return report.Outcome{}, false
	}
	if o, ok := in.Head[r.Head.ID()]; ok {
		return o, o.Reused
	}
	if r.Base == nil {
		return report.Outcome{}, false
	}
	o, ok := in.Base[r.Base.ID()]
	return o, ok && o.Reused
}

func (d *deployment) add(o report.Outcome) {
	if d.reused == 0 || o.Judged.Before(d.oldest) {
		d.oldest = o.Judged
	}
	d.reused++
}

func (d *deployment) text(name string, now time.Time) string {
	message := fmt.Sprintf("target %s has no revision: the deployed version is unknown", name)
	if d.changed != "" {
		message += fmt.Sprintf(", and need not have the change of %s", d.changed)
	}
	if d.reused > 0 {
		message += fmt.Sprintf("; %s reused, the oldest of %s (%s ago)", textfmt.Count(d.reused, "verdict"),
			d.oldest.UTC().Format("2006-01-02 15:04 UTC"), textfmt.Age(now.Sub(d.oldest)))
	}
	return message
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
