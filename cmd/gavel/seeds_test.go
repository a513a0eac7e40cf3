package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gavel-evals/gavel/controller/gitrepo"
)

// TestSeeds judges the definitions in the descriptions of the formats domain and
// promptval, from the file to the verdict. TestSeedVerdicts in controller/run does so
// for evalcase; testcase's description prints none.
func TestSeeds(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/seeds.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range archive.Files {
		files[f.Name] = f.Data
	}
	dir := t.TempDir()
	if err := gitrepo.Create(t.Context(), dir, []gitrepo.NewCommit{{Message: "tests", Write: files, At: time.Unix(0, 0)}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		config string
		want   map[string]string
	}{
		{"good.yaml", map[string]string{
			"conversation/level_1/test_greeting": "pass 1.00 of 1 all 2 keywords were found",
			"math/level_1/test_addition":         `pass 1.00 of 1 the answer is "4"`,
			"math/level_1/test_multiply":         `pass 1.00 of 1 the answer is "105"`,
			"sql/level_1/test_products":          "pass 1.00 of 1 all 3 checks of the statement hold",
			"tool_calling/level_1/test_weather":  "pass 1.00 of 1 1 of 1 expected tool calls were made",
			"tool_calling/level_2/test_notify":   "pass 1.00 of 1 2 of 2 expected tool calls were made in order",
			"plan":                               "pass 8.10 of 10 Good.", // 0.4·9 + 0.3·8 + 0.3·7
			"tools":                              "pass 10.00 of 10 every tool was called as often as expected",
		}},
		{"bad.yaml", map[string]string{
			"conversation/level_1/test_greeting": `fail 0.00 of 1 the reply contains the forbidden "maaf"; 1 of 2 keywords were found; missing: "selamat" (if the keywords are alternatives, set ` + "`match: any`)",
			"math/level_1/test_addition":         `fail 0.00 of 1 the answer is "5", expected "4"`,
			"math/level_1/test_multiply":         `fail 0.00 of 1 the answer is "110", expected "105"`,
			"sql/level_1/test_products":          `fail 0.33 of 1 the result lacks the column "price"; the result has 0 rows, expected at least 1`,
			"tool_calling/level_1/test_weather":  "fail 0.00 of 1 0 of 1 expected tool calls were made; missing: get_weather (not called); called: none",
			"tool_calling/level_2/test_notify":   "fail 0.50 of 1 1 of 2 expected tool calls were made in order; missing: send_notification (called out of order); called: send_notification, get_order",
			"plan":                               "fail 5.50 of 10 Bad.", // 0.4·4 + 0.3·8 + 0.3·5
			"tools":                              "fail 0.00 of 10 tool_a was called 2 times, expected once; tool_b was called never, expected from 1 to 3 times",
		}},
	} {
		if diff := cmp.Diff(tt.want, verdicts(runExample(t, dir, "--config", tt.config))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.config, diff)
		}
	}
}
