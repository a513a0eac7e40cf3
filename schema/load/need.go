package load

import (
	"cmp"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// Asked is whom judging a case asks: the target of a name, which is empty for
// the default target, or where Role is set whatever has that role.
type Asked struct {
	Role   schema.Role `json:",omitempty"`
	Target string      `json:",omitempty"`
}

// A Need is somebody whom cases ask.
type Need struct {
	Asked
	// At is the first case that does, Cases counts all of them.
	At    schema.Position
	Cases int
}

// AskedBy lists whom judging a case asks, without repetition.
func AskedBy(c *schema.Case) []Asked {
	all := []Asked{{Target: c.Target}}
	for _, role := range c.Roles() {
		if name, own := evaluator.JudgedBy(role); own {
			all = append(all, Asked{Target: name})
		} else {
			all = append(all, Asked{Role: role})
		}
	}
	for _, name := range Judges(c) {
		all = append(all, Asked{Target: name})
	}
	slices.SortFunc(all, func(a, b Asked) int { return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Target, b.Target)) })
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
	place := map[Asked]int{}
	for _, c := range cases {
		if c.Skip != "" {
			continue
		}
		for _, a := range AskedBy(c) {
			at, known := place[a]
			if !known {
				at = len(needs)
				place[a] = at
				needs = append(needs, Need{Asked: a, At: c.Origin})
			}
			needs[at].Cases++
		}
	}
	return needs
}

// MergeNeeds adds up what some cases need and what others need.
func MergeNeeds(some, others []Need) []Need {
	some = slices.Clone(some)
	for _, n := range others {
		if i := slices.IndexFunc(some, func(s Need) bool { return s.Asked == n.Asked }); i >= 0 {
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
				needs = append(needs, Need{Asked: s.asked[n.asked], At: schema.Position{File: r.file, Line: n.line, Column: n.column}})
				place[n.asked] = len(needs)
			}
			needs[place[n.asked]-1].Cases += n.cases
		}
	}
	return needs
}

// askLike numbers what is asked as a list does that has some of it, and gives
// the list with the rest.
func (s *Snapshot) askLike(list []Asked) []Asked {
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
func (s *Snapshot) needs(places map[Asked]int, cases []briefCase) []needRecord {
	var out []needRecord
	for _, c := range cases {
		if c.skipped {
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
