package load

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evalcase"
	"github.com/gavel-evals/gavel/schema/skill"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// The fields that tell the dialects apart. A file with one of them that fits
// nothing is a definition gone wrong rather than a file of another kind.
var (
	distinctive = map[string][]string{
		schema.DialectEvalcase:  {"evalcases", "eval_cases", "expected_outcome", "input_messages", "expected_messages", "rubrics"},
		schema.DialectPromptval: {"test_type", "testing_prompt", "user_input", "evaluation_type", "editor_model", "edit_prompt"},
		schema.DialectTestcase: {
			"persona", "initial_message", "user_context", "max_turns", "expected_outcomes",
			"expected_tool_calls", "evaluation_criteria_override", "test_cases",
			"persona_context", "first_turn", "first_message", "agent_id", "source_call_id",
			"agent_system_prompt", "agent_tools", // not testcase fields, but people write them
		},
		schema.DialectDomain: {
			"evaluator_id", "system_prompt_mode", "tool_ids", "eval_prompt", "extraction_regex", "mock_response", "mock_response_type",
		},
	}
	// renamed are the names that later versions of the formats use.
	renamed = map[string]map[string]string{
		schema.DialectEvalcase: {"tests": "evalcases"},
	}
	// contentDialects are known by the content of the file, in this order.
	contentDialects = []string{schema.DialectEvalcase, schema.DialectPromptval, schema.DialectTestcase}
)

// Detect returns the dialect of a file by its content; "" if it has none.
func Detect(doc *document.Document) string {
	switch {
	case skill.Fits(doc):
		return schema.DialectSkill
	case evalcase.IsV5(doc), isSuite(doc), hasFields(doc, "id", "expected_outcome"), hasFields(doc, "id", "criteria"), hasFields(doc, "id", "outcome"), hasFields(doc, "id", "input", "checks"):
		return schema.DialectEvalcase
	case hasFields(doc, "test_type", "testing_prompt"), hasFields(doc, "type", "testing_prompt"):
		return schema.DialectPromptval
	case isMatrix(doc):
		return schema.DialectMatrix
	case isEnvelope(doc), isTestcase(doc):
		return schema.DialectTestcase
	}
	return ""
}

// isSuite reports whether the document has a list of evalcases, under one of its
// names.
func isSuite(doc *document.Document) bool {
	if slices.ContainsFunc(doc.Keys(), func(key string) bool { return key == "evalcases" || key == "eval_cases" || key == "cases" }) {
		return true
	}
	return isTests(doc)
}

// isTests reports whether the document lists tests with an id and an input each, as
// AgentV 4 does, or names files of them next to assertions or an execution.
func isTests(doc *document.Document) bool {
	keys := doc.Keys()
	if !slices.Contains(keys, "tests") || slices.Contains(keys, "prompts") || slices.Contains(keys, "providers") {
		return false
	}
	for i := range doc.Items("tests") {
		if doc.Has("tests", i, "id") && (doc.Has("tests", i, "input") || doc.Has("tests", i, "criteria") || doc.Has("tests", i, "assertions")) {
			return true
		}
		if namesTests(doc.Text("tests", i)) {
			return true
		}
	}
	if namesTests(doc.Text("tests")) {
		return true
	}
	return slices.Contains(keys, "execution") || slices.Contains(keys, "assertions") || slices.Contains(keys, "input")
}

// namesTests reports whether a text is the name of a file or a folder with tests.
func namesTests(s string) bool {
	return strings.HasPrefix(s, "file://") || strings.HasPrefix(s, "./") || slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl"}, path.Ext(s))
}

// isMatrix reports whether the document multiplies prompts or providers with
// tests.
func isMatrix(doc *document.Document) bool {
	keys := doc.Keys()
	any := func(names ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(names, key) })
	}
	return any("prompts") && any("tests", "providers", "targets", "scenarios", "defaultTest", "redteam") || any("providers") && any("tests")
}

// hasFields reports whether the object, or an item of the list, has all the fields.
func hasFields(doc *document.Document, fields ...string) bool {
	all := func(at ...any) bool {
		return !slices.ContainsFunc(fields, func(f string) bool { return !doc.Has(append(at, f)...) })
	}
	if doc.IsObject() {
		return fields[0] != "id" && all() // one object with an id is not a suite
	}
	for i := range doc.Items() {
		if all(i) {
			return true
		}
	}
	return false
}

// isTestcase asks for a name and, in addition, either a field that only a
// testcase has or none that it does not know. One item
// of a list is enough.
func isTestcase(doc *document.Document) bool {
	if doc.IsList() {
		for i := range doc.Items() {
			if isTestcase(doc.Part(i)) {
				return true
			}
		}
		return false
	}
	keys := doc.Keys()
	if !slices.Contains(keys, "name") {
		return false
	}
	known := doc.Fields("#Testcase")
	strange := slices.ContainsFunc(keys, func(k string) bool { return !slices.Contains(known, k) })
	return !strange || slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(distinctive[schema.DialectTestcase], k) })
}

// isEnvelope requires of {"test_cases": …} that one of its items looks like a testcase,
// or that it is empty.
func isEnvelope(doc *document.Document) bool {
	if !slices.Contains(doc.Keys(), "test_cases") {
		return false
	}
	for i := range doc.Items("test_cases") {
		keys := doc.Keys("test_cases", i)
		if len(signsOf(schema.DialectTestcase, keys)) > 0 || nearlyHas(doc, schema.DialectTestcase, keys) {
			return true
		}
	}
	return doc.Items("test_cases") == 0
}

// misfit returns the problems of a file below root that looks like a definition and is
// not one. It is empty for a file that does not look like one.
func misfit(doc *document.Document, root string) []schema.Problem {
	if of, is := strings.CutSuffix(stem(doc.File), ".checks"); is {
		return []schema.Problem{doc.Problem("unknown-dialect", "checks are read from "+path.Base(of)+".checks.yaml"+" alone", "rename the file")}
	}
	at := []any{}
	if doc.IsList() && doc.Items() > 0 {
		at = append(at, 0)
	}
	keys := doc.Keys(at...)
	best, bestKey, bestCount := "", "", 0
	for _, dialect := range append(slices.Clip(contentDialects), schema.DialectDomain) {
		if signs := signsOf(dialect, keys); len(signs) > bestCount {
			best, bestKey, bestCount = dialect, signs[0], len(signs)
		}
	}
	_, isRenamed := renamed[best][bestKey]
	switch {
	case best == schema.DialectDomain:
		return []schema.Problem{elsewhere(doc, root, append(at, bestKey))}
	case best == "":
		if found := misspeltList(doc); len(found) > 0 {
			return found
		}
		return misspelt(doc, keys, at)
	case isRenamed && !slices.Contains(distinctive[best], bestKey):
		return later(doc, best, keys, at)
	case nearlyHas(doc, best, keys):
		return doc.CheckPart(caseOf[best], schema.Error, at...)
	}
	return []schema.Problem{doc.Problem("unknown-dialect", fmt.Sprintf("the file has `%s` like a definition of the %s format, and matches no format", bestKey, best),
		lacking(best, keys)+", or name the file in .gavelignore", append(at, bestKey)...)}
}

// elsewhere returns where a file of the domain dialect belongs, which is known by
// its place.
func elsewhere(doc *document.Document, root string, at []any) schema.Problem {
	key := at[len(at)-1]
	what, where, move := "a test", "not in a level of a domain", "<domain>/level_1, next to a domain.json"
	switch key {
	case "eval_prompt", "extraction_regex":
		what, where, move = "an evaluator", "in another folder", path.Join(root, "evaluators")
	case "mock_response", "mock_response_type":
		what, where, move = "a tool", "in another folder", path.Join(root, "tools")
	}
	return doc.Problem("unknown-dialect", fmt.Sprintf("the file has `%s` like %s of the domain format, but is %s", key, what, where),
		"move it into "+move+", or name the file in .gavelignore", at...)
}

// later reports every name that a later version of a format uses.
func later(doc *document.Document, dialect string, keys []string, at []any) []schema.Problem {
	var found []schema.Problem
	for _, key := range keys {
		if now, is := renamed[dialect][key]; is && !slices.Contains(keys, now) {
			found = append(found, doc.Problem("renamed-field", fmt.Sprintf("`%s` is the name that a later version of the %s format uses", key, dialect),
				fmt.Sprintf("write `%s`", now), append(at, key)...))
		}
	}
	return found
}

// caseOf maps dialects to the definition of a case, or of a file with one.
var caseOf = map[string]string{
	schema.DialectEvalcase: "#Evalcase", schema.DialectPromptval: "#Promptval", schema.DialectTestcase: "#Testcase",
}

// needs are the fields without which a dialect is not known.
var dialectNeeds = map[string][]string{
	schema.DialectEvalcase:  {"id", "expected_outcome"},
	schema.DialectPromptval: {"test_type", "testing_prompt"},
	schema.DialectTestcase:  {"name"},
}

// nearlyHas reports whether every field that a dialect is known by is there, or
// is misspelt.
func nearlyHas(doc *document.Document, dialect string, keys []string) bool {
	if dialect == schema.DialectEvalcase && !doc.IsList() {
		return false // one object is not a suite, whatever it holds
	}
	known := doc.Fields(caseOf[dialect])
	strange := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(known, key) })
	return !slices.ContainsFunc(dialectNeeds[dialect], func(field string) bool {
		return !slices.Contains(keys, field) && suggest.Nearest(field, strange) == ""
	})
}

// misspelt finds a key that is nearly one that only a dialect has. Single words
// are near to too many others, and count only where a testcase's other fields
// are next to them.
func misspelt(doc *document.Document, keys []string, at []any) []schema.Problem {
	for _, dialect := range contentDialects {
		for _, key := range keys {
			near := suggest.Nearest(key, distinctive[dialect])
			isWord := !strings.Contains(key, "_") && near != "evalcases" && near != "eval_cases"
			if near == "" || isField(key) || isWord && (len(near)-len(key) > 2 || !isTestcaseBut(key, keys, doc.Fields("#Testcase"))) {
				continue
			}
			return []schema.Problem{doc.Problem("unknown-field", fmt.Sprintf("unknown field `%s`", key),
				fmt.Sprintf("did you mean `%s` of the %s format? If not, name the file in .gavelignore", near, dialect), append(at, key)...)}
		}
	}
	return nil
}

// misspeltList finds a key that is nearly AgentV's or promptfoo's key of the tests: its
// items are tests, and the file has none under the right name.
func misspeltList(doc *document.Document) []schema.Problem {
	for _, key := range doc.Keys() {
		near := suggest.Nearest(key, []string{"tests", "scenarios"})
		if near == "" || doc.Has(near) || !isOfTests(doc, key) {
			continue
		}
		return []schema.Problem{doc.Problem("unknown-field", fmt.Sprintf("unknown field `%s`", key),
			suggest.Question(near)+" If not, name the file in .gavelignore", key)}
	}
	return nil
}

// isOfTests reports whether the first item of a list has an id or variables, and a
// demand.
func isOfTests(doc *document.Document, key string) bool {
	has := func(fields ...string) bool {
		return slices.ContainsFunc(fields, func(field string) bool { return doc.Has(key, 0, field) })
	}
	return has("id", "vars", "description") && has("input", "assertions", "assert", "criteria", "turns", "expected_output") || has("config") && has("tests")
}

// isTestcaseBut reports whether all keys but one are known keys of a testcase,
// including its name.
func isTestcaseBut(odd string, keys, known []string) bool {
	return slices.Contains(keys, "name") && !slices.ContainsFunc(keys, func(k string) bool { return k != odd && !slices.Contains(known, k) })
}

// signsOf lists the keys that speak for a dialect.
func signsOf(dialect string, keys []string) []string {
	var signs []string
	for _, k := range keys {
		if slices.Contains(distinctive[dialect], k) || counts(dialect, k, keys) {
			signs = append(signs, k)
		}
	}
	return signs
}

// counts reports whether a later version's name speaks for a dialect: words that
// any file may have do so only together with a field that no other file has.
func counts(dialect, key string, keys []string) bool {
	if _, ok := renamed[dialect][key]; !ok {
		return false
	}
	return true
}

// lacking returns the missing part of a definition.
func lacking(dialect string, keys []string) string {
	if dialect == schema.DialectEvalcase && !slices.Contains(keys, "expected_outcome") {
		return "put its cases into a list under `evalcases`"
	}
	if slices.Contains(keys, "test_cases") {
		return "give each of the `test_cases` a `name`"
	}
	var missing []string
	for _, m := range dialectNeeds[dialect] {
		if !slices.Contains(keys, m) {
			missing = append(missing, "`"+m+"`")
		}
	}
	if len(missing) == 0 {
		return "put it into a list of cases"
	}
	return "add " + strings.Join(missing, " and ")
}
