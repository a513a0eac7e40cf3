package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// maxGroupGates bounds the groups with their own gate: each becomes a status of every
// commit, and a forge accepts one write per second.
const maxGroupGates = 50

// A groupGate is the gate of a single outermost group, such as a domain or a suite.
// min_score is set for the mean over all cases, so it asks nothing of a group. A group
// fails by max_drop only if its fall is proved: a mean of few cases moves by more than
// that without a reason.
type groupGate struct {
	// Group is the name. Names that differ only in case are one group, since a forge
	// does not distinguish statuses by case.
	Group   string  `json:"group"`
	Summary Summary `json:"summary"`
	Diff    Diff    `json:"diff"`
	Gate    Gate    `json:"gate"`
}

// ActiveGroups returns head's outermost groups with a case that should run, or that ran
// at base and has become invalid, in natural order, up to the number of group gates.
// rest are the others.
func ActiveGroups(p *plan.Plan) (names, rest []string) {
	found := map[string]string{}
	for _, row := range p.Rows {
		c := row.Head
		if c == nil && row.Action == plan.Skip {
			c = row.Base
		}
		if !active(c) || len(c.Labels.Groups) == 0 {
			continue
		}
		name := c.Labels.Groups[0]
		if first, ok := found[strings.ToLower(name)]; !ok || name < first {
			found[strings.ToLower(name)] = name
		}
	}
	names = slices.SortedFunc(maps.Values(found), CompareNatural)
	most := min(len(names), maxGroupGates)
	return names[:most], names[most:]
}

// TooMany explains that the other groups have no gate; empty without others.
func TooMany(rest []string) string {
	if len(rest) == 0 {
		return ""
	}
	return fmt.Sprintf("%d groups have a commit status of their own, and no more can: %s %s none, from %s on", maxGroupGates,
		textfmt.Count(len(rest), "group"), textfmt.Verb(len(rest), "has", "have"), textfmt.Clip(textfmt.Line(rest[0]), 80))
}

// groupGates computes the gate of each group.
func groupGates(in *Input, r *Report, pairs []pair) []groupGate {
	if !in.GroupGates {
		return nil
	}
	names, rest := ActiveGroups(in.Plan)
	if message := TooMany(rest); message != "" {
		r.Notices = append(r.Notices, Notice{Message: message})
	}
	out := make([]groupGate, 0, len(names))
	for _, name := range names {
		part, kept := only(r, pairs, inGroup(name))
		part.Triggers = triggers(part.Cases)
		part.Problems = problemsOf(part)
		s := GateSettings{FailOn: in.Gate.FailOn, Removed: in.Gate.Removed, Partial: true, Unasked: in.Gate.Unasked, MaxDrop: in.Gate.MaxDrop, FailFlaky: in.Gate.FailFlaky}
		for _, glob := range in.Gate.Required {
			if slices.ContainsFunc(part.Cases, func(row Row) bool { return wildcard.Match(glob, row.Key) }) {
				s.Required = append(s.Required, glob)
			}
		}
		out = append(out, groupGate{name, part.Summary, part.Diff, gate(part, kept, plan.Rest{}, s)})
	}
	return out
}

// GroupReport returns the report on the cases of one group.
func (r *Report) GroupReport(g groupGate) *Report {
	part := *r
	part.Summary, part.Diff, part.Gate = g.Summary, g.Diff, g.Gate
	part.Cases, part.Remeasured, part.Lift = nil, nil, nil // what is measured again, or lifted, speaks of all cases together
	is := inGroup(g.Group)
	for i := range r.Cases {
		if is(&r.Cases[i]) {
			part.Cases = append(part.Cases, r.Cases[i])
		}
	}
	part.Problems = problemsOf(&part)
	return &part
}

func inGroup(name string) func(*Row) bool {
	name = strings.ToLower(name)
	return func(row *Row) bool { return len(row.Groups) > 0 && strings.ToLower(row.Groups[0]) == name }
}

// problemsOf returns the problems in the files of the cases and in files that keep one
// from being read. A problem elsewhere has no known group.
func problemsOf(r *Report) []schema.Problem {
	files := map[string]bool{}
	for i := range r.Cases {
		row := &r.Cases[i]
		files[row.File] = true
		for _, reason := range row.Reasons {
			files[reason.File] = files[reason.File] || row.Invalid()
		}
	}
	return slices.DeleteFunc(slices.Clone(r.Problems), func(p schema.Problem) bool { return !files[p.File] })
}
