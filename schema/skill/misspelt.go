package skill

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// ofFile are the fields of a file that mean something.
var ofFile = slices.Concat([]string{"skill_name", "skill", everyEval}, listNames)

// unreadFields returns a warning for each field that is not read, and is written nearly like
// one that is read and missing. Every other field is somebody's metadata. Fields that
// differ by a word, such as eval_name and name, are not misspelt.
func unreadFields(at document.Place, owner string, read, other []string) (problems []schema.Problem) {
	for _, key := range at.Keys() {
		if slices.Contains(other, key) {
			continue
		}
		meant := near(key, read)
		hasPrompt := (meant == "prompt" || meant == "input") && (at.Has("prompt") || at.Has("input"))
		if meant == "" || at.Has(meant) || hasPrompt {
			continue
		}
		p := at.Problem("unknown-field", fmt.Sprintf("`%s` of %s is not known, so that it is kept and not read", key, owner), suggest.Question(meant), key)
		p.Severity = schema.Warning
		problems = append(problems, p)
	}
	return problems
}

// mostLetters is how many letters a misspelt field may have more or fewer.
const mostLetters = 2

// near returns the field that a misspelt one means; empty for none.
func near(key string, read []string) string {
	meant := suggest.Nearest(key, read)
	if more := len(key) - len(meant); more > mostLetters || more < -mostLetters {
		return ""
	}
	return meant
}

// noList returns the problem of a file without evals.
func noList(doc *document.Document) schema.Problem {
	hint := `write "evals": [{"id": 1, "prompt": …, "assertions": […]}]`
	for _, key := range (document.Place{Doc: doc}).Keys() {
		if meant := near(key, listNames); meant != "" {
			return doc.Problem("missing-field", fmt.Sprintf("the file has no list of evals, and `%s` is not known", key), suggest.Question(meant), key)
		}
	}
	return doc.Problem("missing-field", "the file has no list of evals", hint)
}

// IsNearlyNamed reports whether a file in a folder evals has nearly the name by which evals
// are found, such as eval.json, and returns how to repair it.
func IsNearlyNamed(file string) (hint string, ok bool) {
	dir, base := path.Dir(file), path.Base(file)
	ext := path.Ext(base)
	stem := strings.ToLower(strings.TrimSuffix(base, ext))
	if path.Base(dir) != "evals" || IsFound(file) {
		return "", false
	}
	if stem != "evals" && (strings.HasPrefix(stem, "evals") || near(stem, []string{"evals"}) == "" && near(stem, []string{"evaluations"}) == "" && stem != "evaluations") {
		return "", false
	}
	named := path.Join(dir, "evals.json")
	switch strings.ToLower(ext) {
	case ".json":
		return "rename it to " + named + ", or move its evals there", true
	case ".jsonc", ".yaml", ".yml":
		return "write it as JSON, in " + named, true
	}
	return "", false
}

// misnamed returns a warning of a file that names another skill than its folder has.
func (f *file) misnamed(dir, name string) []schema.Problem {
	same := func(a, b string) bool { return foldName(a) == foldName(b) }
	said := f.said()
	if said == "" || same(said, name) || same(said, path.Base(dir)) {
		return nil
	}
	field := "skill_name"
	if !f.doc.Has(field) {
		field = "skill"
	}
	p := f.doc.Problem("no-skill", fmt.Sprintf("`%s` is %q, and the skill in %s is %s, which the evals test", field, said, describe(dir), name),
		fmt.Sprintf("write %q, or move the file into evals/ of the skill %s", name, said), field)
	p.Severity = schema.Warning
	return []schema.Problem{p}
}

// foldName returns a name without case and without what separates its words.
func foldName(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// twoOfOneName returns a warning where two folders have a skill of one name. The first
// counts.
func (f *file) twoOfOneName(name, first, second string) schema.Problem {
	at := []any{}
	if field := cmp.Or(present(f.doc, "skill_name"), present(f.doc, "skill")); field != "" {
		at = append(at, field)
	}
	p := f.doc.Problem("two-skills", fmt.Sprintf("two skills have the name %s, in %s and in %s; the first one counts", name, describe(first), describe(second)),
		"give one another name, or name its folder in .gavelignore", at...)
	p.Severity = schema.Warning
	return p
}

// present returns a field that a document has; empty if it does not have it.
func present(doc *document.Document, field string) string {
	if doc.Has(field) {
		return field
	}
	return ""
}
