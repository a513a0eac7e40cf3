package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// tc is a case whose digest depends on its prompt and threshold only.
func tc(key, prompt string, threshold float64) *schema.Case {
	return &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: key, Dialect: schema.DialectDomain, Origin: schema.Position{File: key + ".json", Line: 1},
			Inputs: []schema.Input{{File: key + ".json", Role: "definition"}},
		},
		Drive:  schema.Drive{Messages: []schema.Message{{Role: schema.RoleUser, Content: prompt}}},
		Policy: schema.Policy{Iterations: 1, Timeout: time.Second, MaxToolRounds: 1},
		Evaluators: []schema.Evaluator{{
			Name: "keyword", Weight: 1, Spec: evaluator.Keyword{Keywords: []string{"x"}}, Rule: schema.Rule{Threshold: threshold},
		}},
	}
}

// sideOf is a side with the cases, digested in the environment.
func sideOf(commit string, cases []*schema.Case, env Environment) Side {
	entries := make([]*Entry, len(cases))
	for i, c := range cases {
		entries[i] = NewEntry(c, &env)
	}
	return NewSide(commit, env.DefaultTarget, entries)
}

func skipped(c *schema.Case) *schema.Case {
	c.Skip = "the test is not enabled"
	return c
}

func side(cases ...*schema.Case) Side { return sideOf("c", cases, Environment{Config: "gavel.yaml"}) }

// actions is the plan as key → action, with the old key of a moved case.
func actions(p *Plan) map[string]string {
	out := map[string]string{}
	for _, r := range p.Rows {
		out[r.Key] = string(r.Action)
		if r.MovedFrom != "" {
			out[r.Key] += " from " + r.MovedFrom
		}
		if len(r.Reasons) > 0 {
			out[r.Key] += ": " + r.Reasons[0].Message
		}
	}
	return out
}

// TestEdited names what differs in a case that nothing affects, and says
// nothing of one that is judged anyway.
func TestEdited(t *testing.T) {
	for _, tt := range []struct {
		want string
		edit func(*schema.Case)
	}{
		{"", func(c *schema.Case) { c.Labels.Groups = []string{"other"} }},
		{"name", func(c *schema.Case) { c.Labels.Name = "another" }},
		{"description", func(c *schema.Case) { c.Labels.Description = "another" }},
		{"tags weight", func(c *schema.Case) { c.Labels.Tags, c.Weight = []string{"red-team"}, 2 }},
		{"difficulty", func(c *schema.Case) { c.Labels.Difficulty = "hard" }},
		{"judged again", func(c *schema.Case) { c.Labels.Name, c.Evaluators[0].Rule.Threshold = "another", 0.5 }},
	} {
		head := tc("a", "1", 1)
		tt.edit(head)
		base := side(tc("a", "1", 1))
		row := Compare(&base, side(head), Options{}).Rows[0]
		if tt.want == "judged again" {
			if row.Action != Run || row.Edited != nil {
				t.Errorf("%s, edited %v", row.Action, row.Edited)
			}
			continue
		}
		if got := strings.Join(row.Edited, " "); got != tt.want || row.Action != Reuse || !row.Unaffected() {
			t.Errorf("%s, edited %q, want %q", row.Action, got, tt.want)
		}
	}
}

// TestSeveralTargets holds that a case which is run against several targets has
// a row for each, and that each is compared with its own base.
func TestSeveralTargets(t *testing.T) {
	env := Environment{Targets: map[string]Target{
		"large": {Facts: []Fact{{Name: "model", Value: "l"}}}, "small": {Facts: []Fact{{Name: "model", Value: "s"}}},
	}}
	beside := func(cases ...*schema.Case) Side {
		var all []*schema.Case
		for _, target := range []string{"small", "large"} {
			for _, c := range cases {
				one := *c
				one.Target, one.PerTarget = target, true
				all = append(all, &one)
			}
		}
		return sideOf("c", all, env)
	}
	base := beside(tc("a", "1", 1), tc("b", "1", 1), tc("gone", "1", 1))
	delete(base.Cases, "b\x00large")
	p := Compare(&base, beside(tc("a", "1", 1), tc("b", "2", 1)), Options{})
	var got []string
	for _, r := range p.Rows {
		got = append(got, strings.Join([]string{r.Key, r.Target, string(r.Action)}, " "))
	}
	want := []string{"a large reuse", "a small reuse", "b large run", "b small run", "gone large removed", "gone small removed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p.Rows[2].Base != nil || p.Rows[3].Base == nil {
		t.Error("a case is compared with that of another target")
	}
	if p.Rows[0].HeadDigests.E == p.Rows[1].HeadDigests.E {
		t.Error("two targets have one digest")
	}
}

func TestCompare(t *testing.T) {
	invalid := side(tc("a", "1", 1))
	invalid.Invalid["b.json"] = IsInvalid
	for _, test := range []struct {
		name       string
		base, head Side
		want       map[string]string
	}{
		{"the same", side(tc("a", "1", 1)), side(tc("a", "1", 1)), map[string]string{"a": "reuse"}},
		{"another prompt", side(tc("a", "1", 1)), side(tc("a", "2", 1)), map[string]string{"a": "run: messages changed"}},
		{"another threshold", side(tc("a", "1", 0.7)), side(tc("a", "1", 0.8)), map[string]string{"a": "run: threshold 0.7 → 0.8"}},
		{"new", side(), side(tc("a", "1", 1)), map[string]string{"a": "run: the case is new"}},
		{"removed", side(tc("a", "1", 1)), side(), map[string]string{"a": "removed: the case is gone"}},
		{"moved", side(tc("a", "1", 1)), side(tc("b", "1", 1)), map[string]string{"b": "reuse from a: moved from a"}},
		{"moved and changed", side(tc("a", "1", 1)), side(tc("b", "2", 1)), map[string]string{"a": "removed: the case is gone", "b": "run: the case is new"}},
		{"two that could move", side(tc("a", "1", 1), tc("b", "1", 1)), side(tc("c", "1", 1)), map[string]string{"a": "removed: the case is gone", "b": "removed: the case is gone", "c": "run: the case is new"}},
		{"one to two", side(tc("a", "1", 1)), side(tc("b", "1", 1), tc("c", "1", 1)), map[string]string{"a": "removed: the case is gone", "b": "run: the case is new", "c": "run: the case is new"}},
		{"disabled", side(tc("a", "1", 1)), side(skipped(tc("a", "1", 1))), map[string]string{"a": "skip: the test is not enabled"}},
		{"enabled", side(skipped(tc("a", "1", 1))), side(tc("a", "1", 1)), map[string]string{"a": "run: active again: at base it was skipped (the test is not enabled)"}},
		{"now invalid", side(tc("a", "1", 1), tc("b", "2", 1)), invalid, map[string]string{"a": "reuse", "b": "skip: the definition is invalid"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := actions(Compare(&test.base, test.head, Options{}))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSettleSince holds that without a base a case is compared with its state at its
// last decision.
func TestSettleSince(t *testing.T) {
	was := Digest(tc("a", "1", 0.5), &Environment{}).Parts()
	for i := range was {
		was[i].Files, was[i].Digest = nil, was[i].Digest[:OutlineDigits]
	}
	for _, test := range []struct {
		name  string
		now   *schema.Case
		known Stored
		want  string
	}{
		{"another prompt", tc("a", "2", 0.5), Stored{Last: was}, "run: messages changed in a.json"},
		{"both", tc("a", "2", 0.6), Stored{Last: was}, "run: messages changed in a.json; threshold 0.5 → 0.6 in a.json"},
		{"known and decided again", tc("a", "2", 0.6), Stored{Last: was, Executed: 1, Judged: 1}, "redecide: threshold 0.5 → 0.6 in a.json"},
		{"known and judged again", tc("a", "2", 0.6), Stored{Last: was, Executed: 1}, "rejudge: threshold 0.5 → 0.6 in a.json"},
		{"an older rule", tc("a", "1", 0.5), Stored{Last: was, Executed: 1, Judged: 1}, "redecide: judged before under another rule"},
		{"the same, but too old", tc("a", "1", 0.5), Stored{Last: was}, "run: its verdict is too old"},
		{"what may not be read", tc("a", "2", 0.5), Stored{Last: was, Unread: &Reason{Part: "reuse", File: "gavel.yaml", Message: "reuse is off"}}, "run: reuse is off in gavel.yaml"},
		{"nothing was decided ever", tc("a", "2", 0.5), Stored{}, "run: not judged before"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Compare(nil, sideOf("c", []*schema.Case{test.now}, Environment{}), Options{})
			Settle(p, []Stored{test.known})
			if got := string(p.Rows[0].Action) + ": " + Summarise(p.Rows[0].Reasons); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSettle(t *testing.T) {
	for _, test := range []struct {
		name  string
		known Stored
		want  string
	}{
		{"nothing", Stored{}, "run: not judged before"},
		{"executed", Stored{Executed: 3}, "rejudge: run before, but judged by other evaluators or models"},
		{"judged", Stored{Executed: 3, Judged: 3}, "redecide: judged before under another rule"},
		{"decided", Stored{Executed: 3, Judged: 3, Decided: &verdict.Result{}}, "reuse"},
		{"too few executions", Stored{Executed: 2, Judged: 2}, "run: 2 of 3 samples are stored"},
		{"too few judged", Stored{Executed: 3, Judged: 2}, "rejudge: run before, but judged by other evaluators or models"},
		{"decided is all there", Stored{Decided: &verdict.Result{}}, "reuse"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := tc("a", "1", 1)
			c.Policy.Iterations = 3
			p := Compare(nil, side(c), Options{})
			Settle(p, []Stored{test.known})
			if got := actions(p)["a"]; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDigestsAreNested(t *testing.T) {
	a, b := Digest(tc("a", "1", 0.7), &Environment{}), Digest(tc("b", "1", 0.8), &Environment{})
	if a.E != b.E || a.J != b.J || a.D == b.D {
		t.Errorf("a threshold changes D alone: %v %v %v", a.E == b.E, a.J == b.J, a.D == b.D)
	}
	c := Digest(tc("a", "2", 0.7), &Environment{})
	if a.E == c.E || a.J == c.J || a.D == c.D {
		t.Error("a prompt changes E and with it J and D")
	}
}

// FuzzDigest looks for two cases with one digest, and for panics.
func FuzzDigest(f *testing.F) {
	f.Add("a", "b", "c")
	f.Add("1:", "", "1:1:")
	f.Add("\x00", "\xff", "…")
	// Seeds that another encoding would run together: lengths, quotes, the form of
	// a part, the names of layers, and texts that look alike.
	f.Add("5:hello", "5:hell", "o")
	f.Add(`"}]`, `","role":"system`, `"]`)
	f.Add("execution", "judgement", "decision")
	f.Add("a\n\nb", "a", "\n\nb")
	f.Add("e\u0301", "é", "\u200B")
	f.Add("../../x", "/proc/self/environ", "a\\b")
	f.Add(strings.Repeat("[", 200), strings.Repeat("*a,", 200), "(a+)+$")
	f.Fuzz(func(t *testing.T, prompt, system, keyword string) {
		c, other := tc("a", prompt, 1), tc("a", prompt, 1)
		c.System = system
		c.Evaluators[0].Spec = evaluator.Keyword{Keywords: []string{keyword}}
		other.System = system + keyword
		other.Evaluators[0].Spec = evaluator.Keyword{Keywords: []string{""}}
		if keyword != "" && Digest(c, &Environment{}).D == Digest(other, &Environment{}).D {
			t.Errorf("a keyword that becomes a part of the system prompt gives the same digest")
		}
		env := Environment{}
		if first, second := Digest(c, &env), Digest(c, &env); first != second {
			t.Errorf("one case has two digests: %+v and %+v", first, second)
		}
	})
}
