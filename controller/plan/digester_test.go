package plan

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/gavel-evals/gavel/schema"
)

// TestDigestsAreThoseOfTheParts: a digester's memory of earlier cases changes no
// digest, and each digest covers the parts that reasons name.
func TestDigestsAreThoseOfTheParts(t *testing.T) {
	env := Environment{Config: "gavel.yaml", Targets: map[string]Target{"bot": {Facts: []Fact{{Name: "model", Value: "m"}}}}}
	cases := []*schema.Case{tc("a", "1", 0.7), configuration(), attempted(), tc("a", "2", 0.5), tc("a", strings.Repeat("long ", 100), 0.7)}
	for round := range 3 {
		for i, c := range cases {
			got := Digest(c, &env)
			if want := seal(got.Parts()); got.Bare() != want {
				t.Errorf("round %d, case %d: digests %+v, of the parts %+v", round, i, got.Bare(), want)
			}
		}
	}
}

// TestDigestTakesLittleMemory: the files that parts come from, which no digest covers, are
// found for those alone who ask for the parts.
func TestDigestTakesLittleMemory(t *testing.T) {
	env := Environment{Config: "gavel.yaml"}
	c := configuration()
	bare := testing.AllocsPerRun(200, func() { Digest(c, &env) })
	if whole := testing.AllocsPerRun(200, func() { seal(parts(c, &env)) }); bare > whole*3/4 {
		t.Errorf("digesting a case allocates %v times, and with all of its parts %v times; want at most three quarters", bare, whole)
	}
}

// TestSharing takes the texts of equal digests, and leaves other digests as they are.
func TestSharing(t *testing.T) {
	one, other := Digests{E: "e", J: "j", D: strings.Clone("digest")}, Digests{E: "e", J: "j", D: strings.Clone("digest")}
	if got := one.Sharing(other); got != one || unsafe.StringData(got.D) != unsafe.StringData(other.D) {
		t.Errorf("equal digests are %v, or keep a text of their own", got)
	}
	other.J = "another"
	if got := one.Sharing(other); got != one || unsafe.StringData(got.D) != unsafe.StringData(one.D) {
		t.Errorf("digests of another case change %v to %v", one, got)
	}
}
