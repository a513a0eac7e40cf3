package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// contract is the part of the JSON documents on which programs may rely: every name
// that is listed here, with null for an unknown value.
var contract = map[string]string{
	"validate": `{"definitions":[{"file","dialect","cases"}], "problems":[{"file","line","column","severity":"error|warning","rule","message","hint"}], "summary":{"definitions","cases","errors","warnings"}}`,
	"plan":     `{"base","head","cases":[{"key","dialect","target","action":"run|rejudge|redecide|reuse|skip|removed","reasons":[{"part","file","message"}],"digest"}], "summary":{"run","rejudge","redecide","reuse","skip","removed","moved"}}`,
	"run":      `{"run","base","head","cases":[{"key","dialect","target","file","line","action","verdict","score","native":{"value","scale"},"base_verdict","base_score","class":"regression|improvement|unchanged|unclear|flaky|new|removed|moved|error","moved_from","samples","calls","tokens","cost_usd","duration_ms","reasons","error"}], "summary":{"cases","pass","borderline","fail","error","skipped","run","rejudged","redecided","reused","removed","calls","tokens","cost_usd","score"}, "diff":{"pairs","score_base","score_head","delta","ci_low","ci_high","regressions","improvements","unclear","new","removed","moved"}, "gate":{"result":"pass|fail|undetermined","reason"}}`,
}

// TestContract holds the documents of a pull request with a case of every kind,
// an invalid definition among them, against the contract.
func TestContract(t *testing.T) {
	t.Parallel()
	dir := demoFolder(t)
	for command, text := range contract {
		args := []string{command, "--json"}
		if command != "validate" {
			args = append(args, "--base", "main")
		}
		stdout, stderr, _ := gavel(t, dir, args...)
		var got any
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatalf("%s did not print JSON: %v\n%s", command, err, stderr)
		}
		for _, gap := range gaps(command, shapeOf(t, text), got) {
			t.Error(gap)
		}
	}
}

// named is a name of the contract with the words or the colon behind it.
var named = regexp.MustCompile(`"\w+"(:"[^"]*"|:)?`)

// shapeOf reads the notation of the contract, in which a name alone means any value,
// and a text after a name lists the allowed words.
func shapeOf(t *testing.T, text string) any {
	t.Helper()
	text = named.ReplaceAllStringFunc(text, func(s string) string {
		if strings.Contains(s, ":") {
			return s
		}
		return s + ":null"
	})
	var shape any
	if err := json.Unmarshal([]byte(text), &shape); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return shape
}

// gaps tells in what a document falls short of a shape.
func gaps(at string, shape, got any) []string {
	var found []string
	switch want := shape.(type) {
	case map[string]any:
		if got == nil && strings.HasSuffix(at, ".native") {
			return nil // where there is no score
		}
		object, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, want an object", at, got)}
		}
		for name, inner := range want {
			value, there := object[name]
			if !there {
				found = append(found, at+" has no "+name)
				continue
			}
			found = append(found, gaps(at+"."+name, inner, value)...)
		}
	case []any:
		list, ok := got.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, want a list", at, got)}
		}
		for i, item := range list {
			found = append(found, gaps(fmt.Sprintf("%s[%d]", at, i), want[0], item)...)
		}
	case string:
		text, ok := got.(string)
		if got != nil && (!ok || !slices.Contains(strings.Split(want, "|"), text)) {
			found = append(found, fmt.Sprintf("%s is %v, want one of %s", at, got, want))
		}
	}
	return found
}
