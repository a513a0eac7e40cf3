package plan

import "github.com/gavel-evals/gavel/schema"

// rival adds the prompt that the case's own is compared with: another one has
// to be run, and another question needs no more than the judge.
func (d *digester) rival() {
	r := d.c.Rival
	if r == nil {
		return
	}
	d.long(Execution, "rival prompt", r.System, d.c.Origin.File)
	if r.Comparison != nil {
		d.spec("comparison", r.Comparison, d.c.Origin.File)
	}
}

// spec adds what is measured, and by which version of the code.
func (d *digester) spec(name string, s schema.Spec, files ...string) {
	d.value(Judgement, name, struct {
		Kind    string
		Version int
		Spec    schema.Spec
	}{s.Kind(), s.Version(), s}, files...)
}

// retry adds how a case that failed is run again. Then whatever judges and
// decides steers what is executed next, and belongs to E.
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

// measuredBy names the roles of the models that judge.
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
	if r := d.c.Rival; r != nil && r.Comparison != nil {
		add(r.Comparison)
	}
	return roles
}
