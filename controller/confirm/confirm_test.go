package confirm_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// letters are verdicts by their first letters.
var letters = map[rune]verdict.Verdict{'p': verdict.Pass, 'b': verdict.Borderline, 'f': verdict.Fail, 'e': verdict.Error}

func outcomes(s string) []confirm.Outcome {
	var list []confirm.Outcome
	for _, r := range s {
		list = append(list, confirm.Outcome{Verdict: letters[r]})
	}
	return list
}

// compared is a case whose base and head had these first outcomes.
func compared(base, head string) confirm.Case {
	return confirm.Case{Base: outcomes(base), Fresh: len(base) == 1, Head: outcomes(head)[0], Weight: 1}
}

// A script answers requests by case and side; its last letter is repeated.
type script map[int][2]string

func (s script) answer(r confirm.Request) confirm.Outcome {
	series := s[r.Case][r.Side]
	if series == "" {
		series = "p"
	}
	return outcomes(series)[min(r.Ordinal, len(series)-1)]
}

// play goes through a procedure and returns its result and what it asked for.
func play(cases []confirm.Case, options confirm.Options, answer func(confirm.Request) confirm.Outcome) (confirm.Result, []confirm.Request) {
	p := confirm.New(cases, options)
	var asked []confirm.Request
	for batch := range p.Batches() {
		for _, r := range batch {
			asked = append(asked, r)
			p.Record(r, answer(r))
		}
	}
	return p.Result(), asked
}

var unbounded = confirm.Options{Budget: -1}

func TestClasses(t *testing.T) {
	gone, certain, required := compared("p", "f"), compared("p", "f"), compared("p", "f")
	gone.Gone, certain.Certain, required.Required = true, true, true
	for _, tt := range []struct {
		name         string
		c            confirm.Case
		base, head   string
		class        confirm.Class
		sentence     string
		undetermined bool
	}{
		{"unchanged", compared("p", "p"), "", "", confirm.Unchanged, "", false},
		{"fails on both sides", compared("f", "f"), "", "", confirm.Unchanged, "", false},
		{"improvement", compared("f", "p"), "", "", confirm.Improvement, "better in one run a side", false},
		{"error at head", compared("p", "e"), "", "", confirm.Error, "", true},
		{"error at base", compared("e", "f"), "", "", confirm.Error, "", true},
		{"deterministic", certain, "", "", confirm.Regression, "failed; nothing in this case is left to chance", false},
		{"regression", compared("p", "f"), "p", "f", confirm.Regression, "failed in 4 of 4 reruns here, passed 4 of 4 at base (p = 0.01 after all looks)", false},
		{"with a pass", compared("p", "f"), "p", "fpf", confirm.Regression, "failed in 4 of 5 reruns here, passed 5 of 5 at base (p = 0.03 after all looks)", false},
		{"noise", compared("p", "f"), "p", "p", confirm.Flaky, "failed once, then passed 5 of 5 reruns: as likely noise", false},
		{"base fails, too", compared("p", "f"), "f", "f", confirm.Flaky, "failed, and again in 4 of 4 reruns here, and failed 4 of 4 at base: base is no better", false},
		{"base fails at times", compared("p", "f"), "pfp", "fpp", confirm.Flaky, "failed, then passed 4 of 5 reruns, and failed 1 of 5 at base: as likely noise", false},
		// Fisher's test of 12 of 12 against 8 of 12 is 495/10626 = 0.047. At these rates the first up to 0.04 is
		// 14 of 14 against 9 of 14, 2002/98280 = 0.02; 13 of 13 against 9 of 13 is 715/14950 = 0.048.
		{"too few to call", compared("p", "f"), "p", "fpppfppfppfp", confirm.Unclear, "passed 12 of 12 at base, 8 of 12 here: too few to call; about 2 more reruns a side would settle it", false},
		{"too few to call, required", required, "p", "fpppfppfppfp", confirm.Unclear, "passed 12 of 12 at base, 8 of 12 here: too few to call; about 2 more reruns a side would settle it", true},
		{"required, not settled", required, "f", "f", confirm.Unclear, "failed, and again in 4 of 4 reruns here, passed 0 of 4 at base", true},
		{"required, noise", required, "p", "p", confirm.Flaky, "failed once, then passed 5 of 5 reruns: as likely noise", false},
		{"borderline", compared("p", "b"), "p", "b", confirm.Regression, "was worse than base in 4 of 4 reruns here, passed 4 of 4 at base (p = 0.01 after all looks)", false},
		{"as good as base", compared("b", "f"), "b", "b", confirm.Flaky, "was worse than base once, then passed 5 of 5 reruns: as likely noise", false},
		{"base cannot be run", gone, "", "f", confirm.Regression, "failed in 5 of 5 reruns here against a stored pass; base not measured again", false},
		{"nor is head steady", gone, "", "fffp", confirm.Unclear, "failed, then passed 1 of 4 reruns here; base not measured again", true},
		{"one of five", gone, "", "ffpf", confirm.Unclear, "failed, then passed 1 of 4 reruns here; base not measured again", true},
		{"two of five", gone, "", "pfpff", confirm.Unclear, "failed, then passed 2 of 5 reruns here; base not measured again", true},
		{"head is steady most of the time", gone, "", "pfpfp", confirm.Flaky, "failed, then passed 3 of 5 reruns: as likely noise; base not measured again", false},
		{"head is steady", gone, "", "p", confirm.Flaky, "failed once, then passed 3 of 3 reruns: as likely noise; base not measured again", false},
		{"noise with a fail", compared("p", "f"), "p", "fppppppp", confirm.Flaky, "failed, then passed 6 of 7 reruns: as likely noise", false},
		{"provider is down", compared("p", "f"), "p", "fe", confirm.Error, "", true},
		{"provider was down", compared("p", "f"), "p", "eef", confirm.Error, "", true},
		{"history, regression", compared("pppppppppp", "f"), "p", "f", confirm.Regression, "failed in 4 of 4 reruns here, passed 4 of 4 at base (p = 0.02 after all looks)", false},
		{"history, noise", compared("pppppppppp", "f"), "p", "p", confirm.Flaky, "failed once, then passed 5 of 5 reruns: as likely noise", false},
		{"history of fails", compared("fffffp", "f"), "p", "f", confirm.Flaky, "failed once; base is not steady enough to tell", false},
		{"short history of fails", compared("ffp", "f"), "p", "f", confirm.Regression, "failed in 4 of 4 reruns here, passed 4 of 4 at base (p = 0.01 after all looks)", false},
		{"new", compared("", "p"), "", "", confirm.Added, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, asked := play([]confirm.Case{tt.c}, unbounded, script{0: {tt.base, tt.head}}.answer)
			f := res.Findings[0]
			if f.Class != tt.class || f.Sentence() != tt.sentence || f.Undetermined() != tt.undetermined {
				t.Errorf("%s, %q, undetermined %v; want %s, %q, %v after %v", f.Class, f.Sentence(), f.Undetermined(), tt.class, tt.sentence, tt.undetermined, asked)
			}
			if !res.Complete || res.Called() != (tt.class == confirm.Regression) {
				t.Errorf("the result is %+v, want it complete, and called only for a regression", res)
			}
		})
	}
}

// TestNamesByTheEvidence: a case that is not called is unclear where both sides being alike
// would seldom look as it does, and flaky everywhere else. Fisher's test is counted here by
// all ways to deal the passes out.
func TestNamesByTheEvidence(t *testing.T) {
	seen := map[confirm.Class]int{}
	for n := range 3000 {
		r := rand.New(rand.NewPCG(3, uint64(n)))
		cases := make([]confirm.Case, 1+r.IntN(3))
		q := make([][2]float64, len(cases))
		for i := range cases {
			cases[i] = compared("p", "f")
			q[i] = [2]float64{.7 + .3*r.Float64(), r.Float64()}
		}
		res, _ := play(cases, unbounded, func(request confirm.Request) confirm.Outcome {
			if r.Float64() < q[request.Case][request.Side] {
				return confirm.Outcome{Verdict: verdict.Pass}
			}
			return confirm.Outcome{Verdict: verdict.Fail}
		})
		for _, f := range res.Findings {
			if f.Class != confirm.Flaky && f.Class != confirm.Unclear {
				continue
			}
			seen[f.Class]++
			if alike := tail(f.Base, f.Head) > 0.1+1e-9; alike != (f.Class == confirm.Flaky) {
				t.Errorf("%v at base and %v at head is %s", f.Base, f.Head, f.Class)
			}
		}
	}
	if seen[confirm.Flaky] < 100 || seen[confirm.Unclear] < 100 {
		t.Errorf("only %v", seen)
	}
}

// tail is the chance that head passes at most as often as it did, if the passes of both
// were dealt out by chance.
func tail(base, head stats.Count) float64 {
	ways := func(n, k int) *big.Int { return new(big.Int).Binomial(int64(n), int64(k)) }
	passed, few := base.Passed+head.Passed, new(big.Int)
	for x := range head.Passed + 1 {
		if passed-x <= base.Of {
			few.Add(few, new(big.Int).Mul(ways(head.Of, x), ways(base.Of, passed-x)))
		}
	}
	share, _ := new(big.Rat).SetFrac(few, ways(base.Of+head.Of, passed)).Float64()
	return share
}

// TestWordsAgree: where the cases got worse on the whole, no row says that it is noise and
// nothing else.
func TestWordsAgree(t *testing.T) {
	cases := make([]confirm.Case, 12)
	for i := range cases {
		cases[i] = compared("p", "f")
	}
	res, _ := play(cases, unbounded, func(confirm.Request) confirm.Outcome { return confirm.Outcome{Verdict: verdict.Pass} })
	if !res.Mean.Called { // 2⁻¹² with nothing better
		t.Fatalf("the mean is %+v", res.Mean)
	}
	for _, f := range res.Findings {
		if s := f.Sentence(); f.Class != confirm.Flaky || !strings.HasSuffix(s, ": alone as likely noise, but the cases got worse on the whole") {
			t.Errorf("%s: %q", f.Class, s)
		}
	}
}

// TestNewCases: the rule of a team is decided with as few runs as it can be.
func TestNewCases(t *testing.T) {
	for _, tt := range []struct {
		first, then string
		rule        confirm.Rule
		held        bool
		asked       int
	}{
		{"p", "", confirm.Rule{}, true, 0},
		{"b", "", confirm.Rule{}, true, 0},
		{"f", "", confirm.Rule{}, false, 0},
		{"p", "ppp", confirm.Rule{Runs: 5, Pass: 4}, true, 3},
		{"p", "pfpp", confirm.Rule{Runs: 5, Pass: 4}, true, 4},
		{"f", "f", confirm.Rule{Runs: 5, Pass: 4}, false, 1},
		{"f", "pppp", confirm.Rule{Runs: 5, Pass: 4}, true, 4},
		{"p", "ff", confirm.Rule{Runs: 5, Pass: 4}, false, 2},
	} {
		res, asked := play([]confirm.Case{compared("", tt.first)}, confirm.Options{Budget: -1, New: tt.rule}, script{0: {"", tt.then}}.answer)
		if f := res.Findings[0]; f.Class != confirm.Added || f.Held != tt.held || f.Open || len(asked) != tt.asked {
			t.Errorf("%s then %s by %v: %+v after %d", tt.first, tt.then, tt.rule, f, len(asked))
		}
	}
}

// TestOneOfThree: only what fails three times of three fails, and further runs follow a
// fail alone. A required case that base fails as well has the same rule, and has to pass.
func TestOneOfThree(t *testing.T) {
	rule := confirm.Options{Budget: -1, New: confirm.Rule{Runs: 3, Pass: 1}}
	for _, tt := range []struct {
		name, base, first, then string
		required, held          bool
		asked                   int
		sentence                string
	}{
		{"passes", "", "p", "", false, true, 0, ""},
		{"passes the second time", "", "f", "p", false, true, 1, "passed 1 of 2: flaky"},
		{"passes the third time", "", "f", "fp", false, true, 2, "passed 1 of 3: flaky"},
		{"never passes", "", "f", "ff", false, false, 2, "passed 0 of 3"},
		{"borderline", "", "b", "", false, true, 0, ""},
		{"required, borderline", "", "b", "bb", true, false, 2, "passed 0 of 3"},
		{"required, base fails", "f", "f", "fp", true, true, 2, "passed 1 of 3: flaky"},
		{"required, never passes", "f", "f", "ff", true, false, 2, "passed 0 of 3"},
		{"required, got better and does not pass", "f", "b", "p", true, true, 1, "passed 1 of 2: flaky"},
		{"base fails", "f", "f", "", false, false, 0, ""},
	} {
		c := compared(tt.base, tt.first)
		c.Required = tt.required
		res, asked := play([]confirm.Case{c}, rule, script{0: {"", tt.then}}.answer)
		f := res.Findings[0]
		if f.Held != tt.held || f.Open || len(asked) != tt.asked || f.Undetermined() {
			t.Errorf("%s: %+v after %v, want held %v after %d", tt.name, f, asked, tt.held, tt.asked)
		}
		if s := f.Sentence(); s != tt.sentence && f.Class != confirm.Unchanged || f.Class == confirm.Unchanged && tt.required && s != tt.sentence {
			t.Errorf("%s: %q, want %q", tt.name, s, tt.sentence)
		}
	}
}

// TestImprovementsAreConfirmedOnDemand: nothing is measured for them otherwise.
func TestImprovementsAreConfirmedOnDemand(t *testing.T) {
	cases, fixed := []confirm.Case{compared("f", "p")}, script{0: {"f", "p"}}
	if res, asked := play(cases, unbounded, fixed.answer); len(asked) != 0 || res.Findings[0].Confirmed {
		t.Errorf("%+v after %v", res, asked)
	}
	options := confirm.Options{Budget: -1, Improvements: true}
	res, _ := play(cases, options, fixed.answer)
	if f := res.Findings[0]; !f.Confirmed || f.Class != confirm.Improvement || f.Sentence() != "passed 4 of 4 reruns here, failed 4 of 4 at base (p = 0.01 after all looks)" {
		t.Errorf("the finding is %+v: %s, want a confirmed improvement of 4 of 4 against 0 of 4", f, f.Sentence())
	}
	res, _ = play(cases, options, script{0: {"p", "p"}}.answer)
	if f := res.Findings[0]; f.Confirmed || res.Undetermined() {
		t.Errorf("the finding is %+v, want it unconfirmed, and nothing undetermined", f)
	}
}

// TestPairsAlternate: what calls is measured in pairs, head before base, and base
// is never measured without need.
func TestPairsAlternate(t *testing.T) {
	_, asked := play([]confirm.Case{compared("p", "f")}, unbounded, script{0: {"p", "f"}}.answer)
	for i, r := range asked {
		if want := (confirm.Request{Side: []confirm.Side{confirm.Head, confirm.Base}[i%2], Ordinal: i / 2}); r != want {
			t.Errorf("request %d is %v, want %v", i, r, want)
		}
	}
	// With a history of 20, two reruns at head open the gate, and four pairs call.
	_, asked = play([]confirm.Case{compared(strings.Repeat("p", 20), "f")}, unbounded, script{0: {"p", "f"}}.answer)
	heads := 0
	for _, r := range asked {
		heads += int(r.Side)
	}
	if heads != 6 || len(asked) != 10 {
		t.Errorf("%d requests, %d of them at head: %v", len(asked), heads, asked)
	}
}

// TestRequiredFirst: with a budget for one case, it is the required one.
func TestRequiredFirst(t *testing.T) {
	cases := []confirm.Case{compared("p", "f"), compared("p", "f"), compared("p", "f")}
	cases[2].Required = true
	res, asked := play(cases, confirm.Options{Budget: 10, Width: 1}, script{0: {"p", "f"}, 1: {"p", "f"}, 2: {"p", "f"}}.answer)
	if asked[0].Case != 2 || res.Findings[2].Class != confirm.Regression || !res.Findings[0].Open || !res.Exhausted || !res.Undetermined() {
		t.Errorf("%+v after %v", res, asked)
	}
}

// TestFlakyLast: a case that history knows as flaky is measured after the others, although it
// fails each time and they pass, and is called all the same.
func TestFlakyLast(t *testing.T) {
	cases := []confirm.Case{compared("ppfpppfppp", "f"), compared("pppppppppp", "f"), compared("pppppppppp", "f")}
	res, asked := play(cases, confirm.Options{Budget: -1, Width: 1}, script{0: {"p", "f"}, 1: {"p", "fffp"}}.answer)
	first := slices.IndexFunc(asked, func(r confirm.Request) bool { return r.Case == 0 })
	if i := slices.IndexFunc(asked[first:], func(r confirm.Request) bool { return r.Case != 0 }); first <= 0 || i >= 0 {
		t.Errorf("asked is %v, want case 0 after the others", asked)
	}
	if res.Findings[0].Class != confirm.Regression || res.Findings[1].Class == confirm.Regression || res.Findings[2].Class != confirm.Flaky {
		t.Errorf("the findings are %+v, want a regression of case 0 alone", res.Findings)
	}
}

// noon is when the first outcomes of tests of outages are measured.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// struck are n cases, one a second on both sides. The first ones have an error at head,
// and the others the outcomes of the letters.
func struck(errors int, heads string) []confirm.Case {
	var cases []confirm.Case
	for i := range errors + len(heads) {
		c := compared("p", "e")
		c.Head.Symptom = "overloaded"
		if i >= errors {
			c = compared("p", heads[i-errors:i-errors+1])
		}
		at := noon.Add(time.Duration(i) * time.Second)
		c.Head.Source, c.Head.At = "bot", at
		c.Base[0].Source, c.Base[0].At = "bot", at
		cases = append(cases, c)
	}
	return cases
}

// TestOutage: in a window with errors everything is measured again, on both sides and whatever
// it showed, once. Judged outcomes never indicate an outage, whatever their text.
func TestOutage(t *testing.T) {
	up := func(confirm.Request) confirm.Outcome { return confirm.Outcome{Verdict: verdict.Pass} }
	// The errors are at 0 to 5 and at 8, so that what passed and failed at 6 and 7 is within. They
	// are 8/6 s apart, and the others more than three times that after the last.
	cases := struck(6, "pfepf")
	cases[8].Head.Symptom = "overloaded"
	for i := range cases[9:] {
		at := noon.Add(12100*time.Millisecond + time.Duration(i)*time.Second)
		cases[9+i].Head.At, cases[9+i].Base[0].At = at, at
	}
	res, asked := play(cases, unbounded, up)
	want := confirm.Outage{From: noon, To: noon.Add(8 * time.Second), Cases: 9}
	if diff := cmp.Diff([]confirm.Outage{want}, res.Outages); diff != "" || res.Retaken != 18 {
		t.Errorf("%d are taken again, want 18 (-want +got):\n%s", res.Retaken, diff)
	}
	count := map[confirm.Request]int{}
	for _, r := range asked {
		count[r]++
	}
	for i := range 9 {
		f := res.Findings[i]
		if f.Class != confirm.Unchanged || !f.Retaken[confirm.Head] || !f.Retaken[confirm.Base] {
			t.Errorf("case %d of the window: %+v", i, f)
		}
	}
	for r, n := range count {
		if n > 1 {
			t.Errorf("%v was asked for %d times", r, n)
		}
	}
	if f := res.Findings[9]; f.Retaken[confirm.Head] || f.Class != confirm.Unchanged {
		t.Errorf("a case after the window: %+v", f)
	}
	if f := res.Findings[10]; f.Retaken[confirm.Head] || f.Class != confirm.Flaky {
		t.Errorf("a fail after the window: %+v", f)
	}
	// Those that passed may fail now.
	res, _ = play(struck(6, "pp"), unbounded, func(r confirm.Request) confirm.Outcome {
		if r.Case == 3 && r.Side == confirm.Head {
			return confirm.Outcome{Verdict: verdict.Fail}
		}
		return up(r)
	})
	if f := res.Findings[3]; f.Class != confirm.Regression {
		t.Errorf("a case that fails after the outage: %+v", f)
	}
}

// TestAnOutageOfAnEarlierRun: errors whose place later outcomes took still tell the window,
// and what else was measured in it is measured again. They are not measured again themselves.
func TestAnOutageOfAnEarlierRun(t *testing.T) {
	up := func(confirm.Request) confirm.Outcome { return confirm.Outcome{Verdict: verdict.Pass} }
	later := func(cases []confirm.Case, n int) []confirm.Case {
		for i := range n {
			c := &cases[i]
			failed := c.Head
			c.Failures[confirm.Head] = []confirm.Outcome{failed}
			c.Head = confirm.Outcome{Verdict: verdict.Pass, Source: "bot", At: noon.Add(time.Hour)}
			c.Base[0].At = noon.Add(time.Hour)
		}
		return cases
	}
	res, asked := play(later(struck(6, "pp"), 6), unbounded, up)
	want := confirm.Outage{From: noon, To: noon.Add(5 * time.Second), Cases: 2}
	if diff := cmp.Diff([]confirm.Outage{want}, res.Outages); diff != "" || res.Retaken != 4 {
		t.Errorf("%d are taken again, want 4 (-want +got):\n%s", res.Retaken, diff)
	}
	for _, r := range asked {
		if r.Case < 6 {
			t.Errorf("case %d is measured again", r.Case)
		}
	}
	// Some of them end in the error again.
	res, _ = play(later(struck(6, "pp"), 4), unbounded, up)
	want.Cases = 4
	if diff := cmp.Diff([]confirm.Outage{want}, res.Outages); diff != "" || res.Retaken != 8 {
		t.Errorf("%d are taken again, want 8 (-want +got):\n%s", res.Retaken, diff)
	}
	for name, cases := range map[string][]confirm.Case{"few": later(struck(4, "pf"), 4), "nothing else": later(struck(6, ""), 6)} {
		if res, _ := play(cases, unbounded, up); len(res.Outages) > 0 || res.Retaken > 0 {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// TestNoOutage: repeated errors, few errors, errors that are far apart, and errors among
// many judgements are not an outage, nor are replies that fail with one text.
func TestNoOutage(t *testing.T) {
	down := func(r confirm.Request) confirm.Outcome {
		if r.Side == confirm.Head {
			return confirm.Outcome{Verdict: verdict.Error}
		}
		return confirm.Outcome{Verdict: verdict.Pass}
	}
	if res, _ := play(struck(8, "p"), unbounded, down); len(res.Outages) > 0 || res.Findings[7].Class != confirm.Error || res.Findings[8].Retaken[confirm.Head] {
		t.Errorf("errors that come again: %+v", res)
	}
	up := func(confirm.Request) confirm.Outcome { return confirm.Outcome{Verdict: verdict.Pass} }
	far := struck(8, "")
	for i := range far {
		far[i].Head.At = noon.Add(time.Duration(i) * time.Minute)
	}
	alike := struck(0, "ffffffff")
	for i := range alike {
		alike[i].Head.Symptom = "I cannot help with that."
	}
	among := struck(0, strings.Repeat("p", 60))
	for i := 0; i < 60; i += 14 { // 5 of 114 measurements
		among[i].Head.Verdict, among[i].Head.Symptom = verdict.Error, "overloaded"
	}
	for name, cases := range map[string][]confirm.Case{"few": struck(4, "pf"), "far": far, "among many": among, "alike": alike} {
		if res, _ := play(cases, unbounded, up); len(res.Outages) > 0 || res.Retaken > 0 {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// TestOutageBeyondTheBudget leaves the gate undetermined, and no case of the window is green
// by what it showed before.
func TestOutageBeyondTheBudget(t *testing.T) {
	up := func(confirm.Request) confirm.Outcome { return confirm.Outcome{Verdict: verdict.Pass} }
	cases := struck(6, "ppep")
	cases[8].Head.Symptom = "overloaded"
	cases[9].Head.At, cases[9].Base[0].At = noon.Add(time.Minute), noon.Add(time.Minute)
	res, _ := play(cases, confirm.Options{Budget: 12}, up)
	for i, f := range res.Findings {
		if undetermined := i < 9; f.Undetermined() != undetermined {
			t.Errorf("case %d: undetermined %v, %+v", i, f.Undetermined(), f)
		}
	}
	if !res.Undetermined() || !res.Exhausted {
		t.Errorf("%+v", res)
	}
}

// TestErrorsGetTheirTries: a first outcome that is an error which may not come again is
// measured up to three times more, and others are not.
func TestErrorsGetTheirTries(t *testing.T) {
	for _, tt := range []struct {
		name       string
		retry      bool
		base, head string
		class      confirm.Class
		asked      int
	}{
		{"passes", true, "p", "p", confirm.Unchanged, 1},
		{"the third time", true, "p", "eep", confirm.Unchanged, 3},
		{"never", true, "p", "eee", confirm.Error, 3},
		{"fails, and is measured again", true, "p", "f", confirm.Regression, 9},
		{"not worth it", false, "p", "p", confirm.Error, 0},
	} {
		c := compared("p", "e")
		c.Head.Retry = tt.retry
		n := 0
		res, asked := play([]confirm.Case{c}, unbounded, func(r confirm.Request) confirm.Outcome {
			if r.Side == confirm.Base {
				return outcomes(tt.base)[0]
			}
			n++
			return outcomes(tt.head)[min(n, len(tt.head))-1]
		})
		if f := res.Findings[0]; f.Class != tt.class || len(asked) != tt.asked || f.Retaken[confirm.Head] != (tt.asked > 0) {
			t.Errorf("%s: %+v after %v, want %s after %d", tt.name, f, asked, tt.class, tt.asked)
		}
	}
}

// TestMean: many cases fall a little, none enough to be called.
func TestMean(t *testing.T) {
	var fresh, stored []confirm.Case
	for range 12 {
		fresh, stored = append(fresh, compared("p", "f")), append(stored, compared("pppppp", "f"))
	}
	passes := func(r confirm.Request) confirm.Outcome { return confirm.Outcome{Verdict: verdict.Pass} }
	res, _ := play(fresh, unbounded, passes)
	if m := res.Mean; m.State != confirm.MeanTested || !m.Called || m.Worse != 12 || m.Better != 0 || m.P != 1./4096 {
		t.Errorf("fresh base: %+v", m)
	}
	// Seven have 1/128, which is within the share of the mean, but not if scores have half of it.
	for _, scores := range []bool{false, true} {
		res, _ = play(fresh[:7], confirm.Options{Budget: -1, Scores: scores}, passes)
		if m := res.Mean; m.Called == scores || m.P != 1./128 {
			t.Errorf("seven, scores fail %v: %+v", scores, m)
		}
	}
	// Accepted cases prove nothing against a head, and stop nothing either.
	accepted := slices.Clone(fresh)
	for i := range accepted[:6] {
		accepted[i].Accepted = true
	}
	res, _ = play(accepted, unbounded, passes)
	if m := res.Mean; m.State != confirm.MeanTested || m.Called || m.Worse != 6 || m.P != 1./64 {
		t.Errorf("six of twelve accepted: %+v", m)
	}
	res, asked := play(stored, unbounded, passes)
	if m := res.Mean; m.State != confirm.MeanQuiet || m.Called || m.P != 1 {
		t.Errorf("a bad hour against stored base: %+v", m)
	}
	// The reruns of the cases pass as before, and then those of the mean's rounds fail,
	// one of which was requested for a case.
	reruns := slices.MaxFunc(asked, func(a, b confirm.Request) int { return a.Ordinal - b.Ordinal }).Ordinal
	rounds := func(r confirm.Request) confirm.Outcome {
		if r.Side == confirm.Head && r.Ordinal >= reruns {
			return confirm.Outcome{Verdict: verdict.Fail}
		}
		return passes(r)
	}
	res, _ = play(stored, unbounded, rounds)
	if m := res.Mean; m.State != confirm.MeanTested || !m.Called || m.Worse != 12 || res.Stale {
		t.Errorf("worse in fresh rounds: %+v", m)
	}
	broken := append(slices.Clone(stored), compared("pppppp", "f"))
	broken[12].Accepted = true
	res, _ = play(broken, unbounded, func(r confirm.Request) confirm.Outcome {
		if r.Case == 12 && r.Side == confirm.Head {
			return confirm.Outcome{Verdict: verdict.Fail}
		}
		return rounds(r)
	})
	if m := res.Mean; res.Findings[12].Class != confirm.Regression || m.State != confirm.MeanTested || !m.Called || m.Worse != 12 {
		t.Errorf("worse in fresh rounds, next to an accepted regression: %+v, %+v", res.Findings[12], m)
	}
	res, _ = play(stored, confirm.Options{Budget: len(asked) - 1}, rounds)
	if m := res.Mean; m.State != confirm.MeanOpen || m.Called || !res.Undetermined() {
		t.Errorf("without the budget for it: %+v", m)
	}
	// Turns of two conversations are two things that got worse, not twelve.
	for i := range fresh {
		fresh[i].Conversation = []string{"a", "b"}[i%2]
	}
	res, _ = play(fresh, unbounded, passes)
	if m := res.Mean; m.Called || m.Worse != 2 || m.P != .25 {
		t.Errorf("two conversations: %+v", m)
	}
}

// TestStale: base that fails today and always passed before counts as changed.
func TestStale(t *testing.T) {
	var cases []confirm.Case
	for range 12 {
		cases = append(cases, compared("pppppp", "f"))
	}
	res, _ := play(cases, unbounded, func(r confirm.Request) confirm.Outcome { return confirm.Outcome{Verdict: verdict.Fail} })
	if !res.Stale || res.Called() {
		t.Errorf("the result is %+v, want it stale and not called", res)
	}
}

// TestInterval takes the first pair of each case, whatever the reruns show.
func TestInterval(t *testing.T) {
	score := func(v float64) *float64 { return &v }
	cases := []confirm.Case{compared("p", "f"), compared("p", "p"), compared("p", "p"), compared("p", "e"), compared("", "p")}
	for i, s := range [][2]float64{{.9, .1}, {.9, .8}, {.9, .9}} {
		cases[i].Base[0].Score, cases[i].Head.Score = score(s[0]), score(s[1])
	}
	res, _ := play(cases, unbounded, script{}.answer)
	want, _ := stats.Paired([]float64{-.8, -.1, 0}, 0)
	if diff := cmp.Diff(want.Low, res.Interval.Low, approximately); diff != "" {
		t.Errorf("%+v, want %+v", res.Interval, want)
	}
	if res, _ := play(cases[3:], unbounded, script{}.answer); res.Interval != nil {
		t.Errorf("of nothing: %+v", res.Interval)
	}
}

var approximately = cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })

// TestNobodyMeasures: a loop that records nothing ends.
func TestNobodyMeasures(t *testing.T) {
	p := confirm.New([]confirm.Case{compared("p", "f")}, unbounded)
	n := 0
	for range p.Batches() {
		n++
	}
	if res := p.Result(); n != 1 || res.Complete || !res.Undetermined() || res.Findings[0].Sentence() != "failed once; it was not rerun" {
		t.Errorf("%d batches, %+v", n, res)
	}
}

// FuzzProcedure gives arbitrary answers about arbitrary cases: the procedure ends,
// asks for each measurement of a case and side in turn, and calls nothing of which
// head did not fail more often than base.
func FuzzProcedure(f *testing.F) {
	f.Add([]byte{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, 20)
	f.Add([]byte{0, 255, 17, 80, 33, 12, 240, 7, 99, 128}, -1)
	f.Fuzz(func(t *testing.T, data []byte, budget int) {
		if len(data) == 0 {
			return
		}
		i := 0
		next := func(n int) int { i++; return (int(data[i%len(data)]) + i/len(data)) % n }
		letter := func() string { return []string{"p", "p", "f", "b", "f", "e"}[next(6)] }
		var cases []confirm.Case
		for range min(12, len(data)/3) {
			base := ""
			for range next(8) {
				base += letter()
			}
			c := compared(base, letter())
			c.Certain, c.Gone, c.Required = next(9) == 0, next(9) == 0, next(5) == 0
			c.Conversation = []string{"", "", "a"}[next(3)]
			c.Head.Symptom = []string{"", "down"}[next(2)]
			cases = append(cases, c)
		}
		asked := map[confirm.Request]bool{}
		counts := map[[2]int]int{}
		options := confirm.Options{Budget: budget, Looks: 1 + next(8), Improvements: next(2) == 0, New: confirm.Rule{Runs: 3, Pass: 2}}
		res, _ := play(cases, options, func(r confirm.Request) confirm.Outcome {
			key := [2]int{r.Case, int(r.Side)}
			if !asked[r] {
				if r.Ordinal != counts[key] {
					t.Fatalf("%v comes after %d", r, counts[key])
				}
				counts[key]++
			}
			asked[r] = true
			return outcomes(letter())[0]
		})
		if !res.Complete && !res.Exhausted || budget >= 0 && len(asked) > budget {
			t.Fatalf("%d measurements with a budget of %d: %+v", len(asked), budget, res)
		}
		for i, f := range res.Findings {
			if f.Class == confirm.Regression && !f.Certain && !f.Gone && f.Head.Rate() >= f.Base.Rate() {
				t.Fatalf("case %d: %+v", i, f)
			}
		}
	})
}

// TestPValues in the published tables: fresh pairs begin their own test, of 12 looks
// without a history and of 16 if a history chose the case.
func TestPValues(t *testing.T) {
	for _, tt := range []struct {
		base, head string
		then       string // at head
		want       float64
		reruns     int
	}{
		{"p", "f", "f", .0145868, 4},
		{"pppppppppp", "f", "f", .0196341, 4},
		{"ppppp", "f", "f", .0196341, 4},
	} {
		res, _ := play([]confirm.Case{compared(tt.base, tt.head)}, unbounded, script{0: {"p", tt.then}}.answer)
		f := res.Findings[0]
		if diff := f.P - tt.want; f.Class != confirm.Regression || f.Head.Of != tt.reruns || diff > 1e-6 || diff < -1e-6 {
			t.Errorf("base %s: %s after %d fresh pairs with p = %.7f, want %.7f after %d", tt.base, f.Class, f.Head.Of, f.P, tt.want, tt.reruns)
		}
	}
}

// scored is a case whose verdict is a pass on both sides.
func scored(base, head float64) confirm.Case {
	c := compared("p", "p")
	c.Base[0].Score, c.Head.Score = &base, &head
	return c
}

// TestScores: the scores may fall for certain and no verdict change. Each sign flips with a
// chance of a half, so that eight falls of which seven are alike and one is none have 1/128.
func TestScores(t *testing.T) {
	falls := func(n int, by float64) []confirm.Case {
		var cases []confirm.Case
		for range n {
			cases = append(cases, scored(.9, .9-by))
		}
		return cases
	}
	together := falls(20, .1)
	for i := range together {
		together[i].Conversation = string(rune('a' + i/4))
	}
	heavy := append(falls(7, .1), scored(.9, .7))
	heavy[7].Weight = 3
	without := make([]confirm.Case, 10)
	for i := range without {
		without[i] = compared("p", "p")
	}
	for _, tt := range []struct {
		name    string
		cases   []confirm.Case
		options confirm.Options
		p, fall float64
		called  bool
	}{
		{"seven of eight", append(falls(7, .1), scored(.9, .9)), unbounded, 1. / 128, .7 / 8, false},
		{"eight", falls(8, .1), unbounded, 1. / 256, .1, true},
		{"eight that count", falls(8, .1), confirm.Options{Budget: -1, Scores: true}, 1. / 256, .1, true},
		{"they rise", falls(8, -.1), unbounded, 1, -.1, false},
		{"conversations of four", together, unbounded, 1. / 32, .1, false},
		// Two of the 16 ways to sign 1, 2, 3 and 4 have a sum of at most −8: −10 and −8.
		{"of many sizes", []confirm.Case{scored(.5, .6), scored(.5, .3), scored(.5, .2), scored(.5, .1)}, unbounded, 2. / 16, .2, false},
		{"of weight 3", heavy, unbounded, 1. / 256, (3*.2 + 7*.1) / 10, true},
		{"no scores", without, unbounded, 1, 0, false},
	} {
		res, asked := play(tt.cases, tt.options, nil)
		s := res.Scores
		if s.State != confirm.MeanTested || s.Called != tt.called || math.Abs(s.P-tt.p) > 1e-9 || math.Abs(s.Fall-tt.fall) > 1e-9 || len(asked) > 0 {
			t.Errorf("%s: %+v after %v; want called %v, p %v, a fall of %v", tt.name, s, asked, tt.called, tt.p, tt.fall)
		}
		if res.Mean.Called || res.Called() != (tt.called && tt.options.Scores) {
			t.Errorf("%s: the result is %+v", tt.name, res)
		}
	}
}

// TestScoresOfStoredOutcomes: stored scores suggest a fall, and only fresh pairs call it.
func TestScoresOfStoredOutcomes(t *testing.T) {
	for _, now := range []float64{.9, .7} { // base today: as it was, or as low as head
		var cases []confirm.Case
		for range 12 {
			c := scored(.9, .7)
			c.Fresh = false
			cases = append(cases, c)
		}
		res, asked := play(cases, unbounded, func(r confirm.Request) confirm.Outcome {
			score := .7
			if r.Side == confirm.Base {
				score = now
			}
			return confirm.Outcome{Verdict: verdict.Pass, Score: &score}
		})
		if res.Scores.Called != (now == .9) || now == .9 && math.Abs(res.Scores.Fall-.2) > 1e-9 || len(asked) == 0 {
			t.Errorf("base scores %v today: %+v after %d measurements", now, res.Scores, len(asked))
		}
	}
}
