package document

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
)

// rolePrompt is the role of a system prompt's file among the inputs of a case.
const rolePrompt = "system prompt"

// A PromptReader reads the system prompts of targets in one state of the repository, each of them
// once. It is safe for concurrent use.
type PromptReader struct {
	files    fs.FS
	settings schema.Settings
	read     sync.Map // of Prompt by target
}

// NewPromptReader returns a reader of a state, whose files begin at the repository root.
func NewPromptReader(files fs.FS, settings schema.Settings) *PromptReader {
	return &PromptReader{files: files, settings: settings}
}

// A Prompt is the system prompt of a target. The zero Prompt means none.
type Prompt struct {
	// Layer has no text if the target has no prompt, or if Err says why it cannot be read.
	Layer schema.Layer
	// Inputs is the file that the prompt is in, if it is in one.
	Inputs []schema.Input
	// Conflict is the line, from 1, at which the file looks like an unresolved merge, or 0.
	Conflict int
	Err      error
}

// Prompt returns the prompt of a target; "" is the default target.
func (r *PromptReader) Prompt(target string) Prompt {
	target = cmp.Or(target, r.settings.DefaultTarget)
	known, ok := r.read.Load(target)
	if !ok {
		known, _ = r.read.LoadOrStore(target, openPrompt(r.files, r.settings.Targets[target].Prompt))
	}
	p, _ := known.(Prompt)
	return p
}

func openPrompt(files fs.FS, p schema.TargetPrompt) Prompt {
	if p.File == "" {
		return Prompt{Layer: schema.Layer{File: p.At.File, Text: visible(p.Text)}}
	}
	out := Prompt{Inputs: []schema.Input{{File: p.File, Role: rolePrompt}}}
	data, err := schema.ReadFile(files, p.File, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		out.Inputs[0].Absent = true
		out.Err = fmt.Errorf("the file %s does not exist", p.File)
	case err != nil:
		out.Err = fmt.Errorf("the file %s cannot be read: %w", p.File, err)
	case !utf8.Valid(data):
		out.Err = fmt.Errorf("the file %s is not text in UTF-8", p.File)
	default:
		out.Layer = schema.Layer{File: p.File, Text: visible(string(data))}
		out.Conflict = conflict(data)
	}
	return out
}

// visible returns a text, or "" if it is blank.
func visible(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return text
}

// Give gives a case the prompt of its target, unless the case has its own.
func (r *PromptReader) Give(c *schema.Case) {
	if c.System != "" {
		return
	}
	p := r.Prompt(c.Target)
	c.Inputs = append(c.Inputs, p.Inputs...)
	slices.SortFunc(c.Inputs, func(a, b schema.Input) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Role, b.Role)) })
	if p.Layer.Text != "" {
		c.System, c.Layers = p.Layer.Text, []schema.Layer{p.Layer}
	}
}
