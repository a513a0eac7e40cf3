package evaluator

import (
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// Rubrics asks a judge about each criterion apart: whether it is met, or, where
// it has ranges, for 0 to 10 against what these describe.
type Rubrics struct {
	Criteria []RubricCriterion `json:"criteria"`
	// Target is the model that is asked; empty means the judge. Its
	// identity is a part of J of its own.
	Target string `json:"-"`
	Subject
}

// A RubricCriterion is one thing that a judge looks for.
type RubricCriterion struct {
	// ID is unique, and the judge answers by it.
	ID string `json:"id"`
	// Outcome is what is looked for; empty where the ranges say it all.
	Outcome string `json:"outcome,omitempty"`
	// Ranges are sorted by score. Without any, the answer is met or not met.
	Ranges []ScoreRange `json:"ranges,omitempty"`
}

// A ScoreRange describes the scores from From to To, out of 10.
type ScoreRange struct {
	From        float64 `json:"from"`
	To          float64 `json:"to"`
	Description string  `json:"description"`
}

// Kind returns "rubric".
func (Rubrics) Kind() string { return "rubric" }

// Version is the version of the question and of the reply's reading. Since 2, a score
// out of range is asked for again.
func (Rubrics) Version() int { return 2 }

// Roles returns the judge unless another model is asked.
func (r Rubrics) Roles() []schema.Role { return judgeUnless(r.Target) }

// Targets names the model that is asked in place of the judge.
func (r Rubrics) Targets() []string { return named(r.Target) }

// byTarget begins the roles of judges that evaluators name themselves.
const byTarget = schema.Judge + " "

// JudgeBy is the role of a target that an evaluator asks in place of the judge.
func JudgeBy(target string) schema.Role { return byTarget + schema.Role(target) }

// JudgedBy returns the target of a role that [JudgeBy] made.
func JudgedBy(role schema.Role) (target string, ok bool) {
	return strings.CutPrefix(string(role), string(byTarget))
}

func judgeUnless(target string) []schema.Role {
	if target != "" {
		return nil
	}
	return []schema.Role{schema.Judge}
}

func named(target string) []string {
	if target == "" {
		return nil
	}
	return []string{target}
}
