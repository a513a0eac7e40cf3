package evaluator

import (
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// Rubrics asks a judge about each criterion separately: whether it is met, or, if it
// has ranges, for a score from 0 to 10 by their descriptions.
type Rubrics struct {
	Criteria []RubricCriterion `json:"criteria"`
	// Target is the judging model; empty means the judge. Its identity is a separate
	// part of J.
	Target string `json:"-"`
	Subject
}

// A RubricCriterion is one criterion of a judge.
type RubricCriterion struct {
	// ID is unique, and the judge answers by it.
	ID string `json:"id"`
	// Outcome is the wanted outcome; empty if the ranges describe it.
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

// Version returns the version of the question and of reading the reply. Since 2, a
// score out of range is asked for again.
// Since 3 the model is told that an answer was cut off.
func (Rubrics) Version() int { return 3 }

// Roles returns the judge unless another model is asked.
func (r Rubrics) Roles() []schema.Role { return judgeUnless(r.Target) }

// Targets returns the name of the model that replaces the judge.
func (r Rubrics) Targets() []string { return named(r.Target) }

// byTarget begins the roles of judges that evaluators name themselves.
const byTarget = schema.Judge + " "

// JudgeBy returns the role of a target that replaces the judge.
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
