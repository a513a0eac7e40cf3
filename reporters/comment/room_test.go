package comment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// TestRegressionsOfOneCauseAreAGroup holds that the cause appears once with the number
// of its cases, each of which is named, and that no group hides a case with another
// cause.
func TestRegressionsOfOneCauseAreAGroup(t *testing.T) {
	text := strings.ReplaceAll(Markdown(report.Compare(reporttest.OneCause(23).In), onForge()), "<wbr>", "")
	cause := "rerun: system prompt changed in test_definitions/support/domain.json"
	if strings.Count(text, "| **23&nbsp;cases** | **"+cause+"** |") != 1 || strings.Count(text, cause) != 1 {
		t.Errorf("the cause is not said once:\n%s", text)
	}
	for i := range 23 {
		if link := fmt.Sprintf("[support/3/case_%02d](", i+1); !strings.Contains(text, link) {
			t.Errorf("%s is not named", link)
		}
	}
	if !strings.Contains(text, "<sub>rerun: messages changed</sub>") || strings.Contains(text, "**1&nbsp;case") {
		t.Errorf("a cause of one case is not at its row:\n%s", text)
	}
}

// TestBothReplies holds that the reply at base is next to the one at head, where they
// differ and where it is known.
func TestBothReplies(t *testing.T) {
	both := "| base said | head says |\n|:--|:--|\n| Within 30 days. | Within 60 days &#124; of course. |\n"
	if text := Markdown(report.Compare(reporttest.OneCause(1).In), onForge()); !strings.Contains(text, both) {
		t.Errorf("the replies are not next to each other:\n%s", text)
	}
	same := reporttest.OneCause(1)
	same.In.Base["support/3/case_01"] = same.In.Head["support/3/case_01"]
	if text := Markdown(report.Compare(same.In), onForge()); strings.Contains(text, "base said") {
		t.Errorf("equal replies are shown twice:\n%s", text)
	}
}

// TestThreeFoldsAndOneForTheRest counts the folds that a reader sees at first.
func TestThreeFoldsAndOneForTheRest(t *testing.T) {
	for _, n := range []int{1, 2, 3, 23} {
		text := Markdown(report.Compare(reporttest.OneCause(n).In), onForge())
		depth, outer := 0, 0
		for _, line := range strings.Split(text, "\n") {
			switch {
			case strings.HasPrefix(line, "<details>"):
				if depth == 0 {
					outer++
				}
				depth++
			case line == "</details>":
				depth--
			}
		}
		if want := min(n+1, 4); outer != want { // and one of the groups
			t.Errorf("%d cases: %d folds, want %d:\n%s", n, outer, want, text)
		}
		if got := strings.Count(text, "<details><summary>What happened in <b>support/"); got != n {
			t.Errorf("%d cases: %d are explained", n, got)
		}
	}
	if text := Markdown(report.Compare(reporttest.OneCause(23).In), onForge()); !strings.Contains(text, "<summary>What happened in <b>20 more cases</b> · by domain and level</summary>") {
		t.Errorf("the last fold does not say what is in it:\n%s", text)
	}
}

// TestRoomIsUsed holds in which order things go, and that each goes only if there
// is not enough room for it.
func TestRoomIsUsed(t *testing.T) {
	r := report.Compare(reporttest.ChangedCases(200).In)
	o := onForge()
	o.MaxBytes = 1 << 20
	full := len(Markdown(r, o))
	count := func(limit int) (folds, also, blocking int) {
		o.MaxBytes = limit
		text := Markdown(r, o)
		holds(t, text)
		if len(text) > limit || limit < full && len(text) < limit-3000 {
			t.Errorf("%d of %d bytes are used", len(text), limit)
		}
		return strings.Count(text, "<summary>What happened in <b>domain"), strings.Count(text, "✅ improved"), strings.Count(text, "| ❌")
	}
	for _, tt := range []struct{ limit, folds, also, blocking int }{
		{full, 67, 67, 67},
		{full - 1, 66, 67, 67},
		{56_000, 0, 67, 67},
		{30_000, 0, 13, 67},
		{20_000, 0, 10, 42},
		{5_000, 0, 5, 5},
	} {
		folds, also, blocking := count(tt.limit)
		if folds != tt.folds || also != tt.also || blocking != tt.blocking {
			t.Errorf("%d bytes hold %d folds, %d improvements and %d regressions, want %+v", tt.limit, folds, also, blocking, tt)
		}
	}
}
