package load

import (
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestPassShareOf: the case itself wins, then the longest glob, then the first by name.
func TestPassShareOf(t *testing.T) {
	shares := map[string]schema.PassShare{}
	for i, glob := range []string{"**", "shop/**", "shop/*", "s*/*", "a", "**/long/name/a"} {
		shares[glob] = schema.PassShare{Share: float64(i+1) / 10}
	}
	for key, want := range map[string]float64{"other": .1, "shop/x": .2, "shop/x/y": .2, "sun/x": .4, "a": .5, "b/long/name/a": .6} {
		if got, ok := passShareOf(shares, key); !ok || got.Share != want {
			t.Errorf("%s has %v, want %v", key, got.Share, want)
		}
	}
	if _, ok := passShareOf(map[string]schema.PassShare{"x": {Share: 1}}, "y"); ok {
		t.Error("a share of another case")
	}
}
