package configfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// maxEntries bounds how many entries of the definitions folders are looked at for
// files of the matrix format. Loading refuses more of them.
const maxEntries = 1_000_000

// namingFiles returns the files that may name their own providers: files of the matrix
// format in the root, and in the definitions folders the files that are called
// promptfooconfig…, and suites with the names that AgentV looks for. The error is a fault, see
// [schema.IsFault].
func namingFiles(fsys fs.FS, c *config.Config) (matrices, suites []string, err error) {
	isMatrix := func(name string) bool {
		ext := path.Ext(name)
		return strings.HasPrefix(path.Base(name), "promptfooconfig") && (ext == ".yaml" || ext == ".yml" || ext == ".json")
	}
	seen := 0
	for _, root := range slices.Concat(c.RootFiles, c.Definitions) {
		err := fs.WalkDir(fsys, path.Clean(root), func(name string, d fs.DirEntry, err error) error {
			if seen++; seen > maxEntries {
				return fs.SkipAll
			}
			switch {
			case err != nil && schema.IsFault(err):
				return fmt.Errorf("look for targets in %s: %w", name, err)
			case err != nil: // which is a problem of loading
			case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "." || d.Name() == "node_modules":
				return fs.SkipDir
			case !d.Type().IsRegular():
			case isSuite(name):
				suites = append(suites, name)
			case isMatrix(name) || name == root:
				matrices = append(matrices, name)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	slices.Sort(matrices)
	slices.Sort(suites)
	return slices.Compact(matrices), slices.Compact(suites), nil
}

// matrix takes over the providers that a file of the matrix format names: the tested
// ones, and the judges of its assertions. It returns them as bytes to be digested.
func (r *reader) matrix(doc *document.Document) []byte {
	r.said = nil
	counted := map[string]int{}
	for _, field := range []string{"providers", "targets"} {
		if doc.Text(field) != "" {
			r.named(doc, counted, field)
		}
		for i := range doc.Items(field) {
			r.named(doc, counted, field, i)
		}
	}
	for _, field := range []string{"defaultTest", "tests", "scenarios"} {
		r.judgesIn(doc, field)
	}
	return r.said
}

// named takes over one provider: a name, or an object with id, label and config.
func (r *reader) named(doc *document.Document, counted map[string]int, at ...any) {
	id, label := doc.Text(at...), ""
	if id == "" {
		id, label = doc.Text(append(at, "id")...), doc.Text(append(at, "label")...)
	}
	if keys := doc.Keys(at...); id == "" && len(keys) == 1 {
		at = append(slices.Clip(at), keys[0])
		id, label = keys[0], doc.Text(append(slices.Clip(at), "label")...)
	}
	if id == "" {
		return
	}
	if file, isFile := providerFile(id); isFile {
		r.filed(doc, id, file, at...)
		return
	}
	name := id
	if label != "" {
		name = label
	}
	counted[name]++
	r.add(doc, id, schema.NthTarget(name, counted[name]), at...)
}

// providerFile returns the file that a provider names, if that is a YAML or JSON file
// that defines it.
func providerFile(id string) (string, bool) {
	file, isFile := strings.CutPrefix(id, "file://")
	return file, isFile && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(file))
}

// filed takes over the provider in a file: {id, label, config}. Its target has the name
// by which the definition names the file.
func (r *reader) filed(doc *document.Document, name, file string, at ...any) {
	file = path.Join(path.Dir(doc.File), file)
	data, err := schema.ReadFile(r.fsys, file, maxFile)
	if err != nil {
		r.unusable[name] = doc.Problem("unknown-target", fmt.Sprintf("the file %s cannot be read", file), "add the file, or add the provider to gavel.yaml", at...)
		return
	}
	said, _ := document.Parse(file, data)
	if said == nil || said.Text("id") == "" {
		r.unusable[name] = doc.Problem("unknown-target", fmt.Sprintf("the file %s does not have the `id` of a provider", file), "write id: …, and config: {…} if it needs one", at...)
		return
	}
	r.said = append(r.said, data...)
	r.add(said, said.Text("id"), name)
}

// judgesIn takes over the providers that are named anywhere below a place.
func (r *reader) judgesIn(doc *document.Document, at ...any) {
	for i := range doc.Items(at...) {
		r.judgesIn(doc, append(slices.Clip(at), i)...)
	}
	for _, key := range doc.Keys(at...) {
		below := append(slices.Clip(at), key)
		if key != "provider" {
			r.judgesIn(doc, below...)
			continue
		}
		for _, place := range [][]any{below, append(slices.Clip(below), "text"), append(slices.Clip(below), "embedding"), append(slices.Clip(below), "classification"), append(slices.Clip(below), "moderation")} {
			id := doc.Text(place...)
			if id == "" {
				id = doc.Text(append(place, "id")...)
			}
			if id != "" && doc.Text(append(below, "vars")...) == "" {
				r.add(doc, id, id, place...)
			}
		}
	}
}

// add takes over a provider under a name. If another file has another target with the
// same name, this one gets the name with its own path.
func (r *reader) add(doc *document.Document, id, name string, at ...any) {
	if _, known := r.own.Targets[name]; known {
		return
	}
	if _, known := r.own.Aliases[name]; known {
		return
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(doc.JSON(append(slices.Clip(at), "config")...), &fields) // none if it is not an object
	form, err := vendorForm(id, doc.File, fields)
	hint := fmt.Sprintf("add it to gavel.yaml, as in targets: {model: {provider: …, model: …}} and aliases: {%q: model}", name)
	var secret secretError
	if errors.As(err, &secret) {
		first, _, _ := strings.Cut(id, ":")
		key := cmp.Or(vendors[first].key, "API_KEY")
		hint = "remove it, and write export " + key + "=…, or name another variable as apiKeyEnvar"
	}
	wrong := doc.Problem("unknown-target", "", hint, at...)
	for _, field := range unreadVendorFields(id, fields) {
		r.unread(doc, name, field, at...)
	}
	raw, encodeErr := json.Marshal(map[string]any{"version": 1, "targets": map[string]any{name: form}})
	if encodeErr != nil {
		return
	}
	r.said = append(r.said, raw...)
	if before, ok := r.from[name]; ok {
		if file, same, _ := strings.Cut(before, "\x00"); file == doc.File || same == string(raw) {
			return
		}
		scoped := schema.QualifiedTarget(name, doc.File)
		delete(r.from, scoped)
		r.put(scoped, form, err, wrong)
		return
	}
	r.from[name] = doc.File + "\x00" + string(raw)
	r.put(name, form, err, wrong)
}

// unread warns about a field of a provider's config that does not take effect.
func (r *reader) unread(doc *document.Document, name, field string, at ...any) {
	config := append(slices.Clip(at), "config")
	p := doc.Problem("not-read", fmt.Sprintf("`%s` of the config of the provider %q is not read; the model is asked without it", field, name),
		"remove it, or write the target in gavel.yaml, whose parameters are sent as they are", append(config, field)...)
	p.Severity = schema.Warning
	r.problems = append(r.problems, p)
}

// put adds a target, or why it cannot be used.
func (r *reader) put(name string, form map[string]any, err error, wrong schema.Problem) {
	fail := func(message string) {
		wrong.Message = message
		r.unusable[name] = wrong
	}
	if err != nil {
		fail(err.Error())
		return
	}
	raw, err := json.Marshal(map[string]any{"version": 1, "targets": map[string]any{name: form}})
	if err != nil {
		fail(err.Error())
		return
	}
	parsed, problems := config.Parse(wrong.File, raw)
	for _, p := range problems {
		if p.Severity == schema.Error {
			fail(p.Message)
			return
		}
	}
	read := parsed.Targets[name]
	read.File = wrong.File
	r.targets[name] = read
}
