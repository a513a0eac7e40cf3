package schema

// A Retry says how a failed case is run again. An attempt is all samples of the case
// again; every attempt is kept, and the last one is the result.
type Retry struct {
	// Most is how many attempts may follow the first; 0 only with an Edit, which
	// then proposes a prompt that is not run.
	Most int `json:"most"`
	// Edit rewrites the system prompt after a failed attempt; nil makes all attempts
	// the same.
	Edit *Edit `json:"edit,omitempty"`
}

// An Edit says who rewrites a system prompt that failed. The next attempt runs with the
// editor's prompt; a prompt without an attempt is never reported.
type Edit struct {
	// Editor is the role of the model that rewrites.
	Editor Role `json:"editor"`
	// ShowOutputs gives the editor the full outputs in addition to the summary of
	// their evaluation.
	ShowOutputs bool `json:"show_outputs,omitempty"`
}

// The roles of the models that rewrite prompts: roles.editors in gavel.yaml
// says which targets they are.
const (
	GeminiEditor Role = "gemini editor"
	ClaudeEditor Role = "claude editor"
)

// Version is the version of the editors' template.
func (Edit) Version() int { return 1 }

// Steered reports whether the judgement of a sample affects what is executed after it.
// Then everything that decides belongs to the execution digest: the Specs and Rules of
// the evaluators, the iterations, the judge and the editor.
func (p Policy) Steered() bool { return p.Retry != nil }

// Roles names the models that a policy calls; evaluators name their own.
func (p Policy) Roles() []Role {
	if p.Retry == nil || p.Retry.Edit == nil {
		return nil
	}
	return []Role{p.Retry.Edit.Editor}
}
