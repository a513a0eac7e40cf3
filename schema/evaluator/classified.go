package evaluator

import "github.com/gavel-evals/gavel/schema"

// The kinds of a [Classified].
const (
	ByLabel = "classifier"
	ByHarm  = "moderation"
)

// Classified asks a classifying model about the answer. It is one criterion. By label,
// the score is the label's. By harm, it is 0 if the answer is flagged with one of the
// labels, else 1.
type Classified struct {
	// By is ByLabel or ByHarm.
	By string `json:"-"`
	// Labels are at most one label, or the categories of harm. Without any, it is the
	// label with the greatest score, or every category.
	Labels []string `json:"labels,omitempty"`
	// Not inverts the score.
	Not bool `json:"not,omitempty"`
	// Target is the classifying model; empty means the classifier or the moderator. Its
	// identity is a separate part of J.
	Target string `json:"-"`
}

// Kind returns By.
func (c Classified) Kind() string { return c.By }

// Version returns the version of reading replies. Since 2 an answer that was
// cut off is an error of an inverted one.
func (c Classified) Version() int {
	if c.Not {
		return 2
	}
	return 1
}

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

// Targets returns the name of the model that replaces the role.
func (c Classified) Targets() []string { return named(c.Target) }
