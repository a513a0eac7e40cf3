package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

const (
	// mostTimed is for how many cases the times are read, the longest ones.
	mostTimed = 2000
	// mostDrawn is how many cases the timeline draws, the longest ones.
	mostDrawn = 300
	// mostPlaces is how many places of a target are drawn.
	mostPlaces = 64
	// placeHeight and laneHeading are pixels of the drawing.
	placeHeight = 12
	laneHeading = 22
)

// A timelineBody is the page that shows when each case of a run began and ended.
type timelineBody struct {
	Run, URL, When, Took, Cost string
	Height                     int
	Ticks                      []timeTick
	Lanes                      []laneView
	Rows                       []timeRow
	Drawn, Timed, Judged       int
	Pager                      pager
}

// A timeTick is a line of the time axis; Anchor is the alignment of its label.
type timeTick struct{ X, Label, Anchor string }

// A laneView is a target with its cases.
type laneView struct {
	Target, About string
	TextY         int
	Bars          []timeBar
}

// A timeBar is one case.
type timeBar struct{ X, Y, Width, Class, Tip string }

// A timeRow is one case in the table.
type timeRow struct {
	Kind, Icon, Name, URL, Target, Began, Took, Cost string
	Place                                            int
}

// A timed is a judged case of a run, and when it was judged.
type timed struct {
	row *report.Row
	laneSpan
}

// runTimeline is the page that shows when each case of a run began and ended.
func (s *Site) runTimeline(r *http.Request) (view, error) {
	run, err := s.reports.get(r.Context(), r.PathValue("run"))
	if err != nil {
		return view{}, err
	}
	cases, judged, err := s.timed(r, run)
	if err != nil {
		return view{}, err
	}
	body := timelineBody{
		Run: run.ID, URL: s.runURL(run.ID), When: formatRunTime(run.Finished), Took: textfmt.Duration(run.Finished.Sub(run.Started)),
		Timed: len(cases), Judged: judged, Pager: paged(r, len(cases)),
	}
	if usd := run.report.Summary.CostUSD; usd != nil {
		body.Cost = textfmt.USD(*usd)
	}
	body.Drawn = min(len(cases), mostDrawn)
	places := s.draw(&body, run, cases[:body.Drawn])
	for i, c := range cut(cases, pageOf(r)) {
		kind := html.KindOf(c.row)
		line := timeRow{
			Kind: kind, Icon: html.Icons[kind], Name: s.line(c.row.Name()), URL: s.caseURL(run.ID, c.row.Name()),
			Target: s.line(c.row.Target), Began: offset(c.Began.Sub(run.Started)), Took: textfmt.Duration(c.Ended.Sub(c.Began)), Cost: effort(c.row),
		}
		if place, drawn := places[pageOf(r)*perPage+i]; drawn {
			line.Place = place + 1
		}
		body.Rows = append(body.Rows, line)
	}
	return view{Template: "timeline", Title: "Timeline of a run", Body: body}, nil
}

// timed returns the cases that the run judged itself, the longest ones first, and how
// many it judged. It leaves out cases whose verdict the ledger no longer has.
func (s *Site) timed(r *http.Request, run *stored) (cases []timed, judged int, err error) {
	var rows []*report.Row
	for i := range run.report.Cases {
		if row := &run.report.Cases[i]; row.Digest != "" && slices.Contains([]plan.Action{plan.Run, plan.Rejudge, plan.Redecide}, row.Action) {
			rows = append(rows, row)
		}
	}
	judged = len(rows)
	slices.SortStableFunc(rows, func(a, b *report.Row) int { return cmp.Compare(b.DurationMS, a.DurationMS) })
	rows = rows[:min(len(rows), mostTimed)]
	digests := make([]string, len(rows))
	for i, row := range rows {
		digests[i] = row.Digest
	}
	decided, err := s.cfg.Ledger.Decided(r.Context(), run.Scope(), digests)
	if err != nil {
		return nil, 0, err
	}
	for _, row := range rows {
		d := decided[row.Digest]
		if d == nil || d.Created.Before(run.Started) || d.Created.After(run.Finished) {
			continue
		}
		began := d.Created.Add(-time.Duration(row.DurationMS) * time.Millisecond)
		if began.Before(run.Started) {
			began = run.Started // its samples were taken earlier
		}
		cases = append(cases, timed{row, laneSpan{Target: row.Target, Began: began, Ended: d.Created}})
	}
	slices.SortStableFunc(cases, func(a, b timed) int { return cmp.Compare(b.Ended.Sub(b.Began), a.Ended.Sub(a.Began)) })
	for i := range cases {
		cases[i].Index = i
	}
	return cases, judged, nil
}

// draw adds the drawing, and returns the place of each case that is on it.
func (s *Site) draw(body *timelineBody, run *stored, cases []timed) (places map[int]int) {
	places = map[int]int{}
	total := max(run.Finished.Sub(run.Started), time.Millisecond)
	x := func(t time.Time) float64 {
		return float64(t.Sub(run.Started)) / float64(total) * chartWidth
	}
	spans := make([]laneSpan, len(cases))
	for i, c := range cases {
		spans[i] = c.laneSpan
	}
	y := laneHeading
	for _, lane := range layoutLanes(spans) {
		about := fmt.Sprintf("%s, at most %d at a time, %s together", textfmt.Count(len(lane.Spans), "case"), lane.Places, textfmt.Duration(lane.Busy))
		if lane.Places > mostPlaces {
			about += fmt.Sprintf(", of which the first %d places are drawn", mostPlaces)
		}
		out := laneView{Target: s.line(lane.Target), About: about, TextY: y + 14}
		y += laneHeading
		for _, span := range lane.Spans {
			if span.Place >= mostPlaces {
				continue
			}
			places[span.Index] = span.Place
			row := cases[span.Index].row
			out.Bars = append(out.Bars, timeBar{
				X: pixels(x(span.Began)), Y: fmt.Sprint(y + span.Place*placeHeight), Width: pixels(max(1.5, x(span.Ended)-x(span.Began))),
				Class: html.KindOf(row), Tip: textfmt.Clip(s.line(row.Name()), 120) + ": " + offset(span.Began.Sub(run.Started)) + " to " + offset(span.Ended.Sub(run.Started)),
			})
		}
		y += min(lane.Places, mostPlaces)*placeHeight + 8
		body.Lanes = append(body.Lanes, out)
	}
	body.Height = y
	for i, anchor := range []string{"start", "middle", "middle", "middle", "end"} {
		at := time.Duration(i) * total / 4
		body.Ticks = append(body.Ticks, timeTick{pixels(float64(i) * chartWidth / 4), offset(at), anchor})
	}
	return places
}

// offset returns the time since the start of a run.
func offset(d time.Duration) string {
	if d <= 0 {
		return "start"
	}
	return "+" + textfmt.Duration(d)
}

// A laneSpan is when one case was worked on.
type laneSpan struct {
	// Index is the caller's own number of the case.
	Index        int
	Target       string
	Began, Ended time.Time
	// Place is which of the places of its target the case took, from 0. layoutLanes sets it.
	Place int
}

// A lane has the cases of one target.
type lane struct {
	Target string
	// Places is how many cases were worked on at the same time at most.
	Places int
	// Spans are the cases by when they began.
	Spans []laneSpan
	// Busy is how long the cases took together.
	Busy time.Duration
}

// layoutLanes puts each case on the first free line of its target, so that no two cases
// on a line overlap. Targets are in the order of their names.
func layoutLanes(spans []laneSpan) []lane {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b laneSpan) int { return a.Began.Compare(b.Began) })
	var lanes []lane
	free := map[string][]time.Time{} // when each place of a target is free again
	for _, s := range spans {
		at := slices.IndexFunc(lanes, func(l lane) bool { return l.Target == s.Target })
		if at < 0 {
			at, lanes = len(lanes), append(lanes, lane{Target: s.Target})
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
	slices.SortFunc(lanes, func(a, b lane) int {
		if a.Target < b.Target {
			return -1
		}
		return 1
	})
	return lanes
}
