package evalcase

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// llmJudge reads a judge with a question of its own.
func (c *compiler) llmJudge(p document.Place) schema.Spec {
	spec := evaluator.LLMJudge{Target: c.judge(p), Subject: c.subject()}
	switch {
	case p.IsObject("prompt"):
		line := p.Sub("prompt", "script")
		if !line.Has() {
			line = p.Sub("prompt", "command")
		}
		if !line.Has() {
			c.fail(p.Problem("missing-field", "the prompt names no program", `add "script": ["python", "prompt.py"]`, "prompt"))
			return spec
		}
		spec.Program = c.program(p.Sub("prompt"), line)
		if spec.Program != nil {
			spec.Program.Config = c.config(p.Sub("prompt"), "#EvalcasePrompt")
		}
		spec.ExpectedMessages = c.answer.messages
	case p.Has("prompt"):
		spec.Template = c.template(p.Sub("prompt"), evaluator.JudgeVariables())
		spec.Subject = c.used(spec.Template)
	}
	return spec
}

// used keeps only the parts of the subject that a template shows, so that nothing else
// affects the judgement. The note reaches every judge.
func (c *compiler) used(template string) evaluator.Subject {
	names := evaluator.VariablesOf(template)
	all := c.subject()
	out := evaluator.Subject{Note: all.Note}
	if slices.Contains(names, "expected_outcome") {
		out.ExpectedOutcome = all.ExpectedOutcome
	}
	if slices.Contains(names, "reference_answer") {
		out.Reference = all.Reference
	}
	if slices.Contains(names, "expected_messages") {
		out.ExpectedMessages = c.answer.messages
	}
	return out
}

// template reads a prompt, which is a file if it is one word. It may hold the
// variables that are known.
func (c *compiler) template(p document.Place, known []string) string {
	text := p.Text()
	if file, is := promptFile(text); is {
		f, ok := c.read(p, file, "prompt", maxText)
		c.Budget.Spend(document.Values, len(f.Data))
		if !ok {
			return ""
		}
		text = string(f.Data)
	}
	if c.isTests {
		text = evaluator.TemplateOfAgentV4(text)
	}
	for _, name := range evaluator.VariablesOf(text) {
		if slices.Contains(known, name) || name == evaluator.FileChanges && c.hasWorkspace {
			continue
		}
		if name == evaluator.FileChanges {
			c.fail(p.Problem("misplaced-field", "`{{file_changes}}` cannot be filled in: what an agent changed in its workspace is not collected", "have the agent report the changes, or judge its answer"))
			continue
		}
		hint := suggest.DidYouMean(name, known)
		if hint == "" {
			hint = "known are " + strings.Join(known, ", ")
		}
		c.fail(p.Problem("unknown-variable", fmt.Sprintf("the prompt has {{%s}}, which is not filled in", name), hint))
	}
	return text
}

// promptFile returns the path of a prompt in a file: the text after file://, or a
// single line without white space and variables. Every other text is the prompt itself.
func promptFile(text string) (file string, is bool) {
	if file, is := strings.CutPrefix(strings.TrimSpace(text), "file://"); is {
		return file, true
	}
	return text, !strings.ContainsAny(text, " \t\r\n") && !strings.Contains(text, "{{")
}

func (c *compiler) codeJudge(p document.Place) schema.Spec {
	program := c.program(p, p.Sub("script"))
	if program == nil {
		return nil
	}
	program.Config = c.config(p, "#EvalcaseCodeJudge")
	spec := evaluator.CodeJudge{Program: *program, Subject: c.subject()}
	spec.ExpectedMessages = c.answer.messages
	c.mayAsk(p, &spec)
	return spec
}

// maxCalls is how often a program may ask a model by default.
const maxCalls = 50

// mayAsk lets a program ask the model that judges.
func (c *compiler) mayAsk(p document.Place, spec *evaluator.CodeJudge) {
	if !p.IsObject("target") {
		return
	}
	spec.MaxCalls, spec.Target = maxCalls, c.standardJudge()
	if p.Has("target", "max_calls") {
		spec.MaxCalls = int(p.Number("target", "max_calls"))
	}
	if p.Text("target", "name") != "" {
		spec.Target = c.Settings.Judge(c.resolve(p.Sub("target", "name")))
	}
}

// config returns a program's configuration: config, and every unknown field next to it.
func (c *compiler) config(p document.Place, def string) json.RawMessage {
	known := document.Fields(def)
	if def == "#EvalcasePrompt" {
		known = append(slices.Clip(known), "command") // another name for script
	}
	extra := map[string]json.RawMessage{}
	for _, key := range p.Keys() {
		if !slices.Contains(known, key) {
			extra[key] = p.JSON(key)
		}
	}
	if !p.Has("config") && len(extra) == 0 {
		return nil
	}
	if len(extra) == 0 {
		return p.JSON("config")
	}
	if p.Has("config") && !p.IsObject("config") {
		c.fail(p.Problem("wrong-type", "`config` must be an object where further fields are added to it", "write an object", "config"))
		return nil
	}
	for _, key := range p.Keys("config") {
		extra[key] = p.JSON("config", key)
	}
	raw, err := json.Marshal(extra)
	if err != nil {
		c.fail(p.Problem("decode", err.Error(), "", "config"))
		return nil
	}
	if canonical, err := schema.Canonical(raw); err == nil {
		raw = canonical
	}
	return raw
}

// program reads the command at a position, with its source files. It runs in cwd, which
// is also looked for in the folders above, else in the folder of the file that names it.
func (c *compiler) program(p, script document.Place) *evaluator.Program {
	reader := command.Reader{Source: c.Source, Lookup: c.Read}
	dir, problem := reader.FolderAbove(p.Doc.File, p.Text("cwd"))
	if problem != nil {
		problem.Position = p.At("cwd")
		c.fail(*problem)
		return nil
	}
	line := command.Line{Argv: script.Strings(), Shell: script.IsText(), Dir: dir, At: func(word int) schema.Position {
		if script.IsText() {
			return script.At()
		}
		return script.At(word)
	}}
	key := strings.Join(append([]string{script.At().String(), dir}, line.Argv...), "\x00")
	known, ok := c.programs[key]
	if !ok {
		known = reader.Program(line)
		c.problems = append(c.problems, known.Problems...)
		if schema.HasErrors(known.Problems) {
			return nil
		}
		c.programs[key] = known
	}
	c.inputs = append(c.inputs, known.Inputs...)
	return &evaluator.Program{Argv: known.Argv, Files: known.Files, Built: known.Built, Dir: dir, Timeout: c.timeout()}
}

// rubrics reads a list of criteria and their rule.
func (c *compiler) rubrics(list document.Place, threshold float64) ([]evaluator.RubricCriterion, schema.Rule) {
	criteria, rule, problems := readRubrics(list, threshold)
	c.problems = append(c.problems, problems...)
	var ids []string
	for _, criterion := range criteria {
		ids = append(ids, criterion.ID)
	}
	if len(ids) > 0 && weightOf(ids, rule) == 0 {
		c.weightless(list, "criteria", &rule)
	}
	return criteria, rule
}
