package evaluator_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestYesOrNo has every word for yes and for no.
func TestYesOrNo(t *testing.T) {
	for _, tt := range []struct {
		words   string
		yes, ok bool
	}{
		{"yes|y|true|correct|right|1|ya|iya|benar|betul", true, true},
		{"no|n|false|incorrect|not correct|wrong|0|tidak|bukan|salah|tidak benar|tidak betul|nggak|enggak|gak", false, true},
		{"|maybe|not|not right|tidak ya|yes no|2", false, false},
	} {
		for word := range strings.SplitSeq(tt.words, "|") {
			if yes, ok := evaluator.YesOrNo(word); yes != tt.yes || ok != tt.ok {
				t.Errorf("YesOrNo(%q) = %v, %v, want %v, %v", word, yes, ok, tt.yes, tt.ok)
			}
		}
	}
}
