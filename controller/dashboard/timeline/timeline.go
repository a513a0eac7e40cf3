// Package timeline lays out when the cases of a run began and ended. It is pure.
//
// Most callers want [Layout].
package timeline

import (
	"slices"
	"time"
)

// A Span is when one case was worked on.
type Span struct {
	// Index is the caller's own number of the case.
	Index        int
	Target       string
	Began, Ended time.Time
	// Place is which of the places of its target the case took, from 0. Layout sets it.
	Place int
}

// A Lane is what one target was busy with.
type Lane struct {
	Target string
	// Places is how many cases were worked on at the same time at most.
	Places int
	// Spans are the cases by when they began.
	Spans []Span
	// Busy is how long the cases took together.
	Busy time.Duration
}

// Layout gives each case the first free place of its target, so that no two cases of a
// place overlap. Targets are in the order of their names.
func Layout(spans []Span) []Lane {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b Span) int { return a.Began.Compare(b.Began) })
	var lanes []Lane
	free := map[string][]time.Time{} // when each place of a target is free again
	for _, s := range spans {
		at := slices.IndexFunc(lanes, func(l Lane) bool { return l.Target == s.Target })
		if at < 0 {
			at, lanes = len(lanes), append(lanes, Lane{Target: s.Target})
		}
		places := free[s.Target]
		s.Place = slices.IndexFunc(places, func(t time.Time) bool { return !t.After(s.Began) })
		if s.Place < 0 {
			s.Place, places = len(places), append(places, time.Time{})
		}
		places[s.Place] = s.Ended
		free[s.Target] = places
		lane := &lanes[at]
		lane.Places, lane.Spans, lane.Busy = len(places), append(lane.Spans, s), lane.Busy+s.Ended.Sub(s.Began)
	}
	slices.SortFunc(lanes, func(a, b Lane) int {
		if a.Target < b.Target {
			return -1
		}
		return 1
	})
	return lanes
}
