package load

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// conversations are testcases in files of several forms, next to tests of the
// domain dialect.
func conversations() map[string]string {
	texts := seed()
	texts["test_definitions/refunds/polite.json"] = `{"name": "Polite"}`
	texts["test_definitions/refunds/angry.yaml"] = "- name: Angry\n- name: Angrier\n  status: draft\n- nam: broken\n"
	texts["test_definitions/refunds/export.jsonl"] = `{"name": "Exported", "id": "0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c"}` + "\n"
	return texts
}

// noted notes nothing of interest, so that a Snapshot lists the cases.
func noted(*schema.Case) string { return "note" }

// listed returns the cases of a result, by file, as a Snapshot has them.
func listed(res *Result) iter.Seq[schema.CaseInfo] {
	return func(yield func(schema.CaseInfo) bool) {
		more := true
		res.Snapshot().Cases(func(c StoredCase) { more = more && yield(c.Info) })
	}
}

// testcases lists the cases of the dialect, and problems next to them.
func testcases(t *testing.T, texts map[string]string, brief bool) (keys, problems []string) {
	t.Helper()
	res, err := Load(t.Context(), fsOf(texts), Options{Settings: settings, Brief: brief, Note: noted})
	if err != nil {
		t.Fatal(err)
	}
	for c := range listed(res) {
		if c.Dialect == schema.DialectTestcase {
			keys = append(keys, strings.TrimSuffix(c.Key+": "+c.Skip, ": "))
		}
	}
	slices.Sort(keys)
	for _, p := range res.Problems {
		problems = append(problems, strings.TrimPrefix(p.String(), "test_definitions/refunds/"))
	}
	return keys, problems
}

func TestTestcasesLoad(t *testing.T) {
	want := []string{
		"refunds/angry#angrier: the status is draft", "refunds/angry#angry",
		"refunds/export#0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c", "refunds/polite",
	}
	wantProblems := []string{
		"angry.yaml:4:3: error: unknown field `nam`; did you mean `name`?",
	}
	for _, brief := range []bool{false, true} {
		keys, problems := testcases(t, conversations(), brief)
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("brief %v: cases (-want +got):\n%s", brief, diff)
		}
		if diff := cmp.Diff(wantProblems, problems); diff != "" {
			t.Errorf("brief %v: problems (-want +got):\n%s", brief, diff)
		}
	}
}

// TestTestcasesClash holds that two files cannot have a case of the same key,
// nor of the same identity.
func TestTestcasesClash(t *testing.T) {
	texts := conversations()
	delete(texts, "test_definitions/refunds/angry.yaml")
	texts["test_definitions/refunds/polite.yml"] = "name: Polite\n"
	texts["test_definitions/refunds/again.json"] = `{"id": "0B9F6A34-58A5-4B8A-9A6E-0F0C6D1B2A3C", "name": "Exported again"}`
	wantProblems := []string{
		"export.jsonl:1:1: error: two tests have the id \"0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c\"; the other is in test_definitions/refunds/again.json:1:1; rename one",
		"polite.yml:1:1: error: the case refunds/polite is defined twice; the other is in test_definitions/refunds/polite.json:1:1",
	}
	for _, brief := range []bool{false, true} {
		keys, problems := testcases(t, texts, brief)
		if diff := cmp.Diff([]string{"refunds/again", "refunds/polite"}, keys); diff != "" {
			t.Errorf("brief %v: cases (-want +got):\n%s", brief, diff)
		}
		if diff := cmp.Diff(wantProblems, problems); diff != "" {
			t.Errorf("brief %v: problems (-want +got):\n%s", brief, diff)
		}
	}
}
