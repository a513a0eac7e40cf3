package dashboard

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/report"
)

// answers are the requests that return the contents of the pages as JSON.
func (s *Site) answers() map[string]func(*http.Request) (any, error) {
	return map[string]func(*http.Request) (any, error){
		"/api/runs":             s.apiRuns,
		"/api/runs/{run}":       s.apiRun,
		"/api/runs/{run}/cases": s.apiCases,
		"/api/compare":          s.apiCompare,
	}
}

// Requests returns the paths for programs, in order: those answered with JSON, and the
// events. All are read by GET.
func Requests() []string {
	out := append(slices.Collect(maps.Keys((&Site{}).answers())), livePath)
	slices.Sort(out)
	return out
}

// api adds the requests that return the contents of the pages as JSON.
func (s *Site) api() {
	for path, answer := range s.answers() {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			body, err := answer(r)
			if err != nil {
				s.fail(w, r, err)
				return
			}
			writeJSON(w, http.StatusOK, redact.Apply(body, s.cfg.Hide))
		})
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(body) // the client is gone
}

// most is how many items an answer has, at most.
const most = 500

// limit returns how many items a request asks for.
func limit(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || n < 1 {
		return perPage
	}
	return min(n, most)
}

// A runDocument is a run without its cases.
type runDocument struct {
	Run         string         `json:"run"`
	Repository  string         `json:"repository"`
	PullRequest *int           `json:"pull_request"`
	Base        *string        `json:"base"`
	Head        *string        `json:"head"`
	Started     string         `json:"started"`
	Finished    string         `json:"finished"`
	Gate        report.Gate    `json:"gate"`
	Summary     report.Summary `json:"summary"`
}

func (s *Site) apiRuns(r *http.Request) (any, error) {
	n := limit(r)
	page := ledger.RunPage{Skip: pageOf(r) * n, Limit: n}
	found, total, err := ledger.PageRuns(r.Context(), s.cfg.Ledger, s.cfg.Repository, page)
	if err != nil {
		return nil, err
	}
	out := struct {
		Runs  []runDocument `json:"runs"`
		Total int           `json:"total"`
	}{[]runDocument{}, total}
	for _, run := range found {
		rep, err := report.Decode(run.Report)
		if err != nil {
			return nil, err
		}
		doc := runDocument{
			Run: run.ID, Repository: run.Repository, Base: rep.Base, Head: rep.Head, Gate: rep.Gate, Summary: rep.Summary,
			Started: run.Started.Format(time.RFC3339), Finished: run.Finished.Format(time.RFC3339),
		}
		if run.PullRequest != 0 {
			doc.PullRequest = &run.PullRequest
		}
		out.Runs = append(out.Runs, doc)
	}
	return out, nil
}

// apiRun returns the report of a run without its cases, which have their own pages.
func (s *Site) apiRun(r *http.Request) (any, error) {
	run, err := s.reports.get(r.Context(), r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	out := *run.report
	out.Cases = []report.Row{}
	return out, nil
}

// apiCases returns the cases of a run that a filter selects.
func (s *Site) apiCases(r *http.Request) (any, error) {
	run, err := s.reports.get(r.Context(), r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	rows, _ := filterOf(r).apply(run)
	n := limit(r)
	out := struct {
		Cases []*report.Row `json:"cases"`
		Total int           `json:"total"`
	}{[]*report.Row{}, len(rows)}
	from := min(pageOf(r)*n, len(rows))
	out.Cases = append(out.Cases, rows[from:min(from+n, len(rows))]...)
	return out, nil
}

// A changeDocument is how one case differs between two runs.
type changeDocument struct {
	Case   string  `json:"case"`
	Change string  `json:"change"`
	Before *result `json:"before"`
	After  *result `json:"after"`
}

// A result is the judgement on a case in one run.
type result struct {
	Verdict *string  `json:"verdict"`
	Score   *float64 `json:"score"`
	Digest  string   `json:"digest"`
}

func (s *Site) apiCompare(r *http.Request) (any, error) {
	q := r.URL.Query()
	a, err := s.subjectOf(r, q.Get("a"), q.Get("target_a"))
	if err != nil {
		return nil, err
	}
	b, err := s.subjectOf(r, q.Get("b"), q.Get("target_b"))
	if err != nil {
		return nil, err
	}
	out := struct {
		A       string           `json:"a"`
		B       string           `json:"b"`
		Changes []changeDocument `json:"changes"`
		Total   int              `json:"total"`
	}{A: a.ID, B: b.ID, Changes: []changeDocument{}}
	n := limit(r)
	from := pageOf(r) * n
	for _, c := range changes(a, b) {
		if c.kind == "same" {
			continue
		}
		if out.Total++; out.Total > from && len(out.Changes) < n {
			out.Changes = append(out.Changes, changeDocument{c.name(), c.kind, resultOf(c.a), resultOf(c.b)})
		}
	}
	return out, nil
}

func resultOf(row *report.Row) *result {
	if row == nil {
		return nil
	}
	out := result{Score: row.Score, Digest: row.Digest}
	if row.Verdict != nil {
		v := string(*row.Verdict)
		out.Verdict = &v
	}
	return &out
}
