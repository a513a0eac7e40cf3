package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// Attempt returns the digests of an attempt's samples. The first attempt, number 0, is
// the case itself. Editors write different prompts, so the prompt is included. D is the
// case's: all attempts share one decision.
func (d Digests) Attempt(number int, system string) Digests {
	if number == 0 {
		return d
	}
	return d.derive("attempt", strconv.Itoa(number), system)
}

// Edit returns the digests of asking an editor for an attempt's prompt.
func (d Digests) Edit(number int) Digests { return d.derive("edit", strconv.Itoa(number)) }

// Alternative returns the digests of the alternative's samples. Its prompt is already a
// part of E. The word "rival" must not change, since stored results have it in their
// digests.
func (d Digests) Alternative() Digests { return d.derive("rival") }

// Comparison returns the digests of comparing outputs with the alternative's.
func (d Digests) Comparison() Digests { return d.derive("comparison") }

// remeasured is in the digests of further measurements. Its number is incremented when
// they are taken differently, for example when head's programs see other files.
const remeasured = "remeasured 2"

// Remeasured returns the digests of a further measurement of the case, the ordinal-th
// of the comparison with the case that has the decision digest other on the other side.
// With transcript only judging is repeated, on the transcript of E; else the case is
// executed again.
func (d Digests) Remeasured(other string, ordinal int, transcript Kept) Digests {
	out := d.derive(remeasured, other, strconv.Itoa(ordinal))
	out.D = derived(d.D, remeasured, other, strconv.Itoa(ordinal))
	if transcript == KeptTranscript {
		out.E = d.E
	}
	return out
}

// Stored returns the digests of all stored entries of a case under d. took is the
// number of attempts of the decision, 0 without one, and attempts have their prompts.
func (d Digests) Stored(c *schema.Case, took int, attempts []verdict.Attempt) []Digests {
	all := []Digests{d}
	if c.Alternative != nil {
		all = append(all, d.Alternative(), d.Comparison())
	}
	if c.Policy.Retry == nil {
		return all
	}
	most := c.Policy.Retry.Most
	all = append(all, d.Edit(most+1))
	if took > 0 {
		most = took - 1
		all = append(all, d.Edit(most+1))
	}
	for n := 1; n <= most; n++ {
		system := c.System
		if n < len(attempts) {
			system = attempts[n].System
		}
		all = append(all, d.Edit(n), d.Attempt(n, system))
	}
	return all
}

// Kept is the part of the case that a further measurement keeps.
type Kept bool

// The values of Kept: a further measurement keeps nothing, or the transcript.
const (
	KeptNothing    Kept = false
	KeptTranscript Kept = true
)

// derive returns digests of a part of a case.
func (d Digests) derive(names ...string) Digests {
	return Digests{E: derived(d.E, names...), J: derived(d.J, names...), D: d.D}
}

func derived(digest string, names ...string) string {
	h := sha256.New()
	writeString(h, digest)
	for _, n := range names {
		writeString(h, n)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// alternative adds the prompt that the case's own is compared with: another prompt must
// run, while another question only needs the judge.
func (d *digester) alternative() {
	r := d.c.Alternative
	if r == nil {
		return
	}
	d.long(Execution, "rival prompt", r.System, d.c.Origin.File)
	if r.Comparison != nil {
		d.spec("comparison", r.Comparison, d.c.Origin.File)
	}
}

// spec adds the measurement and the version of its code.
func (d *digester) spec(name string, s schema.Spec, files ...string) {
	d.value(Judgement, name, struct {
		Kind    string
		Version int
		Spec    schema.Spec
	}{s.Kind(), s.Version(), s}, files...)
}

// retry adds the retry of a failed case. Then judging and deciding affect the next
// execution, and belong to E.
func (d *digester) retry() {
	p := d.c.Policy
	if !p.Steered() {
		return
	}
	d.value(Execution, "retry", p.Retry, d.c.Origin.File)
	if edit := p.Retry.Edit; edit != nil {
		d.value(Execution, "editor version", edit.Version())
	}
	for _, r := range p.Roles() {
		d.facts(Execution, string(r), d.env.Targets[d.env.Roles[r]])
	}
	for i := range d.parts {
		d.parts[i].Layer = Execution
	}
}

// measuredBy returns the roles of the judging models.
func (d *digester) measuredBy() map[schema.Role]bool {
	roles := map[schema.Role]bool{}
	add := func(s schema.Spec) {
		for _, r := range s.Roles() {
			roles[r] = true
		}
	}
	for _, ev := range d.c.Evaluators {
		add(ev.Spec)
	}
	if r := d.c.Alternative; r != nil && r.Comparison != nil {
		add(r.Comparison)
	}
	return roles
}
