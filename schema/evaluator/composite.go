package evaluator

import (
	"encoding/json"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// Composite makes one score of those of its members.
//
// A measurement of a member has its ID, a slash and the criterion as its name. Its
// own rule makes a score of that, which is the criterion ID of the composite;
// the composite's rule makes one of these, unless a model or a program does.
type Composite struct {
	Members []Member `json:"members"`
	// Judge or Program sees the results of the members and gives the score.
	// At most one is set.
	Judge   *LLMJudge  `json:"judge,omitempty"`
	Program *CodeJudge `json:"program,omitempty"`
	// Gates are the members that are measured first, sorted. If one scores
	// below Gate, the others are not measured.
	Gates []string `json:"gates,omitempty"`
	Gate  float64  `json:"gate,omitempty"`
	// View is the part of a conversation that the members look at; nil for all of it, of
	// which the last reply is the answer.
	View *View `json:"view,omitempty"`
	// Stop ends a conversation whose members look at its turns: of one that scores less, the turns after
	// it are not measured and score 0. 0 ends none.
	Stop float64 `json:"stop,omitempty"`
}

// A View is a part of a conversation of which the case says one side.
type View struct {
	// Turn is the number of the reply that is the answer, from 1. At 0 it is the whole
	// conversation as a text.
	Turn int `json:"turn"`
}

// AggregateCriterion is what the judge or the program of a composite gives.
const AggregateCriterion = "aggregate"

// A Member is an evaluator within a composite.
type Member struct {
	ID   string
	Spec schema.Spec
	// Rule belongs to the decision, like that of the composite.
	Rule schema.Rule
}

// MarshalJSON leaves out what only decides.
func (m Member) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID      string      `json:"id"`
		Kind    string      `json:"kind"`
		Version int         `json:"version"`
		Spec    schema.Spec `json:"spec"`
	}{m.ID, m.Spec.Kind(), m.Spec.Version(), m.Spec})
}

// MarshalJSON adds the rules of the members that bear on the measurement: those
// of all where a model or a program sees what the rules make of the results, or where a turn
// may be the last, and those of the gates, which decide whether the others are measured.
func (c Composite) MarshalJSON() ([]byte, error) {
	type plain Composite
	var rules []MemberRule
	switch {
	case c.Judge != nil || c.Program != nil || c.Stop > 0:
		rules = c.Rules()
	case len(c.Gates) > 0:
		rules = slices.DeleteFunc(c.Rules(), func(r MemberRule) bool { return !slices.Contains(c.Gates, r.ID) })
	}
	return json.Marshal(struct {
		plain
		Rules []MemberRule `json:"rules,omitempty"`
	}{plain(c), rules})
}

// A MemberRule is what decides about one member.
type MemberRule struct {
	ID      string       `json:"id"`
	Rule    schema.Rule  `json:"rule"`
	Members []MemberRule `json:"members,omitempty"`
}

// Rules are those of the members, and of their members.
func (c Composite) Rules() []MemberRule {
	out := make([]MemberRule, len(c.Members))
	for i, m := range c.Members {
		out[i] = MemberRule{ID: m.ID, Rule: m.Rule}
		if inner, ok := m.Spec.(Composite); ok {
			out[i].Members = inner.Rules()
		}
	}
	return out
}

// TurnOf is the number of the turn that a member looks at; 0 where that is none of them.
func (m Member) TurnOf() int {
	if c, ok := m.Spec.(Composite); ok && c.View != nil {
		return c.View.Turn
	}
	return 0
}

// Kind returns "composite".
func (Composite) Kind() string { return "composite" }

// Version is the version of what an aggregator is shown. Since 2, that has what
// the members list as right and as wrong.
func (c Composite) Version() int {
	if c.Judge == nil && c.Program == nil {
		return 1
	}
	return 2
}

// Roles are those of the members and of the aggregator.
func (c Composite) Roles() []schema.Role {
	var roles []schema.Role
	for _, s := range c.parts() {
		roles = append(roles, s.Roles()...)
	}
	return roles
}

// Targets names the models that parts ask in place of the judge.
func (c Composite) Targets() []string {
	var names []string
	for _, s := range c.parts() {
		if t, ok := s.(interface{ Targets() []string }); ok {
			names = append(names, t.Targets()...)
		}
	}
	return names
}

// ReadsCost reports whether a part does.
func (c Composite) ReadsCost() bool {
	return slices.ContainsFunc(c.parts(), func(s schema.Spec) bool {
		r, ok := s.(interface{ ReadsCost() bool })
		return ok && r.ReadsCost()
	})
}

func (c Composite) parts() []schema.Spec {
	var specs []schema.Spec
	for _, m := range c.Members {
		specs = append(specs, m.Spec)
	}
	if c.Judge != nil {
		specs = append(specs, *c.Judge)
	}
	if c.Program != nil {
		specs = append(specs, *c.Program)
	}
	return specs
}
