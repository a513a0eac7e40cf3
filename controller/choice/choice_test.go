package choice_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/choice"
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
		chosen := choice.Filter{Keys: []string{c.glob}, Folder: c.folder}.Choose()
		admits, named := chosen.Func(), choice.Named([]string{c.glob}, c.folder)
		var got []string
		for _, kase := range cases {
			if admits(kase) != named(kase) {
				t.Errorf("%s: Named differs for %s", c.glob, kase.Key)
			}
			if named(kase) {
				got = append(got, kase.Key)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s in %q: %v, want %s", c.glob, c.folder, got, c.want)
		}
		if unmatched := chosen.Unmatched(); (len(unmatched) == 0) != (c.want != "") {
			t.Errorf("%s in %q: unmatched: %v", c.glob, c.folder, unmatched)
		}
	}
}

// TestUnmatchedSaysWhatIsMeant suggests keys for keys and for files.
func TestUnmatchedSaysWhatIsMeant(t *testing.T) {
	chosen := choice.Filter{Keys: []string{"refnds", "refnds.json", "test_definitions/nothing.yaml"}}.Choose()
	admits := chosen.Func()
	for _, kase := range cases {
		admits(kase)
	}
	want := []string{
		"no case has a key like \"refnds\"; did you mean `refunds`?",
		"no case is in the file \"refnds.json\"; did you mean `refunds`?",
		"no case is in the file \"test_definitions/nothing.yaml\"; there are math, refund#tone, refund#window, refunds",
	}
	if got := chosen.Unmatched(); !slices.Equal(got, want) {
		t.Errorf("the choice says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
