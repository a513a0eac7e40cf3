package explain

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// TestDiffering has each rule in which versions of promptfoo differ, and similar rules
// that do not differ.
func TestDiffering(t *testing.T) {
	for _, tt := range []struct{ name, test, want string }{
		{"a threshold of 0", `{threshold: 0, assert: [{type: contains, value: a}]}`, "threshold: 0 passes every score, as since promptfoo 0.121; 0.118 ignored it"},
		{"a threshold", `{threshold: 0.1, assert: [{type: contains, value: a}]}`, ""},
		{"no threshold", `{assert: [{type: contains, value: a}]}`, ""},
		{"an inverted judge", `{assert: [{type: not-llm-rubric, value: a, metric: m}]}`, "not- inverts llm-rubric, as in promptfoo 0.123; 0.118 ignored it"},
		{"a judge", `{assert: [{type: llm-rubric, value: a}]}`, ""},
		{"another inverted judge", `{assert: [{type: not-factuality, value: a}]}`, ""},
		{"an inverted distance", `{assert: [{type: not-levenshtein, value: a, transform: output}]}`, "not- inverts levenshtein, as in promptfoo 0.123; 0.118 ignored it"},
		{"inverted Python in a set", `{assert: [{type: assert-set, assert: [{type: not-python, value: 'True'}]}]}`, "not- inverts python, as in promptfoo 0.123; 0.118 ignored it"},
		{"inverted JavaScript", `{assert: [{type: not-javascript, value: 'true'}]}`, ""},
		{"not an object", `{assert: [{type: not-equals, value: {a: 1}}]}`, "not-equals of an object passes an answer that is not JSON, as in promptfoo 0.121; 0.118 failed it"},
		{"not a text", `{assert: [{type: not-equals, value: a}]}`, ""},
		{"relevance", `{assert: [{type: answer-relevance}]}`, "answer-relevance without a threshold wants 0.5, as in promptfoo 0.123; in 0.118 it was 0"},
		{"relevance with a threshold", `{assert: [{type: answer-relevance, threshold: 0.6}]}`, ""},
		{"a metric of two", `{assert: [{type: contains, value: a, metric: m}, {type: contains, value: b, metric: m}]}`, "the metric m is the weighted mean of its assertions, as in promptfoo 0.123; in 0.118 it was their sum"},
		{"two of a type", `{assert: [{type: not-contains, value: a}, {type: not-contains, value: b}]}`, ""},
		{"like one of a list", `{assert: [{type: similar, value: [a, b]}]}`, "similar to none of a list scores the greatest likeness, as in promptfoo 0.123; in 0.118 it was the least"},
		{"like a text", `{assert: [{type: similar, value: a}]}`, ""},
		{"twice", `{assert: [{type: not-equals, value: {a: 1}}, {type: not-equals, value: [1]}, {type: similar, value: [a, b]}]}`, "not-equals of an object passes an answer that is not JSON, as in promptfoo 0.121; 0.118 failed it\nsimilar to none of a list scores the greatest likeness, as in promptfoo 0.123; in 0.118 it was the least"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := fstest.MapFS{"promptfooconfig.yaml": {Data: []byte("prompts: [x]\nproviders: [echo]\ntests:\n- " + tt.test + "\n")}}
			found, err := load.Load(t.Context(), tree, load.Options{Settings: schema.Settings{
				Definitions: []string{"promptfooconfig.yaml"}, Targets: map[string]schema.TargetSettings{"echo": {}}, DefaultTarget: "echo",
			}})
			if err != nil {
				t.Fatal(err)
			}
			cases := found.Cases
			if len(cases) != 1 || cases[0].Skip != "" {
				t.Fatalf("%d cases, want one that is run: %v", len(cases), found.Problems)
			}
			if got := strings.Join(differing(cases[0]), "\n"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
