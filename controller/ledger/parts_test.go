package ledger_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
)

// testParts holds that the newest decision of a case tells what it consisted
// of, to those who may see it, and in its repository alone.
func testParts(t *testing.T, b backend) {
	k := newFixture(t, b)
	digest := strings.Repeat("0123456789abcdef", 4)
	part := func(show string) []plan.Part {
		return []plan.Part{{Layer: plan.Decision, Name: "threshold", Of: "tone", Number: 2, Digest: digest, Show: show, Files: []string{"a.json"}}}
	}
	save := func(trust ledger.Trust, name, id, show string) {
		d := digestsOf(name)
		o := outcome(trust, d, 0, "text")
		o.Case, o.Parts = id, part(show)
		k.save(o)
	}
	save(base, "one", "a", "0.5")
	save(base, "two", "a", "0.6")
	save(base, "three", "b\x00small", "0.7")
	save(pull7, "four", "a", "0.8")
	kept := func(show string) []plan.Part {
		p := part(show)
		p[0].Digest, p[0].Files = digest[:plan.OutlineDigits], nil
		return p
	}
	elsewhere := base
	elsewhere.Repository = "other/repository"
	for _, test := range []struct {
		name  string
		trust ledger.Trust
		want  [][]plan.Part
	}{
		{"base", base, [][]plan.Part{kept("0.6"), kept("0.7"), nil}},
		{"a pull request", pull7, [][]plan.Part{kept("0.8"), kept("0.7"), nil}},
		{"another repository", elsewhere, make([][]plan.Part, 3)},
	} {
		got, err := k.LastParts(t.Context(), ledger.Scope{Trust: test.trust}, []string{"a", "b\x00small", "b"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
