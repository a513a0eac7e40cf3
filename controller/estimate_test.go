package controller_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
)

// TestEstimate holds what a plan is expected to take.
func TestEstimate(t *testing.T) {
	const def = "test_definitions/d/"
	files := map[string]string{
		def + "domain.json":         `{"id": "d", "name": "D", "evaluator_id": "keyword"}`,
		def + "level_1/one.json":    `{"id": "one", "name": "One", "prompt": "one", "expected": {"keywords": ["x"]}}`,
		def + "level_1/two.json":    `{"id": "two", "name": "Two", "prompt": "two", "expected": {"keywords": ["x"]}}`,
		def + "level_1/asleep.json": `{"id": "asleep", "name": "Asleep", "prompt": "z", "enabled": false, "expected": {"keywords": ["x"]}}`,
	}
	// A request of 3 characters is under a token; a reply counts as 300.
	const reply = 300 * 2.0 / 1e6
	for name, tt := range map[string]struct {
		target, extra string
		want          controller.Estimate
		usd           float64 // < 0: not known
	}{
		"free":          {`{provider: mock, replies: [{reply: x}]}`, "", controller.Estimate{Cases: 2, Calls: 2}, 0},
		"priced":        {`{provider: openai, model: m, price: {input: 1, output: 2}}`, "", controller.Estimate{Cases: 2, Calls: 2}, 2 * reply},
		"unpriced":      {`{provider: openai, model: m}`, "", controller.Estimate{Cases: 2, Calls: 2}, -1},
		"three samples": {`{provider: openai, model: m, price: {input: 1, output: 2}}`, "defaults: {iterations: 3}\n", controller.Estimate{Cases: 2, Calls: 6}, 6 * reply},
	} {
		t.Run(name, func(t *testing.T) {
			head := maps.Clone(files)
			head["gavel.yaml"] = "version: 1\ntargets: {bot: " + tt.target + "}\n" + tt.extra
			p, err := controller.Prepare(t.Context(), controller.Request{
				Head: stateOf(t, controller.Worktree, head), ConfigFile: "gavel.yaml",
				LookupEnv: func(string) (string, bool) { return "", false },
			})
			if err != nil {
				t.Fatal(err)
			}
			got := p.Estimate()
			if got.Cases != tt.want.Cases || got.Calls != tt.want.Calls {
				t.Errorf("%d cases in %d calls, want %+v", got.Cases, got.Calls, tt.want)
			}
			switch {
			case tt.usd < 0:
				if got.USD != nil {
					t.Errorf("costs %g, want unknown", *got.USD)
				}
			case got.USD == nil || *got.USD < tt.usd*0.999 || *got.USD > tt.usd*1.001:
				t.Errorf("costs %v, want %g", got.USD, tt.usd)
			}
			again := p.Again(func(key string) bool { return strings.HasSuffix(key, "/two") || strings.HasSuffix(key, "/asleep") })
			if e := again.Estimate(); e.Cases != 1 || len(again.Plan.Rows) != 1 || len(p.Plan.Rows) != 3 {
				t.Errorf("again: %d cases, %d rows of %d", e.Cases, len(again.Plan.Rows), len(p.Plan.Rows))
			}
		})
	}
}
