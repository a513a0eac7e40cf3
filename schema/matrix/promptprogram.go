package matrix

import (
	"encoding/json"
	"errors"
	"path"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/template"
)

// A promptSource is the file of a prompt that is code. The files of its program are
// read once the prompt is known to need one.
type promptSource struct {
	name, function string
	// words are the command that prints the prompt; nil for a function of a file.
	words   []string
	at      schema.Position
	program *schema.PromptProgram // without its input; nil before it is needed
	inputs  []schema.Input
}

// languages of the files that write prompts, by their extension.
var languages = map[string]string{".py": "python", ".js": "javascript", ".cjs": "javascript", ".mjs": "javascript", ".ts": "javascript", ".cts": "javascript", ".mts": "javascript"}

// errProgram means that a program writes the prompt when it is run.
var errProgram = errors.New("a program writes the prompt")

// byProgram replaces an error about something only a program has by errProgram.
func (p prompt) byProgram(err error) error {
	if _, ok := errors.AsType[*template.NeedError](err); ok && p.source != nil {
		return errProgram
	}
	return err
}

// programOf returns the program that writes a prompt for a row and a provider.
func (c *compiler) programOf(p prompt, r row, by provider) (*schema.PromptProgram, error) {
	s := p.source
	if s.program == nil {
		c.readProgram(s)
	}
	out := *s.program
	told := c.told(p, r, by)
	if _, has := told["config"]; !has {
		told["config"] = map[string]any{}
	}
	var err error
	out.Stdin, err = json.Marshal(told)
	out.Prefix, out.Suffix = r.test.prefix, r.test.suffix
	return &out, err
}

// readProgram finds the source files of a prompt's program.
func (c *compiler) readProgram(s *promptSource) {
	c.findProgram(s, promptRunners[languages[path.Ext(s.name)]])
	if s.function != "" {
		s.program.Argv = append(s.program.Argv, s.function)
	}
}

// findProgram finds the source files of a program, which a runner starts if it is a function of
// a file.
func (c *compiler) findProgram(s *promptSource, runner []string) {
	seen := evaluator.Program{Dir: path.Dir(c.Doc.File)}
	words := s.words
	if words == nil {
		words = []string{seen.Sees(s.name)}
	}
	line := command.Line{Argv: words, Dir: seen.Dir, At: func(int) schema.Position { return s.at }}
	found := command.Reader{Source: c.Source, Lookup: c.Read}.Program(line)
	c.Problems, s.inputs = append(c.Problems, found.Problems...), found.Inputs
	s.program = &schema.PromptProgram{Dir: seen.Dir, Plain: s.words != nil, Argv: found.Argv, Built: found.Built}
	if s.words == nil {
		s.program.Argv = append(slices.Clone(runner), found.Argv...)
	}
	for _, f := range found.Files {
		s.program.Files = append(s.program.Files, seen.Sees(f))
	}
}

// told returns the argument of a function that writes a prompt.
func (c *compiler) told(p prompt, r row, by provider) map[string]any {
	who := map[string]any{"id": by.id, "label": by.label}
	if len(by.config) > 0 {
		who["config"] = by.config
	}
	told := map[string]any{"vars": r.vars, "provider": who}
	if len(p.config) > 0 {
		told["config"] = p.config
	}
	return told
}

// send makes a case send its prompt, or a program that writes it. The errors are those
// of messages.
func (c *compiler) send(tc *schema.Case, p prompt, r row, by provider) error {
	said, err := c.messages(p, r, by)
	if errors.Is(err, errProgram) {
		tc.Drive.Program, err = c.programOf(p, r, by)
		if tc.Drive.Program != nil {
			c.Budget.Spend(document.Text, len(tc.Drive.Program.Stdin)+len(tc.Drive.Program.Prefix)+len(tc.Drive.Program.Suffix))
			tc.Inputs = append(tc.Inputs, p.source.inputs...)
			tc.Inputs = sorted(tc.Inputs)
		}
		return err
	}
	if images := c.Settings.Targets[by.target].AcceptsImages; err == nil && said.Shows() && images != nil && !*images {
		err = &template.NeedError{What: "a target that takes images"}
	}
	tc.System, tc.Drive.Messages = said.System, said.Messages
	c.Budget.Spend(document.Text, said.Size())
	return err
}
