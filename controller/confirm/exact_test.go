package confirm_test

import (
	"math"
	"testing"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A chooser makes random choices in all ways, one way a pass.
type chooser struct {
	choices []bool
	at      int
	chance  float64
}

// outcome passes with the probability q.
func (c *chooser) outcome(q float64) confirm.Outcome {
	if c.at == len(c.choices) {
		c.choices = append(c.choices, false)
	}
	passes := c.choices[c.at]
	c.at++
	if passes {
		c.chance *= q
		return confirm.Outcome{Verdict: verdict.Pass}
	}
	c.chance *= 1 - q
	return confirm.Outcome{Verdict: verdict.Fail}
}

// next begins the next way; there is none left where it returns false.
func (c *chooser) next() bool {
	for len(c.choices) > 0 && c.choices[len(c.choices)-1] {
		c.choices = c.choices[:len(c.choices)-1]
	}
	if len(c.choices) == 0 {
		return false
	}
	c.choices[len(c.choices)-1] = true
	c.at, c.chance = 0, 1
	return true
}

// TestAlphaIsNeverExceeded goes through everything that can happen in small pull
// requests that change nothing. The chance that anything is called is at most α,
// whatever the probabilities, and whatever history says.
func TestAlphaIsNeverExceeded(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options confirm.Options
		history int
		// past and today are the probabilities of each case, then and now.
		past, today [][]float64
		// some is the least chance that is seen somewhere; a bound that is never
		// approached would not be a test.
		some float64
	}{
		{
			"one case", confirm.Options{Alpha: .3, Looks: 3}, 0, nil,
			[][]float64{{.3}, {.5}, {.6}, {.7}, {.9}}, .01,
		},
		{
			"two cases", confirm.Options{Alpha: .9, Looks: 1}, 0, nil,
			[][]float64{{.5, .5}, {.3, .8}, {.6, .6}, {.9, .9}}, .1,
		},
		{
			"history", confirm.Options{Alpha: .9, Looks: 2}, 5,
			[][]float64{{.5}, {.7}, {.9}, {.99}, {.99}}, [][]float64{{.5}, {.7}, {.9}, {.7}, {.4}}, .05,
		},
		{
			"stale sample", confirm.Options{Alpha: .9, Looks: 2}, 1,
			[][]float64{{.5}, {.99}, {.99}, {.99}}, [][]float64{{.5}, {.7}, {.5}, {.3}}, .05,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			worst := 0.0
			for i, today := range tt.today {
				past := today
				if tt.past != nil {
					past = tt.past[i]
				}
				called, all := 0.0, 0.0
				c := &chooser{chance: 1}
				for more := true; more; more = c.next() {
					if alarmed(c, tt.options, tt.history, [2][]float64{past, today}) {
						called += c.chance
					}
					all += c.chance
				}
				if all < 1-1e-9 || all > 1+1e-9 {
					t.Fatalf("the chances sum to %v", all)
				}
				if called > tt.options.Alpha {
					t.Errorf("with %v before and %v now, the chance of a call is %.4f", past, today, called)
				}
				worst = max(worst, called)
			}
			if worst < tt.some {
				t.Errorf("the largest chance of a call is %.4f, want at least %.4f", worst, tt.some)
			}
		})
	}
}

// TestAlphaOverPushes: however often a pull request that changes nothing is pushed, the
// chance that any of its pushes is called is at most α, where each push alone has it.
func TestAlphaOverPushes(t *testing.T) {
	const alpha, pushes = .9, 6
	options := confirm.Options{Alpha: alpha, Looks: 2}
	chance := func(push int, q float64) (called float64) {
		options.Push = push
		c := &chooser{chance: 1}
		for more := true; more; more = c.next() {
			if alarmed(c, options, 0, [2][]float64{nil, {q}}) {
				called += c.chance
			}
		}
		return called
	}
	for _, q := range []float64{.3, .5, .7, .9} {
		never, neverAlone := 1.0, 1.0
		for push := 1; push <= pushes; push++ {
			never *= 1 - chance(push, q)
			neverAlone *= 1 - chance(0, q)
		}
		if 1-never > alpha {
			t.Errorf("at %v the chance of an alarm in %d pushes is %.4f", q, pushes, 1-never)
		}
		if never <= neverAlone {
			t.Errorf("at %v pushes that share alpha alarm as often as others: %.4f and %.4f", q, 1-never, 1-neverAlone)
		}
	}
}

// TestSpent: the first push keeps 61 % of alpha, the tenth a hundredth of that, and all
// of them together spend alpha. The sum of 1/k² up to n is π²/6 − 1/n + O(1/n²).
func TestSpent(t *testing.T) {
	if got := confirm.Spent(.05, 1); math.Abs(got-.0303963551) > 1e-9 { // .05·6/π²
		t.Errorf("the first push spends %.10f", got)
	}
	if got, want := confirm.Spent(.05, 10), confirm.Spent(.05, 1)/100; math.Abs(got-want) > 1e-12 {
		t.Errorf("the tenth push spends %v, want %v", got, want)
	}
	const n = 100_000
	sum := 0.0
	for k := 1; k <= n; k++ {
		sum += confirm.Spent(1, k)
	}
	if rest := 6 / (math.Pi * math.Pi * n); math.Abs(sum+rest-1) > 1e-8 {
		t.Errorf("%d pushes spend %.10f of alpha, want %.10f", n, sum, 1-rest)
	}
}

// alarmed decides about one pull request with such a history of each case.
func alarmed(c *chooser, options confirm.Options, history int, q [2][]float64) bool {
	options.Budget = -1
	var cases []confirm.Case
	for i, now := range q[1] {
		k := confirm.Case{Fresh: history == 0, Weight: 1}
		for range history {
			k.Base = append(k.Base, c.outcome(q[0][i]))
		}
		if k.Fresh {
			k.Base = []confirm.Outcome{c.outcome(now)}
		}
		k.Head = c.outcome(now)
		cases = append(cases, k)
	}
	res, _ := play(cases, options, func(r confirm.Request) confirm.Outcome { return c.outcome(q[1][r.Case]) })
	return res.Called()
}

// TestBound: no case takes more than its bound.
func TestBound(t *testing.T) {
	for _, base := range []string{"", "p", "ppp", "pppppp", "pppppppppppppppppppp"} {
		for _, fails := range []string{"f", "pf", "fp", "ffp", "p"} {
			c := compared(base, "f")
			c.Head.Symptom = "alone"
			options := confirm.Options{Budget: -1, New: confirm.Rule{Runs: 5, Pass: 3}}
			n := 0
			play([]confirm.Case{c}, options, func(r confirm.Request) confirm.Outcome {
				n++
				return outcomes(fails)[r.Ordinal%len(fails)]
			})
			if bound := confirm.Bound(c, options); n > bound {
				t.Errorf("%q, then %q: %d measurements, bound %d", base, fails, n, bound)
			}
		}
	}
	// Outage, looks and rounds, at each side: a limit adds two rounds, of pairs if it is of differences.
	gone := compared("p", "f")
	gone.Gone = true
	for _, tt := range []struct {
		name  string
		c     confirm.Case
		limit []confirm.Limit
		want  int
	}{
		{"no limit", compared("p", "f"), nil, 2 + 24}, {"min_score", compared("p", "f"), []confirm.Limit{{}}, 2 + 24 + 2},
		{"max_drop", compared("p", "f"), []confirm.Limit{{Paired: true}}, 2 + 24 + 4}, {"both", compared("p", "f"), []confirm.Limit{{}, {Paired: true}}, 2 + 24 + 4},
		{"max_drop of a new case", compared("", "f"), []confirm.Limit{{Paired: true}}, 1}, {"max_drop without a base", gone, []confirm.Limit{{Paired: true}}, 1 + 5},
	} {
		if got := confirm.Bound(tt.c, confirm.Options{Limits: tt.limit}); got != tt.want {
			t.Errorf("%s: at most %d measurements, want %d", tt.name, got, tt.want)
		}
	}
	certain := compared("p", "f")
	certain.Certain = true
	if got := confirm.Bound(certain, confirm.Options{}); got != 0 {
		t.Errorf("a certain case may take %d", got)
	}
	if got := confirm.Usual(200, 200); got != 134 {
		t.Errorf("usually %d", got)
	}
}
