package load

import (
	"cmp"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A Callee is something called to judge a case: the target of a name, which is empty
// for the default target, or if Role is set the target with that role.
type Callee struct {
	Role   schema.Role `json:",omitempty"`
	Target string      `json:",omitempty"`
}

// A Need is a callee with the cases that need it.
type Need struct {
	Callee
	// At is the first case that needs it, Cases counts all of them.
	At    schema.Position
	Cases int
}

// Callees lists the callees of judging a case, without repetition.
func Callees(c *schema.Case) []Callee {
	var all []Callee
	for _, answers := range append([]*schema.Case{c}, c.Answering()...) {
		if answers.Drive.Given == nil {
			all = append(all, Callee{Target: answers.Target})
		}
	}
	for _, role := range c.Roles() {
		if name, own := evaluator.JudgedBy(role); own {
			all = append(all, Callee{Target: name})
		} else {
			all = append(all, Callee{Role: role})
		}
	}
	for _, name := range Judges(c) {
		all = append(all, Callee{Target: name})
	}
	slices.SortFunc(all, func(a, b Callee) int { return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Target, b.Target)) })
	return slices.Compact(all)
}

// Judges names the targets that evaluators of a case ask in place of the judge.
func Judges(c *schema.Case) []string {
	var names []string
	for _, ev := range c.Evaluators {
		if own, ok := ev.Spec.(interface{ Targets() []string }); ok {
			names = append(names, own.Targets()...)
		}
	}
	return names
}

// NeedsOf sums up whom the active ones of some cases ask, in the order of the
// first case of each.
func NeedsOf(cases []*schema.Case) []Need {
	var needs []Need
	place := map[Callee]int{}
	for _, c := range cases {
		if c.Skip != "" {
			continue
		}
		for _, a := range Callees(c) {
			at, known := place[a]
			if !known {
				at = len(needs)
				place[a] = at
				needs = append(needs, Need{Callee: a, At: c.Origin})
			}
			needs[at].Cases++
		}
	}
	return needs
}

// MergeNeeds merges the needs of two sets of cases.
func MergeNeeds(some, others []Need) []Need {
	some = slices.Clone(some)
	for _, n := range others {
		if i := slices.IndexFunc(some, func(s Need) bool { return s.Callee == n.Callee }); i >= 0 {
			some[i].Cases += n.Cases
		} else {
			some = append(some, n)
		}
	}
	return some
}

// Needs sums up whom the active cases ask, in the order of the first case of
// each.
func (s *Snapshot) Needs() []Need {
	var needs []Need
	place := make([]int, len(s.asked)) // in needs, plus 1
	for i := range s.records {
		r := &s.records[i]
		for _, n := range r.needs {
			if place[n.asked] == 0 {
				needs = append(needs, Need{Callee: s.asked[n.asked], At: schema.Position{File: r.file, Line: n.line, Column: n.column}})
				place[n.asked] = len(needs)
			}
			needs[place[n.asked]-1].Cases += n.cases
		}
	}
	return needs
}

// askLike numbers the callees, reusing a list that shares some of them, and returns the
// list with the rest.
func (s *Snapshot) askLike(list []Callee) []Callee {
	list = slices.Clip(list)
	places := make([]int, len(s.asked))
	for i, a := range s.asked {
		if places[i] = slices.Index(list, a); places[i] < 0 {
			places[i] = len(list)
			list = append(list, a)
		}
	}
	for _, r := range s.records {
		for i := range r.needs {
			r.needs[i].asked = places[r.needs[i].asked]
		}
	}
	return list
}

// A needRecord is a Need of the cases of one file; asked is its place in the
// Snapshot's list.
type needRecord struct{ asked, line, column, cases int }

// needs notes whom the cases of a definition ask.
func (s *Snapshot) needs(places map[Callee]int, cases []briefCase) []needRecord {
	var out []needRecord
	for _, c := range cases {
		if c.skip != nil {
			continue
		}
		for _, a := range c.asked {
			at, known := places[a]
			if !known {
				at = len(s.asked)
				places[a] = at
				s.asked = append(s.asked, a)
			}
			i := slices.IndexFunc(out, func(n needRecord) bool { return n.asked == at })
			if i < 0 {
				i = len(out)
				out = append(out, needRecord{at, c.at.Line, c.at.Column, 0})
			}
			out[i].cases++
		}
	}
	return out
}
