package main

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/schema/race"
)

const orderCase = `{"name": "Order", "tags": ["red-team", "billing"], "difficulty": "hard", "max_turns": 4,
 "persona": {"type": "polite", "description": "d", "instructions": "i"}, "initial_message": "Hello", "user_context": {"order": 7},
 "expected_outcomes": {"refund": true}, "expected_tool_calls": [{"tool": "get_order"}], "evaluation_criteria_override": "Polite?"}`

// TestTestCasesAreIndexed: the table has the cases of a commit with the types of the
// format's document, is replaced each time, and keeps those of other repositories.
func TestTestCasesAreIndexed(t *testing.T) {
	race.OneByOne(t)
	url := postgrestest.URL(t)
	clone := func(files map[string]string, remote string) string {
		dir := t.TempDir()
		gittest.Init(t, dir, "master")
		gittest.Run(t, dir, "remote", "add", "origin", remote)
		gittest.Commit(t, dir, files)
		return dir
	}
	one := clone(map[string]string{
		"test_definitions/order.json":          orderCase,
		"test_definitions/more.yaml":           "test_cases:\n- {name: Short, first_message: Hi, status: draft}\n- {name: Other, id: 7f2c0a52-5f3e-4a54-9d5e-0f6b8a6d1c11}\n",
		"test_definitions/wrong.json":          `{"name": "Wrong", "max_turns": "many"}`,
		"test_definitions/talk/domain.json":    `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
		"test_definitions/talk/level_1/a.json": `{"id": "a", "name": "A", "prompt": "a", "expected": {"keywords": ["a"]}}`,
	}, "https://github.com/octo/one.git")
	two := clone(map[string]string{"test_definitions/order.json": orderCase}, "https://github.com/octo/two.git")
	index := func(dir, want string) {
		t.Helper()
		if stdout, stderr, code := withDatabase(t, url, dir, "ledger", "index"); code != 0 || !strings.Contains(stdout+stderr, want) {
			t.Fatalf("ledger index ends with %d, want %q:\n%s%s", code, want, stdout, stderr)
		}
	}
	index(one, "indexed: 3 test cases of ")
	index(one, "gavel: 1 invalid file left out; see gavel validate")
	index(two, "indexed: 1 test case of ")

	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(t.Context()) })
	ask := func(query string) (keys string) {
		t.Helper()
		rows, err := db.Query(t.Context(), "SELECT repository || ' ' || key FROM gavel.test_cases WHERE "+query+" ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(all, ", ")
	}
	for _, tt := range []struct{ query, want string }{
		{"true", "octo/one more#7f2c0a52-5f3e-4a54-9d5e-0f6b8a6d1c11, octo/one more#short, octo/one order, octo/two order"},
		{"tags @> ARRAY['billing'] AND repository = 'octo/one'", "octo/one order"},
		{"tags = '{}' AND persona IS NULL AND expected_tool_calls IS NULL", "octo/one more#7f2c0a52-5f3e-4a54-9d5e-0f6b8a6d1c11, octo/one more#short"},
		{"status = 'draft' AND initial_message = 'Hi'", "octo/one more#short"},
		{"id = '7f2c0a52-5f3e-4a54-9d5e-0f6b8a6d1c11'", "octo/one more#7f2c0a52-5f3e-4a54-9d5e-0f6b8a6d1c11"},
		{"persona ->> 'type' = 'polite' AND (user_context -> 'order')::int = 7 AND repository = 'octo/two'", "octo/two order"},
		{"expected_outcomes @> '{\"refund\": true}' AND expected_tool_calls -> 0 ->> 'tool' = 'get_order' AND max_turns = 4 AND difficulty = 'hard'", "octo/one order, octo/two order"},
		{"evaluation_criteria_override = 'Polite?' AND path = 'test_definitions/order.json' AND line = 1 AND created_at = updated_at", "octo/one order, octo/two order"},
	} {
		if got := ask(tt.query); got != tt.want {
			t.Errorf("WHERE %s: %q, want %q", tt.query, got, tt.want)
		}
	}
	var method string
	const gin = "SELECT am.amname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam WHERE c.relname = 'test_cases_tags'"
	if err := db.QueryRow(t.Context(), gin).Scan(&method); err != nil || method != "gin" {
		t.Errorf("the index of tags is of the kind %q: %v", method, err)
	}

	gittest.Run(t, one, "rm", "-q", "test_definitions/order.json", "test_definitions/wrong.json")
	gittest.Commit(t, one, map[string]string{"test_definitions/new.json": `{"name": "New"}`})
	index(one, "indexed: 3 test cases of ")
	if got, want := ask("true"), "octo/one more#7f2c0a52-5f3e-4a54-9d5e-0f6b8a6d1c11, octo/one more#short, octo/one new, octo/two order"; got != want {
		t.Errorf("after a change: %s, want %s", got, want)
	}
	for _, tt := range []struct {
		url, want string
		args      []string
	}{
		{"", "set GAVEL_DATABASE_URL", nil},
		{url, "--ref", []string{"--ref", "nowhere"}},
	} {
		if stdout, stderr, code := withDatabase(t, tt.url, one, append([]string{"ledger", "index"}, tt.args...)...); code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("it ends with %d, want an error with %q:\n%s%s", code, tt.want, stdout, stderr)
		}
	}
}
