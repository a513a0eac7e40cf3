package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// The ways in which a case that is active at base is no longer judged at head. A status
// other than active and draft, such as archived, is its own way.
const (
	WithdrawnRemoved  = "removed"  // its definition is deleted, or renamed
	WithdrawnIgnored  = "ignored"  // .gavelignore names its file
	WithdrawnDisabled = "disabled" // it, or its parent, is not enabled
	WithdrawnDrafted  = "drafted"  // its status is draft
)

// The statuses that a dialect may give a case; others are names of ways.
const (
	statusActive = "active"
	statusDraft  = "draft"
)

// The values of GateSettings.Removed.
const (
	removedAllow = "allow"
	RemovedFail  = "fail"
)

// withdrawn returns the way in which a row's case is withdrawn; empty if it is judged,
// was not active at base, or has an invalid definition, which is reported separately.
func withdrawn(row *plan.Row) string {
	switch head := row.Head; {
	case !active(row.Base):
		return ""
	case row.Action == plan.Removed:
		if slices.ContainsFunc(row.Reasons, func(r plan.Reason) bool { return r.Part == plan.Ignored }) {
			return WithdrawnIgnored
		}
		return WithdrawnRemoved
	case head == nil || head.Skip == "":
		return ""
	case head.Labels.Status == statusDraft:
		return WithdrawnDrafted
	case head.Labels.Status != "" && head.Labels.Status != statusActive:
		return head.Labels.Status
	}
	return WithdrawnDisabled
}

// needs reports whether a case is not run because it needs what Gavel does not read; nobody
// disabled it.
func needs(c *schema.CaseInfo) bool { return c != nil && strings.HasPrefix(c.Skip, "it needs ") }

// needing counts the cases that are not run because of a need, without withdrawn ones.
func needing(pairs []pair) int {
	n := 0
	for _, p := range pairs {
		if needs(p.plan.Head) && withdrawn(p.plan) == "" {
			n++
		}
	}
	return n
}

// Withdrawals counts the cases that are active at base and no longer judged at head,
// without accepted ones: "10 cases removed, 1 disabled". It is empty without any.
func Withdrawals(r *Report) string {
	order := []string{WithdrawnRemoved, WithdrawnIgnored, WithdrawnDisabled, WithdrawnDrafted}
	counts := map[string]int{}
	for i := range r.Cases {
		way := r.Cases[i].Withdrawn
		if way == "" || r.Cases[i].Accepted != nil {
			continue
		}
		counts[way]++
		if !slices.Contains(order, way) {
			order = append(order, way)
		}
	}
	var said []string
	for _, way := range order {
		switch n := counts[way]; {
		case n == 0:
		case len(said) == 0:
			said = append(said, textfmt.Count(n, "case")+" "+way)
		default:
			said = append(said, textfmt.Int(int64(n))+" "+way)
		}
	}
	return strings.Join(said, ", ")
}

// withdrawals applies gate.removed.
func (f *findings) withdrawals(r *Report, s GateSettings) {
	if said := Withdrawals(r); said != "" && s.Removed == RemovedFail {
		f.failed("%s (removed: fail)", said)
	}
}

// maxNamed bounds the cases named that are withdrawn in one way and did not fail at
// base; more are one notice.
const maxNamed = 3

// hidden finds the cases judged at base and not at head. Cases that failed at base have
// a notice each.
func hidden(pairs []pair) []Notice {
	var out []Notice
	var ways []string
	quiet := map[string][]pair{}
	for _, p := range pairs {
		way := withdrawn(p.plan)
		switch {
		case p.base != nil && p.base.Result.Verdict == verdict.Fail:
			if n := notice(p, way); n != nil {
				out = append(out, *n)
			}
		case way != "":
			if quiet[way] == nil {
				ways = append(ways, way)
			}
			quiet[way] = append(quiet[way], p)
		}
	}
	for _, way := range ways {
		if cases := quiet[way]; len(cases) > maxNamed {
			out = append(out, several(cases, way))
			continue
		}
		for _, p := range quiet[way] {
			out = append(out, *notice(p, way))
		}
	}
	return out
}

// notice names one case and its state at base; nil if it is judged at head.
func notice(p pair, way string) *Notice {
	n := &Notice{Case: p.plan.Key, File: p.plan.Base.Origin.File, Line: p.plan.Base.Origin.Line, AtBase: true}
	was := "has no verdict at base"
	if judged(p.base) {
		was = map[verdict.Verdict]string{verdict.Pass: "passed", verdict.Borderline: "was borderline", verdict.Fail: "failed"}[p.base.Result.Verdict] + " at base"
	}
	head := p.plan.Head
	switch {
	case way == "" && head == nil && waits(p.plan.Reasons):
		n.Message = was + " and its definition waits for approval here"
	case way == "" && head == nil:
		n.Message = was + " and its definition is invalid here"
	case way == "":
		return nil
	case way == WithdrawnIgnored:
		n.Message = was + " and is ignored here: .gavelignore names its file"
	case head == nil:
		n.Message = was + " and is " + way + " here"
	default:
		if needs(head) {
			way = "not run"
		}
		n.Message = was + " and is " + way + " here: " + head.Skip
		n.File, n.Line, n.AtBase = head.Origin.File, head.Origin.Line, false
	}
	return n
}

// several counts cases withdrawn in one way and names the first.
func several(cases []pair, way string) Notice {
	names := make([]string, maxNamed)
	for i := range names {
		names[i] = textfmt.Clip(textfmt.Line(cases[i].plan.Key), 60)
	}
	return Notice{Message: fmt.Sprintf("%s that did not fail at base are %s here: %s and %s more",
		textfmt.Count(len(cases), "case"), way, strings.Join(names, ", "), textfmt.Int(int64(len(cases)-maxNamed)))}
}
