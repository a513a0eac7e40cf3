package domain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// builtins are the evaluators that need no file.
var builtins = []string{"keyword", "two_pass", "sql_executor", "tool_call"}

// icdCodes is the evaluator of ICD codes. It is built in unless a file gives it a
// prompt or a regex.
const icdCodes = "icd_code_judge"

// IsBuiltin reports whether an evaluator needs no file.
func IsBuiltin(id string) bool { return slices.Contains(builtins, id) }

// evaluatorFile is the content of an evaluators/*.json. One with the id of a built-in
// configures that one: a test that names a built-in is judged by it everywhere.
type evaluatorFile struct {
	file   string
	broken bool

	ID     string           `json:"id"`
	Type   string           `json:"type"`
	Prompt string           `json:"eval_prompt"`
	Regex  string           `json:"extraction_regex"`
	Config evaluatorOptions `json:"config"`

	// databaseAt is the position of Config.Database.
	databaseAt schema.Position
}

type evaluatorOptions struct {
	Match      json.RawMessage `json:"match"`
	WholeWords bool            `json:"whole_words"`
	Threshold  *float64        `json:"threshold"`
	Tolerance  *float64        `json:"tolerance"`
	Database   string          `json:"database"`
	MaxScore   float64         `json:"max_score"`
	Comparison string          `json:"comparison"`
	AsPattern  bool            `json:"use_expected_as_pattern"`
}

func (t *tree) loadEvaluator(file string) {
	e := &evaluatorFile{file: file, broken: true, ID: strings.TrimSuffix(path.Base(file), path.Ext(file))}
	before := len(t.problems)
	doc := t.open(file, "#Evaluator", &t.problems)
	if doc != nil {
		misspeltOption := misspeltOptions(t.problems[before:])
		if err := doc.Decode(e); err != nil {
			t.problems = append(t.problems, doc.Problem("decode", err.Error(), ""))
		} else {
			e.broken = misspeltOption
			e.databaseAt = doc.At("config", "database")
		}
		if problem, ok := e.measuresNothing(doc); ok {
			t.problems = append(t.problems, problem)
			e.broken = true
		}
		if slices.Contains(builtins, e.ID) && !e.configuresBuiltin() {
			t.problems = append(t.problems, doc.Problem("built-in-id", fmt.Sprintf("%q is the id of a built-in evaluator, and this is another", e.ID), `give it an id of its own, or write "type": "predefined" to configure the built-in`, "id"))
			e.broken = true
		}
		t.noteScale(doc, e)
		if err := checkPattern(e.Regex); err != nil {
			t.problems = append(t.problems, doc.Problem("regex", err.Error(), "write an RE2 pattern", "extraction_regex"))
			e.broken = true
		}
		if first, ok := t.evaluators[e.ID]; ok {
			t.problems = append(t.problems, doc.Problem("duplicate-id", fmt.Sprintf("the evaluator %q is defined twice", e.ID), "the other is "+first.file+"; rename or remove one", "id"))
			return
		}
	}
	t.evaluators[e.ID] = e
}

// misspeltOptions turns warnings about options that are similar to a known one into
// errors: without the option, the evaluator demands something else. Other unknown
// options are left alone, since exports write fields that only Evonic reads.
func misspeltOptions(found []schema.Problem) bool {
	any := false
	for i, p := range found {
		if p.Rule == "unknown-field" && p.Severity == schema.Warning && suggest.IsQuestion(p.Hint) {
			found[i].Severity, any = schema.Error, true
		}
	}
	return any
}

// measuresNothing returns the problem of an evaluator without a way to measure. One
// that claims to be built in may be so in another version, unless its id is misspelt.
func (e *evaluatorFile) measuresNothing(doc *document.Document) (schema.Problem, bool) {
	if e.broken || e.Prompt != "" || e.Regex != "" || e.Config.AsPattern || IsBuiltin(e.ID) || e.ID == icdCodes {
		return schema.Problem{}, false
	}
	if e.Type == "predefined" || e.Type == "builtin" {
		near := suggest.DidYouMean(e.ID, append(slices.Clone(builtins), icdCodes))
		return doc.Problem("unknown-evaluator", fmt.Sprintf("there is no built-in evaluator %q", e.ID), near, "id"), near != ""
	}
	return doc.Problem("no-check", fmt.Sprintf("the evaluator %q has neither an eval_prompt nor an extraction_regex", e.ID),
		`add one of them, or write "type": "predefined" and the id of a built-in evaluator`), true
}

// configuresBuiltin reports whether a file with the id of a built-in means that one: it
// says so, or has no other way to measure.
func (e *evaluatorFile) configuresBuiltin() bool {
	switch e.Type {
	case "predefined", "builtin":
		return true
	case "", e.ID:
		return e.Prompt == "" && e.Regex == ""
	}
	return false
}

func (t *tree) hasEvaluator(id string) bool {
	return t.evaluators[id] != nil || slices.Contains(builtins, id) || id == icdCodes
}

func (t *tree) unknownEvaluator(doc *document.Document, id string) schema.Problem {
	known := slices.Concat(builtins, slices.Collect(maps.Keys(t.evaluators)))
	hint := suggest.DidYouMean(id, known)
	if hint == "" {
		hint = fmt.Sprintf("add evaluators/%s.json or use one of %s", id, strings.Join(slices.Sorted(slices.Values(known)), ", "))
	}
	return doc.Problem("unknown-evaluator", fmt.Sprintf("unknown evaluator %q", id), hint, "evaluator_id")
}

// toolFile is the content of a tools/*.json.
type toolFile struct {
	file   string
	broken bool
	tool   schema.Tool

	ID          string `json:"id"`
	Description string `json:"description"`
	Function    struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
	Response json.RawMessage `json:"mock_response"`
	Kind     string          `json:"mock_response_type"`
	NoMock   bool            `json:"no_mock"`
}

func (t *tree) loadTool(file string) {
	tf := &toolFile{file: file, broken: true, ID: strings.TrimSuffix(path.Base(file), path.Ext(file))}
	doc := t.open(file, "#Tool", &t.problems)
	if doc != nil {
		if err := doc.Decode(tf); err != nil {
			t.problems = append(t.problems, doc.Problem("decode", err.Error(), ""))
		} else {
			tf.broken = false
			tf.tool = tf.compile()
		}
		if first, ok := t.tools[tf.ID]; ok {
			t.problems = append(t.problems, doc.Problem("duplicate-id", fmt.Sprintf("the tool %q is defined twice", tf.ID), "the other is "+first.file+"; rename or remove one", "id"))
			return
		}
	}
	t.tools[tf.ID] = tf
}

func (tf *toolFile) compile() schema.Tool {
	tool := schema.Tool{
		Name: tf.Function.Name, Description: tf.Function.Description,
		Parameters: tf.Function.Parameters, File: tf.file,
	}
	if tool.Description == "" {
		tool.Description = tf.Description
	}
	if tf.NoMock || len(tf.Response) == 0 || string(tf.Response) == "null" {
		return tool
	}
	mock := schema.Mock{Kind: tf.Kind, Body: string(tf.Response)}
	var text string
	isText := json.Unmarshal(tf.Response, &text) == nil
	if mock.Kind == "" {
		mock.Kind = "json"
		if isText {
			mock.Kind = "text"
		}
	}
	if isText {
		mock.Body = text
		// A json mock may be written as a string that holds JSON.
		if canonical, err := schema.Canonical([]byte(text)); mock.Kind == "json" && err == nil {
			mock.Body = string(canonical)
		}
	}
	tool.Mock = &mock
	return tool
}

// loadOtherTools reads the tool folders next to the definitions folder and in
// gavel.yaml. A definition outside of the definitions folders, such as a
// promptfooconfig.yaml in the root, has the folders' tools, too.
func (t *tree) loadOtherTools() {
	folders := append([]string{path.Join(path.Dir(t.Root), "tools")}, t.Settings.Tools...)
	var ofOthers []string
	if info, err := fs.Stat(t.FS, t.Root); err == nil && info.Mode().IsRegular() {
		for _, dir := range t.Settings.Definitions {
			ofOthers = append(ofOthers, path.Join(dir, "tools"))
		}
	}
	read := map[string]bool{path.Join(t.Root, "tools"): true}
	for _, dir := range append(folders, ofOthers...) {
		dir = path.Clean(dir)
		if read[dir] {
			continue
		}
		read[dir] = true
		files := t.toolFiles(dir)
		if !slices.Contains(ofOthers, dir) {
			t.shared = append(t.shared, files...)
		}
		for _, file := range files {
			t.loadTool(file)
		}
	}
}

// toolFiles lists the definitions in a folder of tools.
func (t *tree) toolFiles(dir string) []string {
	entries, err := fs.ReadDir(t.FS, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.warn(dir, "unreadable", "the folder of tools cannot be read", "make it a plain folder of the repository")
		}
		return nil
	}
	var files []string
	for _, e := range entries {
		file := path.Join(dir, e.Name())
		switch {
		case e.IsDir() || !slices.Contains(extensions, path.Ext(file)):
		case !e.Type().IsRegular():
			t.warn(file, "not-a-file", "links and submodules are not followed, so that no tool is read here", "put a plain file here")
		default:
			files = append(files, file)
		}
	}
	return files
}

func (t *tree) unknownTools(doc *document.Document, ids []string) []schema.Problem {
	var out []schema.Problem
	for i, id := range ids {
		if raw := doc.JSON("tool_ids", i); t.tools[id] != nil || len(raw) > 0 && raw[0] != '"' {
			continue // or it is not a name, which is reported already
		}
		known := slices.Collect(maps.Keys(t.tools))
		hint := suggest.DidYouMean(id, known)
		if hint == "" {
			hint = fmt.Sprintf("add tools/%s.json", id)
		}
		out = append(out, doc.Problem("unknown-tool", fmt.Sprintf("unknown tool %q", id), hint, "tool_ids", i))
	}
	return out
}
