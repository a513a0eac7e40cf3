package evonic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/setup"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// An importer collects the files of a document.
type importer struct {
	data   []byte
	root   string
	files  []setup.File
	taken  map[string]bool // paths and ids
	losses []Loss
}

// Import returns the definitions of a document for a folder, and the parts that they
// cannot express. The error says with a line why the text is not a document.
func Import(data []byte, folder string) ([]setup.File, []Loss, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	im := &importer{data: data, root: folder, taken: map[string]bool{}}
	var probe json.RawMessage
	if err := json.Unmarshal(data, &probe); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, nil, fmt.Errorf("line %d: the document is not JSON: %w", im.line(int(syntax.Offset)), err)
		}
		return nil, nil, fmt.Errorf("the document is not JSON: %w", err)
	}
	at := bytes.IndexFunc(data, func(r rune) bool { return !strings.ContainsRune(" \t\r\n", r) })
	top, err := members(data[at:], at)
	if err != nil || data[at] != '{' || !slices.ContainsFunc(top, func(m member) bool { return m.key == "domains" }) {
		return nil, nil, fmt.Errorf("line %d: the document is not an export of Evonic: it needs a list `domains`", im.line(at))
	}
	for _, m := range top {
		switch m.key {
		case "tools":
			im.each(m, im.tool)
		case "evaluators":
			im.each(m, im.evaluator)
		case "domains":
			im.each(m, im.domain)
		case "exported_at", "version":
		default:
			im.lose(m, "`"+m.key+"`", "an export has domains, evaluators and tools only")
		}
	}
	return im.files, im.losses, nil
}

// line returns the 1-based line of an offset.
func (im *importer) line(at int) int {
	return 1 + bytes.Count(im.data[:min(at, len(im.data))], []byte("\n"))
}

func (im *importer) lose(m member, what, reason string) {
	im.losses = append(im.losses, Loss{Line: im.line(m.at), What: what, Reason: reason})
}

// each visits the objects of a list.
func (im *importer) each(list member, visit func(item member, fields []member)) {
	if isEmpty(list.value) {
		return
	}
	items, err := members(list.value, list.at)
	if err != nil || list.value[0] != '[' {
		im.lose(list, "`"+list.key+"`", "it is not a list")
		return
	}
	for _, item := range items {
		fields, err := members(item.value, item.at)
		if err != nil || item.value[0] != '{' {
			im.lose(item, "an item of `"+list.key+"`", "it is not an object")
			continue
		}
		visit(item, fields)
	}
}

// id returns the id of an object, if it has a usable one.
func (im *importer) id(kind string, item member, fields []member) (string, bool) {
	at := slices.IndexFunc(fields, func(f member) bool { return f.key == "id" })
	if at < 0 || text(fields[at].value) == "" {
		im.lose(item, kind, "it has no id")
		return "", false
	}
	id := text(fields[at].value)
	if fileName(id) == "" {
		im.lose(item, fmt.Sprintf("%s %q", kind, id), "no file can be named after its id")
		return "", false
	}
	return id, true
}

// selectFields returns the fields that a kind of definition has. The carried ones are
// dropped silently, since they follow from the place of the file.
func (im *importer) selectFields(what string, fields []member, kind string, carried []string) []member {
	known := document.Fields(kind)
	var out []member
	for _, f := range fields {
		switch {
		case slices.Contains(carried, f.key) || string(f.value) == "null":
		case slices.Contains(known, f.key):
			out = append(out, f)
		case isEmpty(f.value):
		default:
			im.lose(f, fmt.Sprintf("`%s` of %s", f.key, what), "a definition has no such field")
		}
	}
	return out
}

// add writes an object to a file.
func (im *importer) add(item member, file, what string, fields []member) {
	if im.taken[file] {
		im.lose(item, what, "another one has the same name")
		return
	}
	im.taken[file] = true
	raw, err := object(fields)
	if err != nil {
		im.lose(item, what, err.Error())
		return
	}
	im.files = append(im.files, setup.File{Path: file, Text: string(raw), About: what})
}

// named returns the file of an object in a folder. It has the document's name for it if
// that fits the folder, and the name of the id otherwise.
func (im *importer) named(folder, id string, fields []member) string {
	for _, f := range fields {
		said := text(f.value)
		name := path.Base(said)
		if f.key != "path" || path.Base(path.Dir(said)) != path.Base(folder) || path.Ext(name) != ".json" || !plain.MatchString(name) ||
			slices.Contains([]string{"level.json", "domain.json"}, name) {
			continue
		}
		if file := path.Join(folder, name); !im.taken[file] {
			return file
		}
	}
	return path.Join(folder, fileName(id)+".json")
}

func (im *importer) tool(item member, fields []member) {
	id, ok := im.id("a tool", item, fields)
	if !ok {
		return
	}
	what := "tool " + id
	for _, f := range fields {
		if kind := text(f.value); f.key == "mock_response_type" && (kind == "javascript" || kind == "python") {
			im.lose(f, "the mock of "+what, "it is "+kind+", and code of a mock is never run: a call of the tool is an error until `mocks` of the target answers it")
		}
	}
	im.add(item, im.named(path.Join(im.root, "tools"), id, fields), what, im.selectFields(what, fields, "#Tool", []string{"path"}))
}

func (im *importer) evaluator(item member, fields []member) {
	id, ok := im.id("an evaluator", item, fields)
	if !ok {
		return
	}
	what := "evaluator " + id
	kept := im.selectFields(what, fields, "#Evaluator", []string{"path"})
	im.add(item, im.named(path.Join(im.root, "evaluators"), id, fields), what, kept)
}

// level is the key of a list of tests.
var level = lazyregexp.New(`^[1-9][0-9]{0,3}$`)

func (im *importer) domain(item member, fields []member) {
	id, ok := im.id("a domain", item, fields)
	if !ok {
		return
	}
	if !plain.MatchString(id) {
		im.lose(item, fmt.Sprintf("domain %q with its tests", id), "a folder has to have the name of the id, and cannot")
		return
	}
	what := "domain " + id
	im.add(item, path.Join(im.root, id, "domain.json"), what, im.selectFields(what, fields, "#Domain", []string{"path", "tests", levelsField}))
	for _, f := range fields {
		if f.key == levelsField {
			im.levels(id, f)
		}
		if f.key != "tests" || isEmpty(f.value) {
			continue
		}
		levels, err := members(f.value, f.at)
		if err != nil || f.value[0] != '{' {
			im.lose(f, "the tests of "+what, "they are not lists by level")
			continue
		}
		for _, l := range levels {
			if !level.MatchString(l.key) {
				im.lose(l, fmt.Sprintf("level %q of %s", l.key, what), "a level is a number from 1")
				continue
			}
			im.each(l, func(item member, fields []member) { im.test(path.Join(im.root, id, "level_"+l.key), item, fields) })
		}
	}
}

// levels adds the settings of levels, which an export of Gavel has.
func (im *importer) levels(id string, list member) {
	levels, err := members(list.value, list.at)
	if err != nil || list.value[0] != '{' {
		im.lose(list, "`levels` of domain "+id, "they are not objects by level")
		return
	}
	for _, l := range levels {
		what := "level " + l.key + " of domain " + id
		fields, err := members(l.value, l.at)
		if err != nil || l.value[0] != '{' || !level.MatchString(l.key) {
			im.lose(l, what, "its settings are an object, and a level is a number from 1")
			continue
		}
		im.add(l, path.Join(im.root, id, "level_"+l.key, "level.json"), what, im.selectFields(what, fields, "#Level", nil))
	}
}

func (im *importer) test(folder string, item member, fields []member) {
	id, ok := im.id("a test", item, fields)
	if !ok {
		return
	}
	what := "test " + id
	if im.taken["test "+id] {
		im.lose(item, what, "another test has the same id")
		return
	}
	im.taken["test "+id] = true
	var kept []member
	for _, f := range fields {
		if f.key == "tools" && !isEmpty(f.value) {
			im.lose(f, "`tools` of "+what, "a test names its tools by their ids in tool_ids")
			continue
		}
		kept = append(kept, f)
	}
	im.add(item, im.named(folder, id, fields), what, im.selectFields(what, kept, "#Test", []string{"path", "domain_id", "level", "tools"}))
}
