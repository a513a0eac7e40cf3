package evalcase

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// llmJudge reads a judge with a question of its own.
func (c *compiler) llmJudge(p part) schema.Spec {
	spec := evaluator.LLMJudge{Target: c.judge(p), Subject: c.subject()}
	switch {
	case p.isObject("prompt"):
		spec.Program = c.program(p.sub("prompt"), p.sub("prompt", "script"))
		if spec.Program != nil {
			spec.Program.Config = c.config(p.sub("prompt"), "#EvalcasePrompt")
		}
		spec.ExpectedMessages = c.answer.messages
	case p.has("prompt"):
		spec.Template = c.template(p.sub("prompt"), evaluator.JudgeVariables())
		spec.Subject = c.used(spec.Template)
	}
	return spec
}

// used keeps of the subject what a template shows, so that nothing else counts
// for the judgement. The note reaches every judge.
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

// template reads a prompt, which is a file where it is one word. It may hold the
// variables that are known.
func (c *compiler) template(p part, known []string) string {
	text := p.text()
	if file, is := promptFile(text); is {
		f, ok := c.read(p, file, "prompt", maxText)
		if !ok {
			return ""
		}
		text = string(f.Data)
	}
	if c.isTests {
		text = evaluator.TemplateOfAgentV4(text)
	}
	for _, name := range evaluator.VariablesOf(text) {
		if slices.Contains(known, name) {
			continue
		}
		if name == "file_changes" {
			c.fail(p.problem("misplaced-field", "`{{file_changes}}` cannot be filled in: what an agent changed in its workspace is not collected", "have the agent report the changes, or judge its answer"))
			continue
		}
		hint := schema.DidYouMean(name, known)
		if hint == "" {
			hint = "known are " + strings.Join(known, ", ")
		}
		c.fail(p.problem("unknown-variable", fmt.Sprintf("the prompt has {{%s}}, which is not filled in", name), hint))
	}
	return text
}

// promptFile returns the path of a prompt that is in a file: what follows
// file://, and a single line without white space and variables. Every other text
// is the prompt itself.
func promptFile(text string) (file string, is bool) {
	if file, is := strings.CutPrefix(strings.TrimSpace(text), "file://"); is {
		return file, true
	}
	return text, !strings.ContainsAny(text, " \t\r\n") && !strings.Contains(text, "{{")
}

func (c *compiler) codeJudge(p part) schema.Spec {
	program := c.program(p, p.sub("script"))
	if program == nil {
		return nil
	}
	program.Config = c.config(p, "#EvalcaseCodeJudge")
	spec := evaluator.CodeJudge{Program: *program, Subject: c.subject()}
	spec.ExpectedMessages = c.answer.messages
	return spec
}

// config is what a program is handed: config, and every field next to it that
// the format does not know.
func (c *compiler) config(p part, def string) json.RawMessage {
	known := schema.Fields(def)
	extra := map[string]json.RawMessage{}
	for _, key := range p.keys() {
		if !slices.Contains(known, key) {
			extra[key] = p.json(key)
		}
	}
	if !p.has("config") && len(extra) == 0 {
		return nil
	}
	if len(extra) == 0 {
		return p.json("config")
	}
	if p.has("config") && !p.isObject("config") {
		c.fail(p.problem("wrong-type", "`config` must be an object where further fields are added to it", "write an object", "config"))
		return nil
	}
	for _, key := range p.keys("config") {
		extra[key] = p.json("config", key)
	}
	raw, err := json.Marshal(extra)
	if err != nil {
		c.fail(p.problem("decode", err.Error(), "", "config"))
		return nil
	}
	if canonical, err := schema.Canonical(raw); err == nil {
		raw = canonical
	}
	return raw
}

// programFiles are the files of a program that were read before.
type programFiles struct {
	argv   []string
	files  []schema.File
	inputs []schema.Input
}

const (
	// maxProgram bounds the bytes of one file of a program, maxSiblings the
	// number of files next to it.
	maxProgram  = 4 << 20
	maxSiblings = 256
)

// program reads the command at a position, with the files that it is
// made of. It runs in cwd, else in the folder of the file that names it.
func (c *compiler) program(p, script part) *evaluator.Program {
	dir, ok := c.folder(p)
	if !ok {
		return nil
	}
	argv := script.strings()
	words := argv
	if script.isText() {
		words = strings.Fields(argv[0])
		argv = []string{"sh", "-c", argv[0]}
	}
	key := strings.Join(append([]string{script.at().String(), dir}, argv...), "\x00")
	known, ok := c.programs[key]
	if !ok {
		before := len(c.problems)
		known = c.readProgram(script, dir, words)
		if schema.HasErrors(c.problems[before:]) {
			return nil
		}
		c.programs[key] = known
	}
	c.inputs = append(c.inputs, known.inputs...)
	if !script.isText() {
		argv = known.argv
	}
	return &evaluator.Program{Argv: argv, Files: known.files, Dir: dir, Timeout: c.timeout()}
}

// folder is where a program runs.
func (c *compiler) folder(p part) (string, bool) {
	cwd := p.text("cwd")
	if cwd == "" {
		return path.Dir(p.doc.File), true
	}
	dir := path.Join(path.Dir(p.doc.File), cwd)
	if rooted, ok := strings.CutPrefix(cwd, "/"); ok {
		dir = path.Clean(rooted)
	}
	if strings.Contains(cwd, `\`) {
		c.fail(p.problem("path-backslash", fmt.Sprintf("the path %q has a backslash, which separates no folders here", cwd), "write "+strings.ReplaceAll(cwd, `\`, "/"), "cwd"))
		return "", false
	}
	if !fs.ValidPath(dir) || strings.Contains(cwd, "\x00") {
		c.fail(p.problem("path-escapes", fmt.Sprintf("the path %q leaves the repository", cwd), "name a folder inside it; a leading / means the repository root", "cwd"))
		return "", false
	}
	if info, err := fs.Stat(c.FS, dir); err != nil || !info.IsDir() {
		c.fail(p.problem("missing-file", fmt.Sprintf("the folder %s does not exist", dir), "add it or correct the path", "cwd"))
		return "", false
	}
	return dir, true
}

// readProgram reads the files that are named by words of a command, and those
// of the same kind next to each, since a program may load them.
func (c *compiler) readProgram(script part, dir string, words []string) programFiles {
	out := programFiles{argv: slices.Clone(words)}
	program := evaluator.Program{Dir: dir}
	for i, word := range words {
		file := c.programFile(script, dir, word, i)
		if file == "" {
			continue
		}
		if rel := program.Sees(file); path.Clean(word) != rel {
			out.argv[i] = rel
		}
		c.addProgram(script, file, &out)
	}
	slices.SortFunc(out.files, func(a, b schema.File) int { return strings.Compare(a.Path, b.Path) })
	out.files = slices.CompactFunc(out.files, func(a, b schema.File) bool { return a.Path == b.Path })
	return out
}

// extensions of files that are programs: what ends so and does not exist is a
// mistake.
var extensions = []string{".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".pl", ".php", ".lua", ".r", ".jl"}

// programFile finds the file that a word of a command names, if it names one.
func (c *compiler) programFile(script part, dir, word string, i int) string {
	at := script.sub(i)
	if script.isText() {
		at = script
	}
	dotted := strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
	if !dotted && (strings.HasPrefix(word, "/") || strings.HasPrefix(word, "-") || word == "." || word == "..") {
		return "" // of the machine, or an option
	}
	file := path.Join(dir, word)
	switch {
	case dotted && !fs.ValidPath(file):
		c.fail(at.problem("path-escapes", fmt.Sprintf("the path %q leaves the repository", word), "name a file inside it"))
		return ""
	case !fs.ValidPath(file):
		return ""
	case c.isFile(file):
		return file
	}
	named := !script.isText() && (dotted || slices.Contains(extensions, path.Ext(word)))
	if !named {
		return ""
	}
	for up := dir; up != "." && !strings.HasPrefix(word, "../"); {
		up = path.Dir(up)
		if found := path.Join(up, word); c.isFile(found) {
			c.warn(at.problem("found-above", fmt.Sprintf("%s is not in the folder that the program runs in; %s is taken", word, found), "write "+evaluator.Program{Dir: dir}.Sees(found)))
			return found
		}
	}
	// Reading it says what is wrong, and which file may be meant.
	found := c.Read(schema.Reference{At: schema.Position{File: path.Join(dir, "-")}, Path: word, Role: "program", Most: maxProgram})
	for _, p := range found.Problems {
		p.Position = at.at()
		c.problems = append(c.problems, p)
	}
	return ""
}

func (c *compiler) isFile(file string) bool {
	info, err := fs.Stat(c.FS, file)
	return err == nil && info.Mode().IsRegular()
}

// addProgram reads a file of a program and those next to it with the same
// extension. The folder is an input as a whole, since what appears there may
// be loaded.
func (c *compiler) addProgram(script part, file string, out *programFiles) {
	add := func(name string) {
		data, err := schema.ReadFile(c.FS, name, maxProgram)
		if err != nil {
			c.fail(script.problem("unreadable", fmt.Sprintf("%s cannot be read: %v", name, err), "make it a plain file of at most 4 MiB"))
			return
		}
		out.files = append(out.files, schema.File{Path: name, Data: data})
		out.inputs = append(out.inputs, schema.Input{File: name, Role: "program"})
	}
	add(file)
	ext := path.Ext(file)
	if !slices.Contains(extensions, ext) {
		return
	}
	folder := path.Dir(file)
	out.inputs = append(out.inputs, schema.Input{File: folder, Role: "program"})
	entries, err := fs.ReadDir(c.FS, folder)
	if err != nil {
		return // the file itself was read
	}
	siblings := 0
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if name == file || path.Ext(name) != ext || !e.Type().IsRegular() {
			continue
		}
		if siblings++; siblings > maxSiblings {
			c.warn(script.problem("many-programs", fmt.Sprintf("only %[2]d of the files next to %[1]s count as part of the program", file, maxSiblings), "move the program into a folder of its own"))
			return
		}
		add(name)
	}
}
