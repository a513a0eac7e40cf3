package load

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// A likeness are the keys by which a file looks like a dialect although it has
// none that only definitions have. One of the strong and another one are enough.
// Words that configurations and data have, too, are weak or not listed.
type likeness struct {
	dialect      string
	strong, weak []string
	// together lists weak keys that are enough if all of them are present.
	together []string
}

var likenesses = []likeness{
	{
		dialect:  schema.DialectEvalcase,
		strong:   []string{"expected_output", "reference_answer", "evaluators", "assertions"},
		weak:     []string{"id", "input", "outcome", "note", "execution", "conversation_id", "evaluator", "expected"},
		together: []string{"id", "input"},
	},
	{
		dialect: schema.DialectPromptval,
		strong:  []string{"rubric", "new_prompt", "expected_tools"},
		weak:    []string{"name", "input", "iterations", "threshold", "retry", "max_retries", "analysis", "prompt"},
	},
	{
		dialect:  schema.DialectTestcase,
		weak:     []string{"name", "description", "tags"},
		together: []string{"difficulty", "status"},
	},
	{
		dialect:  schema.DialectDomain,
		weak:     []string{"id", "name"},
		together: []string{"prompt", "expected"},
	},
}

// isField reports whether a key is exactly a field of a dialect.
func isField(key string) bool {
	return slices.ContainsFunc(likenesses, func(l likeness) bool { return slices.Contains(l.strong, key) })
}

// foreign are keys of files that are something else, whatever else they have:
// JSON Schemas, descriptions of APIs, packages, workflows and deployments.
var foreignForms = []string{
	"properties", "$defs", "openapi", "swagger", "apiVersion", "jsonrpc", "dependencies", "devDependencies", "scripts",
	"lockfileVersion", "services", "jobs", "repos", "targets", "providers", "mcpServers", "resources",
}

// resemblance warns about a file below root that nobody would miss: it is not a
// definition, and has no mistake of one, but it looks like one. The warning names the
// nearest dialect and the missing part. ok is false for a file that looks like none.
func resemblance(doc *document.Document, root string) (p schema.Problem, ok bool) {
	if isForeign(doc) {
		return p, false
	}
	at := []any{}
	if doc.IsList() {
		at = append(at, 0)
	}
	if l := nearest(doc, at); l != nil {
		p = warning(doc, l.dialect, l.lacking(doc, root, at))
		if repair := unwrapped(doc, l.dialect, at); repair != "" {
			p.Severity, p.Hint = schema.Error, repair+", or name the file in .gavelignore"
		}
		return p, true
	}
	if isTool(doc, at) {
		return warning(doc, schema.DialectDomain, "a tool is read from "+path.Join(root, "tools")+" alone"), true
	}
	return wrapped(doc)
}

func warning(doc *document.Document, dialect, lacks string) schema.Problem {
	p := doc.Problem(schema.RuleLooksLike, fmt.Sprintf("the file is not read; it looks like %s: %s", dialect, lacks),
		"correct it, or name the file in .gavelignore")
	p.Severity = schema.Warning
	return p
}

// unwrapped returns the repair of a file of evalcases that demand something of an answer,
// and would count as passed if nobody read them; empty for another file.
func unwrapped(doc *document.Document, dialect string, at []any) string {
	keys := doc.Keys(at...)
	if dialect != schema.DialectEvalcase || !slices.Contains(keys, "id") || !slices.Contains(keys, "input") {
		return ""
	}
	list := ""
	switch {
	case countOf([]string{"assertions", "assert"}, keys) > 0:
		list = "tests"
	case countOf([]string{"evaluators", "checks"}, keys) > 0:
		list = "evalcases"
	default:
		return ""
	}
	if doc.IsList() {
		return fmt.Sprintf("write `%s:` above the list", list)
	}
	return fmt.Sprintf("write it as an item of a list under `%s:`", list)
}

func isForeign(doc *document.Document) bool {
	return strings.Contains(doc.Text("$schema"), "json-schema.org") ||
		slices.ContainsFunc(doc.Keys(), func(key string) bool { return slices.Contains(foreignForms, key) })
}

// nearest returns the likeness with the most matching keys, or nil.
func nearest(doc *document.Document, at []any) *likeness {
	keys := doc.Keys(at...)
	var best *likeness
	most := 0
	for i := range likenesses {
		l := &likenesses[i]
		strong, weak, together := countOf(l.strong, keys), countOf(l.weak, keys), countOf(l.together, keys)
		all := len(l.together) > 0 && together == len(l.together)
		if l.dialect == schema.DialectTestcase && all {
			all = slices.Contains([]string{"normal", "hard"}, doc.Text(append(at, "difficulty")...)) &&
				slices.Contains([]string{"draft", "active", "archived"}, doc.Text(append(at, "status")...))
		}
		if n := 2*strong + weak + together; n > most && (all || strong > 0 && strong+weak > 1) {
			best, most = l, n
		}
	}
	return best
}

func countOf(wanted, keys []string) int {
	n := 0
	for _, w := range wanted {
		if slices.Contains(keys, w) {
			n++
		}
	}
	return n
}

// lacking returns the missing part of a definition.
func (l *likeness) lacking(doc *document.Document, root string, at []any) string {
	keys := doc.Keys(at...)
	var missing []string
	for _, field := range dialectNeeds[l.dialect] {
		if !slices.Contains(keys, field) {
			missing = append(missing, "`"+field+"`")
		}
	}
	if l.dialect == schema.DialectEvalcase && !doc.IsList() {
		missing = append(missing, "the list `evalcases`")
	}
	switch n := len(missing); {
	case l.dialect == schema.DialectDomain:
		return "a test is in " + path.Join(root, "<domain>/level_1") + ", next to a domain.json"
	case n == 0:
		return "put it into a list of cases"
	case n == 1:
		return missing[0] + " is missing"
	default:
		return strings.Join(missing[:n-1], ", ") + " and " + missing[n-1] + " are missing"
	}
}

// isTool reports whether the file describes a function as a tool does.
func isTool(doc *document.Document, at []any) bool {
	at = append(at, "function")
	return doc.IsObject(at...) && doc.Has(append(at, "name")...) && doc.Has(append(at, "parameters")...)
}

// wrapped finds cases one level down: in a list under a key that no format has,
// or in a map of cases by their names.
func wrapped(doc *document.Document) (schema.Problem, bool) {
	if !doc.IsObject() {
		return schema.Problem{}, false
	}
	keys := doc.Keys()
	for _, key := range keys {
		if doc.IsList(key) && doc.IsObject(key, 0) {
			if dialect := resembled(doc, []any{key, 0}); dialect != "" {
				return warning(doc, dialect, fmt.Sprintf("its cases are under `%s`; %s", key, container(dialect))), true
			}
		}
	}
	if len(keys) == 0 || slices.ContainsFunc(keys, func(key string) bool { return !doc.IsObject(key) }) {
		return schema.Problem{}, false
	}
	if dialect := resembled(doc, []any{keys[0]}); dialect != "" {
		return warning(doc, dialect, "its cases are a map; "+container(dialect)), true
	}
	return schema.Problem{}, false
}

// resembled returns the dialect of an object somewhere in a file: at least two keys
// match it, one of which only definitions have.
func resembled(doc *document.Document, at []any) string {
	keys := doc.Keys(at...)
	for _, dialect := range contentDialects {
		i := slices.IndexFunc(likenesses, func(l likeness) bool { return l.dialect == dialect })
		l := likenesses[i]
		if own := countOf(distinctive[dialect], keys); own > 0 && own+countOf(l.strong, keys)+countOf(l.weak, keys) > 1 {
			return dialect
		}
	}
	return ""
}

// container returns the repair: how a file contains the cases of a dialect.
func container(dialect string) string {
	switch dialect {
	case schema.DialectEvalcase:
		return "write them as a list under `evalcases`, each with an `id`"
	case schema.DialectTestcase:
		return "write them as a list under `test_cases`, each with a `name`"
	}
	return "write each into a file of its own"
}
