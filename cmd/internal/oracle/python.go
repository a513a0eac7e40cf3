package oracle

import (
	_ "embed" // for the answers
	"strconv"
	"strings"
)

// expressions are of python: values of each kind, what fails, and several lines.
var expressions = []any{
	"output == 'hello'", "len(output) > 4", "len(output) / 10", "0", "1", "0.5", "True", "False", "None", "'text'", "'true'", "'False'", "'0.5'", "'-1'", "'{\"pass\": true, \"score\": 0.4, \"reason\": \"r\"}'", "'{'", "''", "[]", "[1]", "{}",
	"{'pass': len(output) > 4, 'score': 0.25, 'reason': 'r'}", "{'pass': True, 'score': 0.5}", "{'pass': False, 'score': 1}", "{'score': 0.75}", "{'pass_': True, 'score': 0.5}", "{'pass': 'yes', 'score': 1}", "{'pass': True, 'score': 'high'}", "{'pass': True}",
	"context['vars']['o'] == output", "context['prompt'] == output", "1 / 0", "missing > 1", "output >", "float('nan')", "float('inf')", "-0.5", "1.5", "2", "len(output) > 3 and 'l' in output",
	"import re\nreturn re.search('l+', output) is not None", "n = len(output)\nif n > 4:\n    return {'pass': True, 'score': 0.9, 'reason': 'long'}\nreturn False", "return len(output) > 4", "raise ValueError('no')\nreturn True", "return 0.3\n",
}

// PythonRows returns rows of python in the definition itself, plain and with not-, with
// thresholds.
func PythonRows() []Row {
	var rows []Row
	for _, output := range []string{"hello", "", "{\"a\":1}"} {
		for i, value := range expressions {
			a := Assertion{Type: "python", Value: value}
			rows = append(rows, Row{Output: output, Asserts: []Assertion{a}})
			if output == "" {
				continue
			}
			a.Threshold = distances[1+i%3]
			if i%3 == 2 {
				a.Threshold = number(0.5)
			}
			rows = append(rows, Row{Output: output, Asserts: []Assertion{a}})
			a.Threshold, a.Type = nil, "not-python"
			rows = append(rows, Row{Output: output, Asserts: []Assertion{a}})
		}
	}
	return rows
}

//go:embed answers/python.txt
var python string

// RecordedPython returns promptfoo's answer to each of [PythonRows], as [Recorded] does.
func RecordedPython(rows []Row) ([]string, error) {
	config, err := Config(rows)
	if err != nil {
		return nil, err
	}
	return lines(python, Head(config), len(rows))
}

// PythonRules are the rules about rows of [PythonRows].
var PythonRules = []Rule[Judged]{
	{
		Name: "no reason", Page: "`score` and `reason` may be left out",
		fits: func(j Judged) bool {
			code, _ := j.Row.Asserts[0].Value.(string)
			return strings.HasPrefix(code, "{'pass") && !strings.Contains(code, "'reason'") && j.Theirs == "fail 0"
		},
	},
	{
		Name: "no result", Page: "a function that does not compile, or returns something else than true or false, a number or `{pass, …}`, is an error, not a fail",
		fits: func(j Judged) bool { return j.Theirs == "fail 0" && j.Ours == "error" },
	},
	{
		Name: "return in one line", Page: "a `transform` of one line may begin with `return`, and so may `javascript` and `python`",
		fits: func(j Judged) bool {
			code, _ := j.Row.Asserts[0].Value.(string)
			return strings.HasPrefix(code, "return ") && j.Theirs == "fail 0"
		},
	},
	{
		Name: "scores", Page: "a score of a function above 1 counts as 1, and one below 0 as 0",
		fits: func(j Judged) bool {
			verdict, score, _ := strings.Cut(j.Theirs, " ")
			n, err := strconv.ParseFloat(score, 64)
			return err == nil && (n < 0 || n > 1) && j.Ours == verdict+" "+strconv.Itoa(int(min(1, max(0, n))))
		},
	},
}
