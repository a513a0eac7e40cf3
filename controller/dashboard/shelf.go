package dashboard

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/html"
)

// A stored run with its report, arranged for being looked at. It never changes.
type stored struct {
	ledger.Run
	report *report.Report
	// rows are the cases, the most interesting ones first; the first blocking of them
	// speak against the change. kinds and words are parallel.
	rows     []*report.Row
	blocking int
	kinds    []string
	words    []string // the text that a filter searches
	byName   map[string]*report.Row
}

// A shelf remembers opened runs, since reading a large one takes long.
type shelf struct {
	ledger *ledger.Ledger
	// repository is the one whose runs are looked at; empty for all.
	repository string
	// hide removes secrets from reports.
	hide func(string) string

	mu    sync.Mutex
	runs  map[string]*stored // guarded by mu
	order []string           // guarded by mu; the one that was used last is last
	cases int                // guarded by mu; how many cases runs has
}

const (
	mostCases = 250_000 // of all remembered runs together
	mostRuns  = 200
)

func newShelf(store *ledger.Ledger, repository string, hide func(string) string) *shelf {
	return &shelf{ledger: store, repository: repository, hide: hide, runs: map[string]*stored{}}
}

// get returns a run; an empty id means the newest. The error is [ledger.ErrNoRun] if
// there is none.
func (s *shelf) get(ctx context.Context, id string) (*stored, error) {
	s.mu.Lock()
	found := s.runs[id]
	if found != nil {
		s.use(id)
	}
	s.mu.Unlock()
	if found != nil {
		return found, nil
	}
	run, err := s.ledger.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.repository != "" && run.Repository != s.repository {
		return nil, ledger.ErrNoRun // it is another repository's, which others may not see
	}
	r, err := report.Decode(run.Report)
	if err != nil {
		return nil, err
	}
	run.Report = nil
	// Pages clip texts, and half a secret would not be recognized.
	found = arranged(run, redact.Apply(r, s.hide))
	s.put(found)
	return found, nil
}

func arranged(run ledger.Run, r *report.Report) *stored {
	out := &stored{Run: run, report: r, byName: make(map[string]*report.Row, len(r.Cases))}
	out.rows, out.blocking = html.Rows(r)
	out.kinds, out.words = make([]string, len(out.rows)), make([]string, len(out.rows))
	for i, row := range out.rows {
		out.kinds[i] = html.KindOf(row)
		text := row.Name() + "\n" + row.VerdictReason + "\n" + row.File + "\n" + row.Target
		if row.Error != nil {
			text += "\n" + *row.Error
		}
		out.words[i] = strings.ToLower(text)
		out.byName[row.Name()] = row
	}
	return out
}

// judgedAs returns a case with a decision digest; nil for none.
func (run *stored) judgedAs(digest string) *report.Row {
	at := slices.IndexFunc(run.rows, func(row *report.Row) bool { return digest != "" && row.Digest == digest })
	if at < 0 {
		return nil
	}
	return run.rows[at]
}

// use moves a run to the end. The caller holds mu.
func (s *shelf) use(id string) {
	for i, other := range s.order {
		if other == id {
			s.order = append(append(s.order[:i:i], s.order[i+1:]...), id)
			return
		}
	}
}

// put remembers a run and forgets the least recently used ones.
func (s *shelf) put(run *stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[run.ID] != nil {
		return // another goroutine was quicker
	}
	s.runs[run.ID], s.order, s.cases = run, append(s.order, run.ID), s.cases+len(run.rows)
	for len(s.order) > 1 && (s.cases > mostCases || len(s.order) > mostRuns) {
		old := s.order[0]
		s.cases -= len(s.runs[old].rows)
		delete(s.runs, old)
		s.order = s.order[1:]
	}
}

// formatRunTime formats the time of a run, so that two runs of one minute differ.
func formatRunTime(t time.Time) string { return t.UTC().Format(time.DateTime) }

// formatTime formats a time for people.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
