package evonic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// Version is the one that documents name.
const Version = "1.0"

// fields are the fields of an object of a document.
type fields = map[string]any

// levelsField has the settings of levels, by number. Evonic has no such field.
const levelsField = "levels"

// An exporter collects the contents of the files of definitions.
type exporter struct {
	fsys              fs.FS
	domains           map[string]fields // by folder
	evaluators, tools []fields
	losses            []Loss
}

// levelFolder is a folder with tests.
var levelFolder = lazyregexp.New(`^level_([1-9][0-9]*)$`)

// Export returns the document of the definitions of the domain format among files, and
// the parts that it cannot express. Each file is below one of the roots; exported is
// the time in the document.
func Export(fsys fs.FS, roots, files []string, exported time.Time) ([]byte, []Loss, error) {
	e := &exporter{fsys: fsys, domains: map[string]fields{}}
	slices.SortStableFunc(files, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	for _, file := range files {
		e.file(roots, file)
	}
	doc := fields{
		"domains": e.sorted(), "evaluators": listed(e.evaluators), "tools": listed(e.tools),
		"exported_at": exported.Format("2006-01-02T15:04:05.000000"), "version": Version,
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, nil, fmt.Errorf("encode the document: %w", err)
	}
	return b.Bytes(), e.losses, nil
}

func (e *exporter) sorted() []fields {
	out := []fields{}
	for _, folder := range slices.Sorted(maps.Keys(e.domains)) {
		out = append(out, e.domains[folder])
	}
	return out
}

// listed returns a list that is not null.
func listed(of []fields) []fields { return append([]fields{}, of...) }

func (e *exporter) lose(file, what, reason string) {
	e.losses = append(e.losses, Loss{File: file, What: what, Reason: reason})
}

// file adds the contents of one file, depending on its place.
func (e *exporter) file(roots []string, file string) {
	dir, base := path.Dir(file), strings.TrimSuffix(path.Base(file), path.Ext(file))
	within := func(name string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return dir == path.Join(root, name) })
	}
	number := levelFolder.FindStringSubmatch(path.Base(dir))
	for i, object := range e.objects(file) {
		switch {
		case base == "domain":
			domain := e.only(file, object, domainFields, "#Domain")
			tests := fields{}
			for _, n := range []string{"1", "2", "3", "4", "5"} {
				tests[n] = []fields{}
			}
			domain["tests"], domain["path"] = tests, dir
			domain["enabled"] = orElse(domain["enabled"], true)
			domain["tool_ids"] = orElse(domain["tool_ids"], []any{})
			domain["system_prompt_mode"] = orElse(domain["system_prompt_mode"], "overwrite")
			e.domains[dir] = domain
			e.seeds(dir)
		case within("evaluators"):
			e.evaluators = append(e.evaluators, e.withID(e.only(file, object, evaluatorFields, "#Evaluator"), file))
		case within("tools"):
			e.tools = append(e.tools, e.withID(e.only(file, object, toolFields, "#Tool"), file))
		case number != nil && base == "level":
			e.level(file, object, number[1])
		case number != nil:
			e.test(file, i, object, number[1])
		}
	}
}

// level adds the settings of a level to the domain above it, in a field that only
// Gavel reads.
func (e *exporter) level(file string, object fields, number string) {
	domain := e.domains[path.Dir(path.Dir(file))]
	if domain == nil {
		e.lose(file, "the settings of the level", "domain.json is missing or cannot be read")
		return
	}
	levels, ok := domain[levelsField].(fields)
	if !ok {
		levels = fields{}
		domain[levelsField] = levels
	}
	delete(object, "$schema")
	levels[number] = object
}

// test adds a test to the domain above it.
func (e *exporter) test(file string, nth int, object fields, number string) {
	domain := e.domains[path.Dir(path.Dir(file))]
	if domain == nil {
		e.lose(file, "the test", "domain.json is missing or cannot be read")
		return
	}
	if nth == 0 && (len(number) > 1 || number > "5") {
		e.lose(file, "its level "+number, "Evonic reads levels 1 to 5 only")
	}
	test := e.only(file, object, testFields, "#Test")
	test["domain_id"], test["level"] = domain["id"], json.Number(number)
	test["path"], test["tools"] = file, nil
	// Evonic has no default evaluator of tests.
	test["evaluator_id"] = orElse(test["evaluator_id"], domain["evaluator_id"])
	test["system_prompt_mode"] = orElse(test["system_prompt_mode"], "overwrite")
	test["timeout_ms"] = orElse(test["timeout_ms"], 30000)
	test["weight"] = orElse(test["weight"], 1.0)
	test["enabled"] = orElse(test["enabled"], true)
	tests, _ := domain["tests"].(fields)
	list, _ := tests[number].([]fields)
	tests[number] = append(list, test)
}

// seeds loses the databases of a domain.
func (e *exporter) seeds(dir string) {
	scripts, err := fs.Glob(e.fsys, dir+"/seed/*")
	if err != nil {
		return // the name of the folder is not a pattern
	}
	for _, file := range scripts {
		e.lose(file, "the database", "an export has no files")
	}
}

// withID fills in the id, which comes from the name of the file.
func (e *exporter) withID(object fields, file string) fields {
	object["id"] = orElse(object["id"], strings.TrimSuffix(path.Base(file), path.Ext(file)))
	object["path"] = file
	return object
}

// only keeps the fields that a document always has, and the existing fields that only
// Gavel reads. It loses the others.
func (e *exporter) only(file string, object fields, known []string, definition string) fields {
	out := fields{}
	for _, name := range known {
		out[name] = object[name]
	}
	own := document.Fields(definition)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		_, kept := out[name]
		switch {
		case kept || object[name] == nil || slices.Contains([]string{"path", "tests", "tools", "domain_id", "level", "$schema"}, name):
		case slices.Contains(own, name):
			out[name] = object[name]
		default:
			e.lose(file, "`"+name+"`", "an export has no such field")
		}
	}
	return out
}

// orElse returns a value, or another one if it is null.
func orElse(value, otherwise any) any {
	if value == nil {
		return otherwise
	}
	return value
}

// objects returns the objects of a file: itself, or the items of its list.
func (e *exporter) objects(file string) []fields {
	doc, problems := document.Open(e.fsys, file)
	if doc == nil || schema.HasErrors(problems) {
		e.lose(file, "the file", "it has errors; gavel validate says which")
		return nil
	}
	var list []fields
	if doc.IsList() && decode(doc, &list) == nil {
		return list
	}
	var one fields
	if decode(doc, &one) != nil {
		e.lose(file, "the file", "it is not an object")
		return nil
	}
	return []fields{one}
}

// decode reads a document without rounding its numbers.
func decode(doc *document.Document, into any) error {
	dec := json.NewDecoder(bytes.NewReader(doc.JSON()))
	dec.UseNumber()
	return dec.Decode(into)
}
