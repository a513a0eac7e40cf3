package serve

import (
	"context"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/reporters"
)

// A place is a commit of a pull request, or of a branch where the number is 0.
type place struct {
	repository string
	number     int
	head       string
}

// A memory knows which reports the ledger has of which commits.
type memory struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	runs map[place]string // id of the newest
	base map[place]string // what it was compared with
	// heads are those of branches by repository, the newest last.
	heads map[string][]string
}

// remember reads from the ledger what there is. Heads that are older than its
// last runs are judged again, without a call.
func remember(ctx context.Context, book *ledger.Ledger) (*memory, error) {
	m := &memory{runs: map[place]string{}, base: map[place]string{}, heads: map[string][]string{}}
	runs, err := book.Runs(ctx, review.Recalled)
	if err != nil {
		return nil, err
	}
	for i := len(runs) - 1; i >= 0; i-- { // the newest wins
		r := runs[i]
		if r.PullRequest == 0 && r.Head == r.Base {
			continue // it was judged anew, which is no news of the commit
		}
		m.put(place{r.Repository, r.PullRequest, r.Head}, r.ID, r.Base)
	}
	return m, nil
}

// put notes a run and reports whether it is new.
func (m *memory) put(p place, run, base string) bool {
	p.repository = strings.ToLower(p.repository)
	if m.runs[p] == run {
		return false
	}
	m.runs[p], m.base[p] = run, base
	if p.number == 0 {
		m.heads[p.repository] = append(m.heads[p.repository], p.head)
	}
	return true
}

// add notes a report and reports whether it is new.
func (m *memory) add(number int, repository string, r *reporters.Report) bool {
	if r.Head == nil {
		return false
	}
	base := ""
	if r.Base != nil {
		base = *r.Base
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.put(place{repository, number, *r.Head}, r.Run, base)
}

// knows reports whether there is a report of a place.
func (m *memory) knows(p place) bool {
	p.repository = strings.ToLower(p.repository)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[p] != ""
}

// report reads the newest report of a place, nil where there is none.
func (m *memory) report(ctx context.Context, book *ledger.Ledger, p place) (*reporters.Report, error) {
	p.repository = strings.ToLower(p.repository)
	m.mu.Lock()
	id := m.runs[p]
	m.mu.Unlock()
	if id == "" {
		return nil, nil
	}
	return review.Stored(ctx, book, id)
}

// before gives the commits that a branch's commit may be compared with, the
// best first: what it was compared with already, then what was judged last.
func (m *memory) before(repository, head string) []string {
	const most = 20 // further back, the parent is as good
	repository = strings.ToLower(repository)
	m.mu.Lock()
	defer m.mu.Unlock()
	if base := m.base[place{repository, 0, head}]; base != "" {
		return []string{base}
	}
	heads := m.heads[repository]
	var out []string
	for i := len(heads) - 1; i >= 0 && len(out) < most; i-- {
		out = append(out, heads[i])
	}
	return out
}
