package verdict_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// outcomes are samples that pass (P), fail (F) or end in an error (E).
func outcomes(letters string) []verdict.Sample {
	var list []verdict.Sample
	for i, letter := range letters {
		s := verdict.Sample{Ordinal: i, Measurements: []verdict.Measurement{scores(map[rune]float64{'P': 1, 'F': 0}[letter])}}
		if letter == 'E' {
			s = verdict.Sample{Ordinal: i, Error: "no answer"}
		}
		list = append(list, s)
	}
	return list
}

// shared is a case that asks for a share of its samples.
func shared(share float64, samples int) *schema.Case {
	return &schema.Case{
		Evaluators: []schema.Evaluator{{Name: "main", Weight: 1, Rule: schema.Rule{Threshold: 0.5}}},
		Policy:     schema.Policy{Iterations: samples, PassShare: share},
	}
}

// TestDecidePassShare: a share is met once enough samples pass and missed once too many fail,
// and errors do not count.
func TestDecidePassShare(t *testing.T) {
	for _, tt := range []struct {
		name     string
		share    float64
		of       int
		outcomes string
		verdict  verdict.Verdict
		reason   string
	}{
		{"met by all", .8, 10, "PPPPPPPP", verdict.Pass, "8 passed and 0 failed; 8 of 10 samples must pass"},
		{"met exactly", .8, 10, "FFPPPPPPPP", verdict.Pass, "8 passed and 2 failed; 8 of 10 samples must pass"},
		{"missed as soon as possible", .8, 10, "FFF", verdict.Fail, "0 passed and 3 failed; 8 of 10 samples must pass"},
		{"missed at the end", .8, 10, "PPPPPPPFFF", verdict.Fail, "7 passed and 3 failed; 8 of 10 samples must pass"},
		{"open", .8, 10, "PPPPPPPFF", verdict.Error, "7 passed and 2 failed; 8 of 10 samples must pass; the others could not be judged"},
		{"open by errors", .8, 10, "PPPPPPPEEE", verdict.Error, "7 passed and 0 failed; 8 of 10 samples must pass; the others could not be judged: no answer"},
		{"met next to errors", .8, 10, "PPPPEEPPPP", verdict.Pass, "8 passed and 0 failed; 8 of 10 samples must pass"},
		{"a share between two counts asks for the larger", .75, 10, "PPPPPPPFF", verdict.Error, "8 of 10 samples must pass"},
		{"two of three, a share without an exact decimal", 2. / 3, 3, "PP", verdict.Pass, "2 of 3 samples must pass"},
		{"seven tenths of ten, which is not exact", .7, 10, "PPPPPPP", verdict.Pass, "7 of 10 samples must pass"},
		{"all", 1, 3, "PPF", verdict.Fail, "2 passed and 1 failed; 3 of 3 samples must pass"},
		{"the smallest share", .001, 4, "FFFP", verdict.Pass, "1 of 4 samples must pass"},
		{"nothing was judged", .5, 2, "EE", verdict.Error, "no answer"},
	} {
		got := verdict.DecideCase(shared(tt.share, tt.of), outcomes(tt.outcomes))
		if got.Verdict != tt.verdict || !strings.Contains(got.Reason, tt.reason) {
			t.Errorf("%s: %s, %q; want %s, %q", tt.name, got.Verdict, got.Reason, tt.verdict, tt.reason)
		}
		if (got.PassShare == nil) != (tt.verdict == verdict.Error) {
			t.Errorf("%s: the counts are %+v", tt.name, got.PassShare)
		}
	}
}

// TestAPassShareReplacesTheOtherRules: each would decide these samples differently.
func TestAPassShareReplacesTheOtherRules(t *testing.T) {
	for name, change := range map[string]func(*schema.Case){
		"best":       func(c *schema.Case) { c.Policy.Best = true },
		"every":      func(c *schema.Case) { c.Policy.Every = true },
		"whole":      func(c *schema.Case) { c.Policy.Whole = true },
		"unanimous":  func(c *schema.Case) { c.Evaluators[0].Rule.Unanimous, c.Evaluators[0].Rule.Floor = true, .5 },
		"mean score": func(c *schema.Case) { c.Evaluators[0].Rule.Threshold = 1 },
		"bands":      func(c *schema.Case) { c.Policy.Bands = &schema.Bands{Pass: .9, Borderline: .3} },
	} {
		for text, want := range map[string]verdict.Verdict{"PPEFP": verdict.Pass, "PFF": verdict.Fail} {
			c := shared(.75, 4)
			change(c)
			if got := verdict.DecideCase(c, outcomes(text)); got.Verdict != want {
				t.Errorf("%s: %s is %s, want %s: %s", name, text, got.Verdict, want, got.Reason)
			}
		}
	}
	c := shared(.75, 4) // a borderline sample is not a pass
	c.Policy.Bands = &schema.Bands{Pass: .9, Borderline: .5}
	half := samples(scores(.6), scores(.6), scores(1), scores(1))
	if got := verdict.DecideCase(c, half); got.Verdict != verdict.Fail || got.PassShare.Passes != 2 {
		t.Errorf("two borderline samples of four: %+v", got)
	}
}

// TestPassK: the values of a case with 8 of 10, by hand. At 8 passes and one fail the last
// sample is a pass, and the other passes may be in 8 orders, of which 7 begin with a pass.
func TestPassK(t *testing.T) {
	for _, tt := range []struct {
		outcomes string
		want     []float64
	}{
		{"PPPPPPPP", []float64{1, 1, 1, 1, 1, 1, 1, 1}},
		{"PPPPFPPPP", []float64{7. / 8, 6. / 8, 5. / 8, 4. / 8, 3. / 8, 2. / 8, 1. / 8, 0}},
		{"PFPFF", []float64{3. / 6, 1. / 6, 0, 0, 0, 0, 0, 0}},
		{"FFF", []float64{0, 0, 0, 0, 0, 0, 0, 0}},
		{"FFFPPPPPPP", []float64{0, 0, 0, 0, 0, 0, 0, 0}}, // what follows the end does not count
	} {
		got := verdict.DecideCase(shared(.8, 10), outcomes(tt.outcomes))
		if diff := cmp.Diff(tt.want, got.PassShare.PassK); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.outcomes, diff)
		}
	}
}

// TestPassKIsUnbiased goes through all courses of a case whose samples pass with a chance p.
// The mean of the estimate is p to the power of k. C(c,k)/C(n,k), which is unbiased for a
// fixed number of samples, is not here.
func TestPassKIsUnbiased(t *testing.T) {
	for _, of := range []int{1, 2, 5, 8, 10} {
		for need := 1; need <= of; need++ {
			for _, p := range []float64{.1, .5, .9} {
				c := shared(float64(need)/float64(of), of)
				mean := make([]float64, need)
				sum := 0.
				courses(c, "", p, func(text string, chance float64) {
					sum += chance
					for k, x := range verdict.DecideCase(c, outcomes(text)).PassShare.PassK {
						mean[k] += chance * x
					}
				})
				if math.Abs(sum-1) > 1e-12 {
					t.Fatalf("the chances of %d of %d add up to %v", need, of, sum)
				}
				for k, got := range mean {
					if want := math.Pow(p, float64(k+1)); math.Abs(got-want) > 1e-12 {
						t.Errorf("%d of %d at %v: pass^%d is %v in the mean, want %v", need, of, p, k+1, got, want)
					}
				}
			}
		}
	}
}

// courses calls visit with each sequence of samples that ends as soon as the outcome is
// known, and with its chance. No sequence has ended earlier, and none is undecided.
func courses(c *schema.Case, so string, p float64, visit func(string, float64)) {
	if verdict.NewTally(c, outcomes(so)).Missing() == 0 {
		passes := strings.Count(so, "P")
		visit(so, math.Pow(p, float64(passes))*math.Pow(1-p, float64(len(so)-passes)))
		return
	}
	courses(c, so+"P", p, visit)
	courses(c, so+"F", p, visit)
}

// TestMissingSamples: as many samples as Missing says are needed in any case, and the outcome
// never differs from the outcome of all samples.
func TestMissingSamples(t *testing.T) {
	for need := 1; need <= 6; need++ {
		c := shared(float64(need)/6, 6)
		for mask := range 1 << 6 {
			all := ""
			for i := range 6 {
				all += string("FP"[mask>>i&1])
			}
			taken := 0
			for {
				n := verdict.NewTally(c, outcomes(all[:taken])).Missing()
				if n == 0 {
					break
				}
				for i := range n - 1 {
					if verdict.NewTally(c, outcomes(all[:taken+i+1])).Missing() == 0 {
						t.Fatalf("%d of 6 in %s: known after %d of the %d samples that are missing", need, all, i+1, n)
					}
				}
				taken += n
			}
			want := verdict.Fail
			if strings.Count(all, "P") >= need {
				want = verdict.Pass
			}
			if got := verdict.DecideCase(c, outcomes(all[:taken])).Verdict; got != want {
				t.Errorf("%d of 6: %s after %d of %s, want %s", need, got, taken, all, want)
			}
		}
	}
}

func TestAPassShareIsReadWithoutEncodingJSON(t *testing.T) {
	res := verdict.DecideCase(shared(.75, 4), outcomes("PFPP"))
	text, err := json.Marshal(verdict.DecisionReader{Result: res, Samples: 4})
	if err != nil {
		t.Fatal(err)
	}
	var r verdict.JSONReader
	if !same(t, &r, string(text)) {
		t.Errorf("%s is not read", text)
	}
	if want := `"pass_share":{"passes":3,"samples":4,"need":3,"of":4,"pass_k":[` + fmt.Sprint(2./3) + `,`; !strings.Contains(string(text), want) {
		t.Errorf("%s has no %s", text, want)
	}
}
