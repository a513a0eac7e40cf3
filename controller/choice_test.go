package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

var cases = []*schema.CaseInfo{
	{Key: "refund#window", Origin: schema.Position{File: "test_definitions/refund.yaml"}},
	{Key: "refund#tone", Origin: schema.Position{File: "test_definitions/refund.yaml"}},
	{Key: "refunds", Origin: schema.Position{File: "test_definitions/refunds.json"}},
	{Key: "math/level_1/sum", Origin: schema.Position{File: "test_definitions/math/level_1/sum.json"}},
	{Key: "math/level_2/ratio", Origin: schema.Position{File: "test_definitions/math/level_2/ratio.json"}},
}

// TestGlobsArePathsToo names cases by keys, files and folders, from several places.
func TestGlobsArePathsToo(t *testing.T) {
	for _, c := range []struct{ glob, folder, want string }{
		{"refund", "", "refund#window refund#tone"},
		{"refund#tone", "", "refund#tone"},
		{"math", "", "math/level_1/sum math/level_2/ratio"},
		{"test_definitions/refund.yaml", "", "refund#window refund#tone"},
		{"test_definitions/refund.checks.yaml", "", "refund#window refund#tone"},
		{"refund.yaml", "test_definitions", "refund#window refund#tone"},
		{"level_1", "test_definitions/math", "math/level_1/sum"},
		{"../refund.yaml", "test_definitions/math", "refund#window refund#tone"},
		{"../../elsewhere.yaml", "test_definitions", ""},
		{"test_definitions/math/", "", "math/level_1/sum math/level_2/ratio"},
		{"test_definitions/math/domain.json", "", "math/level_1/sum math/level_2/ratio"},
		{"test_definitions/math/level_2/level.json", "", "math/level_2/ratio"},
		{"test_definitions/*.json", "", "refunds"},
		{"test_definitions/refun", "", ""},
		{".", "test_definitions/math/level_2", "math/level_2/ratio"},
		{".", "", "refund#window refund#tone refunds math/level_1/sum math/level_2/ratio"},
	} {
		chosen := CaseFilter{Keys: []string{c.glob}, Folder: c.folder}.Choose()
		admits, named := chosen.Func(), MatchNames([]string{c.glob}, c.folder)
		var got []string
		for _, tc := range cases {
			if admits(tc) != named(tc) {
				t.Errorf("%s: Named differs for %s", c.glob, tc.Key)
			}
			if named(tc) {
				got = append(got, tc.Key)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s in %q: %v, want %s", c.glob, c.folder, got, c.want)
		}
		if unmatched, _ := chosen.Unmatched(nowhere); (len(unmatched) == 0) != (c.want != "") {
			t.Errorf("%s in %q: unmatched: %v", c.glob, c.folder, unmatched)
		}
	}
}

// TestLackingLabels says which cases a label leaves out because their format does not
// have it.
func TestLackingLabels(t *testing.T) {
	mixed := []*schema.CaseInfo{
		{Key: "a", Dialect: schema.DialectTestcase, Labels: schema.Labels{Difficulty: "hard", Tags: []string{"slow"}, Status: "draft"}},
		{Key: "b", Dialect: schema.DialectDomain, Labels: schema.Labels{Difficulty: "hard"}},
		{Key: "c", Dialect: schema.DialectEvalcase, Labels: schema.Labels{Tags: []string{"slow"}}},
		{Key: "d", Dialect: schema.DialectPromptval},
		{Key: "e", Dialect: schema.DialectPromptval},
	}
	for _, tt := range []struct {
		filter CaseFilter
		kept   string
		want   []string
	}{
		{CaseFilter{Difficulties: []string{"hard"}}, "a b", []string{
			"--difficulty leaves out the 1 case of the evalcase format, which does not have a difficulty",
			"--difficulty leaves out the 2 cases of the promptval format, which does not have a difficulty",
		}},
		{CaseFilter{Tags: []string{"slow"}}, "a c", []string{
			"--tag leaves out the 1 case of the domain format, which does not have a tag",
			"--tag leaves out the 2 cases of the promptval format, which does not have a tag",
		}},
		{CaseFilter{Tags: []string{"slow"}, Keys: []string{"a", "c"}}, "a c", nil},
		{CaseFilter{Keys: []string{"d"}}, "d", nil},
		// Without a status a case is active.
		{CaseFilter{Statuses: []string{"draft", "active"}}, "a b c d e", nil},
		{CaseFilter{Statuses: []string{"draft"}}, "a", []string{
			"--status leaves out the 1 case of the domain format, which does not have a status",
			"--status leaves out the 1 case of the evalcase format, which does not have a status",
			"--status leaves out the 2 cases of the promptval format, which does not have a status",
		}},
	} {
		chosen := tt.filter.Choose()
		var kept []string
		for _, c := range mixed {
			if chosen.Func()(c) {
				kept = append(kept, c.Key)
			}
		}
		if got := chosen.Lacking(); strings.Join(kept, " ") != tt.kept || !slices.Equal(got, tt.want) {
			t.Errorf("%+v keeps %q and says %q, want %s and %q", tt.filter, kept, got, tt.kept, tt.want)
		}
	}
}

// TestUnmatchedSaysWhatIsMeant suggests keys for keys and for files.
func TestUnmatchedSaysWhatIsMeant(t *testing.T) {
	chosen := CaseFilter{Keys: []string{"refnds", "refnds.json", "test_definitions/nothing.yaml"}}.Choose()
	admits := chosen.Func()
	for _, tc := range cases {
		admits(tc)
	}
	want := []string{
		"no case has a key like \"refnds\"; did you mean `refunds`?",
		"no case is in the file \"refnds.json\"; did you mean `refunds`?",
		"no case is in the file \"test_definitions/nothing.yaml\"; there are math, refund#tone, refund#window, refunds",
	}
	if got, empty := chosen.Unmatched(everywhere); !slices.Equal(got, want) || empty != nil {
		t.Errorf("the choice says\n%s\nand %q, want\n%s", strings.Join(got, "\n"), empty, strings.Join(want, "\n"))
	}
}

func nowhere(string) bool    { return false }
func everywhere(string) bool { return true }

// TestAPathWithoutCasesIsNotAMistakeNextToOneThatHasSome: a shell names all files of a
// folder, such as that with the fixtures.
func TestAPathWithoutCasesIsNotAMistakeNextToOneThatHasSome(t *testing.T) {
	chosen := CaseFilter{Keys: []string{"test_definitions/refund.yaml", "test_definitions/tools", "reund"}}.Choose()
	admits := chosen.Func()
	for _, tc := range cases {
		admits(tc)
	}
	wrong, empty := chosen.Unmatched(func(glob string) bool { return glob == "test_definitions/tools" })
	if len(wrong) != 1 || !strings.Contains(wrong[0], `"reund"`) || len(empty) != 1 || !strings.Contains(empty[0], `"test_definitions/tools"`) {
		t.Errorf("wrong are %q and empty %q", wrong, empty)
	}
}
