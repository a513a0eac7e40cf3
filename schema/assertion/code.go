package assertion

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A Coded is the parsed code of a definition.
type Coded struct {
	// Spec is an evaluator by the code; nil if it is unsupported.
	Spec schema.Spec
	// Step is the function of a transform; empty if it is unsupported.
	Step string
	// Need is an unsupported need of the code, or empty.
	Need     string
	Inputs   []schema.Input
	Problems []schema.Problem
}

// Code reads an AgentV assertion in JavaScript or Python: code, or
// file://file:function. Code that only computes runs in the interpreter, and everything
// else is a program of the repository. vars become its context.vars.
func Code(src document.Source, language string, p document.Place, vars json.RawMessage) Coded {
	written := p.Sub("value")
	if strings.TrimSpace(written.Text()) == "" {
		return Coded{Problems: []schema.Problem{p.Problem("missing-field", "the assertion "+language+" has no code", `add "value": "output.length > 3", or "value": "file://check.js"`)}}
	}
	var threshold *float64
	if p.Has("threshold") {
		n := p.Number("threshold")
		threshold = &n
	}
	context := Context(vars, p.JSON("config"))
	out, file, function := found(src, written)
	source := written.Text()
	if file.Path != "" {
		source = Computing(file, function)
	}
	switch {
	case schema.HasErrors(out.Problems):
	case language == "javascript" && source != "" && Foreign(source) == "":
		out.Spec = evaluator.JavaScript{Code: source, Context: context, Threshold: threshold}
	case language == "javascript" && file.Path == "":
		out.Need = "a program (javascript with " + Foreign(source) + ")"
	default:
		program := evaluator.Program{Argv: Runners[language], Dir: path.Dir(p.Doc.File), Config: p.JSON("config")}
		spec := evaluator.Function{Program: program, Code: source, Context: context, Threshold: threshold}
		if file.Path != "" {
			spec.Code = ""
			out.program(src, written, &spec.Program, []string{spec.Sees(file.Path), function})
		} else {
			got := command.Reader{Source: src}.Code(program.Dir, written.At())
			out.Inputs, out.Problems = append(out.Inputs, got.Inputs...), append(out.Problems, got.Problems...)
			spec.Built = got.Built
		}
		out.Spec = spec
	}
	return out
}

// Context returns the argument context of functions: {vars, config}.
func Context(vars, config json.RawMessage) json.RawMessage {
	told := map[string]json.RawMessage{}
	for key, raw := range map[string]json.RawMessage{"vars": vars, "config": config} {
		if len(raw) > 0 {
			told[key] = raw
		}
	}
	raw, _ := json.Marshal(told) // JSON values
	return raw
}

// Transform reads the transform of an answer: JavaScript, or file://file:function.
func Transform(src document.Source, written document.Place) Coded {
	out, file, function := found(src, written)
	if out.Step = written.Text(); file.Path != "" {
		out.Step = Computing(file, function)
	}
	switch foreign := Foreign(out.Step); {
	case schema.HasErrors(out.Problems):
	case file.Path != "" && out.Step == "":
		out.Need = "a program (transform in a file)"
	case foreign != "":
		out.Need = "a program (transform with " + foreign + ")"
	}
	return out
}

// found returns the file and the function that code names; none for inline code.
func found(src document.Source, written document.Place) (out Coded, file schema.File, function string) {
	name, isFile := strings.CutPrefix(written.Text(), "file://")
	if !isFile {
		return out, file, ""
	}
	name, function = SplitFunction(strings.TrimPrefix(name, "./"))
	got := src.Read(document.Reference{At: written.At(), Path: name, Role: "program", Most: command.MaxFile})
	out.Inputs, out.Problems = got.Inputs, got.Problems
	if function == "" {
		function = DefaultFunctions[map[string]string{".py": "python", ".rb": "ruby"}[path.Ext(name)]]
	}
	return out, got.File, function
}

// program adds the file and its surroundings to a program, which gets the words in
// addition to its own; empty ones are omitted.
func (c *Coded) program(src document.Source, at document.Place, p *evaluator.Program, words []string) {
	line := command.Line{Argv: words[:1], Dir: p.Dir, At: func(int) schema.Position { return at.At() }}
	got := command.Reader{Source: src}.Program(line)
	c.Inputs, c.Problems = append(c.Inputs, got.Inputs...), append(c.Problems, got.Problems...)
	p.Files, p.Built, p.Argv = got.Files, got.Built, append(slices.Clone(p.Argv), got.Argv...)
	if words[1] != "" {
		p.Argv = append(p.Argv, words[1])
	}
}

// Similar reads the similarity of the answer to texts by their embeddings, on the scale
// of AgentV, which halves the similarity from -1 to 1.
func Similar(p document.Place) (evaluator.Similar, *schema.Problem) {
	spec := evaluator.Similar{Texts: p.Strings("value"), Metric: evaluator.Cosine, Half: true}
	if len(spec.Texts) == 0 || slices.Contains(spec.Texts, "") {
		problem := p.Problem("missing-field", "the assertion similar has no text", `add "value": …`)
		return spec, &problem
	}
	return spec, nil
}
