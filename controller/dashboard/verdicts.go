package dashboard

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A LastVerdict is the newest verdict of a case, or its error.
type LastVerdict struct {
	// URL is the page of the case in the run that has it.
	URL     string
	Verdict verdict.Verdict
	Score   *float64
	At      time.Time
	// Digest is the decision digest of the case that was judged.
	Digest string
}

// lastVerdicts remembers the newest verdict of each case. It is safe for concurrent use.
type lastVerdicts struct {
	mu     sync.Mutex
	read   map[string]bool        // guarded by mu; the newest runs, which were read
	byName map[string]LastVerdict // guarded by mu; replaced, never changed
}

// mostVerdicts bounds the verdicts that are read from runs, the newest runs first.
const mostVerdicts = 200_000

// Verdicts returns the newest verdict of each case in the newest runs, by "key" or
// "key @ target". The caller does not change the map. Runs of pull requests are left out:
// their authors may be strangers.
func (s *Site) Verdicts(ctx context.Context) (map[string]LastVerdict, error) {
	s.judged.mu.Lock()
	defer s.judged.mu.Unlock()
	// A run is stored when it ends, so that one which began earlier may come later.
	runs, _, err := ledger.PageRuns(ctx, s.cfg.Ledger, s.cfg.Repository, ledger.RunPage{Limit: report.HistoryRuns})
	if err != nil {
		return nil, err
	}
	all, read, seen := s.judged.byName, 0, map[string]bool{}
	for _, run := range runs {
		seen[run.ID] = true
		if s.judged.read[run.ID] || run.PullRequest != 0 || read >= mostVerdicts {
			continue
		}
		full, err := s.cfg.Ledger.Run(ctx, run.ID)
		if err != nil {
			return nil, err
		}
		if read == 0 { // a caller may have the map
			if all = maps.Clone(all); all == nil {
				all = map[string]LastVerdict{}
			}
		}
		n, err := s.addVerdicts(all, run.ID, run.Finished, full.Report)
		if err != nil {
			return nil, err
		}
		read += max(n, 1)
	}
	s.judged.read, s.judged.byName = seen, all
	return all, nil
}

// addVerdicts adds the newer verdicts and errors of a run, and returns how many cases it has.
// A case that was not run, as when a person ended the run, keeps its earlier one.
func (s *Site) addVerdicts(all map[string]LastVerdict, id string, finished time.Time, raw []byte) (int, error) {
	rows, err := report.ReadRows(raw)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		name := row.Name()
		if row.Verdict == nil || *row.Verdict == verdict.Skipped || row.Action == plan.Removed || finished.Before(all[name].At) {
			continue
		}
		all[name] = LastVerdict{URL: s.caseURL(id, name), Verdict: *row.Verdict, Score: row.Score, At: finished, Digest: row.Digest}
	}
	return len(rows), nil
}
