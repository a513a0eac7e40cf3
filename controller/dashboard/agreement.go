package dashboard

import (
	"cmp"
	"slices"

	"github.com/gavel-evals/gavel/controller/report"
)

// An evaluatorPair is two evaluators that measured the same cases.
type evaluatorPair struct {
	// A and B are their names, A before B in the alphabet, and TypeA and TypeB their
	// types, which may be empty.
	A, B, TypeA, TypeB string
	// BothPass, BothFail, OnlyA and OnlyB count the cases by which evaluator passed them.
	BothPass, BothFail, OnlyA, OnlyB int
	// Disputed are the rows on which the evaluators disagree, in the order of the report.
	Disputed []*report.Row
}

// Cases is how many cases both evaluators measured.
func (p *evaluatorPair) Cases() int { return p.BothPass + p.BothFail + p.OnlyA + p.OnlyB }

// Rate is the share of cases on which the evaluators agree, in [0,1].
func (p *evaluatorPair) Rate() float64 { return float64(p.BothPass+p.BothFail) / float64(p.Cases()) }

// Kappa is Cohen's κ = (p − e) / (1 − e), the share p on which they agree beyond the
// share e on which they would by chance (J. Cohen, A Coefficient of Agreement for
// Nominal Scales, Educational and Psychological Measurement 20, 1960). ok is false if
// chance alone explains everything, because both always give the same answer.
func (p *evaluatorPair) Kappa() (kappa float64, ok bool) {
	n := float64(p.Cases())
	a, b := float64(p.BothPass+p.OnlyA)/n, float64(p.BothPass+p.OnlyB)/n
	chance := a*b + (1-a)*(1-b)
	if n == 0 || 1-chance < 1e-9 {
		return 0, false
	}
	return (p.Rate() - chance) / (1 - chance), true
}

// countPairs returns the pairs of evaluators of a report, those with the most
// disagreement first. Evaluators with the same name are the same; members of a
// composite count as evaluators under its name and their own. unpaired is how many
// cases have more than [mostEvaluators], of whose evaluators only the first are
// compared.
func countPairs(r *report.Report) (pairs []*evaluatorPair, unpaired int) {
	found := map[[2]string]*evaluatorPair{}
	for i := range r.Cases {
		row := &r.Cases[i]
		all := flatEvaluators("", row.Evaluators)
		if len(all) > mostEvaluators {
			all, unpaired = all[:mostEvaluators], unpaired+1
		}
		for n, x := range all {
			for _, y := range all[n+1:] {
				addPair(found, row, x, y)
			}
		}
	}
	pairs = make([]*evaluatorPair, 0, len(found))
	for _, p := range found {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(x, y *evaluatorPair) int {
		return cmp.Or(cmp.Compare(y.OnlyA+y.OnlyB, x.OnlyA+x.OnlyB), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	return pairs, unpaired
}

// addPair counts one case for two evaluators. A composite and its own member are not
// compared, since one depends on the other.
func addPair(found map[[2]string]*evaluatorPair, row *report.Row, x, y report.EvaluatorScore) {
	if x.Name == y.Name || isMember(x.Name, y.Name) || isMember(y.Name, x.Name) {
		return
	}
	if x.Name > y.Name {
		x, y = y, x
	}
	name := [2]string{x.Name, y.Name}
	p := found[name]
	if p == nil {
		p = &evaluatorPair{A: x.Name, B: y.Name, TypeA: x.Type, TypeB: y.Type}
		found[name] = p
	}
	switch {
	case x.Pass && y.Pass:
		p.BothPass++
	case x.Pass:
		p.OnlyA++
	case y.Pass:
		p.OnlyB++
	default:
		p.BothFail++
	}
	if x.Pass != y.Pass {
		p.Disputed = append(p.Disputed, row)
	}
}

// separator is between the name of a composite and its member's.
const memberSeparator = " / "

// isMember reports whether name belongs to a member of outer.
func isMember(outer, name string) bool {
	return len(name) > len(outer)+len(memberSeparator) && name[:len(outer)] == outer && name[len(outer):len(outer)+len(memberSeparator)] == memberSeparator
}

// mostEvaluators bounds the evaluators of one case that are compared.
const mostEvaluators = 24

// flatEvaluators returns the evaluators with the members of composites.
func flatEvaluators(outer string, evaluators []report.EvaluatorScore) []report.EvaluatorScore {
	var out []report.EvaluatorScore
	for _, e := range evaluators {
		members := e.Evaluators
		if outer != "" {
			e.Name = outer + memberSeparator + e.Name
		}
		out = append(append(out, e), flatEvaluators(e.Name, members)...)
	}
	return out
}
