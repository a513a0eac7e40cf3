package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/template"
)

// writePrompt runs the program of a case and returns the case with the program's system
// prompt and messages. A case without a program is returned unchanged. The error
// describes the program's failure. If programs is nil, a case with a program is an
// error.
func writePrompt(ctx context.Context, c *schema.Case, programs evaluate.Programs) (*schema.Case, error) {
	p := c.Drive.Program
	if p == nil {
		return c, nil
	}
	if programs == nil {
		return nil, errors.New("the prompt is not written: programs are not run here")
	}
	argv := p.Argv
	if p.Plain {
		argv = append(slices.Clip(argv), string(p.Stdin))
	}
	printed, err := programs(ctx, evaluate.Start{Program: evaluator.Program{Argv: argv, Dir: p.Dir, Built: p.Built}, Stdin: p.Stdin})
	if err != nil {
		return nil, fmt.Errorf("the prompt is not written: %w", err)
	}
	if p.Plain {
		printed, _ = json.Marshal(strings.TrimSpace(colors.ReplaceAllString(string(printed), ""))) // a text
	}
	said, err := readWritten(printed, p)
	if err != nil {
		return nil, fmt.Errorf("the program of the prompt (%s): %w", p.Name(), err)
	}
	out := *c
	out.System, out.Drive.Messages = said.System, said.Messages
	return &out, nil
}

// colors matches the escape sequences of a terminal.
var colors = lazyregexp.New(`\x1b(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])`)

// readWritten reads the output of a program: a text, a chat, or {prompt} with either. Any
// other value is sent as JSON.
func readWritten(printed []byte, p *schema.PromptProgram) (chat.Prompt, error) {
	if !json.Valid(printed) {
		return chat.Prompt{}, errors.New("what it prints is not JSON: " + template.Clip(string(printed)))
	}
	var parts struct{ Prompt json.RawMessage }
	if json.Unmarshal(printed, &parts) == nil && len(parts.Prompt) > 0 {
		printed = parts.Prompt
	}
	text := template.Written(json.RawMessage(bytes.TrimSpace(printed)))
	if strings.TrimSpace(text) == "" {
		if p.Plain {
			return chat.Prompt{}, errors.New("it writes nothing; print the prompt on stdout")
		}
		return chat.Prompt{}, errors.New("it writes nothing; return a text or a list of messages, and name the function behind the file, as in file://prompt.py:name")
	}
	engine := template.Engine{}
	said, err := chat.Render(chat.Template{Prefix: p.Prefix, Text: text, Suffix: p.Suffix}, func(s string) (string, error) { return engine.Fill(p.Vars(), s) })
	return said, promptNeed(err)
}

// promptNeed words an error about an unsupported text as one about the output of the
// program.
func promptNeed(err error) error {
	if need, ok := errors.AsType[*template.NeedError](err); ok {
		return errors.New("it writes what needs " + need.What)
	}
	if name, ok := errors.AsType[template.EnvironmentError](err); ok {
		return fmt.Errorf("it writes what needs %w; have the program write the value itself, from its config or a variable", name)
	}
	return err
}

// withWrittenPrompt returns the case as the evaluators of a sample see it, with the answers of
// other cases, and with the prompt that the program wrote for this sample.
func withWrittenPrompt(c *schema.Case, t *verdict.Transcript) *schema.Case {
	c = schema.FillKept(c, t.Kept)
	if c.Drive.Program == nil {
		return c
	}
	out := *c
	out.System, out.Drive.Messages = t.System, t.Messages[:min(t.Written, len(t.Messages))]
	prompt := chat.Prompt{System: out.System, Messages: out.Drive.Messages}.Text()
	out.Evaluators = slices.Clone(c.Evaluators)
	for i := range out.Evaluators {
		out.Evaluators[i].Spec = withPromptContext(out.Evaluators[i].Spec, prompt)
	}
	return &out
}

// withPromptContext returns a spec whose functions get the prompt.
func withPromptContext(spec schema.Spec, prompt string) schema.Spec {
	switch s := spec.(type) {
	case evaluator.JavaScript:
		s.Context = withPrompt(s.Context, prompt)
		return s
	case evaluator.Counted:
		if len(s.Steps) > 0 {
			s.Context = withPrompt(s.Context, prompt)
		}
		return s
	case evaluator.Function:
		s.Context = withPrompt(s.Context, prompt)
		return s
	case evaluator.Transformed:
		s.Context, s.Spec = withPrompt(s.Context, prompt), withPromptContext(s.Spec, prompt)
		return s
	case evaluator.Composite:
		s.Members = slices.Clone(s.Members)
		for i := range s.Members {
			s.Members[i].Spec = withPromptContext(s.Members[i].Spec, prompt)
		}
		return s
	}
	return spec
}

// withPrompt returns the argument context of a function with the prompt.
func withPrompt(context json.RawMessage, prompt string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(context, &fields) != nil || fields == nil {
		return context
	}
	fields["prompt"], _ = json.Marshal(prompt) // a text
	raw, err := json.Marshal(fields)
	if err != nil {
		return context
	}
	return raw
}
