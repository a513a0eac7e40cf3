package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// The documents that other programs read. Of each value is said what it may be:
// words apart by |, of which null is one, or a regular expression.
const (
	validateContract = `{
		"definitions": [{"file": "PATH", "dialect": "DIALECT", "cases": "COUNT"}],
		"problems": [{"file": "PATH", "line": "PLACE", "column": "PLACE", "severity": "error|warning", "rule": "TEXT", "message": "TEXT", "hint": "TEXT"}],
		"summary": {"definitions": "COUNT", "cases": "COUNT", "errors": "COUNT", "warnings": "COUNT"}}`
	planContract = `{
		"base": "COMMIT|null", "head": "worktree",
		"cases": [{"key": "TEXT", "dialect": "DIALECT", "target": "TEXT", "action": "run|rejudge|redecide|reuse|skip|removed",
			"reasons": [{"part": "TEXT", "file": "PATH", "message": "TEXT"}], "digest": "DIGEST|null"}],
		"summary": {"run": "COUNT", "rejudge": "COUNT", "redecide": "COUNT", "reuse": "COUNT", "skip": "COUNT", "removed": "COUNT", "moved": "COUNT"}}`
	runContract = `{
		"run": "TEXT", "base": "COMMIT|null", "head": "worktree",
		"cases": [{"key": "TEXT", "dialect": "DIALECT", "target": "TEXT", "file": "PATH", "line": "PLACE",
			"action": "run|rejudge|redecide|reuse|skip|removed", "verdict": "VERDICT|null", "score": "SCORE|null",
			"native": {"value": "NUMBER", "scale": "1|5|10|100"}, "base_verdict": "VERDICT|null", "base_score": "SCORE|null",
			"class": "regression|improvement|unchanged|unclear|flaky|new|removed|moved|error|null", "moved_from": "TEXT|null",
			"samples": "COUNT", "calls": "COUNT", "tokens": "COUNT", "cost_usd": "NUMBER|null", "duration_ms": "COUNT",
			"reasons": [{"part": "TEXT", "file": "PATH", "message": "TEXT"}], "error": "TEXT|null"}],
		"summary": {"cases": "COUNT", "pass": "COUNT", "borderline": "COUNT", "fail": "COUNT", "error": "COUNT", "skipped": "COUNT",
			"run": "COUNT", "rejudged": "COUNT", "redecided": "COUNT", "reused": "COUNT", "removed": "COUNT",
			"calls": "COUNT", "tokens": "COUNT", "cost_usd": "NUMBER|null", "score": "SCORE|null"},
		"diff": {"pairs": "COUNT", "score_base": "SCORE|null", "score_head": "SCORE|null", "delta": "NUMBER|null", "ci_low": "NUMBER|null",
			"ci_high": "NUMBER|null", "regressions": "COUNT", "improvements": "COUNT", "unclear": "COUNT", "new": "COUNT", "removed": "COUNT", "moved": "COUNT"},
		"gate": {"result": "pass|fail|undetermined", "reason": "TEXT"}}`
)

// kinds are what the words in capitals stand for.
var kinds = map[string]string{
	"PATH": `"([^/".][^"]*)?"`, "TEXT": `".*"`, "DIALECT": `"(domain|testcase|promptval|evalcase)"`, "VERDICT": `"(pass|borderline|fail|error|skipped)"`,
	"COMMIT": `"[0-9a-f]{40}"`, "DIGEST": `"[0-9a-f]{64}"`,
	"COUNT": `[0-9]+`, "PLACE": `[1-9][0-9]*`, "NUMBER": `-?[0-9.]+(e-?[0-9]+)?`, "SCORE": `(0|1|0\.[0-9]+)(e-[0-9]+)?`, "null": "null", "1": "1", "5": "5", "10": "10", "100": "100",
}

// departures are the places where a document departs from its contract, each
// once whatever element of a list it is in. seen counts the elements of lists.
func departures(contract, document any, at string, seen map[string]int) map[string]string {
	found := map[string]string{}
	switch want := contract.(type) {
	case map[string]any:
		got, ok := document.(map[string]any)
		if !ok {
			return map[string]string{at: fmt.Sprintf("%v is no object", document)}
		}
		for name, part := range want {
			value, ok := got[name]
			switch _, object := part.(map[string]any); {
			case !ok:
				found[at+"."+name] = "is missing"
			case !object || value != nil: // of an object that is null, nothing is demanded
				maps.Copy(found, departures(part, value, at+"."+name, seen))
			}
		}
	case []any:
		got, ok := document.([]any)
		if !ok {
			return map[string]string{at: fmt.Sprintf("%v is no list", document)}
		}
		seen[at] += len(got)
		for _, element := range got {
			maps.Copy(found, departures(want[0], element, at+"[]", seen))
		}
	case string:
		raw, err := json.Marshal(document)
		pattern := regexp.MustCompile(`[^|]+`).ReplaceAllStringFunc(want, func(word string) string {
			if kind, ok := kinds[word]; ok {
				return kind
			}
			return `"` + word + `"`
		})
		if err != nil || !regexp.MustCompile("^("+pattern+")$").Match(raw) {
			found[at] = fmt.Sprintf("%s is not %s", raw, want)
		}
	}
	return found
}

// TestContracts holds the documents that others rely on: every field is there
// and what it should be, over a pull request, and without a base.
func TestContracts(t *testing.T) {
	dir := shopFolder(t)
	for _, tt := range []struct {
		contract string
		args     []string
		lists    []string // which have something in them
	}{
		{validateContract, []string{"validate"}, []string{".definitions", ".problems"}},
		{planContract, []string{"plan"}, []string{".cases"}},
		{planContract, []string{"plan", "--base", "main"}, []string{".cases", ".cases[].reasons"}},
		{runContract, []string{"run", "--base", "main", "--ledger", filepath.Join(t.TempDir(), "ledger.db")}, []string{".cases", ".cases[].reasons"}},
		{runContract, []string{"run"}, []string{".cases"}},
	} {
		var contract, document any
		if err := json.Unmarshal([]byte(tt.contract), &contract); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, _ := gavel(t, dir, append(tt.args, "--json")...)
		if err := json.Unmarshal([]byte(stdout), &document); err != nil {
			t.Fatalf("%v: %v: %s%s", tt.args, err, stdout, stderr)
		}
		seen := map[string]int{}
		found := departures(contract, document, "", seen)
		for _, at := range slices.Sorted(maps.Keys(found)) {
			t.Errorf("%v: %s %s", tt.args, at, found[at])
		}
		for _, list := range tt.lists {
			if seen[list] == 0 {
				t.Errorf("%v: %s is empty", tt.args, list)
			}
		}
	}
}
