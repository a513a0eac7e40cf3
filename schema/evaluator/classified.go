package evaluator

import "github.com/gavel-evals/gavel/schema"

// The kinds of a [Classified].
const (
	ByLabel = "classifier"
	ByHarm  = "moderation"
)

// Classified has a model that classifies texts look at the answer. It is one criterion. By
// label, the score is that of the label. By harm, it is 0 where the answer is flagged with
// one of the labels, else 1.
type Classified struct {
	// By is ByLabel or ByHarm.
	By string `json:"-"`
	// Labels are at most one label, or the categories of harm. Without any, it is the
	// label with the greatest score, or every category.
	Labels []string `json:"labels,omitempty"`
	// Not inverts the score.
	Not bool `json:"not,omitempty"`
	// Target is the model that is asked; empty means the classifier or the moderator. Its
	// identity is a part of J of its own.
	Target string `json:"-"`
}

// Kind returns what By says.
func (c Classified) Kind() string { return c.By }

// Version is the version of how replies are read.
func (Classified) Version() int { return 1 }

// Roles returns the classifier or the moderator, unless another model is asked.
func (c Classified) Roles() []schema.Role {
	switch {
	case c.Target != "":
		return nil
	case c.By == ByHarm:
		return []schema.Role{schema.Moderator}
	}
	return []schema.Role{schema.Classifier}
}

// Targets names the model that is asked in place of the role.
func (c Classified) Targets() []string { return named(c.Target) }
