package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// configuration is a case with all that only a promptval configuration has.
func configuration() *schema.Case {
	c := tc("a", "1", 0.7)
	spec := evaluator.Semantic{Instruction: "Is it good?"}
	c.Drive = schema.Drive{Openings: [][]schema.Message{{{Role: "user", Content: "1"}}, {{Role: "user", Content: "2"}}}}
	c.Evaluators = []schema.Evaluator{{Name: "semantic", Weight: 1, Spec: spec, Rule: spec.Rule()}}
	c.Alternative = &schema.Alternative{System: "B", Comparison: evaluator.Comparison(spec)}
	return c
}

// attempted has the case run again with a prompt that gemini rewrote.
func attempted() *schema.Case {
	c := configuration()
	c.Policy.Retry = &schema.Retry{Most: 1, Edit: &schema.Edit{Editor: schema.GeminiEditor, ShowOutputs: true}}
	return c
}

// TestConfigurationsInDigests changes one thing at a time and says which of
// the digests change.
func TestConfigurationsInDigests(t *testing.T) {
	env := Environment{
		Roles:   map[schema.Role]string{schema.Judge: "judge", schema.GeminiEditor: "gemini", schema.ClaudeEditor: "claude"},
		Targets: map[string]Target{"judge": {Facts: []Fact{{Name: "model", Value: "j"}}}, "gemini": {Facts: []Fact{{Name: "model", Value: "g"}}}, "claude": {Facts: []Fact{{Name: "model", Value: "c"}}}},
	}
	models := func(judge, gemini, claude string) Environment {
		out := env
		out.Targets = map[string]Target{}
		for _, tt := range []struct{ name, model string }{{"judge", judge}, {"gemini", gemini}, {"claude", claude}} {
			out.Targets[tt.name] = Target{Facts: []Fact{{Name: "model", Value: tt.model}}}
		}
		return out
	}
	for _, test := range []struct {
		name   string
		of     func() *schema.Case
		change func(*schema.Case)
		env    Environment
		want   string
	}{
		{"nothing", configuration, func(*schema.Case) {}, env, ""},
		{"an input", configuration, func(c *schema.Case) { c.Drive.Openings[1][0].Content = "3" }, env, "EJD"},
		{"the order of inputs", configuration, func(c *schema.Case) { slices.Reverse(c.Drive.Openings) }, env, "EJD"},
		{"the alternative", configuration, func(c *schema.Case) { c.Alternative.System = "C" }, env, "EJD"},
		{"no alternative", configuration, func(c *schema.Case) { c.Alternative = nil }, env, "EJD"},
		{"what is compared", configuration, func(c *schema.Case) { c.Alternative.Comparison = evaluator.Comparison{} }, env, "JD"},
		{"no comparison", configuration, func(c *schema.Case) { c.Alternative.Comparison = nil }, env, "JD"},
		{"the judge", configuration, func(*schema.Case) {}, models("x", "g", "c"), "JD"},
		{"an editor without use", configuration, func(*schema.Case) {}, models("j", "x", "x"), ""},
		{"half of the samples", configuration, func(c *schema.Case) { c.Evaluators[0].Rule.Unanimous = false }, env, "D"},
		{"no threshold", configuration, func(c *schema.Case) { c.Evaluators[0].Rule.Ungated = true }, env, "D"},
		{"a threshold", configuration, func(c *schema.Case) { c.Evaluators[0].Rule.Threshold = 0.1 }, env, "D"},
		{"a retry", configuration, func(c *schema.Case) { c.Policy.Retry = &schema.Retry{Most: 1} }, env, "EJD"},
		{"more retries", attempted, func(c *schema.Case) { c.Policy.Retry.Most = 2 }, env, "EJD"},
		{"no rewriting", attempted, func(c *schema.Case) { c.Policy.Retry.Edit = nil }, env, "EJD"},
		{"another editor", attempted, func(c *schema.Case) { c.Policy.Retry.Edit.Editor = schema.ClaudeEditor }, env, "EJD"},
		{"the editor's model", attempted, func(*schema.Case) {}, models("j", "x", "c"), "EJD"},
		{"another editor's model", attempted, func(*schema.Case) {}, models("j", "g", "x"), ""},
		{"a steering judge", attempted, func(*schema.Case) {}, models("x", "g", "c"), "EJD"},
		{"a steering threshold", attempted, func(c *schema.Case) { c.Evaluators[0].Rule.Threshold = 0.1 }, env, "EJD"},
		{"a steering question", attempted, func(c *schema.Case) { c.Evaluators[0].Spec = evaluator.Semantic{} }, env, "EJD"},
		{"steering iterations", attempted, func(c *schema.Case) { c.Policy.Iterations = 2 }, env, "EJD"},
	} {
		t.Run(test.name, func(t *testing.T) {
			old, now := Digest(test.of(), &env), test.of()
			test.change(now)
			got, is := "", Digest(now, &test.env)
			if old.E != is.E {
				got += "E"
			}
			if old.J != is.J {
				got += "J"
			}
			if old.D != is.D {
				got += "D"
			}
			if got != test.want {
				t.Errorf("%q changed, want %q", got, test.want)
			}
		})
	}
}

// TestPlainDigestIsStable holds the digest of a case without these features: its
// entries in ledgers stay valid.
func TestPlainDigestIsStable(t *testing.T) {
	var names []string
	for _, p := range Digest(tc("a", "1", 0.7), &Environment{}).Parts() {
		names = append(names, string(p.Layer)+" "+p.Name)
	}
	want := []string{
		"execution compiler version", "execution driver version", "execution messages", "execution timeout",
		"judgement evaluator", "decision iterations", "decision match", "decision threshold",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	// Since version 2 of keyword, what a model thinks first is not judged.
	const d = "05ca9e9f25efcb738c1d47db416cc59b59bdb379aac8789f9bd1049882e5b2dc"
	if got := Digest(tc("a", "1", 0.7), &Environment{}).D; got != d {
		t.Errorf("the digest is %s, want %s", got, d)
	}
}

// TestAttemptsHaveDigestsOfTheirOwn keeps apart what must not be taken for each
// other: attempts, their prompts, the alternative, and calls that belong to neither.
func TestAttemptsHaveDigestsOfTheirOwn(t *testing.T) {
	d := Digest(attempted(), &Environment{})
	if first := d.Attempt(0, "any"); first != d {
		t.Errorf("the first attempt has the digests %+v, want those of the case: %+v", first, d)
	}
	seen := map[string]string{d.E: "E", d.J: "J"}
	for _, tt := range []struct {
		name  string
		other Digests
	}{
		{"attempt 1", d.Attempt(1, "x")}, {"attempt 1, another prompt", d.Attempt(1, "y")}, {"attempt 2", d.Attempt(2, "x")},
		{"edit 1", d.Edit(1)}, {"edit 2", d.Edit(2)}, {"alternative", d.Alternative()}, {"comparison", d.Comparison()},
	} {
		if tt.other.D != d.D {
			t.Errorf("%s has a decision of its own", tt.name)
		}
		for _, digest := range []string{tt.other.E, tt.other.J} {
			if first, there := seen[digest]; there {
				t.Errorf("%s and %s have one digest", tt.name, first)
			}
			seen[digest] = tt.name
		}
	}
}

// TestSettleCountsEveryInput has a sample of each of two inputs, twice.
func TestSettleCountsEveryInput(t *testing.T) {
	for _, tt := range []struct {
		name  string
		of    func() *schema.Case
		known Stored
		want  Action
	}{
		{"some", configuration, Stored{Executed: 3, Judged: 3}, Run},
		{"all", configuration, Stored{Executed: 4, Judged: 3}, Rejudge},
		{"all judged", configuration, Stored{Executed: 4, Judged: 4}, Redecide},
		{"the first of several attempts", attempted, Stored{Executed: 4, Judged: 4}, Run},
	} {
		c := tt.of()
		c.Policy.Iterations = 2
		p := &Plan{Rows: []Row{{Head: &c.CaseInfo, HeadCase: c, Action: Run, Samples: c.Samples(), Steered: c.Policy.Steered()}}}
		Settle(p, []Stored{tt.known})
		if got := p.Rows[0].Action; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
