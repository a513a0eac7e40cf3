package plan

import (
	"cmp"

	"github.com/gavel-evals/gavel/schema"
)

// An Earlier is an answer of another case, which is known before a case begins.
type Earlier struct {
	schema.Kept
	// Target is the resolved name of the answering target.
	Target string
	// Digests has the E under which the answer is stored, and nothing else.
	Digests Digests

	owner Digests   // of the case that has the answer, as planned
	later []Earlier // the answers that the other case has
}

// Kept returns the answers that the case has of others. The digests must have been created
// by [Digest].
func (d Digests) Kept() []Earlier {
	if d.of == nil {
		return nil
	}
	return keptAnswers(d.of, d, d.env)
}

func keptAnswers(c *schema.Case, owner Digests, env *Environment) []Earlier {
	var all []Earlier
	for _, k := range c.Kept {
		e := Digests{E: executionOf(k.Case, env)}
		all = append(all, Earlier{Kept: k, Target: cmp.Or(k.Case.Target, env.DefaultTarget), Digests: e, owner: owner, later: keptAnswers(k.Case, e, env)})
	}
	return all
}

// executionOf returns the E of a case.
func executionOf(c *schema.Case, env *Environment) string {
	alone := *c
	alone.Peers = nil // they do not affect an answer
	return Digest(&alone, env).E
}

// Under returns the E of the answer for a measurement of its owner under other digests, such
// as [Digests.Remeasured]'s: each measurement has an answer of its own.
func (k Earlier) Under(d Digests) string {
	if d.E == k.owner.E {
		return k.Digests.E
	}
	return derived(k.Digests.E, "kept for", d.E)
}

// Before returns the answers that the other case has in turn.
func (k Earlier) Before() []Earlier { return k.later }

// All returns the answering case and those that answer before it.
func (k Earlier) All() []Candidate {
	all := []Candidate{{Case: k.Case, Target: k.Target, E: k.Digests.E}}
	for _, before := range k.later {
		all = append(all, before.All()...)
	}
	return all
}

// kept adds the answers of other cases that a case has.
func (d *digester) kept() {
	for _, k := range d.c.Kept {
		var files []string
		if !d.bare {
			other := digester{c: k.Case, env: d.env}
			files = other.sending()
		}
		d.value(Execution, "answer kept as "+k.Name, struct {
			E       string
			Steps   []string
			Context any
		}{executionOf(k.Case, d.env), k.Steps, k.Context}, files...)
	}
}
