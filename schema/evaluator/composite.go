package evaluator

import (
	"encoding/json"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// Composite combines its members' scores into one.
//
// A measurement of a member is named by its ID, a slash and the criterion. The member's
// own rule turns it into a score, which is the criterion ID of the composite; the
// composite's rule combines these, unless a model or a program does.
type Composite struct {
	Members []Member `json:"members"`
	// Judge or Program sees the members' results and returns the score. At most one is
	// set.
	Judge   *LLMJudge  `json:"judge,omitempty"`
	Program *CodeJudge `json:"program,omitempty"`
	// Function is in the place of both: a [JavaScript] or a [Function] that gets the scores by
	// their metrics and {componentResults} in its context. It returns {pass, score, reason},
	// which are criteria of [Graded] and alone decide.
	Function *Member `json:"function,omitempty"`
	// Gates are the members that are measured first, sorted. If one scores
	// below Gate, the others are not measured.
	Gates []string `json:"gates,omitempty"`
	Gate  float64  `json:"gate,omitempty"`
	// View is the part of a conversation that the members see; nil for all of it, with
	// the last reply as the answer.
	View *View `json:"view,omitempty"`
	// Stop ends a conversation whose members look at its turns: of one that scores less, the turns after
	// it are not measured and score 0. 0 ends none.
	Stop float64 `json:"stop,omitempty"`
}

// A View is a part of a conversation whose one side is in the case.
type View struct {
	// Turn is the number of the reply that is the answer, from 1. At 0 it is the whole
	// conversation as a text.
	Turn int `json:"turn"`
}

// AggregateCriterion is the result of a composite's judge or program.
const AggregateCriterion = "aggregate"

// A Member is an evaluator within a composite.
type Member struct {
	ID   string
	Spec schema.Spec
	// Rule belongs to the decision, like the composite's.
	Rule schema.Rule
	// Assertion is the member's for a Function: {type, value, threshold, weight,
	// metric}; empty without one.
	Assertion json.RawMessage
}

// MarshalJSON omits parts that only affect the decision.
func (m Member) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID      string      `json:"id"`
		Kind    string      `json:"kind"`
		Version int         `json:"version"`
		Spec    schema.Spec `json:"spec"`

		Assertion json.RawMessage `json:"assertion,omitempty"`
	}{m.ID, m.Spec.Kind(), m.Spec.Version(), m.Spec, m.Assertion})
}

// MarshalJSON adds the members' rules that affect the measurement: all of them if a
// model, a program or a function sees the scores, or if a turn may be the last, and the gates'
// rules, which decide whether the others are measured.
func (c Composite) MarshalJSON() ([]byte, error) {
	type plain Composite
	var rules []MemberRule
	switch {
	case c.Aggregated() || c.Stop > 0:
		rules = c.Rules()
	case len(c.Gates) > 0:
		rules = slices.DeleteFunc(c.Rules(), func(r MemberRule) bool { return !slices.Contains(c.Gates, r.ID) })
	}
	return json.Marshal(struct {
		plain
		Rules []MemberRule `json:"rules,omitempty"`
	}{plain(c), rules})
}

// A MemberRule is the rule of one member.
type MemberRule struct {
	ID      string       `json:"id"`
	Rule    schema.Rule  `json:"rule"`
	Members []MemberRule `json:"members,omitempty"`
}

// Rules returns the rules of the members, and of their members.
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

// TurnOf returns the number of the member's turn, or 0.
func (m Member) TurnOf() int {
	if c, ok := m.Spec.(Composite); ok && c.View != nil {
		return c.View.Turn
	}
	return 0
}

// Kind returns "composite".
func (Composite) Kind() string { return "composite" }

// Version returns the version of an aggregator's input. Since 2, it has the members'
// lists of right and wrong.
func (c Composite) Version() int {
	if c.Judge == nil && c.Program == nil {
		return 1
	}
	return 2
}

// Roles returns the roles of the members and of the aggregator.
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
	if c.Function != nil {
		specs = append(specs, c.Function.Spec)
	}
	return specs
}

// Aggregated reports whether a model, a program or a function makes the score.
func (c Composite) Aggregated() bool {
	return c.Judge != nil || c.Program != nil || c.Function != nil
}

// Aggregates reports whether a criterion is the aggregator's.
func (c Composite) Aggregates(criterion string) bool {
	if c.Function != nil {
		return criterion == GradedPass || criterion == GradedScore
	}
	return criterion == AggregateCriterion
}
