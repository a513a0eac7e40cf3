package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/shape"
)

// A home is a definition whose fields people write one level too high or too low.
type home struct {
	def string
	// of names what has the fields, move is the repair.
	of, move string
	// only are the fields that are meant; nil for all.
	only []string
}

var (
	ofCase          = home{def: "#Evalcase", of: "a case", move: "move it under the case"}
	ofSuite         = home{def: "#EvalcaseSuite", of: "the file", move: "move it to the top of the file"}
	ofExecution     = home{def: "#EvalcaseExecution", of: "`execution`", move: "move it under `execution`"}
	ofV4Test        = home{def: "#EvalcaseTest", of: "a test", move: "move it under the test"}
	ofV4Tests       = home{def: "#EvalcaseTests", of: "the file", move: "move it to the top of the file"}
	ofV4Execution   = home{def: "#EvalcaseTestExecution", of: "`execution`", move: "move it under `execution`"}
	ofV5            = home{def: "#EvalcaseV5", of: "the file", move: "move it to the top of the file"}
	ofV5Test        = home{def: "#EvalcaseV5Test", of: "a test", move: "move it under the test"}
	ofV5Shared      = home{def: "#EvalcaseV5Shared", of: "all tests", move: "move it under `default_test`, or under the test"}
	ofMatrix        = home{def: "#Matrix", of: "the file", move: "move it to the top of the file", only: []string{"tests", "scenarios", "defaultTest", "assertionTemplates"}}
	ofMatrixTest    = home{def: "#MatrixTest", of: "a test", move: "move it under the test, or under `defaultTest`"}
	ofAssertion     = home{def: "#MatrixAssertion", of: "an assertion", move: "move it under an item of `assert`", only: []string{"type", "value", "rubricPrompt"}}
	ofExpected      = []string{"#KeywordExpected", "#TwoPassExpected", "#SQLExpected", "#ToolCallExpected"}
	ofDomain        = home{def: "#Domain", of: "a domain", move: "move it to domain.json"}
	ofDomainTest    = home{def: "#Test", of: "a test", move: "move it under the test"}
	ofEvaluatorFile = home{def: "#Evaluator", of: "an evaluator", move: "move it to the evaluator's file"}
)

// homes are the definitions of other levels of the same file, or of a file next to it,
// which the shapes do not show since each level is checked by itself.
var homes = map[string][]home{
	"#Evalcase":              {ofExecution, ofSuite},
	"#EvalcaseSuite":         {ofCase, ofExecution},
	"#EvalcaseSidecar":       {ofCase, ofExecution},
	"#EvalcaseExecution":     {ofCase, ofSuite},
	"#EvalcaseTest":          {ofV4Execution, ofV4Tests},
	"#EvalcaseTests":         {ofV4Test, ofV4Execution},
	"#EvalcaseTestExecution": {ofV4Test, ofV4Tests},
	"#EvalcaseTurn":          {ofV4Test},

	"#EvalcaseSuite.execution":   {ofCase},
	"#EvalcaseSidecar.execution": {ofCase},
	"#EvalcaseTests.execution":   {ofV4Test},
	"#EvalcaseV5.default_test":   {ofV5Test},

	"#EvalcaseV5":       {ofV5Shared, ofV5Test},
	"#EvalcaseV5Shared": {ofV5Test, ofV5},
	"#EvalcaseV5Test":   {ofV5},
	"#Matrix":           {ofMatrixTest},
	"#MatrixTest":       {ofAssertion, ofMatrix},
	"#MatrixAssertion":  {ofMatrixTest},
	"#MatrixScenario":   {ofMatrixTest},
	"#TestcaseFile":     {{def: "#Testcase", of: "a test case", move: "move it under the test case"}},
	"#Test":             {ofDomain, ofEvaluatorFile},
	"#Domain":           {ofDomainTest},
	"#Level":            {ofDomain, ofDomainTest},
}

// harmless are fields that only describe what has them, so that none is missed at
// another level.
var harmless = []string{"id", "name", "description", "metadata", "tags", "version", "category", "author", "license", "type_id", schemaKey}

// otherLevel returns the message about a field that a shape does not know, and its repair,
// if a value below or around the object has such a field.
func (w *walker) otherLevel(name string, n *node, s *shape.Shape) (message, move string) {
	if slices.Contains(harmless, name) {
		return "", ""
	}
	of := func(what string) string {
		return fmt.Sprintf("`%s` is a field of %s and is not read here", name, what)
	}
	if n == w.root || len(w.around) == 1 {
		def := w.def
		if n != w.root {
			def += "." + w.around[0].key
		}
		for _, h := range homes[def] {
			if shapeOf(h.def).Fields[name] != nil && (h.only == nil || slices.Contains(h.only, name)) {
				return of(h.of), h.move
			}
		}
		if def == "#Test" && slices.ContainsFunc(ofExpected, func(def string) bool { return shapeOf(def).Fields[name] != nil }) {
			return of("`expected`"), "move it under `expected`"
		}
	}
	if found := below(name, s); len(found) > 0 {
		found = found[:min(len(found), mostPlaces)]
		return of(found[0]), "move it under " + strings.Join(found, " or ")
	}
	if slices.ContainsFunc(s.Must, func(must string) bool { return !w.has(n, must) }) {
		return "", "" // it probably means the missing field
	}
	for _, outer := range slices.Backward(w.around) {
		if outer.shape.Fields[name] != nil && !w.has(outer.node, name) {
			return fmt.Sprintf("`%s` is not read under `%s`", name, outer.key), fmt.Sprintf("move it next to `%s`", outer.key)
		}
	}
	return "", ""
}

// mostPlaces bounds the places that one message proposes.
const mostPlaces = 3

// below lists the fields of a shape whose values have a field.
func below(name string, s *shape.Shape) []string {
	var found []string
	for _, key := range s.Names {
		child := s.Fields[key]
		switch {
		case child.Fields[name] != nil:
			found = append(found, "`"+key+"`")
		case child.Elem != nil && child.Elem.Fields[name] != nil:
			found = append(found, "an item of `"+key+"`")
		case child.Rest != nil && child.Rest.Fields[name] != nil:
			found = append(found, "an entry of `"+key+"`")
		}
	}
	return found
}

// A surrounding is an object around the checked one, which is under key.
type surrounding struct {
	node  *node
	shape *shape.Shape
	key   string
}
