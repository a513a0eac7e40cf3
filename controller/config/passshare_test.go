package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

func sharesOf(t *testing.T, text string) *config.Config {
	t.Helper()
	c, problems := config.Parse("gavel.yaml", []byte("version: 1\n"+text+"\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

func TestPassShares(t *testing.T) {
	c := sharesOf(t, "pass: {shop/**: 8 of 10, bank/*: .8, a: 1, b: \"0.25\"}")
	want := map[string]schema.PassShare{"shop/**": {Share: .8, Samples: 10}, "bank/*": {Share: .8}, "a": {Share: 1}, "b": {Share: .25}}
	if diff := cmp.Diff(want, c.PassShares); diff != "" {
		t.Error(diff)
	}
	if c.Digest == sharesOf(t, "").Digest {
		t.Error("the shares are not in the digest of the configuration")
	}
	if diff := cmp.Diff(want, c.Settings().PassShares); diff != "" {
		t.Error(diff)
	}
}

func TestPassSharesThatAreNone(t *testing.T) {
	for _, text := range []string{"11 of 10", "0 of 10", "8 out of 10", "8 of", "80%", "-1 of 2", "8 of 1001", "1.5", "0", "NaN"} {
		_, problems := config.Parse("gavel.yaml", []byte(fmt.Sprintf("version: 1\npass: {\"a\": %q}\n", text)))
		if len(problems) != 1 || problems[0].Rule != "bad-share" || problems[0].Line != 2 || !strings.Contains(problems[0].Hint, "8 of 10") {
			t.Errorf("%q: %v", text, problems)
		}
	}
	if _, problems := config.Parse("gavel.yaml", []byte("version: 1\npass: {\"a[\": 0.5}\n")); len(problems) != 1 || problems[0].Rule != "bad-glob" {
		t.Errorf("a malformed glob: %v", problems)
	}
}

// TestLooserPassShares: a share that is lowered, removed or added is named, and nothing else.
func TestLooserPassShares(t *testing.T) {
	for _, tt := range []struct{ base, head, want string }{
		{"pass: {a: 8 of 10}", "pass: {a: 8 of 10}", ""},
		{"pass: {a: 8 of 10}", "pass: {a: 9 of 10}", ""},
		{"pass: {a: 8 of 10}", "pass: {a: 7 of 10}", "pass a 8 of 10 → 7 of 10"},
		{"pass: {a: 8 of 10}", "pass: {a: 4 of 5}", "pass a 8 of 10 → 4 of 5"},
		{"pass: {a: .8}", "pass: {a: .5}", "pass a 0.8 → 0.5"},
		{"pass: {a: .8}", "", "pass a 0.8 → none"},
		{"", "pass: {a: 1 of 5}", "pass a none → 1 of 5"},
		{"", "pass: {a: 5 of 5}", ""},
	} {
		if got := strings.Join(sharesOf(t, tt.base).Looser(sharesOf(t, tt.head)), "; "); got != tt.want {
			t.Errorf("%q → %q: %q, want %q", tt.base, tt.head, got, tt.want)
		}
	}
}

func TestStalePassShares(t *testing.T) {
	found := sharesOf(t, "pass: {shop/*: .8, shop/refunds: .5, bank/**: .5}").StalePassShares([]string{"shop/refund"})
	if len(found) != 2 || found[0].Line != 2 || !strings.Contains(found[0].Message, "bank/** has a pass share") || !strings.Contains(found[1].Hint, "shop/refund") {
		t.Errorf("%v", found)
	}
}
