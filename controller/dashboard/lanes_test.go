package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestLanes holds that cases of one place never overlap, and that a place is used again
// as soon as it is free.
func TestLanes(t *testing.T) {
	at := func(seconds int) time.Time {
		return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
	}
	span := func(target string, began, ended int) laneSpan {
		return laneSpan{Target: target, Began: at(began), Ended: at(ended)}
	}
	spans := []laneSpan{
		span("shop", 4, 6), span("shop", 0, 4), span("shop", 1, 9), span("desk", 2, 3), span("shop", 5, 7), span("shop", 9, 10),
	}
	for i := range spans {
		spans[i].Index = i
	}
	var got []string
	for _, lane := range layoutLanes(spans) {
		text := fmt.Sprintf("%s %d places %v:", lane.Target, lane.Places, lane.Busy)
		for _, s := range lane.Spans {
			text += fmt.Sprintf(" %d@%d", s.Index, s.Place)
		}
		got = append(got, text)
	}
	if got, want := strings.Join(got, "; "), "desk 1 places 1s: 3@0; shop 3 places 17s: 1@0 2@1 0@0 4@2 5@0"; got != want {
		t.Errorf("the layout is %s, want %s", got, want)
	}
	if lanes := layoutLanes(nil); len(lanes) != 0 {
		t.Errorf("nothing gives %v", lanes)
	}
}
