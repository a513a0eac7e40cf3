package matrix_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/javascript/interpreter"
)

func TestMain(m *testing.M) {
	if interpreter.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// TestVariation: a function adds to the variables. The key of a case comes from the
// written ones, so a change of the function affects the case and does not rename it.
func TestVariation(t *testing.T) {
	with := func(code string) []*schema.Case {
		return cases(t, "prompts: ['{{q}}']\ntests: [{vars: {q: one}, options: {transformVars: 'file://v.js'}}]\n", map[string]string{"v.js": code})
	}
	before, after := with("module.exports = (v) => ({q: v.q + 1})")[0], with("module.exports = (v) => ({q: v.q + 2})")[0]
	if before.Drive.Messages[0].Content != "one1" || after.Drive.Messages[0].Content != "one2" {
		t.Errorf("sent %q and %q, want one1 and one2", before.Drive.Messages[0].Content, after.Drive.Messages[0].Content)
	}
	if before.Key != after.Key || !strings.Contains(before.Key, "#one-") {
		t.Errorf("the keys are %q and %q, want one that says one", before.Key, after.Key)
	}
	if in := (schema.Input{File: "v.js", Role: "program"}); !slices.Contains(after.Inputs, in) {
		t.Errorf("inputs %v lack %v", after.Inputs, in)
	}
}
