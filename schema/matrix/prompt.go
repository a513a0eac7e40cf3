package matrix

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/chat"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/template"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A prompt is a prompt of rows.
type prompt struct {
	label string
	// written is the name of its file as written, or its text.
	written string
	// id distinguishes it from the file's others in keys; empty if it is the only one.
	id string
	// file contains its text, and at is the position.
	file string
	at   schema.Position
	text string
	chat []chat.Message // in place of text
	// function computes the text from the variables and the provider; config is an
	// input.
	function jsFunction
	config   json.RawMessage
	need     string        // an unsupported need
	source   *promptSource // of a prompt that is code
}

// readPrompts reads all prompts of the file.
func (c *compiler) readPrompts() []prompt {
	var all []prompt
	c.Budget.At("prompts")
	switch {
	case !c.Doc.Has("prompts"):
		all = append(all, prompt{text: "{{prompt}}", file: c.Doc.File, at: schema.Position{File: c.Doc.File, Line: 1, Column: 1}}) // promptfoo's default
	case c.Doc.IsList("prompts"):
		for i := range c.Doc.Items("prompts") {
			more := c.listedPrompt("prompts", i)
			c.Budget.Spend(document.Prompts, len(more))
			all = append(all, more...)
		}
	case c.Doc.IsObject("prompts"):
		for _, name := range c.Doc.Keys("prompts") {
			label, text := name, c.Doc.Text("prompts", name)
			if namesPrompt(name) { // the older form: its label is the value
				label, text = text, name
			}
			all = append(all, c.namedPrompts(label, text, "prompts", name)...)
		}
	default:
		all = c.namedPrompts("", c.Doc.Text("prompts"), "prompts")
	}
	if len(all) == 0 && !schema.HasErrors(c.Problems) {
		c.Fail("no-prompt", "`prompts` has no prompt", "write a text with {{variables}}, or file://prompt.txt", "prompts")
	}
	if len(all) > 1 {
		ids := map[string]bool{}
		for i := range all {
			all[i].id = all[i].identity()
			if ids[all[i].id] {
				all[i].id += "-" + all[i].hash()
			}
			ids[all[i].id] = true
		}
	}
	return all
}

// namesPrompt reports whether a key is a prompt itself, as the name of a file or a template is.
func namesPrompt(key string) bool {
	return strings.HasPrefix(key, "file://") || strings.HasPrefix(key, "exec:") || barePrompt.MatchString(key) || strings.Contains(key, "{{")
}

// identity names a prompt among others: by its label, its file or its text.
func (p prompt) identity() string {
	if p.label != "" {
		return slug(p.label)
	}
	return p.hash()
}

// name names a prompt for people: by its label, else by the beginning of its text.
func (p prompt) name() string { return clipped(cmp.Or(p.label, p.template()), mostValue) }

func (p prompt) hash() string {
	raw, _ := json.Marshal(p.chat) // raw JSON that was read
	return shortHash(p.text + string(raw))
}

// template returns the text of a prompt, or a chat as JSON.
func (p prompt) template() string {
	if p.chat == nil {
		return p.text
	}
	raw, _ := json.Marshal(p.chat) // raw JSON that was read
	return string(raw)
}

// shortHash is long enough to distinguish the texts of a file.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// listedPrompt reads an item of the list: a text, {raw, label}, {id, label} or a
// chat.
func (c *compiler) listedPrompt(at ...any) []prompt {
	if c.Doc.IsList(at...) {
		var list []chat.Message
		if json.Unmarshal(c.Doc.JSON(at...), &list) != nil {
			c.Fail("wrong-type", "the prompt is not a list of messages", "write messages with role and content", at...)
			return nil
		}
		return []prompt{{chat: list, file: c.Doc.File, at: c.Doc.At(at...)}}
	}
	if !c.Doc.IsObject(at...) {
		return c.namedPrompts("", c.Doc.Text(at...), at...)
	}
	config := c.Doc.JSON(append(at[:len(at):len(at)], "config")...)
	field := func(name string) string { return c.Doc.Text(append(at[:len(at):len(at)], name)...) }
	for _, name := range []string{"raw", "id", "file", "prompt"} {
		if value := field(name); value != "" {
			all := c.namedPrompts(field("label"), value, append(at[:len(at):len(at)], name)...)
			for i := range all {
				all[i].config = config
			}
			return all
		}
	}
	c.Fail("missing-field", "the prompt has neither `raw` nor `id`", `write {raw: "…", label: "…"}, or {id: "file://…", label: "…"}`, at...)
	return nil
}

// namedPrompts returns the prompts of one text: itself, or the ones in the file that it
// names.
func (c *compiler) namedPrompts(label, text string, at ...any) []prompt {
	name, isFile := strings.CutPrefix(text, "file://")
	isFile = isFile || barePrompt.MatchString(text) || c.namesFile(text)
	switch {
	case text == "":
		c.Fail("wrong-type", "the prompt is not a text", "write a text with {{variables}}, or file://prompt.txt", at...)
		return nil
	case strings.HasPrefix(text, "exec:"):
		return c.execPrompt(label, strings.TrimPrefix(text, "exec:"), at...)
	case strings.HasPrefix(text, "package:"):
		return []prompt{{label: label, file: c.Doc.File, text: text, need: "a prompt of a package of JavaScript or Python"}}
	case !strings.HasPrefix(text, "file://") && remote.MatchString(text):
		return []prompt{{label: label, file: c.Doc.File, text: text, need: "a prompt that is fetched from the net; download it and name the file"}}
	case !isFile:
		return []prompt{{label: label, file: c.Doc.File, at: c.Doc.At(at...), text: text}}
	}
	if wildcard.IsGlob(name) {
		var all []prompt
		for _, file := range c.glob(name, "prompts", c.Doc.At(at...)) {
			all = append(all, c.promptFile(label, file, at...)...)
			c.Budget.Within(document.Prompts, len(all))
		}
		return all
	}
	return c.promptFile(label, name, at...)
}

// remote matches a prompt that is nothing but an address.
var remote = lazyregexp.New(`^[a-z][a-z0-9+.-]*://\S+$`)

// word matches a word of a command, which may be in quotes.
var word = lazyregexp.New(`"([^"]*)"|'([^']*)'|[^\s"']+`)

// execPrompt returns the prompt that a command prints; its last argument is the input.
func (c *compiler) execPrompt(label, line string, at ...any) []prompt {
	var words []string
	for _, m := range word.FindAllStringSubmatch(line, -1) {
		words = append(words, cmp.Or(m[1], m[2], strings.Trim(m[0], `"'`)))
	}
	if len(words) == 0 {
		c.Fail("wrong-value", "the prompt names no program", "write exec: and a command, such as exec:./prompt.sh", at...)
		return nil
	}
	if file := path.Join(path.Dir(c.Doc.File), words[0]); !strings.Contains(words[0], "/") && c.isFile(file) {
		words[0] = "./" + words[0] // in place of a program of the machine
	}
	p := prompt{label: cmp.Or(label, line), file: c.Doc.File, at: c.Doc.At(at...), text: "exec:" + line, need: "a program for the prompt"}
	p.source = &promptSource{words: words, at: c.Doc.At(at...)}
	c.readProgram(p.source)
	return []prompt{p}
}

// namesFile reports whether a prompt of one word is a file of the repository, of any
// type.
func (c *compiler) namesFile(text string) bool {
	file := path.Join(path.Dir(c.Doc.File), text)
	return !strings.ContainsAny(text, " \t\n{:") && strings.ContainsAny(text, "/.") && fs.ValidPath(file) && c.isFile(file)
}

// isFile reports whether the repository has a file.
func (c *compiler) isFile(name string) bool {
	info, err := fs.Stat(c.FS, name)
	return err == nil && info.Mode().IsRegular()
}

// runs reports whether the file of a prompt is a program by itself: by its type, or one
// without a known type that may be executed. The need is of one that is not run here.
func (c *compiler) runs(name string) (is bool, need string) {
	switch ext := path.Ext(name); {
	case slices.Contains([]string{".sh", ".bash", ".rb", ".pl"}, ext):
		return true, ""
	case slices.Contains([]string{".exe", ".bat", ".cmd", ".ps1"}, ext):
		return true, "a program of Windows (" + ext + ")"
	case isCode[ext], slices.Contains([]string{".txt", ".md", ".j2", ".json", ".jsonl", ".yaml", ".yml", ".csv"}, ext):
		return false, ""
	}
	info, err := fs.Stat(c.FS, name)
	return err == nil && info.Mode()&0o111 != 0, ""
}

// isCode are the types of files with code.
var isCode = map[string]bool{".js": true, ".cjs": true, ".mjs": true, ".ts": true, ".cts": true, ".mts": true, ".py": true}

// barePrompt matches a prompt that is the name of a file, without file://.
var barePrompt = lazyregexp.New(`^(?:[\w./*?-]|\{[\w./*?,-]*\})+\.(txt|md|j2|json|jsonl|ya?ml|csv|c?js|mjs|[cm]?ts|py|sh|bash|rb|pl|exe|bat|cmd|ps1)(:\w+)?$`)

// promptFile returns the prompts of a file.
func (c *compiler) promptFile(label, name string, at ...any) []prompt {
	name, function := assertion.SplitFunction(name)
	name = strings.TrimPrefix(name, "./")
	found := c.Read(document.Reference{At: c.Doc.At(at...), Path: name, Role: "prompt", Most: document.Limit(name)})
	c.Problems, c.inputs = append(c.Problems, found.Problems...), append(c.inputs, found.Inputs...)
	if !found.Found() {
		return nil
	}
	if label == "" {
		label = strings.TrimSuffix(found.File.Path+":"+function, ":")
	}
	if is, need := c.runs(found.File.Path); need != "" {
		return []prompt{{label: label, file: found.File.Path, text: name, need: need}}
	} else if is {
		seen := evaluator.Program{Dir: path.Dir(c.Doc.File)}.Sees(found.File.Path)
		if !strings.Contains(seen, "/") {
			seen = "./" + seen
		}
		all := c.execPrompt(label, `"`+seen+`"`, at...)
		for i := range all {
			all[i].written = name
		}
		return all
	}
	all, problems := promptsOf(found.File, label)
	if c.Problems = append(c.Problems, problems...); schema.HasErrors(problems) {
		return nil
	}
	if len(all) == 0 {
		c.Problems = append(c.Problems, schema.Problem{Position: schema.Position{File: found.File.Path, Line: 1, Column: 1}, Severity: schema.Error, Rule: "no-prompt", Message: "the file has no prompt", Hint: "write a text with {{variables}}"})
		return nil
	}
	for i := range all {
		all[i].written = name
	}
	if isCode[path.Ext(found.File.Path)] {
		f, err := functionOfFile(found.File, function, "the prompt")
		if all[0].function = f; err != nil {
			all[0].need = err.Error()
		}
		all[0].source = &promptSource{name: found.File.Path, function: function, at: c.Doc.At(at...)}
	}
	return all
}

// messages returns a row's messages to a provider. The prefix and suffix of its test
// are put around a text. As in promptfoo, a text has the variables in which others are
// filled in, and JSON those in which only names are replaced. The error is errProgram if a
// program writes them.
func (c *compiler) messages(p prompt, r row, by provider) (chat.Prompt, error) {
	if p.need != "" {
		return chat.Prompt{}, p.byProgram(&template.NeedError{What: p.need})
	}
	fill := func(s string) (string, error) { return c.engine.Fill(r.vars, s) }
	once := func(s string) (string, error) { return c.engine.Fill(r.resolved, s) }
	if p.chat != nil {
		return chat.Filled(p.chat, once)
	}
	text, err := c.written(p, r, by)
	if err != nil {
		return chat.Prompt{}, err
	}
	lenient := c.Settings.Targets[by.target].Agent || by.id == "echo"
	said, err := chat.Render(chat.Template{Prefix: r.test.prefix, Text: text, Suffix: r.test.suffix, Lenient: lenient, InJSON: once}, fill)
	if wrong, ok := errors.AsType[*template.MistakeError](err); ok {
		err = &template.MistakeError{Message: fmt.Sprintf("%s, for the test %s", wrong.Message, r.name), Hint: wrong.Hint}
	}
	return said, err
}

// written returns the text of a prompt: its own, or its function's result for the
// variables of a row. A chat is JSON.
func (c *compiler) written(p prompt, r row, by provider) (string, error) {
	if p.function.IsZero() {
		return p.text, nil
	}
	if r.hasKept() {
		return "", p.byProgram(&template.NeedError{What: "the output of another test for a prompt in code (storeOutputAs)"})
	}
	made, err := c.caller.Call(p.function, c.told(p, r, by))
	if need, ok := errors.AsType[*template.NeedError](err); ok {
		return "", p.byProgram(need)
	}
	if err != nil {
		return "", &template.MistakeError{Message: fmt.Sprintf("the prompt gives nothing for the test %s: %v", r.name, err), Hint: "correct the function; it is called with {vars, provider} while the file is read"}
	}
	var parts struct{ Prompt json.RawMessage }
	if json.Unmarshal(made, &parts) == nil && len(parts.Prompt) > 0 {
		made = parts.Prompt
	}
	return template.Written(made), nil
}
