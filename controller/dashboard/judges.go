package dashboard

import (
	"fmt"
	"net/http"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

const (
	mostPairs    = 60 // of evaluators
	mostDisputed = 8  // cases that are named for a pair of evaluators
)

// A pairRow is how two evaluators agree.
type pairRow struct {
	A, B, TypeA, TypeB string
	Cases, Rate, Kappa string
	BothPass, BothFail string
	OnlyA, OnlyB       string
	Heat, More         int
	Disputed           []pageLink
}

// A pageLink leads to a page.
type pageLink struct{ Name, URL string }

// runJudges is the page that shows how often the evaluators of a run agree.
func (s *Site) runJudges(r *http.Request) (view, error) {
	run, err := s.reports.get(r.Context(), r.PathValue("run"))
	if err != nil {
		return view{}, err
	}
	pairs, unpaired := countPairs(run.report)
	body := struct {
		URL, When string
		Rows      []pairRow
		More      int

		// Unpaired are the cases with more than MostEvaluators; empty for none.
		Unpaired       string
		MostEvaluators int
	}{s.runURL(run.ID), formatRunTime(run.Finished), nil, max(0, len(pairs)-mostPairs), "", mostEvaluators}
	if unpaired > 0 {
		body.Unpaired = textfmt.Count(unpaired, "case")
	}
	for _, p := range pairs[:min(len(pairs), mostPairs)] {
		body.Rows = append(body.Rows, s.pairRow(run, p))
	}
	return view{Template: "judges", Title: "Agreement of evaluators", Body: body}, nil
}

func (s *Site) pairRow(run *stored, p *evaluatorPair) pairRow {
	number := func(n int) string { return textfmt.Int(int64(n)) }
	out := pairRow{
		A: s.line(p.A), B: s.line(p.B), TypeA: s.line(p.TypeA), TypeB: s.line(p.TypeB), Cases: number(p.Cases()),
		Rate: fmt.Sprintf("%.0f %%", 100*p.Rate()), Kappa: "–", Heat: int(10 * p.Rate()),
		BothPass: number(p.BothPass), BothFail: number(p.BothFail), OnlyA: number(p.OnlyA), OnlyB: number(p.OnlyB),
		More: max(0, len(p.Disputed)-mostDisputed),
	}
	if kappa, ok := p.Kappa(); ok {
		out.Kappa = textfmt.Signed(kappa, 2)
	}
	for _, row := range p.Disputed[:len(p.Disputed)-out.More] {
		out.Disputed = append(out.Disputed, pageLink{s.line(row.Name()), s.caseURL(run.ID, row.Name())})
	}
	return out
}
