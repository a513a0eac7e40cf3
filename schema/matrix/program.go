package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/template"
)

// foreign matches what functions of the interpreter do not have.
var foreign = regexp.MustCompile(`\b(require|import|export|await|async|fetch|process)\b`)

// maxCode bounds a file of JavaScript that the interpreter runs.
const maxCode = 256 << 10

// runners start a function of a file, or code, that is in a language. They read {output,
// context, code, config} and print what the function returns as JSON.
var runners = map[string][]string{
	"python": {"python3", "-c", `import importlib.util, inspect, json, os, sys
said = json.load(sys.stdin)
out, sys.stdout = sys.stdout, sys.stderr
context = said["context"] or {}
context["config"] = said.get("config") or {}
if len(sys.argv) > 1:
    file = os.path.abspath(sys.argv[1])
    sys.path.insert(0, os.path.dirname(file))
    spec = importlib.util.spec_from_file_location("assertion", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = getattr(module, sys.argv[2])(said["output"], context)
else:
    code = said["code"].strip()
    names = {"output": said["output"], "context": context, "json": json}
    if "\n" not in code and not code.startswith("return "):
        code = "return " + code
    exec("import json\ndef check(output, context):\n" + "\n".join("    " + line for line in code.split("\n")), names)
    result = names["check"](said["output"], context)
if inspect.isawaitable(result):
    import asyncio
    result = asyncio.run(result)
json.dump(result if isinstance(result, (bool, int, float, dict)) else str(result), out)
`},
	"ruby": {"ruby", "-e", `require "json"
said = JSON.parse(STDIN.read)
out = STDOUT.dup
STDOUT.reopen(STDERR)
context = said["context"] || {}
context["config"] = said["config"] || {}
if ARGV.length > 0
  require File.expand_path(ARGV[0])
  result = send(ARGV[1], said["output"], context)
else
  output = said["output"]
  result = eval("lambda { |output, context| " + said["code"] + "\n}").call(output, context)
end
out.write(JSON.generate(result))
`},
	"javascript": {"node", "-e", `let input = "";
process.stdin.on("data", (d) => (input += d)).on("end", async () => {
  const said = JSON.parse(input);
  const context = Object.assign({}, said.context, { config: said.config || {} });
  const path = require("path").resolve(process.argv[1]);
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const loaded = await import(require("url").pathToFileURL(path).href);
  let f = process.argv[2] ? loaded[process.argv[2]] || (loaded.default || {})[process.argv[2]] : loaded.default || loaded;
  if (f && f.default) f = f.default;
  write(JSON.stringify(await f(said.output, context)));
});
`},
}

// defaultFunctions are called where a definition names none.
var defaultFunctions = map[string]string{"python": "get_assert", "ruby": "get_assert"}

// function reads the code of an assertion: what the definition has itself, or the file
// that it names. JavaScript that only computes needs no program.
func (c *compiler) function(t *test, a *written, language string, at schema.Position) {
	code, isText := text(a.Value)
	isFile := strings.HasPrefix(code, "file://")
	switch {
	case !isText || strings.TrimSpace(code) == "":
		a.need = "code as the value of " + language
	case isFile:
		c.functionFile(t, a, language, at)
	case language != "javascript":
		a.program = &evaluator.Program{Argv: runners[language], Dir: path.Dir(c.Doc.File)}
	case foreign.MatchString(code):
		a.need = "a program (javascript with " + foreign.FindString(code) + ")"
	}
}

// functionFile reads the file of a function, which may be followed by the name of one.
func (c *compiler) functionFile(t *test, a *written, language string, at schema.Position) {
	name, _ := fileName(a.Value)
	function := defaultFunctions[language]
	if i := strings.LastIndex(name, ":"); i > 0 {
		name, function = name[:i], name[i+1:]
	}
	found := c.Read(schema.Reference{At: at, Path: name, Role: "program", Most: command.MaxFile})
	t.inputs = append(t.inputs, found.Inputs...)
	c.note(t, found.Problems)
	if !found.Found() {
		return
	}
	if code := computing(found.File, function); code != "" {
		a.Value, _ = json.Marshal(code) // a text
		return
	}
	p := evaluator.Program{Dir: path.Dir(c.Doc.File)}
	line := command.Line{Argv: []string{p.Sees(found.File.Path)}, Dir: p.Dir, At: func(int) schema.Position { return at }}
	files := command.Reader{Files: c.FS, Read: c.Read}.Program(line)
	t.inputs = append(t.inputs, files.Inputs...)
	c.note(t, files.Problems)
	p.Files, p.Argv = files.Files, append(slices.Clone(runners[language]), files.Argv...)
	if function != "" {
		p.Argv = append(p.Argv, function)
	}
	a.program = &p
}

// computing is the code that calls a function of a file of JavaScript which only computes;
// empty for any other file.
func computing(file schema.File, function string) string {
	source := string(file.Data)
	if path.Ext(file.Path) != ".js" || len(source) > maxCode || foreign.MatchString(source) {
		return ""
	}
	if function != "" {
		function = "." + function
	}
	return "const module = {exports: {}}; let exports = module.exports;\n" + source + "\n;const found = module.exports" + function + ";\nreturn found(output, context)"
}

// readTransform reads the transform of a test.
func (c *compiler) readTransform(t *test, doc *schema.Document, at ...any) {
	if code := doc.Text(at...); code != "" {
		t.transform = c.transformCode(t, code, doc.At(at...))
	}
}

// transformCode is the code of a transform: that of the file which it names, if that only
// computes.
func (c *compiler) transformCode(t *test, code string, at schema.Position) string {
	name, isFile := strings.CutPrefix(code, "file://")
	if !isFile {
		return code
	}
	name, function, _ := strings.Cut(strings.TrimPrefix(name, "./"), ":")
	found := c.Read(schema.Reference{At: at, Path: name, Role: "program", Most: command.MaxFile})
	t.inputs = append(t.inputs, found.Inputs...)
	c.note(t, found.Problems)
	if !found.Found() {
		return ""
	}
	return cmp.Or(computing(found.File, function), code)
}

// told is the argument context of functions.
func (j *judgement) told(a written, vars template.Variables) (json.RawMessage, error) {
	said := map[string]any{"vars": vars, "prompt": j.prompt}
	if len(a.Config) > 0 {
		said["config"] = a.Config
	}
	return json.Marshal(said)
}

// code is an assertion in JavaScript, or by a program.
func (j *judgement) code(a written, value json.RawMessage, vars template.Variables) (schema.Spec, error) {
	told, err := j.told(a, vars)
	if err != nil {
		return nil, err
	}
	source, _ := text(value)
	if a.program == nil {
		return evaluator.JavaScript{Code: source, Context: told, Threshold: a.Threshold}, nil
	}
	spec := evaluator.Function{Program: *a.program, Context: told, Threshold: a.Threshold}
	if spec.Config = a.Config; len(a.program.Files) == 0 {
		spec.Code = source
	}
	return spec, nil
}

// transformed has an evaluator look at what the transforms of the test and of the
// assertion make of the answer. The cost and duration of a sample are not
// transformed.
func (j *judgement) transformed(spec schema.Spec, a written, vars template.Variables) (schema.Spec, error) {
	var steps []string
	for _, code := range append(slices.Clip(j.transforms), a.Transform) {
		switch {
		case code == "":
			continue
		case strings.HasPrefix(code, "file://"):
			return nil, &template.NeedError{What: "a program (transform in a file)"}
		case foreign.MatchString(code):
			return nil, &template.NeedError{What: fmt.Sprintf("a program (transform with %s)", foreign.FindString(code))}
		}
		steps = append(steps, code)
	}
	switch spec.(type) {
	case evaluator.Checks, evaluator.Calls:
		return spec, nil
	}
	if len(steps) == 0 {
		return spec, nil
	}
	told, err := j.told(a, vars)
	return evaluator.Transformed{Steps: steps, Context: told, Spec: spec}, err
}
