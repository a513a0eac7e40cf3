package controller_test

import (
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/report"
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
		cases, calls  int
		usd           float64 // < 0: not known
	}{
		"free":          {`{provider: mock, replies: [{reply: x}]}`, "", 2, 2, 0},
		"priced":        {`{provider: openai, model: m, price: {input: 1, output: 2}}`, "", 2, 2, 2 * reply},
		"unpriced":      {`{provider: openai, model: m}`, "", 2, 2, -1},
		"three samples": {`{provider: openai, model: m, price: {input: 1, output: 2}}`, "defaults: {iterations: 3}\n", 2, 6, 6 * reply},
	} {
		t.Run(name, func(t *testing.T) {
			head := maps.Clone(files)
			head["gavel.yaml"] = "version: 1\ntargets: {bot: " + tt.target + "}\n" + tt.extra
			p, err := controller.Prepare(t.Context(), controller.Request{
				Head: stateOf(t, controller.Worktree, head), ConfigFile: "gavel.yaml",
				LookupEnv: nowhere,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := p.Estimate()
			if got.Cases != tt.cases || got.Calls != tt.calls {
				t.Errorf("%d cases in %d calls, want %d in %d", got.Cases, got.Calls, tt.cases, tt.calls)
			}
			switch {
			case tt.usd < 0:
				if got.USD != nil {
					t.Errorf("costs %g, want unknown", *got.USD)
				}
			case got.USD == nil || *got.USD < tt.usd*0.999 || *got.USD > tt.usd*1.001:
				t.Errorf("costs %v, want %g", got.USD, tt.usd)
			}
			again := p.Rerun(func(key string) bool { return strings.HasSuffix(key, "/two") || strings.HasSuffix(key, "/asleep") })
			if e := again.Estimate(); e.Cases != 1 || len(again.Plan.Rows) != 1 || len(p.Plan.Rows) != 3 {
				t.Errorf("again: %d cases, %d rows of %d", e.Cases, len(again.Plan.Rows), len(p.Plan.Rows))
			}
		})
	}
}

// TestEstimateOfExamples holds that judges, simulated users, comparisons and
// further attempts are counted: what the examples really take is beside it.
func TestEstimateOfExamples(t *testing.T) {
	for name, want := range map[string]report.Estimate{
		"domain":    {Calls: 17},                // 17
		"evalcase":  {Calls: 16},                // 17, one for a tool
		"promptval": {Calls: 38, RetryCalls: 6}, // 41, of which 3 to run a failure again
		"testcase":  {Calls: 38},                // 21: conversations are shorter than 5 replies
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			root := os.DirFS("../examples/" + name)
			err := fs.WalkDir(root, ".", func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				raw, err := fs.ReadFile(root, path)
				files[path] = string(raw)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			p, err := controller.Prepare(t.Context(), controller.Request{
				Head: stateOf(t, controller.Worktree, files), ConfigFile: "gavel.yaml",
				LookupEnv: nowhere,
			})
			if err != nil {
				t.Fatal(err)
			}
			free := 0.
			want.USD = &free
			if diff := cmp.Diff(want, p.Estimate().Estimate); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
