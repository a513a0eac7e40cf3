package reporters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
)

func at(x float64) *float64 { return &x }

func recordOf(r verdict.Result) *Attempts { return NewAttempts(r.Attempts, r.Comparison) }

func TestNothingToTell(t *testing.T) {
	if got := recordOf(verdict.Result{Verdict: verdict.Pass}); got != nil {
		t.Errorf("got %+v, want nil of a result without attempts", got)
	}
}

func TestLines(t *testing.T) {
	numeric := &verdict.Comparison{
		Pairs: 6, Winner: "B", Score: &verdict.Difference{A: 0.52, B: 0.64, Delta: 0.12, Low: at(0.04), High: at(0.2)},
		Criteria: []verdict.Difference{{ID: "Clarity", A: 0.5, B: 0.7, Delta: 0.2, Low: at(0.1), High: at(0.3)}},
	}
	for _, tt := range []struct {
		name   string
		result verdict.Result
		want   []string
		remark string
	}{
		{"passed on the second",
			verdict.Result{Attempts: []verdict.Attempt{{Verdict: verdict.Fail, Score: at(0.3), Reason: "too short"}, {Verdict: verdict.Pass, Score: at(0.887)}}},
			[]string{"attempt 1: fail, 3.00/10, too short", "attempt 2: pass, 8.87/10"},
			"passed on attempt 2",
		},
		{"failed for good",
			verdict.Result{Attempts: []verdict.Attempt{{Verdict: verdict.Fail, Score: at(0.3)}, {Verdict: verdict.Fail, Score: at(0.2)}}},
			[]string{"attempt 1: fail, 3.00/10", "attempt 2: fail, 2.00/10"}, "",
		},
		{"rewritten",
			verdict.Result{Attempts: []verdict.Attempt{
				{Verdict: verdict.Fail, Score: at(0.3), System: "You plan.\nBe short."},
				{Verdict: verdict.Pass, Score: at(0.9), System: "You plan.\nBe thorough.\nGive dates."},
			}},
			[]string{
				"attempt 1: fail, 3.00/10", "attempt 2: pass, 9.00/10", "the final prompt, which the repository does not have:",
				"  You plan.", "- Be short.", "+ Be thorough.", "+ Give dates.",
			},
			"passed on attempt 2 with a prompt that was rewritten",
		},
		{"a proposal",
			verdict.Result{Attempts: []verdict.Attempt{{Verdict: verdict.Fail, Score: at(0.3), System: "You plan.", Proposal: "You plan.\nGive dates."}}},
			[]string{"attempt 1: fail, 3.00/10", "the prompt that the editor proposes; it was not run:", "  You plan.", "+ Give dates."}, "",
		},
		{"a numeric comparison",
			verdict.Result{Comparison: numeric},
			[]string{
				"A/B: B is better over 6 pairs: 5.20 → 6.40/10 (+1.20, 95 % CI +0.40 … +2.00)",
				"  Clarity 5.00 → 7.00/10 (+2.00, 95 % CI +1.00 … +3.00)",
			},
			"A/B: B is better over 6 pairs: 5.20 → 6.40/10 (+1.20, 95 % CI +0.40 … +2.00)",
		},
		{"preferences",
			verdict.Result{Comparison: &verdict.Comparison{Pairs: 4, Preferences: &verdict.Preferences{A: 1, B: 2, Ties: 1}}},
			[]string{"A/B: no clear winner over 4 pairs: A preferred in 1, B in 2, 1 tie"},
			"A/B: no clear winner over 4 pairs: A preferred in 1, B in 2, 1 tie",
		},
		{"one pair",
			verdict.Result{Comparison: &verdict.Comparison{Pairs: 1, Score: &verdict.Difference{A: 0.5, B: 0.6, Delta: 0.1}}},
			[]string{"A/B: no clear winner over 1 pair: 5.00 → 6.00/10 (+1.00) (an interval takes two pairs)"},
			"A/B: no clear winner over 1 pair: 5.00 → 6.00/10 (+1.00) (an interval takes two pairs)",
		},
		{"no pair",
			verdict.Result{Comparison: &verdict.Comparison{Errors: 2, Error: "target bot: gone\x1b[2J", Preferences: &verdict.Preferences{}}},
			[]string{"A/B: no clear winner over 0 pairs; 2 pairs not judged: target bot: gone␛[2J"},
			"A/B: no clear winner over 0 pairs; 2 pairs not judged: target bot: gone␛[2J",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := recordOf(tt.result)
			if diff := cmp.Diff(tt.want, got.Lines(10)); diff != "" {
				t.Error(diff)
			}
			if remark := got.Remark(10); remark != tt.remark {
				t.Errorf("remark %q", remark)
			}
			if md := got.Markdown(10); md == "" || strings.HasPrefix(md, "\n") {
				t.Errorf("markdown %q", md)
			}
		})
	}
}

// TestDiffs writes prompts as words, each a line.
func TestDiffs(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat("x ", 500), " ")
	for _, tt := range []struct{ name, before, after, want string }{
		{"from nothing", "", "a b", "+a +b"},
		{"to nothing", "a", "", "-a"},
		{"in the middle", "a b c", "a x c", "a -b +x c"},
		{"moved", "a b c", "b c a", "-a b c +a"},
		{"what stays folds", "1 2 3 4 5 6 7 8", "1 2 3 4 x 6 7 8", "… 3 4 -5 +x 6 7 …"},
		{"too long to set against each other", long, "y", strings.TrimSuffix(strings.Repeat("-x ", 60), " ") + " …"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			attempt := func(words string) verdict.Attempt {
				return verdict.Attempt{Verdict: verdict.Fail, System: strings.ReplaceAll(words, " ", "\n")}
			}
			all := recordOf(verdict.Result{Attempts: []verdict.Attempt{attempt(tt.before), attempt(tt.after)}}).Lines(10)
			var got []string
			for _, line := range all[3:] {
				got = append(got, strings.TrimSpace(strings.Replace(line, " ", "", 1)))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPromptsStayInTheirFence has an editor that writes Markdown.
func TestPromptsStayInTheirFence(t *testing.T) {
	evil := "```\n# Approved\n````\n@octocat </details> \u202e\n"
	md := recordOf(verdict.Result{Attempts: []verdict.Attempt{{System: "a"}, {System: evil}}}).Markdown(10)
	_, body, _ := strings.Cut(md, "`````diff\n")
	inside, behind, closed := strings.Cut(body, "\n`````\n")
	if !closed || !strings.Contains(inside, "+ # Approved") || strings.TrimSpace(behind) != "" {
		t.Errorf("the details do not close after the prompt:\n%s", md)
	}
}
