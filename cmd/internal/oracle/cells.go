package oracle

import (
	_ "embed" // for the answers
	"encoding/json"
	"slices"
	"strings"
)

// cellTypes are the types of assertions that promptfoo reads in a cell, and those that
// are types elsewhere only, each with a value that it can have.
var cellTypes = []struct{ kind, value string }{
	{"agent-rubric", "is polite"},
	{"answer-relevance", ""},
	{"bleu", "x"},
	{"classifier", "joy"},
	{"contains", "x"},
	{"contains-all", "x, y"},
	{"contains-any", "x, y"},
	{"contains-html", ""},
	{"contains-json", `{"type": "object"}`},
	{"contains-sql", ""},
	{"contains-xml", ""},
	{"context-faithfulness", ""},
	{"context-recall", "x"},
	{"context-relevance", ""},
	{"conversation-relevance", ""},
	{"cost", ""},
	{"equals", "x"},
	{"factuality", "x"},
	{"finish-reason", "stop"},
	{"g-eval", "is polite"},
	{"gleu", "x"},
	{"guardrails", ""},
	{"icontains", "x"},
	{"icontains-all", "x, y"},
	{"icontains-any", "x, y"},
	{"is-html", ""},
	{"is-json", `{"type": "object"}`},
	{"is-refusal", ""},
	{"is-sql", ""},
	{"is-valid-function-call", ""},
	{"is-valid-openai-function-call", ""},
	{"is-valid-openai-tools-call", ""},
	{"is-xml", ""},
	{"javascript", "output.length > 2"},
	{"latency", ""},
	{"levenshtein", "x"},
	{"llm-rubric", "is polite"},
	{"pi", "is polite"},
	{"meteor", "x"},
	{"model-graded-closedqa", "is polite"},
	{"model-graded-factuality", "x"},
	{"moderation", ""},
	{"perplexity", ""},
	{"perplexity-score", ""},
	{"python", "len(output) > 2"},
	{"regex", "^x"},
	{"rouge-n", "x"},
	{"ruby", "output.length > 2"},
	{"similar", "x"},
	{"similar:cosine", "x"},
	{"similar:dot", "x"},
	{"similar:euclidean", "x"},
	{"starts-with", "x"},
	{"tool-call-f1", "x"},
	{"skill-used", "x"},
	{"trajectory:goal-success", "x"},
	{"trajectory:tool-args-match", "x"},
	{"trajectory:step-count", "x"},
	{"trajectory:tool-sequence", "x"},
	{"trajectory:tool-used", "x"},
	{"trace-error-spans", ""},
	{"trace-span-count", ""},
	{"trace-span-duration", ""},
	{"search-rubric", "x"},
	{"webhook", "x"},
	{"word-count", "5"},
	{"select-best", "x"},
	{"human", "x"},
	{"max-score", ""},
	{"ends-with", "x"},
}

// cellTexts are cells whose form is something special.
var cellTexts = []string{
	"Paris", "fn", "eval", "grade", "fn:output.length > 2", "fn: output.length > 2", "eval:output.length > 2", "eval: output.length > 2", "grade:is polite", "grade: is polite",
	"not-fn: true", "not-eval: true", "not-grade: is polite", "Contains: x", "CONTAINS:x", "contains :x", "contains x", "answer: (a) or (b)", "not contains: x", "not-", "not-Paris", "not-contains",
	"javascript:\nconst n = output.length;\nreturn n > 2;", "contains:\nx\ny", "contains: x: y", "contains: (x)", "contains:x)", "equals: contains: x", "equals:", "x contains: y",
	"file://check.py", "file://check.py:get_assert", "file://check.js", "file://check.js:check", "file://check.cjs", "file://check.mjs", "file://text.txt", "file://value.json", "file://value.yaml",
	"python:file://check.py", "python: file://check.py:get_assert", "javascript:file://check.js", "javascript: file://check.js:check", "not-javascript: file://check.js", "fn:file://check.js", "contains: file://text.txt", "is-json: file://value.json", "is-json:file://value.yaml",
	`contains-any: a,b`, `contains-any: a,"b, c"`, `contains-any: "a","b"`, `contains-all:" a ",b`, `contains-all: "say ""hi""",b`, `icontains-any: "a \"b\" c", d`, `icontains-all: a,,b`, `icontains-all: a, ,b,`,
	`contains-any: ,`, `contains-any: a b, c`, `contains-any: a "b", c`, `contains-any: "a`, `contains-any: "a" b, c`, `contains-all: "a\\", b`, `contains-any: "", b`, `contains-any: [a, b]`, `not-contains-any: a,"b, c"`, `not-icontains-all: "a, b"`,
	"similar(0.8):x", "similar(0.8): x", "similar(1): x", "similar(0): x", "similar(0.80): x", "similar (0.8): x", "similar(0.8) : x", "similar(0.8)x", "similar()", "similar(): x", "similar(high): x", "similar(0,5): x", "similar(.5): x", "similar(5.): x", "similar(-1): x", "similar(+1): x", "similar(1e2): x", "similar( 0.5 ): x", "similar(50%): x", "similar(0.5)(0.6): x", "similar(0x1): x", "similar(Infinity): x", "similar(1_0): x", "similar(NaN): x", "similar[0.8]: x",
	"levenshtein(high): x", "latency(fast)", "cost(cheap)", "rouge-n(high): x", "not-similar(0.8): x", "not-similar(high): x", "llm-rubric(high): x", "contains(x): y", "javascript(x): y", "python(x): y",
	"assert-set", "assert-set: x", "promptfoo:redteam:pii", "trace-span: x", "is-jsonx", "similarity: x", "starts-with-x: y", "contains-anything: x", "contain: x",
}

// Cells returns the texts of cells of a table that hold assertions: every type in every
// form, and texts with something special.
func Cells() []string {
	var all []string
	for _, t := range cellTypes {
		for _, head := range []string{t.kind, t.kind + "(0.5)", t.kind + "(200)"} {
			if t.value == "" {
				all = append(all, head, "not-"+head)
				continue
			}
			all = append(all, head+":"+t.value, head+": "+t.value+" ", "not-"+head+": "+t.value)
		}
		if t.value != "" {
			all = append(all, t.kind)
		}
	}
	for _, text := range cellTexts {
		if text = strings.TrimSpace(text); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// A Cell is an assertion that a cell is read as, or an error.
type Cell struct {
	Type      string   `json:"type,omitempty"`
	Value     any      `json:"value,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
	Failed    bool     `json:"failed,omitempty"`
}

// String returns the cell as JSON.
func (c Cell) String() string {
	raw, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

//go:embed answers/cells.jsonl
var readCells string

// RecordedCells returns what promptfoo read in each cell. The error says that the cells
// are other ones than promptfoo read.
func RecordedCells(cells []string) ([]Cell, error) {
	return decoded[Cell](readCells, CellsHead(cells), len(cells))
}

// CellsHead returns the first line of the answers about cells.
func CellsHead(cells []string) string {
	return head("promptfoo "+Version, strings.Join(cells, "\x00"))
}
