package serve

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
)

// A reportKey is a commit of a pull request, or of a branch if the number is 0.
type reportKey struct {
	repository string
	number     int
	head       string
}

// A reportIndex knows the ledger's reports by commit. It is safe for concurrent use.
type reportIndex struct {
	ledger *ledger.Ledger

	mu sync.Mutex
	// The fields below are guarded by mu.
	runs map[reportKey]string // id of the newest
	base map[reportKey]string // the commit that it was compared with
	// rules are the digests of the rules by which heads were judged in this process.
	rules map[reportKey]string
	// heads are the heads of branches by repository, the newest last.
	heads map[string][]string
}

// loadReports reads the existing reports from the ledger. Heads that are older than its
// last runs are judged again, without a call.
func loadReports(ctx context.Context, store *ledger.Ledger) (*reportIndex, error) {
	x := &reportIndex{ledger: store, runs: map[reportKey]string{}, base: map[reportKey]string{}, rules: map[reportKey]string{}, heads: map[string][]string{}}
	runs, err := store.Runs(ctx, review.Recalled)
	if err != nil {
		return nil, err
	}
	for i := len(runs) - 1; i >= 0; i-- { // the newest wins
		r := runs[i]
		if r.PullRequest == 0 && r.Head == r.Base {
			continue // the schedule had it judged, which is not news of the commit
		}
		x.put(reportKey{r.Repository, r.PullRequest, r.Head}, r.ID, r.Base)
	}
	return x, nil
}

// put notes a run and reports whether it is new.
func (x *reportIndex) put(k reportKey, run, base string) bool {
	k.repository = strings.ToLower(k.repository)
	if x.runs[k] == run {
		return false
	}
	x.runs[k], x.base[k] = run, base
	if k.number == 0 {
		x.heads[k.repository] = append(x.heads[k.repository], k.head)
	}
	return true
}

// add notes a report and reports whether it is new.
func (x *reportIndex) add(number int, repository string, r *report.Report) bool {
	if r.Head == nil {
		return false
	}
	base := ""
	if r.Base != nil {
		base = *r.Base
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.Rules != nil {
		x.rules[reportKey{strings.ToLower(repository), number, *r.Head}] = r.Rules.Digest
	}
	return x.put(reportKey{repository, number, *r.Head}, r.Run, base)
}

// judgedBy returns the digest of the rules by which a head was judged in this process,
// empty if it was not.
func (x *reportIndex) judgedBy(k reportKey) string {
	k.repository = strings.ToLower(k.repository)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rules[k]
}

// report reads the newest report of a commit, nil if there is none. Another process may
// have stored it since this one began.
func (x *reportIndex) report(ctx context.Context, k reportKey) (*report.Report, error) {
	newest, err := x.ledger.Newest(ctx, k.repository, k.number, k.head)
	if err != nil {
		return nil, err
	}
	k.repository = strings.ToLower(k.repository)
	x.mu.Lock()
	id := cmp.Or(newest, x.runs[k])
	x.mu.Unlock()
	if id == "" {
		return nil, nil
	}
	return review.Stored(ctx, x.ledger, id)
}

// baseCandidates returns the commits with which a branch's commit may be compared, the
// best first: the one that it was already compared with, then the last judged one.
func (x *reportIndex) baseCandidates(repository, head string) []string {
	const most = 20 // further back, the parent is as good
	repository = strings.ToLower(repository)
	x.mu.Lock()
	defer x.mu.Unlock()
	if base := x.base[reportKey{repository, 0, head}]; base != "" {
		return []string{base}
	}
	heads := x.heads[repository]
	var out []string
	for i := len(heads) - 1; i >= 0 && len(out) < most; i-- {
		out = append(out, heads[i])
	}
	return out
}
