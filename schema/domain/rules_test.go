package domain_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/domain"
	"github.com/gavel-evals/gavel/schema/golden"
)

// seed is a small tree that has something of everything.
func seed() map[string]string {
	return map[string]string{
		"t/d/domain.json":        `{"id": "d", "name": "D", "evaluator_id": "keyword", "system_prompt": "Domain.", "tool_ids": ["find"]}`,
		"t/d/level_1/one.json":   with(`"expected": {"keywords": ["x"]}`),
		"t/tools/find.json":      `{"id": "find", "function": {"name": "find", "description": "domain's"}}`,
		"t/tools/order.json":     `{"id": "order", "function": {"name": "order"}}`,
		"t/tools/find2.json":     `{"id": "find2", "function": {"name": "find", "description": "test's"}}`,
		"t/evaluators/tone.json": `{"id": "tone", "eval_prompt": "Rate {response}."}`,
		"t/evaluators/year.json": `{"id": "year", "extraction_regex": "(\\d{4})"}`,
		"t/evaluators/late.json": `{"id": "late", "type": "predefined"}`,
		"t/evaluators/sql.json":  `{"id": "sql_executor", "type": "predefined", "config": {"database": "../shop.sql"}}`,
		"t/shop.sql":             `CREATE TABLE products (name TEXT);`,
	}
}

// with is the test one with further fields.
func with(fields string) string {
	return `{"id": "one", "name": "One", "prompt": "Now?", ` + fields + `}`
}

func load(t *testing.T, texts map[string]string, settings schema.Settings) *domain.Result {
	t.Helper()
	fsys := fstest.MapFS{}
	var files []string
	for name, text := range texts {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
		if strings.HasPrefix(name, "t/") && strings.HasSuffix(name, "json") && !strings.HasPrefix(name, "t/other") {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	res, err := domain.Load(t.Context(), domain.Source{
		Source: document.Source{FS: fsys, Root: "t", KeyRoot: "t", Settings: settings}, Files: files,
		Each: func(_ context.Context, n int, do func(int) error) error {
			for i := range n {
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// rules are the constraints that go beyond single fields: for each a file that
// is accepted and one that is rejected, in the place of the seed's. An empty
// text removes the file. The message about the rejected one is in
// testdata/rules.txt.
func rules() []struct{ name, file, accepted, rejected string } {
	const one, dom = "t/d/level_1/one.json", "t/d/domain.json"
	return []struct{ name, file, accepted, rejected string }{
		{"the id of a domain is its folder", dom, `{"id": "d", "name": "D", "evaluator_id": "keyword"}`, `{"id": "e", "name": "D", "evaluator_id": "keyword"}`},
		{"a test is in a domain", dom, `{"id": "d", "name": "D", "evaluator_id": "keyword"}`, ""},
		{"a domain is valid", dom, `{"id": "d", "name": "D", "evaluator_id": "keyword"}`, `{"id": "d", "evaluator_id": "keyword"}`},
		{"a level is valid", "t/d/level_1/level.json", `{"system_prompt": "Level."}`, `{"system_prompt": 1}`},
		{"levels are numbered from 1", "t/d/level_0/one.json", "", with(`"expected": {"keywords": ["x"]}`)},
		{"checks are YAML", "t/d/level_1/one.checks.json", "", `{".": [{"contains": "x"}]}`},
		{"a file of a domain is in a level", "t/d/notes.json", "", `{}`},
		{"a test names an evaluator, or its domain does", dom, `{"id": "d", "name": "D", "evaluator_id": "keyword"}`, `{"id": "d", "name": "D"}`},
		{"the evaluator exists", one, with(`"evaluator_id": "year", "expected": "1999"`), with(`"evaluator_id": "yeer", "expected": "1999"`)},
		{"the domain's evaluator exists", dom, `{"id": "d", "name": "D", "evaluator_id": "keyword"}`, `{"id": "d", "name": "D", "evaluator_id": "keywords"}`},
		{"the evaluator is available", one, with(`"evaluator_id": "tone"`), with(`"evaluator_id": "late", "expected": {}`)},
		{"the evaluator is valid", "t/evaluators/tone.json", `{"id": "tone", "eval_prompt": "Rate."}`, `{"id": "tone", "eval_prompt": 5}`},
		{"an evaluator is defined once", "t/evaluators/tone2.json", `{"id": "tone2", "eval_prompt": "Rate."}`, `{"id": "tone", "eval_prompt": "Rate."}`},
		{"no evaluator takes the id of a built-in", "t/evaluators/keyword.json", `{"id": "keyword", "type": "builtin", "eval_prompt": "Rate."}`, `{"id": "keyword", "type": "custom", "extraction_regex": "(x)"}`},
		{"nor without a type", "t/evaluators/keyword.json", `{"id": "keyword"}`, `{"id": "keyword", "eval_prompt": "Rate."}`},
		{"an extraction_regex is RE2", "t/evaluators/year.json", `{"id": "year", "extraction_regex": "(\\d+)"}`, `{"id": "year", "extraction_regex": "(?=x)"}`},
		{"a regex is short", "t/evaluators/year.json", `{"id": "year", "extraction_regex": "` + strings.Repeat("a", 4096) + `"}`, `{"id": "year", "extraction_regex": "` + strings.Repeat("a", 4097) + `"}`},
		{"a tool exists", one, with(`"expected": {"keywords": ["x"]}, "tool_ids": ["order"]`), with(`"expected": {"keywords": ["x"]}, "tool_ids": ["ordr"]`)},
		{"the domain's tool exists", dom, `{"id": "d", "name": "D", "evaluator_id": "keyword", "tool_ids": ["order"]}`, `{"id": "d", "name": "D", "evaluator_id": "keyword", "tool_ids": ["orders"]}`},
		{"a tool is valid", "t/tools/find.json", `{"id": "find", "function": {"name": "find"}}`, `{"id": "find", "function": {}}`},
		{"a tool is defined once", "t/tools/order2.json", `{"id": "order2", "function": {"name": "order"}}`, `{"id": "order", "function": {"name": "order"}}`},
		{"domain_id agrees with the path", one, with(`"expected": {"keywords": ["x"]}, "domain_id": "d"`), with(`"expected": {"keywords": ["x"]}, "domain_id": "e"`)},
		{"level agrees with the path", one, with(`"expected": {"keywords": ["x"]}, "level": 1`), with(`"expected": {"keywords": ["x"]}, "level": "2"`)},
		{"one mistake is told once: level", one, with(`"expected": {"keywords": ["x"]}, "level": "1"`), with(`"expected": {"keywords": ["x"]}, "level": 1.5`)},
		{"one mistake is told once: evaluator_id", one, with(`"evaluator_id": "year", "expected": "1999"`), with(`"evaluator_id": 5, "expected": "1999"`)},
		{"one mistake is told once: tool_ids", one, with(`"expected": {"keywords": ["x"]}, "tool_ids": ["find"]`), with(`"expected": {"keywords": ["x"]}, "tool_ids": ["find", 5]`)},
		{"the items of a list are tests", one, `[` + with(`"expected": {"keywords": ["x"]}`) + `]`, `[` + with(`"expected": {"keywords": ["x"]}`) + `, 5]`},
		{"keyword has a list", one, with(`"expected": {"forbidden": ["x"]}`), with(`"expected": {"keywords": [], "forbidden": []}`)},
		{"keyword has expected", one, with(`"expected": {"keywords": ["x"]}`), with(`"weight": 1`)},
		{"match can be reached", one, with(`"expected": {"keywords": ["x", "y"], "match": 2}`), with(`"expected": {"keywords": ["x", "y"], "match": 3}`)},
		{"match is a word or a number", one, with(`"expected": {"keywords": ["x"], "match": "any"}`), with(`"expected": {"keywords": ["x"], "match": "some"}`)},
		{"two_pass has an answer", one, with(`"evaluator_id": "two_pass", "expected": {"answer": "105"}`), with(`"evaluator_id": "two_pass", "expected": {"type": "numeric"}`)},
		{"two_pass has an answer that is not null", one, with(`"evaluator_id": "two_pass", "expected": {"answer": null, "type": "json"}`), with(`"evaluator_id": "two_pass", "expected": {"answer": null}`)},
		{"no keyword is empty", one, with(`"expected": {"keywords": [" "]}`), with(`"expected": {"keywords": ["x", ""], "forbidden": [""]}`)},
		{"two_pass has a known type", one, with(`"evaluator_id": "two_pass", "expected": {"answer": 1, "type": "choice"}`), with(`"evaluator_id": "two_pass", "expected": {"answer": 1, "type": "number"}`)},
		{"sql_executor has a check", one, with(`"evaluator_id": "sql_executor", "expected": {"query_type": "SELECT"}`), with(`"evaluator_id": "sql_executor", "expected": {}`)},
		{"rows are a range", one, with(`"evaluator_id": "sql_executor", "expected": {"min_rows": 1, "max_rows": 1}`), with(`"evaluator_id": "sql_executor", "expected": {"min_rows": 2, "max_rows": 1}`)},
		{"rows need a database", "t/evaluators/sql.json", `{"id": "sql_executor", "type": "predefined", "config": {"database": "../shop.sql"}}`, ""},
		{"the database exists", "t/evaluators/sql.json", `{"id": "sql_executor", "type": "predefined", "config": {"database": "/t/shop.sql"}}`, `{"id": "sql_executor", "type": "predefined", "config": {"database": "shop.sqlite"}}`},
		{"the database is in the repository", "t/evaluators/sql.json", `{"id": "sql_executor", "type": "predefined", "config": {"database": "../shop.sql"}}`, `{"id": "sql_executor", "type": "predefined", "config": {"database": "../../../shop.sql"}}`},
		{"tool_call names a tool", one, with(`"evaluator_id": "tool_call", "expected": {"tools": ["find"]}`), with(`"evaluator_id": "tool_call", "expected": {"tools": []}`)},
		{"a pattern is a string", "t/evaluators/year.json", `{"id": "year", "extraction_regex": "x", "config": {"comparison": "exact_number"}}`, `{"id": "year", "extraction_regex": "x", "config": {"use_expected_as_pattern": true}}`},
	}
}

// TestRules accepts and rejects each rule's files.
func TestRules(t *testing.T) {
	var got strings.Builder
	for _, rule := range rules() {
		for _, text := range []string{rule.accepted, rule.rejected} {
			texts := seed()
			// Tests of the evaluators that the rules are about.
			texts["t/d/level_2/year.json"] = `{"id": "y", "name": "Y", "prompt": "When?", "evaluator_id": "year", "expected": 1999}`
			texts["t/d/level_2/tone.json"] = `{"id": "t", "name": "T", "prompt": "Hi", "evaluator_id": "tone"}`
			texts["t/d/level_2/rows.json"] = `{"id": "r", "name": "R", "prompt": "Rows?", "evaluator_id": "sql_executor", "expected": {"min_rows": 1}}`
			if text == "" {
				delete(texts, rule.file)
			} else {
				texts[rule.file] = text
			}
			problems := load(t, texts, schema.Settings{}).Problems
			switch {
			case text == rule.accepted && len(problems) > 0:
				t.Errorf("%s: the accepted file has problems: %v", rule.name, problems)
			case text == rule.rejected && len(problems) == 0:
				t.Errorf("%s: the rejected file has no problem", rule.name)
			}
			if text == rule.rejected {
				fmt.Fprintln(&got, rule.name)
				for _, p := range schema.SortProblems(problems) {
					fmt.Fprintln(&got, " ", p)
				}
			}
		}
	}
	golden.Compare(t, "testdata/rules.txt", got.String())
}

// one returns the case of the seed's test, with changes.
func one(t *testing.T, changes map[string]string) *schema.Case {
	t.Helper()
	texts := seed()
	maps.Copy(texts, changes)
	res := load(t, texts, schema.Settings{})
	for _, d := range res.Definitions {
		for _, test := range d.Tests {
			if test.ID == "one" && test.Case != nil {
				return test.Case
			}
		}
	}
	t.Fatalf("there is no case: %v", res.Problems)
	return nil
}

// TestSystem has the nearest layer that is not empty say by its mode whether
// it is used alone or after those above it.
func TestSystem(t *testing.T) {
	level := func(text, mode string) string {
		return fmt.Sprintf(`{"system_prompt": %q, "system_prompt_mode": %q}`, text, mode)
	}
	for _, tt := range []struct{ name, level, test, want string }{
		{"the domain's", "", ``, "Domain."},
		{"the test's", "", `"system_prompt": "Test.", `, "Test."},
		{"the test's, appended", "", `"system_prompt": "Test.", "system_prompt_mode": "append", `, "Domain.\n\nTest."},
		{"null is not a layer", "", `"system_prompt": null, "system_prompt_mode": "overwrite", `, "Domain."},
		{"blank is not a layer", "", `"system_prompt": " \n", "system_prompt_mode": "overwrite", `, "Domain."},
		{"the level's", level("Level.", "overwrite"), ``, "Level."},
		{"the level's, appended", level("Level.", "append"), ``, "Domain.\n\nLevel."},
		{"all three", level("Level.", "append"), `"system_prompt": "Test.", "system_prompt_mode": "append", `, "Domain.\n\nLevel.\n\nTest."},
		{"a level that overwrites", level("Level.", "overwrite"), `"system_prompt": "Test.", "system_prompt_mode": "append", `, "Level.\n\nTest."},
		{"a blank level is not a wall", level("", "overwrite"), `"system_prompt": "Test.", "system_prompt_mode": "append", `, "Domain.\n\nTest."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changes := map[string]string{"t/d/level_1/one.json": with(tt.test + `"expected": {"keywords": ["x"]}`)}
			if tt.level != "" {
				changes["t/d/level_1/level.json"] = tt.level
			}
			if got := one(t, changes).System; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTools offers the tools of all layers, of two with one function name the nearest.
func TestTools(t *testing.T) {
	c := one(t, map[string]string{
		"t/d/level_1/level.json": `{"tool_ids": ["order"]}`,
		"t/d/level_1/one.json":   with(`"tool_ids": ["find2", "find2"], "expected": {"keywords": ["x"]}`),
	})
	var got []string
	for _, tool := range c.Tools {
		got = append(got, tool.Name+": "+tool.Description)
	}
	if diff := cmp.Diff([]string{"find: test's", "order: "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDefaults of the fields that a test leaves out, and what takes their place.
func TestDefaults(t *testing.T) {
	c := one(t, nil)
	if c.Key != "d/level_1/one" || c.Weight != 1 || c.Policy.Timeout.Seconds() != 30 || c.Policy.MaxToolRounds != 16 || c.Policy.Iterations != 1 || c.Skip != "" {
		t.Errorf("%s: weight %v, policy %+v, skip %q", c.Key, c.Weight, c.Policy, c.Skip)
	}
	for _, tt := range []struct {
		name       string
		file, text string
		holds      func(*schema.Case) bool
	}{
		{"weight", "t/d/level_1/one.json", with(`"weight": 0, "expected": {"keywords": ["x"]}`), func(c *schema.Case) bool { return c.Weight == 0 }},
		{"timeout", "t/d/level_1/one.json", with(`"timeout_ms": 1500, "expected": {"keywords": ["x"]}`), func(c *schema.Case) bool { return c.Policy.Timeout.Milliseconds() == 1500 }},
		{"test enabled", "t/d/level_1/one.json", with(`"enabled": true, "expected": {"keywords": ["x"]}`), func(c *schema.Case) bool { return c.Skip == "" }},
		{"test", "t/d/level_1/one.json", with(`"enabled": false, "expected": {"keywords": ["x"]}`), func(c *schema.Case) bool { return c.Skip == "the test is not enabled" }},
		{"domain", "t/d/domain.json", `{"id": "d", "name": "D", "evaluator_id": "keyword", "enabled": false}`, func(c *schema.Case) bool { return c.Skip == "the domain is not enabled" }},
		{"match any",
			"t/d/level_1/one.json", with(`"expected": {"keywords": ["x", "y"], "match": "any"}`),
			func(c *schema.Case) bool {
				return c.Evaluators[0].Rule.Need == 1 && c.Evaluators[0].Rule.Threshold == 1
			},
		},
		{"evaluator's threshold",
			"t/evaluators/keyword.json", `{"id": "keyword", "type": "predefined", "config": {"threshold": 0.9}}`,
			func(c *schema.Case) bool { return c.Evaluators[0].Rule.Threshold == 0.9 },
		},
		{"a predefined evaluator is the built-in",
			"t/evaluators/keyword.json", `{"id": "keyword", "type": "predefined", "extraction_regex": "(x)"}`,
			func(c *schema.Case) bool { return c.Evaluators[0].Spec.Kind() == "keyword" },
		},
		{"so is one of its name that measures nothing itself",
			"t/evaluators/keyword.json", `{"id": "keyword", "type": "keyword", "config": {"threshold": 0.9}}`,
			func(c *schema.Case) bool { return c.Evaluators[0].Spec.Kind() == "keyword" },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if c := one(t, map[string]string{tt.file: tt.text}); !tt.holds(c) {
				t.Errorf("weight %v, policy %+v, skip %q, evaluators %+v", c.Weight, c.Policy, c.Skip, c.Evaluators)
			}
		})
	}
}

// TestKeys: a file that is one test has no local id, a list has its tests' ids.
func TestKeys(t *testing.T) {
	texts := seed()
	texts["t/d/level_3/many.json"] = `[{"id": "m1", "name": "M", "prompt": "?", "expected": {"keywords": ["x"]}}, {"id": "m2", "name": "M", "prompt": "?", "expected": {"keywords": ["x"]}}]`
	var keys []string
	for _, d := range load(t, texts, schema.Settings{}).Definitions {
		for _, test := range d.Tests {
			keys = append(keys, test.Case.Key)
		}
	}
	if diff := cmp.Diff([]string{"d/level_1/one", "d/level_3/many#m1", "d/level_3/many#m2"}, keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWhatCanNeverHold is reported before a test is run.
func TestWhatCanNeverHold(t *testing.T) {
	twoPass := func(expected string) string { return with(`"evaluator_id": "two_pass", "expected": ` + expected) }
	sql := func(kind string) string {
		return with(`"evaluator_id": "sql_executor", "expected": {"query_type": "` + kind + `"}`)
	}
	for _, tt := range []struct{ text, want string }{
		{twoPass(`{"answer": "abc", "type": "numeric"}`), "the answer \"abc\" is not a number, and type is numeric"},
		{twoPass(`{"answer": "maybe", "type": "boolean"}`), "the answer \"maybe\" is neither yes nor no, and type is boolean"},
		{twoPass(`{"answer": " ", "type": "contains"}`), "the answer \" \" is empty, and every reply contains it, and type is contains"},
		{twoPass(`{"answer": "Rp 1.500", "type": "numeric"}`), ""},
		{twoPass(`{"answer": "٣", "type": "numeric"}`), ""},
		{twoPass(`{"answer": "Yes.", "type": "boolean"}`), ""},
		{twoPass(`{"answer": "ＹＥＳ", "type": "boolean"}`), ""},
		{twoPass(`{"answer": 1, "type": "boolean"}`), ""},
		{twoPass(`{"answer": false}`), ""},
		{twoPass(`{"answer": "abc"}`), ""},
		{sql("SELCT"), "`query_type` is \"SELCT\", which no statement of SQL begins with; did you mean `SELECT`?"},
		{sql("WITH"), "; write what follows the WITH clause, such as SELECT"},
		{sql("a query"), "; write the word that the statement begins with, such as SELECT"},
		{sql(" select "), ""},
		{sql("Explain"), ""},
	} {
		files := seed()
		files["t/d/level_1/one.json"] = tt.text
		var got string
		for _, p := range load(t, files, schema.Settings{}).Problems {
			if p.File == "t/d/level_1/one.json" {
				got += p.String() + "\n"
			}
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.text, got, tt.want)
		}
	}
}
