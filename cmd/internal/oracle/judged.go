package oracle

import (
	_ "embed" // for the answers and the judge
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A GradedRow is an output with assertions whose models reply as the row says.
type GradedRow struct {
	Output    string
	Vars      map[string]any
	Asserts   []Assertion
	Threshold *float64
	// Theirs and Ours are the reply of the judge to promptfoo and to Gavel, which ask in
	// words of their own; the two mean the same.
	Theirs, Ours string
}

// Marker returns the part of a rubric by which a judge knows its row.
func Marker(i int) string { return fmt.Sprintf("ROW%dQ", i) }

// GradedRows returns all rows whose assertions ask a model, and rows of broken JSON and of
// variables in variables.
func GradedRows() []GradedRow {
	rows := slices.Concat(rubricRows(), weightedRubrics(), choiceRows(), gevalRows(), similarRows(), brokenJSON(), variableRows(), contextRows())
	for i := range rows {
		for j, a := range rows[i].Asserts {
			rows[i].Asserts[j].Value = marked(a.Value, i)
		}
		if vars, has := marked(rows[i].Vars, i).(object); has && len(vars) > 0 {
			rows[i].Vars = vars
		}
		rows[i].Output = strings.ReplaceAll(rows[i].Output, "ROWQ", Marker(i))
		rows[i].Theirs = strings.ReplaceAll(rows[i].Theirs, "ROWQ", Marker(i))
	}
	return rows
}

// marked puts the marker of a row into the place that a value has for it.
func marked(value any, i int) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, "ROWQ", Marker(i))
	case list:
		out := make(list, len(v))
		for j := range v {
			out[j] = marked(v[j], i)
		}
		return out
	case object:
		out := object{}
		for key := range v {
			out[key] = marked(v[key], i)
		}
		return out
	}
	return value
}

// both returns rows of an assertion and its opposite.
func both(row GradedRow, a Assertion) []GradedRow {
	plain, not := row, row
	plain.Asserts = []Assertion{a}
	a.Type = "not-" + a.Type
	not.Asserts = []Assertion{a}
	return []GradedRow{plain, not}
}

// leasts are thresholds; the first is none.
var leasts = []*float64{nil, number(0), number(0.5), number(0.8), number(1)}

// rubricRows have every combination of pass and score in a judge's reply, in the forms that
// models write.
func rubricRows() []GradedRow {
	var replies []string
	for _, pass := range []string{"", "true", "false", `"true"`, `"false"`} {
		for _, score := range []string{"", "0", "0.3", "0.5", "0.8", "1", `"0.8"`} {
			var fields []string
			if pass != "" {
				fields = append(fields, `"pass": `+pass)
			}
			if score != "" {
				fields = append(fields, `"score": `+score)
			}
			replies = append(replies, "{"+strings.Join(append(fields, `"reason": "r"`), ", ")+"}")
		}
	}
	for _, reply := range []string{`{"pass": true, "score": 0.8, "reason": "r"}`, `{"pass": false, "score": 0.3, "reason": "r"}`} {
		replies = append(replies, "```json\n"+reply+"\n```", "```\n"+reply+"\n```", "I think so. "+reply, reply+"\nThat is all.", strings.Replace(reply, "}", ",}", 1), strings.Replace(reply, `"r"`, "\"r\ns\"", 1))
	}
	replies = append(replies, `{"pass": null, "score": 0.8, "reason": "r"}`, `{"pass": "yes", "score": 0.8, "reason": "r"}`, `{"pass": true, "score": 8, "reason": "r"}`, `{"pass": true, "score": -1, "reason": "r"}`, "yes", "[]", `{"reason": "r"}`, `{"pass": true}`, `{"score": 0.8}`)
	var rows []GradedRow
	for _, reply := range replies {
		for _, least := range leasts {
			rows = append(rows, both(GradedRow{Output: "hello", Theirs: reply, Ours: reply}, Assertion{Type: "llm-rubric", Value: "is polite ROWQ", Threshold: least})...)
		}
	}
	return rows
}

// weightedRubrics have a rubric next to another assertion.
func weightedRubrics() []GradedRow {
	var rows []GradedRow
	for _, of := range product(list{`{"pass": true, "score": 0.4, "reason": "r"}`, `{"pass": false, "score": 0.6, "reason": "r"}`}, list{"hello", "zzz"}, list{nil, 0.0, 3.0}, list{nil, 0.5, 0.9}, list{"llm-rubric", "not-llm-rubric"}) {
		row := GradedRow{Output: "hello", Theirs: of[0].(string), Ours: of[0].(string), Threshold: optional(of[3])}
		row.Asserts = []Assertion{{Type: of[4].(string), Value: "is polite ROWQ", Weight: optional(of[2])}, {Type: "contains", Value: of[1]}}
		rows = append(rows, row)
	}
	return rows
}

func optional(n any) *float64 {
	if n, ok := n.(float64); ok {
		return &n
	}
	return nil
}

// choiceRows have the assertions whose judge chooses: promptfoo's answers with a letter.
func choiceRows() []GradedRow {
	verdict := func(pass bool) string { return fmt.Sprintf(`{"reason": "r", "pass": %v}`, pass) }
	var rows []GradedRow
	for _, least := range []*float64{nil, number(0.5), number(1)} {
		for reply, pass := range pairs("Y", true, "N", false, "It is.\nY", true, "It is not.\nN\n", false) {
			rows = append(rows, both(GradedRow{Output: "hello", Theirs: reply, Ours: verdict(pass)}, Assertion{Type: "model-graded-closedqa", Value: "is polite ROWQ", Threshold: least})...)
		}
		for reply, pass := range pairs(`{"category": "A", "reason": "r"}`, true, `{"category": "B", "reason": "r"}`, true, `{"category": "C", "reason": "r"}`, true, `{"category": "D", "reason": "r"}`, false, `{"category": "e", "reason": "r"}`, true, "(C) the same", true, "(D) no", false, "```json\n{\"category\": \"D\"}\n```", false) {
			for _, kind := range []string{"factuality", "model-graded-factuality"} {
				rows = append(rows, both(GradedRow{Output: "hello", Theirs: reply, Ours: verdict(pass)}, Assertion{Type: kind, Value: "the world is round ROWQ", Threshold: least})...)
			}
		}
	}
	return rows
}

// pairs returns replies with what they mean, in their order.
func pairs(of ...any) func(yield func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		for i := 0; i < len(of); i += 2 {
			if !yield(of[i].(string), of[i+1].(bool)) {
				return
			}
		}
	}
}

// gevalRows have scores of g-eval, which promptfoo's judge gives from 0 to 10 after it
// wrote steps.
func gevalRows() []GradedRow {
	var rows []GradedRow
	for _, of := range product(list{0.0, 3.0, 5.0, 6.9, 7.0, 8.0, 10.0}, list{nil, 0.0, 0.5, 0.7, 1.0}, list{"is polite ROWQ", list{"is polite ROWQ", "is short ROWQ"}}) {
		score := of[0].(float64)
		row := GradedRow{
			Output: "hello", Theirs: fmt.Sprintf(`{"steps": ["look ROWQ"], "score": %v, "reason": "r"}`, score),
			Ours: fmt.Sprintf(`{"reason": "r", "pass": %v, "score": %.2f}`, score >= 7, score/10),
		}
		rows = append(rows, both(row, Assertion{Type: "g-eval", Value: of[2], Threshold: optional(of[1])})...)
	}
	return rows
}

// similarRows compare vectors, which the texts themselves are.
func similarRows() []GradedRow {
	var rows []GradedRow
	values := list{"v 1 0", "v 0 1", "v 0.6 0.8", "v -1 0", "v 0.8 0.6", "v 2 0", list{"v 0 1", "v 0.8 0.6"}, list{"v 0 1", "v -1 0"}}
	for _, of := range product(list{"similar", "similar:cosine", "similar:dot", "similar:euclidean"}, values, list{nil, 0.0, 0.5, 0.6, 0.8, 1.0}) {
		rows = append(rows, both(GradedRow{Output: "v 1 0"}, Assertion{Type: of[0].(string), Value: of[1], Threshold: optional(of[2])})...)
	}
	return rows
}

// brokenJSON are answers that are nearly JSON.
func brokenJSON() []GradedRow {
	var rows []GradedRow
	schemas := list{nil, object{"type": "object"}, object{"type": "object", "required": list{"a"}}}
	for _, output := range []string{
		`{"a":1,}`, `{'a': 1}`, `{"a":1`, `{"a": NaN}`, `{a: 1}`, `{"a": 1}}`, `{"a": 1 "b": 2}`, `text {"a":1,} more`, "```json\n{\"a\": 1,}\n```", `{"a": undefined}`, `{"a": +1}`, `{"a": .5}`, `{"a": 01}`, "{\"a\": \"x\ny\"}", `{"a": 1} // c`, `{"a": True}`, `{`, `}{`, `{"a": {"b": 1}`, `{"a":1}{"a":`, `[{"a":1,}]`,
	} {
		for _, kind := range []string{"is-json", "contains-json"} {
			for _, schema := range schemas {
				rows = append(rows, both(GradedRow{Output: output}, Assertion{Type: kind, Value: schema})...)
			}
		}
	}
	return rows
}

// variableRows have texts in variables that a replacement could take for its own, and
// results and ends that only some providers give.
func variableRows() []GradedRow {
	var rows []GradedRow
	for _, text := range []string{"$&", "$1", "$$", "$`", "\\1", "{{", "%s"} {
		for _, value := range []any{"x" + text + "y", "x{{b}}y", "{{a}}", text} {
			rows = append(rows, both(GradedRow{Output: "{{a}}", Vars: object{"a": "x{{b}}y", "b": text}}, Assertion{Type: "equals", Value: value})...)
		}
	}
	for _, code := range []string{"({pass_: true, score: 1, reason: 'r'})", "({pass: true, pass_: false, score: 1, reason: 'r'})", "({pass: 'true', score: 1, reason: 'r'})", "({pass: true, reason: 'r'})", "({score: 1})", "[true]", "null", "NaN", "Infinity", "({pass: true, score: 'x', reason: 'r'})", "({pass: true, score: 1, reason: 'r', componentResults: [{pass: false, score: 0, reason: 'r'}]})", "({pass: false, score: 0, reason: 'r', namedScores: {a: 1}})"} {
		rows = append(rows, both(GradedRow{Output: "hello"}, Assertion{Type: "javascript", Value: code})...)
	}
	for _, reason := range []any{"stop", "length"} {
		rows = append(rows, both(GradedRow{Output: "hello"}, Assertion{Type: "finish-reason", Value: reason})...)
	}
	return rows
}

// GradedConfig returns the rows as a promptfooconfig.json. If judge is not empty, it is the
// provider of the models that judge.
func GradedConfig(rows []GradedRow, judge string) ([]byte, error) {
	var tests list
	for i, row := range rows {
		vars := with(object{"o": row.Output}, row.Vars)
		test := object{"description": fmt.Sprintf("r%d", i), "vars": vars, "assert": row.Asserts}
		if row.Threshold != nil {
			test["threshold"] = *row.Threshold
		}
		if _, isList := row.Vars["context"].(list); isList { // which would otherwise make several rows
			test["options"] = object{"disableVarExpansion": true}
		}
		tests = append(tests, test)
	}
	all := object{"prompts": list{"{{o}}"}, "providers": list{"echo"}, "tests": tests}
	if judge != "" {
		all["defaultTest"] = object{"options": object{"provider": judge}}
	}
	return json.Marshal(all)
}

// Judge is the provider in JavaScript that replies to promptfoo as the rows say, next to a
// file replies.json. Embeddings are the numbers of their text.
//
//go:embed judge.js
var Judge string

//go:embed answers/graded.txt
var graded string

// RecordedGraded returns promptfoo's answer to each row, as [Recorded] does.
func RecordedGraded(rows []GradedRow) ([]string, error) {
	return lines(graded, GradedHead(rows), len(rows))
}

// GradedHead returns the first line of the answers to rows.
func GradedHead(rows []GradedRow) string {
	raw, err := json.Marshal(rows)
	if err != nil {
		return err.Error()
	}
	return head("promptfoo "+Version, string(raw)+Judge)
}
