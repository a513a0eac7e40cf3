package remeasure

import (
	"testing"
	"time"
)

// TestMoments: outcomes of the sides are next to each other if they were sampled and judged
// within a minute, or within a sample's duration if that is longer.
func TestMoments(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(sampled, judged, sample time.Duration) moment {
		return moment{noon.Add(sampled), noon.Add(judged), sample}
	}
	const second, minute = time.Second, time.Minute
	for _, tt := range []struct {
		name       string
		head, base moment
		want       bool
	}{
		{"a minute apart", at(0, 0, second), at(minute, minute, second), true},
		{"a base from a run before", at(0, 0, second), at(-2*minute, -2*minute, second), false},
		{"a base that is newer", at(0, 0, second), at(2*minute, 2*minute, second), false},
		{"samples of ten minutes", at(0, 0, 10*minute), at(-9*minute, -9*minute, 8*minute), true},
		{"one sample of theirs", at(0, 0, 10*minute), at(-11*minute, -11*minute, 8*minute), false},
		{"one transcript, judged long after", at(-50*minute, 0, second), at(-50*minute, -50*minute, second), false},
		{"transcripts of two hours, judged together", at(0, 0, second), at(-60*minute, 0, second), false},
	} {
		if got := tt.head.isNextTo(tt.base); got != tt.want {
			t.Errorf("%s: next to each other: %v, want %v", tt.name, got, tt.want)
		}
	}
}
