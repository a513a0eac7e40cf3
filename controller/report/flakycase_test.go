package report

import (
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
)

func series(text string) []FlakyMeasurement {
	words := map[rune]verdict.Verdict{'p': verdict.Pass, 'b': verdict.Borderline, 'f': verdict.Fail, 'e': verdict.Error}
	var out []FlakyMeasurement
	for i, letter := range text {
		out = append(out, FlakyMeasurement{Ordinal: i, At: time.Unix(int64(i), 0), Verdict: words[letter]})
	}
	return out
}

// TestOf holds the rule at its limits: how many of how many have to differ.
func TestOf(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		odd        int
	}{
		{"", "", 0},
		{"p", "", 0},
		{"pf", "", 0},
		{"ppf", "", 0},
		{"pppf", "", 0},
		{"pffp", "2 of 4 differ (about 50 %)", 2},
		{"ppppfpf", "2 of 7 differ (about 31 %)", 6},
		{"ppppfpfp", "", 0},
		{"ffpppppf", "3 of 8 differ (about 39 %)", 7},
		{"fffpf", "", 0},
		{"fpfpf", "2 of 5 differ (about 42 %)", 3},
		{"pppbbff", "4 of 7 differ (about 56 %)", 6},
		{"ppfeeeee", "", 0},
		{"pffpe", "2 of 4 differ (about 50 %)", 2},
	} {
		got := ClassifyFlaky(series(tt.text))
		switch {
		case got == nil && tt.want == "":
		case got == nil || got.String() != tt.want || got.Disagrees.Ordinal != tt.odd:
			t.Errorf("%s: %v, want %q with %d", tt.text, got, tt.want, tt.odd)
		}
	}
	if c := ClassifyFlaky(series("ffpffp")); c.Usual != verdict.Fail || c.Disagrees.Verdict != verdict.Pass || !c.Since.Equal(time.Unix(0, 0)) || !c.Until.Equal(time.Unix(5, 0)) {
		t.Errorf("found %+v", c)
	}
}
