package dashboard

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A LastVerdict is the newest verdict of a case.
type LastVerdict struct {
	// URL is the page of the case in the run that judged it.
	URL     string
	Verdict verdict.Verdict
	Score   *float64
	At      time.Time
}

// lastVerdicts remembers the newest verdict of each case. It is safe for concurrent use.
type lastVerdicts struct {
	mu     sync.Mutex
	newest string                 // guarded by mu; the newest run that was read
	byName map[string]LastVerdict // guarded by mu; replaced, never changed
}

// mostVerdicts bounds the verdicts that are read from runs, the newest runs first.
const mostVerdicts = 200_000

// Verdicts returns the newest verdict of each case in the newest runs, by "key" or
// "key @ target". The caller does not change the map.
func (s *Site) Verdicts(ctx context.Context) (map[string]LastVerdict, error) {
	newest, err := ledger.RunOfCommit(ctx, s.cfg.Ledger, s.cfg.Repository, "")
	if err != nil {
		return nil, err
	}
	s.judged.mu.Lock()
	defer s.judged.mu.Unlock()
	if newest == s.judged.newest {
		return s.judged.byName, nil
	}
	found, err := s.newerVerdicts(ctx, s.judged.newest)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(s.judged.byName)
	if all == nil {
		all = map[string]LastVerdict{}
	}
	maps.Copy(all, found)
	s.judged.newest, s.judged.byName = newest, all
	return all, nil
}

// newerVerdicts reads the newest verdicts of the runs after the known one.
func (s *Site) newerVerdicts(ctx context.Context, known string) (map[string]LastVerdict, error) {
	runs, _, err := ledger.PageRuns(ctx, s.cfg.Ledger, s.cfg.Repository, ledger.RunPage{Limit: report.HistoryRuns})
	if err != nil {
		return nil, err
	}
	out, read := map[string]LastVerdict{}, 0
	for _, run := range runs {
		if run.ID == known || read >= mostVerdicts {
			break
		}
		full, err := s.cfg.Ledger.Run(ctx, run.ID)
		if err != nil {
			return nil, err
		}
		cases := report.CaseHistory{}
		if err := cases.Add(report.HistoryRun{ID: run.ID, Head: run.Head, PullRequest: run.PullRequest, Finished: run.Finished, Report: full.Report}); err != nil {
			return nil, err
		}
		read += len(cases)
		for name, judged := range cases {
			if _, isNewer := out[name]; !isNewer {
				out[name] = LastVerdict{URL: s.caseURL(run.ID, name), Verdict: judged[0].Verdict, Score: judged[0].Score, At: judged[0].At}
			}
		}
	}
	return out, nil
}
