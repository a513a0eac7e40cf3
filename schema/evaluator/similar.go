package evaluator

import "github.com/gavel-evals/gavel/schema"

// The ways in which embeddings are compared.
const (
	Cosine    = "cosine"
	Dot       = "dot"
	Euclidean = "euclidean"
)

// Similar compares the embedding of the answer with the embeddings of texts. The score
// is the best similarity, from 0 to 1.
type Similar struct {
	Texts []string `json:"texts"`
	// Metric is Cosine, Dot or Euclidean. Half means that the similarity is on the
	// scale from -1 to 1, which is halved (AgentV).
	Metric string `json:"metric"`
	Half   bool   `json:"half,omitempty"`
	// Signed means that a score below 0, which counts as 0, fails: the threshold is not
	// above 0.
	Signed bool `json:"signed,omitempty"`
	// Not inverts the score.
	Not bool `json:"not,omitempty"`
	// Target is the embedding model; empty means the embedder. Its identity is a
	// separate part of J.
	Target string `json:"-"`
}

// Kind returns "similar".
func (Similar) Kind() string { return "similar" }

// Version returns the version of the comparison. Since 2 an answer that was
// cut off is an error of an inverted one.
func (s Similar) Version() int {
	if s.Not {
		return 2
	}
	return 1
}

// Roles returns the embedder, once for each text, unless another model is asked.
func (s Similar) Roles() []schema.Role {
	if s.Target != "" {
		return nil
	}
	roles := []schema.Role{schema.Embedder}
	for range s.Texts {
		roles = append(roles, schema.Embedder)
	}
	return roles
}

// Targets names the model that embeds in place of the embedder.
func (s Similar) Targets() []string { return named(s.Target) }
