package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/shape"
)

// Names of the formats that are not dialects.
const (
	FormatConfig = "gavel.yaml"
	FormatServer = "server" // the operator's file
	FormatChecks = "checks" // next to a definition
)

// kinds are the files of the domain dialect, which are distinguished by their
// path.
var kinds = map[string]string{
	"domain/test": "#Test", "domain/domain": "#Domain", "domain/level": "#Level",
	"domain/tool": "#Tool", "domain/evaluator": "#Evaluator",
}

// Formats lists the dialects, gavel.yaml, the operator's file, the checks next to
// definitions, and the kinds of files of the domain dialect: domain/test and so
// on.
func Formats() []string {
	return append([]string{schema.DialectTestcase, schema.DialectPromptval, schema.DialectDomain, schema.DialectEvalcase, schema.DialectMatrix, schema.DialectSkill, FormatConfig, FormatServer, FormatChecks}, slices.Sorted(maps.Keys(kinds))...)
}

// FormatCUE returns a format as the CUE that its files are checked with.
func FormatCUE(format string) (string, error) {
	dialect, _, _ := strings.Cut(format, "/")
	return schema.CUE(strings.TrimSuffix(dialect, ".yaml") + ".cue")
}

// FormatJSON returns a format as a JSON Schema (draft 2020-12) for editors. It accepts
// every valid file and some invalid ones: dependencies on other fields or files can
// hardly be expressed.
func FormatJSON(format string) ([]byte, error) {
	w := &shape.Writer{Shape: shapeOf, Definitions: shapes().definitions, Closed: closed, Inner: inner, Typed: typed}
	out := fileSchema(w, format)
	if out == nil {
		return nil, fmt.Errorf("unknown format %q", format)
	}
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"] = "Gavel: " + format
	withSchemaKey(out, w.Defs())
	out["$defs"] = w.Defs()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return nil, fmt.Errorf("write the schema of %s: %w", format, err)
	}
	return buf.Bytes(), nil
}

var schemaKeyForm = shape.JSON{"type": []string{"string", "null"}, "description": "The schema for editors. It changes nothing."}

// withSchemaKey has the whole files of a format take a $schema.
func withSchemaKey(file, defs shape.JSON) {
	for _, form := range []any{file, defs["Testcase"], defs["Promptval"], defs["Matrix"], defs["Skill"], defs["Config"], defs["Server"]} {
		form, _ := form.(shape.JSON)
		if properties, ok := form["properties"].(shape.JSON); ok {
			properties[schemaKey] = schemaKeyForm
		}
	}
}

// closed are the definitions in which an unknown field is an error. Elsewhere
// it is a warning at most.
var closed = []string{"#Check", "#Testcase", "#Promptval", "#Evalcase", "#EvalcaseMessage", "#Config", "#Server", "#ServerWebhook", "#ServerCredential", "#ServerRepository", "#ServerTrust", "#ServerSandbox"}

// typed is the definition whose objects have further fields by their type.
const typed = "#EvalcaseEvaluator"

// inner are the fields that loaders check piece by piece.
var inner = map[string]string{
	"#Evalcase.input":               "[#EvalcaseMessage]",
	"#Evalcase.input_messages":      "[#EvalcaseMessage]",
	"#Evalcase.expected_messages":   "[#EvalcaseMessage]",
	"#Evalcase.execution":           "#EvalcaseExecution",
	"#Evalcase.evaluators":          "[#EvalcaseEvaluator]",
	"#EvalcaseExecution.evaluators": "[#EvalcaseEvaluator]",
	"#EvalcaseComposite.evaluators": "[#EvalcaseEvaluator]",
	"#EvalcaseSuite.evalcases":      "[#Evalcase]",
	"#EvalcaseTest.execution":       "#EvalcaseTestExecution",
	"#MatrixTest.assert":            "[#MatrixAssertion]",
}

// fileSchema returns the schema of the files of a format; nil if there is no such
// format.
func fileSchema(w *shape.Writer, format string) shape.JSON {
	switch format {
	case schema.DialectTestcase:
		list := shape.JSON{"type": "array", "minItems": 1, "items": w.Ref("#Testcase"), "description": "The cases, at least one."}
		exported := shape.JSON{"description": "A field that an export writes. It changes nothing."}
		envelope := shape.JSON{"type": "object", "properties": shape.JSON{"test_cases": list, "exported_at": exported, "count": exported, schemaKey: schemaKeyForm}, "additionalProperties": false}
		return listOr(list, shape.JSON{"if": shape.JSON{"required": []string{"test_cases"}}, "then": envelope, "else": w.Ref("#Testcase")})
	case schema.DialectPromptval:
		return listOr(shape.JSON{"minItems": 1, "maxItems": 1, "items": w.Ref("#Promptval")}, w.Ref("#Promptval"))
	case schema.DialectEvalcase:
		// Next to a .jsonl file there is one with the keys of the suite.
		var named []shape.JSON
		for _, name := range []string{"evalcases", "eval_cases", "cases"} {
			named = append(named, shape.JSON{"required": []string{name}})
		}
		suite := shape.JSON{"if": shape.JSON{"anyOf": named}, "then": w.Ref("#EvalcaseSuite"), "else": shape.JSON{
			"if": shape.JSON{"required": []string{"tests"}}, "else": w.Ref("#EvalcaseSidecar"), "then": shape.JSON{
				"if":   shape.JSON{"anyOf": []shape.JSON{{"required": []string{"prompts"}}, {"required": []string{"providers"}}, {"required": []string{"default_test"}}}},
				"then": w.Ref("#EvalcaseV5"), "else": w.Ref("#EvalcaseTests")}}}
		return listOr(shape.JSON{"items": w.Ref("#Evalcase")}, suite)
	case schema.DialectMatrix:
		return w.Ref("#Matrix")
	case schema.DialectSkill:
		return listOr(shape.JSON{"items": w.Ref("#SkillQuery")}, w.Ref("#Skill"))
	case schema.DialectDomain:
		return listOr(shape.JSON{"items": testSchema(w)}, shape.JSON{
			"anyOf": []shape.JSON{testSchema(w), w.Ref("#Domain"), w.Ref("#Level"), w.Ref("#Tool"), w.Ref("#Evaluator")},
		})
	case FormatConfig:
		return w.Ref("#Config")
	case FormatServer:
		return w.Ref("#Server")
	case FormatChecks:
		one := shape.JSON{"allOf": []shape.JSON{w.Ref("#Check"), {"minProperties": 1, "maxProperties": 1}}}
		return shape.JSON{"type": "object", "properties": shape.JSON{}, "additionalProperties": shape.JSON{"type": "array", "minItems": 1, "items": one}}
	case "domain/test":
		return listOr(shape.JSON{"items": testSchema(w)}, testSchema(w))
	}
	if def := kinds[format]; def != "" {
		return w.Ref(def)
	}
	return nil
}

// expecteds map the built-in evaluators of the domain dialect to their expected values.
var expecteds = map[string]string{
	"keyword": "#KeywordExpected", "two_pass": "#TwoPassExpected", "sql_executor": "#SQLExpected", "tool_call": "#ToolCallExpected",
}

// testSchema returns the schema of a test, including its expected value if it names a
// built-in evaluator itself. An evaluator named by its domain is unknown here.
func testSchema(w *shape.Writer) shape.JSON {
	all := []shape.JSON{w.Ref("#Test")}
	for _, id := range slices.Sorted(maps.Keys(expecteds)) {
		all = append(all, shape.JSON{
			"if":   shape.JSON{"required": []string{"evaluator_id"}, "properties": shape.JSON{"evaluator_id": shape.JSON{"const": id}}},
			"then": shape.JSON{"required": []string{"expected"}, "properties": shape.JSON{"expected": w.Ref(expecteds[id])}},
		})
	}
	return shape.JSON{"allOf": all}
}

// listOr tells lists from the rest, so that an editor shows the mistakes of
// the one that is meant.
func listOr(list, rest shape.JSON) shape.JSON {
	return shape.JSON{"if": shape.JSON{"type": "array"}, "then": list, "else": rest}
}
