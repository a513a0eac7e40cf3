package configfile

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evalcase"
)

// isSuite reports whether AgentV looks for tests in a file of this name.
func isSuite(name string) bool {
	base := strings.ToLower(path.Base(name))
	for _, ext := range []string{".yaml", ".yml"} {
		if stem, ok := strings.CutSuffix(base, ext); ok && (stem == "eval" || stem == "suite" || strings.HasSuffix(stem, ".eval")) {
			return true
		}
	}
	return false
}

// suite takes over the providers that a suite of AgentV 5 defines in full, in its own
// list or in a file that it names.
func (r *reader) suite(file string) {
	data, err := schema.ReadFile(r.fsys, file, maxFile)
	if err != nil || !bytes.Contains(data, []byte("providers")) {
		return // what cannot be read is a problem of the definition
	}
	doc, _ := document.Parse(file, data)
	if doc == nil || !evalcase.IsV5(doc) {
		return
	}
	if named, isFile := strings.CutPrefix(doc.Text("providers"), "file://"); isFile {
		r.filedList(doc, named)
		return
	}
	before := len(r.targets) + len(r.unusable) + len(r.links)
	switch {
	case doc.IsList("providers"):
		for i := range doc.Items("providers") {
			r.suiteProvider(doc, "", "providers", i)
		}
	case doc.Has("providers", "id") || doc.Has("providers", "label"):
		r.suiteProvider(doc, "", "providers")
	default:
		for _, label := range doc.Keys("providers") {
			r.suiteProvider(doc, label, "providers", label)
		}
	}
	// The tests in the file are not configuration, so that they do not count.
	if len(r.targets)+len(r.unusable)+len(r.links) > before {
		r.note(file, doc.JSON("providers"))
	}
}

// names are the fields of a provider that identify it or say how its tests are made.
var names = []string{"id", "label", "name", "prompts", "transform", "delay", "inputs", "runtime"}

// suiteProvider takes over a provider that is an object with more than a name. Its
// label may be its key.
func (r *reader) suiteProvider(doc *document.Document, label string, at ...any) {
	if !doc.IsObject(at...) {
		return
	}
	id := doc.Text(append(slices.Clip(at), "id")...)
	vendor, _, _ := strings.Cut(id, ":")
	_, known := plain[strings.TrimPrefix(vendor, "agentv:")]
	isFull := known || strings.Contains(id, ":") || slices.ContainsFunc(doc.Keys(at...), func(key string) bool { return !slices.Contains(names, key) })
	if isFull {
		r.target(target{Complaints: document.Complaints{Doc: doc}, at: slices.Clip(at), environment: environment{r.own.Environment, r.lookup}, label: label, scoped: true})
	}
}

// filedList takes over the providers in another file.
func (r *reader) filedList(doc *document.Document, named string) {
	file := path.Join(path.Dir(doc.File), named)
	data, err := schema.ReadFile(r.fsys, file, maxFile)
	if err != nil {
		return // which is a problem of the definition
	}
	said, _ := document.Parse(file, data)
	if list, ok := listed(said); ok {
		r.note(file, data)
		r.list(said, list...)
	}
}

// A link is a target that refers to another one.
type link struct {
	name, to string
	wrong    schema.Problem   // reported if no target has the name to
	problems []schema.Problem // of the link itself
}

// linked returns the target to which this one refers: use_target, or extends if it sets
// nothing else that a target has; empty for none.
func (t *target) linked() string {
	if t.has("use_target") {
		return strings.Trim(string(t.value("use_target")), `"`)
	}
	further := func(key string) bool { return key != "extends" && !slices.Contains(names, key) }
	if slices.ContainsFunc(t.Doc.Keys(t.at...), further) {
		return ""
	}
	return t.text("extends")
}

// follow replaces the targets that refer to others by those others.
func (r *reader) follow() {
	for range len(r.links) { // each round takes a step of every chain
		for _, l := range r.links {
			if _, done := r.targets[l.name]; done {
				continue
			}
			to := cmp.Or(r.own.Aliases[l.to], l.to)
			found, ok := r.targets[to]
			if own, isOwn := r.own.Targets[to]; isOwn {
				found, ok = own, true
			}
			switch why, bad := r.unusable[to]; {
			case len(l.problems) > 0:
				r.unusable[l.name] = l.problems[0]
			case ok:
				delete(r.unusable, l.name)
				found.Name = l.name
				r.targets[l.name] = found
			case bad:
				r.unusable[l.name] = why
			default:
				r.unusable[l.name] = l.wrong
			}
		}
	}
}
