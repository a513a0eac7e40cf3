package plan

import (
	"cmp"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A Selection is a job's case with the peers that it is compared with. It is the same
// for each of them except for Own.
type Selection struct {
	// Candidates are the case and its peers, in an order that depends only on their
	// content: not on keys or positions.
	Candidates []Candidate
	// Own is the index of the case among them.
	Own int

	own      Digests // as planned
	compared string  // the digest under which the calls of the comparison are stored
}

// A Candidate is a case whose answer is compared with others.
type Candidate struct {
	Case *schema.Case
	// Target is the resolved name of the answering target.
	Target string
	// E is the digest under which its answers are stored.
	E string

	rank string // the digest of everything that affects the comparison
}

// Selection returns the case with its peers; nil for a case without peers. The digests
// must have been created by [Digest].
func (d Digests) Selection() *Selection {
	if d.of == nil || len(d.of.Peers) == 0 {
		return nil
	}
	s := &Selection{own: d}
	s.Candidates, s.Own = candidates(d.of, d.env)
	names := make([]string, 0, len(s.Candidates)+8)
	for _, c := range s.Candidates {
		names = append(names, c.rank)
	}
	for _, p := range comparing(d.of, d.env) {
		names = append(names, p.Name, p.Digest)
	}
	s.compared = derived("selection", names...)
	return s
}

// Under returns, for a measurement of the case under other digests such as
// [Digests.Remeasured]'s, the E of each candidate's answers, and the digest of the
// comparing calls.
func (s *Selection) Under(d Digests) (executions []string, compared string) {
	executions = make([]string, len(s.Candidates))
	for i, c := range s.Candidates {
		switch {
		case i == s.Own:
			executions[i] = d.E
		case d.E == s.own.E:
			executions[i] = c.E
		default:
			executions[i] = derived(c.E, "compared with", d.E)
		}
	}
	if d.J == s.own.J {
		return executions, s.compared
	}
	return executions, derived(s.compared, "compared under", d.J)
}

// candidates returns a case and its peers, and the index of the case.
func candidates(c *schema.Case, env *Environment) ([]Candidate, int) {
	all := make([]Candidate, 0, len(c.Peers)+1)
	scored := slices.ContainsFunc(c.Evaluators, func(ev schema.Evaluator) bool {
		_, scores := ev.Spec.(evaluator.MaxScore)
		return scores
	})
	for _, peer := range append([]*schema.Case{c}, c.Peers...) {
		alone := *peer
		alone.Peers, alone.Policy.Bands, alone.Policy.Iterations = nil, nil, 1 // neither affects an answer or its score
		if !scored {
			alone.Evaluators = slices.DeleteFunc(slices.Clone(peer.Evaluators), func(ev schema.Evaluator) bool { _, selects := evaluator.Selects(ev.Spec); return !selects })
		}
		digests := Digest(&alone, env)
		candidate := Candidate{Case: peer, Target: cmp.Or(peer.Target, env.DefaultTarget), E: digests.E, rank: digests.J}
		if scored { // by the rules of its evaluators
			candidate.rank = digests.D
		}
		all = append(all, candidate)
	}
	own := all[0].rank
	// By the answers first: a comparison by other criteria shows them in the same order.
	slices.SortStableFunc(all, func(a, b Candidate) int { return cmp.Or(cmp.Compare(a.E, b.E), cmp.Compare(a.rank, b.rank)) })
	return all, slices.IndexFunc(all, func(x Candidate) bool { return x.rank == own })
}

// comparing returns the parts of the comparing evaluators, without the answer's
// transforms, which differ between candidates.
func comparing(c *schema.Case, env *Environment) []Part {
	d := digester{c: c, env: env, bare: true}
	judged := false
	for _, ev := range c.Evaluators {
		spec, ok := evaluator.Selects(ev.Spec)
		if !ok {
			continue
		}
		d.spec(evaluatorPart, spec)
		d.measures(spec)
		judged = judged || slices.Contains(spec.Roles(), schema.Judge)
	}
	if judged {
		d.facts(Judgement, string(schema.Judge), env.Targets[env.Roles[schema.Judge]])
	}
	return d.parts
}

// selection adds the answers that a case is compared with, including its own.
func (d *digester) selection() {
	if len(d.c.Peers) == 0 {
		return
	}
	all, _ := candidates(d.c, d.env)
	ranks := make([]string, len(all))
	var files []string
	for i, c := range all {
		if ranks[i] = c.rank; !d.bare {
			peer := digester{c: c.Case, env: d.env}
			files = append(files, peer.sending()...)
		}
	}
	d.value(Judgement, "compared answers", ranks, files...)
}
