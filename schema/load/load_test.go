package load

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// seed are the examples of the format's own description.
func seed() map[string]string {
	return map[string]string{
		"test_definitions/conversation/domain.json":                  `{ "id": "conversation", "name": "Conversation", "description": "Tests Indonesian language conversation abilities", "icon": "chat", "color": "#3B82F6", "evaluator_id": "keyword", "system_prompt": "Kamu adalah asisten yang ramah dan helpful.", "system_prompt_mode": "overwrite", "enabled": true}`,
		"test_definitions/conversation/level_1/test_greeting.json":   `{"id": "greeting", "name": "Greeting", "prompt": "Halo", "expected": { "keywords": ["halo", "selamat"], "forbidden": ["error", "maaf"] }}`,
		"test_definitions/math/domain.json":                          `{"id": "math", "name": "Math"}`,
		"test_definitions/math/level_1/test_multiply.json":           `{ "id": "math_multiply_1", "name": "Simple Multiplication", "description": "Tests basic multiplication", "prompt": "Berapa hasil dari 15 dikali 7?", "expected": { "answer": "105", "type": "numeric" }, "evaluator_id": "two_pass", "system_prompt": null, "system_prompt_mode": "overwrite", "tool_ids": [], "timeout_ms": 30000, "weight": 1.0, "enabled": true}`,
		"test_definitions/sql/domain.json":                           `{"id": "sql", "name": "SQL", "evaluator_id": "sql_executor"}`,
		"test_definitions/sql/seed/shop.sql":                         `CREATE TABLE products (name TEXT, price REAL);`,
		"test_definitions/sql/level_1/test_select.json":              `{"id": "select", "name": "Select", "prompt": "List the products", "expected": { "query_type": "SELECT", "expected_columns": ["name", "price"], "min_rows": 1 }}`,
		"test_definitions/tool_calling/domain.json":                  `{"id": "tool_calling", "name": "Tools", "evaluator_id": "tool_call", "tool_ids": ["get_weather"]}`,
		"test_definitions/tool_calling/level_1/test_one.json":        `{"id": "one", "name": "One", "prompt": "Weather?", "expected": { "tools": ["get_weather"], "chain": false }}`,
		"test_definitions/tool_calling/level_2/test_two.json":        `{"id": "two", "name": "Two", "prompt": "Order?", "expected": { "tools": ["get_order", "send_notification"], "chain": true }}`,
		"test_definitions/tools/get_weather.json":                    `{"id": "get_weather", "function": {"name": "get_weather"}, "mock_response": {"sunny": true}}`,
		"test_definitions/evaluators/style.json":                     `{"id": "style", "eval_prompt": "Is {response} good?"}`,
		"test_definitions/conversation/level_1/.hidden.json":         `not JSON`,
		"test_definitions/conversation/level_1/test_run_output.json": `[1]`,
	}
}

func fsOf(texts map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range texts {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

var settings = schema.Settings{Definitions: []string{"test_definitions"}}

func loadAll(t *testing.T, texts map[string]string) *Result {
	t.Helper()
	return loadBy(t, settings, texts)
}

func loadBy(t *testing.T, settings schema.Settings, texts map[string]string) *Result {
	t.Helper()
	res, err := Load(t.Context(), fsOf(texts), Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// panics is a file system that breaks when a file is read.
type panics struct {
	fstest.MapFS
	file string
}

func (p panics) ReadFile(name string) ([]byte, error) {
	if name == p.file {
		panic("a file that nobody thought of")
	}
	return p.MapFS.ReadFile(name)
}

// TestAPanicIsContained, whatever processor it happens on.
func TestAPanicIsContained(t *testing.T) {
	const file = "test_definitions/prompt.yaml"
	texts := map[string]string{file: "name: p\nuser_input: x\ntesting_prompt: y\n"}
	_, err := Load(t.Context(), panics{fsOf(texts), file}, Options{Settings: settings})
	if err == nil || !strings.HasPrefix(err.Error(), "panic: a file that nobody thought of") {
		t.Errorf("got %v", err)
	}
}

func TestTheFormatsOwnExamplesAreValid(t *testing.T) {
	res := loadAll(t, seed())
	if len(res.Problems) > 0 {
		t.Errorf("problems: %v", res.Problems)
	}
	var keys []string
	for _, c := range res.Cases {
		keys = append(keys, c.Key)
	}
	want := []string{
		"conversation/level_1/test_greeting", "math/level_1/test_multiply", "sql/level_1/test_select",
		"tool_calling/level_1/test_one", "tool_calling/level_2/test_two",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
}

// TestProblems changes one file of the seed's examples at a time. Each row
// says the whole problem: place, rule and what to write instead.
func TestProblems(t *testing.T) {
	const (
		test     = "test_definitions/math/level_1/test_multiply.json"
		greeting = "test_definitions/conversation/level_1/test_greeting.json"
		domain   = "test_definitions/math/domain.json"
		yaml     = "test_definitions/math/level_1/more.yaml"
		sql      = "test_definitions/sql/level_1/test_select.json"
	)
	for _, row := range []struct{ name, file, text, want string }{
		{"misspelt field", test, `{"id": "m", "name": "M", "promt": "1?", "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:26: error: unknown field `promt`; did you mean `prompt`?"},
		{"wrong type", test, `{"id": "m", "name": "M", "prompt": 5, "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:36: error: `prompt` must be a string, not a number; write \"5\""},
		{"missing required", test, `{"id": "m", "name": "M", "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:1: error: the field `prompt` is missing; add \"prompt\": …"},
		{"out of range", test, `{"id": "m", "name": "M", "prompt": "1?", "weight": -2, "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:52: error: `weight` is -2; it must be at least 0"},
		{"no whole number", test, `{"id": "m", "name": "M", "prompt": "1?", "timeout_ms": 0.5, "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:56: error: `timeout_ms` must be a whole number, not 0.5; write it without a fraction"},
		{"wrong enum", test, `{"id": "m", "name": "M", "prompt": "1?", "system_prompt_mode": "apend", "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:64: error: `system_prompt_mode` is \"apend\"; did you mean `append`? write one of overwrite, append"},
		{"unknown evaluator", test, `{"id": "m", "name": "M", "prompt": "1?", "expected": {"answer": 1}, "evaluator_id": "two_pas"}`, "1:69: error: unknown evaluator \"two_pas\"; did you mean `two_pass`?"},
		{"no evaluator", test, `{"id": "m", "name": "M", "prompt": "1?", "expected": {"answer": 1}}`, "1:1: error: neither the test nor its domain names an evaluator; add \"evaluator_id\": \"keyword\" or another"},
		{"unknown tool", test, `{"id": "m", "name": "M", "prompt": "1?", "tool_ids": ["get_wether"], "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:55: error: unknown tool \"get_wether\"; did you mean `get_weather`?"},
		{"nothing expected", greeting, `{"id": "g", "name": "G", "prompt": "Hi", "expected": {}}`, "1:42: error: expected has neither keywords nor forbidden; add \"keywords\": [\"…\"]"},
		{"no expected", greeting, `{"id": "g", "name": "G", "prompt": "Hi"}`, "1:1: error: the field `expected` is missing; the evaluator needs it"},
		{"an answer", greeting, `{"id": "g", "name": "G", "prompt": "Hi", "expected": {"answer": "x"}}`, "1:42: error: expected has neither keywords nor forbidden; add \"keywords\": [\"…\"], or write \"two_pass\" into evaluator_id, which looks at `answer`"},
		{"keywords", test, `{"id": "m", "name": "M", "prompt": "1?", "expected": {"keywords": ["x"]}, "evaluator_id": "two_pass"}`, "1:42: error: the field `answer` is missing; add \"answer\": …, or write \"keyword\" into evaluator_id, which looks at `keywords`"},
		{"tools for SQL", sql, `{"id": "s", "name": "S", "prompt": "x", "expected": {"tools": ["x"]}}`, "1:41: error: expected declares no check; add \"query_type\": \"SELECT\" or another, or write \"tool_call\" into evaluator_id, which looks at `tools`"},
		{"a number as keyword", greeting, `{"id": "g", "name": "G", "prompt": "Hi", "expected": {"keywords": [105]}}`, "1:68: error: an item of keywords must be a string, not a number; write \"105\""},
		{"one keyword", greeting, `{"id": "g", "name": "G", "prompt": "Hi", "expected": {"keywords": "105"}}`, "1:67: error: `keywords` must be a list, not a string; write [\"105\"]"},
		{"no time", test, `{"id": "m", "name": "M", "prompt": "1?", "timeout_ms": 0, "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:56: error: `timeout_ms` is 0; it must be more than 0, or null"},
		{"wrong expected", greeting, `{"id": "g", "name": "G", "prompt": "Hi", "expected": {"keyword": ["x"]}}`, "1:55: error: unknown field `keyword`; did you mean `keywords`?"},
		{"no answer", test, `{"id": "m", "name": "M", "prompt": "1?", "expected": {"type": "numeric"}, "evaluator_id": "two_pass"}`, "1:42: error: the field `answer` is missing; add \"answer\": …"},
		{"rows swapped", sql, `{"id": "s", "name": "S", "prompt": "x", "expected": {"min_rows": 3, "max_rows": 2}}`, "1:54: error: min_rows is larger than max_rows; swap them"},
		{"id of the domain", domain, `{"id": "maths", "name": "Math"}`, "1:2: error: the id \"maths\" is not the name of the folder; write \"math\""},
		{"level disagrees", test, `{"id": "m", "name": "M", "prompt": "1?", "level": 2, "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:42: error: level is 2, but the file is in level_1; make them agree"},
		{"duplicate id", yaml, "id: math_multiply_1\nname: M\nprompt: 1?\nexpected: {answer: 1}\nevaluator_id: two_pass\n", "two tests have the id \"math_multiply_1\""},
		{"duplicate key", "test_definitions/math/level_1/test_multiply.yaml", "id: m\nname: M\nprompt: 1?\nexpected: {answer: 1}\nevaluator_id: two_pass\n", "the case math/level_1/test_multiply is defined twice; the other is in " + test + ":1:1"},
		{"two equal fields", test, `{"id": "m", "id": "m", "name": "M", "prompt": "1?"}`, "1:13: error: duplicate key \"id\"; the first is in line 1; remove one"},
		{"YAML tab", yaml, "id: m\nexpected:\n\tanswer: 1\n", "3:1: error: the line is indented with a tab, and YAML allows only spaces; use spaces"},
		{"empty file", yaml, "\n", "1:1: error: the file is empty; fill it, or remove it"},
		{"two documents", yaml, "id: m\n---\nid: n\n", "error: the file holds more than one YAML document; put each into a file of its own"},
		{"alias bomb", yaml, "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", "error: "},
		{"invalid UTF-8", yaml, "id: m\nname: \xff\n", "2:7: error: the line is not valid UTF-8; save the file as UTF-8"},
		{"broken JSON", test, "{\n  \"id\": \"m\",\n}", "2:12: error: not valid JSON"},
		{"large exponent", test, `{"id": "m", "name": "M", "prompt": "1?", "weight": 1e1000000000}`, "1:52: error: the exponent of the number has more than three digits; write a number that can be meant"},
		{"nested too deeply", test, strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70), "error: values are nested more than 64 deep; flatten the file"},
		{"too large", test, strings.Repeat(" ", 8<<20) + "{}", "error: the file has 8388610 bytes; a definition may have 8388608; split it"},
		{"no domain.json", "test_definitions/new/level_1/t.json", `{"id": "m", "name": "M", "prompt": "1?", "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:1: error: domain.json is missing; add test_definitions/new/domain.json"},
		{"missing database", "test_definitions/evaluators/sql_executor.json", `{"id": "sql_executor", "type": "predefined", "config": {"database": "no.sql"}}`, "error: the file test_definitions/evaluators/no.sql does not exist (named in test_definitions/evaluators/sql_executor.json:1:57); add it or correct the path"},
		{"near in an open map", "test_definitions/evaluators/style.json", `{"id": "style", "eval_prompt": "x", "config": {"treshold": 0.5, "colour": 1}}`, "1:48: error: the field `treshold` means nothing here; did you mean `threshold`?"},
		{"escaping path", "test_definitions/evaluators/sql_executor.json", `{"id": "sql_executor", "type": "predefined", "config": {"database": "../../../etc/x.sql"}}`, "error: the path \"../../../etc/x.sql\" leaves the repository (named in test_definitions/evaluators/sql_executor.json:1:57); name a file inside it"},
		{"stray in a domain", "test_definitions/math/readme.json", "{}", "1:1: warning: the file is in no level folder and is not read"},
		{"unlikely extra key", test, `{"id": "m", "name": "M", "prompt": "1?", "zzz": 1, "expected": {"answer": 1}, "evaluator_id": "two_pass"}`, "1:42: warning: unknown field `zzz`; it is ignored; remove it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			texts := seed()
			texts[row.file] = row.text
			res := loadAll(t, texts)
			for _, p := range res.Problems {
				if strings.Contains(p.String(), row.want) {
					return
				}
			}
			t.Errorf("no problem says %q; there are %v", row.want, res.Problems)
		})
	}
}

// TestLinksAreToldOf holds that what a link hides is reported, wherever it is,
// and no longer when the link has gone.
func TestLinksAreToldOf(t *testing.T) {
	const rest = "so that no definition behind this one is read; put the files themselves here, add their folder to definitions: in gavel.yaml, or name the link in .gavelignore"
	files := fsOf(seed())
	for _, tt := range []struct {
		name string
		mode fs.FileMode
	}{
		{"test_definitions/more", fs.ModeSymlink},
		{"test_definitions/notes.md", fs.ModeSymlink},
		{"test_definitions/v1.2", fs.ModeIrregular}, // a submodule
		{"test_definitions/math/level_1/x.json", fs.ModeSymlink},
		{"test_definitions/node_modules", fs.ModeSymlink},
		{"tools/get_order.json", fs.ModeSymlink},
		{"test_definitions/evaluators/near.yaml", fs.ModeSymlink},
	} {
		files[tt.name] = &fstest.MapFile{Data: []byte("nowhere"), Mode: tt.mode}
	}
	want := []string{
		"test_definitions/evaluators/near.yaml:1:1: error: links and submodules are not followed; put a plain file here",
		"test_definitions/math/level_1/x.json:1:1: error: links and submodules are not followed; put a plain file here",
		"test_definitions/more:1:1: error: links and submodules are not followed, " + rest,
		"test_definitions/notes.md:1:1: warning: links and submodules are not followed, " + rest,
		"test_definitions/v1.2:1:1: error: links and submodules are not followed, " + rest,
		"tools/get_order.json:1:1: warning: links and submodules are not followed, so that no tool is read here; put a plain file here",
	}
	lines := func(problems []schema.Problem) (out []string) {
		for _, p := range problems {
			out = append(out, p.String())
		}
		return out
	}
	without, err := Scan(t.Context(), fsOf(seed()), Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	with, err := Scan(t.Context(), files, Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, lines(with.Problems())); diff != "" {
		t.Error(diff)
	}
	links := []string{
		"test_definitions/evaluators/near.yaml", "test_definitions/math/level_1/x.json", "test_definitions/more", "test_definitions/notes.md", "test_definitions/v1.2", "tools/get_order.json",
	}
	appeared, err := without.Update(t.Context(), files, Options{Settings: settings}, links)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, lines(appeared.Problems())); diff != "" {
		t.Error(diff)
	}
	gone, err := with.Update(t.Context(), fsOf(seed()), Options{Settings: settings}, links)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), lines(gone.Problems())); diff != "" {
		t.Error(diff)
	}
}

func TestSeveralFoldersHaveKeysFromTheRoot(t *testing.T) {
	texts := map[string]string{
		"a/tests/d/domain.json":      `{"id": "d", "name": "D", "evaluator_id": "keyword"}`,
		"a/tests/d/level_1/one.json": `{"id": "one", "name": "One", "prompt": "x", "expected": {"keywords": ["x"]}}`,
		"b/tests/d/domain.json":      `{"id": "d", "name": "D", "evaluator_id": "keyword"}`,
		"b/tests/d/level_1/one.json": `{"id": "two", "name": "One", "prompt": "x", "expected": {"keywords": ["x"]}}`,
	}
	res, err := Load(t.Context(), fsOf(texts), Options{Settings: schema.Settings{Definitions: []string{"a/tests", "b/tests"}}})
	if err != nil || len(res.Problems) > 0 || len(res.Cases) != 2 || res.Cases[0].Key != "a/tests/d/level_1/one" {
		t.Errorf("error %v, problems %v, cases %v; want 2 cases of which the first is a/tests/d/level_1/one", err, res.Problems, res.Cases)
	}
}

// FuzzLoad puts any bytes in the place of a test and of its domain: nothing
// may panic, every error has a place, and the other cases still load.
func FuzzLoad(f *testing.F) {
	f.Add("json", `{"id": "m", "name": "M", "prompt": "1?", "expected": {"answer": 1}, "evaluator_id": "two_pass"}`)
	f.Add("yaml", "a: &a [*a]\n")
	f.Add("yaml", "? [a]\n: b\n")
	f.Add("yaml", "<<: {a: 1}\na: 2\n")
	f.Add("yaml", "id: !!binary aGFsbG8=\nname: .nan\n")
	f.Add("json", `{"id": 1e999, "weight": -0.0, "id": null}`)
	f.Add("json", "\"\\ud800\"")
	f.Add("yml", "%YAML 1.2\n---\n- - - -\n")
	f.Fuzz(func(t *testing.T, ext, text string) {
		if ext != "json" && ext != "yaml" && ext != "yml" {
			t.Skip()
		}
		for _, name := range []string{"level_1/fuzzed.", "domain."} {
			texts := seed()
			delete(texts, "test_definitions/math/domain.json")
			texts["test_definitions/math/domain.json"] = `{"id": "math", "name": "Math"}`
			if name == "domain." {
				delete(texts, "test_definitions/math/domain.json")
			}
			texts["test_definitions/math/"+name+ext] = text
			res := loadAll(t, texts)
			if len(res.Cases) < 4 {
				t.Errorf("only %d cases of the other files are left", len(res.Cases))
			}
			for _, p := range res.Problems {
				if p.File == "" || p.Line < 1 || p.Column < 1 || p.Message == "" {
					t.Errorf("a problem without a place: %+v", p)
				}
			}
		}
	})
}

// generate makes a repository of n tests in ten domains of ten levels.
func generate(n int) fstest.MapFS {
	texts := map[string]string{}
	for i := range n {
		domain := fmt.Sprintf("d%d", i%10)
		texts["test_definitions/"+domain+"/domain.json"] = fmt.Sprintf(`{"id": %q, "name": "D", "evaluator_id": "keyword", "system_prompt": "Be brief."}`, domain)
		texts[fmt.Sprintf("test_definitions/%s/level_%d/t%d.json", domain, 1+i/10%10, i)] = fmt.Sprintf(
			`{"id": "t%d", "name": "Test %d", "description": "a generated test", "prompt": "What is %d?", "expected": {"keywords": ["%d", "number"], "forbidden": ["error"]}, "timeout_ms": 20000, "weight": 1.5}`, i, i, i, i)
	}
	return fsOf(texts)
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		files := generate(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := Load(b.Context(), files, Options{Settings: schema.Settings{Definitions: []string{"test_definitions"}}})
				if err != nil || len(res.Cases) != n {
					b.Fatal(err, len(res.Cases))
				}
			}
		})
	}
}

// TestAllProblemsAtOnce holds that one mistake in a file hides no other: of its
// text, of its fields, and of what it names.
func TestAllProblemsAtOnce(t *testing.T) {
	with := settings
	with.Targets = map[string]schema.TargetSettings{"bot": {Kind: "agent", Agent: true}}
	with.DefaultTarget = "bot"
	const d = "test_definitions/"
	for _, row := range []struct {
		file  string
		text  string
		want  []string
		cases int // of the file, that load all the same
	}{
		{"tc.json", "[{\"name\": \"A\", \"max_turn\": 3,\n \"tags\": \"x\", \"tags\": \"y\"},\n {\"name\": \"B\", \"max_turns\": 1}]", []string{
			"1:16 unknown-field", "2:10 wrong-type", "2:15 duplicate-key",
		}, 1},
		{"pv.yaml", "test_type: agnt\nname: bto\nuser_input: Hi\ntesting_prompt: x\niterations: 0\nthreshold: .inf\n", []string{
			"1:12 wrong-value", "2:1 unknown-target", "5:13 out-of-range", "6:12 not-finite",
		}, 0},
		{"math/level_1/t.json", "{\"id\": \"t\", \"name\": 5, \"prompt\": \"2?\",\n \"evaluator_id\": \"keyword\", \"tool_ids\": [\"get_wether\"],\n \"expected\": {\"keyword\": [\"2\"]},\n \"weight\": -1, \"weight\": 1}", []string{
			"1:21 wrong-type", "2:42 unknown-tool", "3:15 unknown-field", "4:12 out-of-range", "4:16 duplicate-key",
		}, 0},
		{"ec.yaml", "- id: a\n  inptu: Hi\n  expected_outcome: Greets\n  execution: {target: bto}\n  input_messages:\n  - {role: user, content: [{type: file, value: orders.md}]}\n- {id: b, input: Hi, expected_outcome: Greets}\n", []string{
			"2:3 unknown-field", "4:15 unknown-target", "6:41 missing-file",
		}, 1},
		{"lines.jsonl", "{\"id\": \"a\", \"input\": \"x\", \"expected_outcome\": \"y\"}\n{\"id\": \"b\",\n{\"id\": \"c\", \"id\": \"c\", \"input\": \"x\", \"expected_outcome\": \"y\"}\n{\"id\": \"d\", \"input\": 5, \"expected_outcome\": \"y\"}\n{\"id\": \"e\", \"input\": \"x\", \"expected_outcome\": \"y\"}\n", []string{
			"2:1 syntax", "3:13 duplicate-key", "4:22 wrong-type",
		}, 2},
		{"testcases.jsonl", "{\"name\": \"A\", \"max_turns\": 1}\n{\"name\": \n{\"name\": \"C\", \"tags\": [\"\x00\"]}\n{\"name\": \"D\"}\n", []string{"2:1 syntax", "3:25 nul"}, 2},
		{"math/level_1/more.jsonl", "{\"id\": \"l1\", \"name\": \"L\", \"prompt\": \"2?\", \"evaluator_id\": \"two_pass\", \"expected\": {\"answer\": 2}}\nnot JSON\n", []string{"2:1 syntax"}, 1},
	} {
		t.Run(row.file, func(t *testing.T) {
			texts := seed()
			texts[d+row.file] = row.text
			res := loadBy(t, with, texts)
			var got []string
			for _, p := range res.Problems {
				if p.File == d+row.file {
					got = append(got, strings.TrimPrefix(p.Position.String(), p.File+":")+" "+p.Rule)
				}
				if p.Hint == "" || p.Severity == schema.Note {
					t.Errorf("no hint: %v", p)
				}
			}
			cases := 0
			for _, c := range res.Cases {
				if c.Origin.File == d+row.file {
					cases++
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" || cases != row.cases {
				t.Errorf("%d cases; problems (-want +got):\n%s", cases, diff)
			}
		})
	}
}

// TestSeveralTargets: a case that is there for each of several targets is not defined
// twice, and is remembered as it is.
func TestSeveralTargets(t *testing.T) {
	files := fsOf(map[string]string{"test_definitions/a.yaml": "prompts: ['{{q}}']\nproviders: [a, b]\ntests: [{description: x, vars: {q: hi}, assert: [{type: contains, value: yes}]}]\n"})
	res, err := Load(t.Context(), files, Options{Settings: schema.Settings{Definitions: settings.Definitions, Targets: map[string]schema.TargetSettings{"a": {}, "b": {}}}, Note: func(*schema.Case) string { return "n" }})
	if err != nil {
		t.Fatal(err)
	}
	var got, remembered []schema.CaseInfo
	for _, d := range res.Definitions {
		for _, c := range d.Cases {
			info := c.CaseInfo
			info.Inputs = nil
			got = append(got, info)
		}
	}
	if len(got) != 2 || len(res.Problems) > 0 {
		t.Fatalf("%d cases and the problems %v, want one case for each target", len(got), res.Problems)
	}
	res.Snapshot().Cases(func(r StoredCase) { remembered = append(remembered, r.Info) })
	if diff := cmp.Diff(got, remembered); diff != "" {
		t.Errorf("what is remembered (-want +got):\n%s", diff)
	}
}
