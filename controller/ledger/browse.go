package ledger

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// A RunPage is a part of a list of runs: Limit entries after the first Skip, newest first.
type RunPage struct{ Skip, Limit int }

// PageRuns returns a page of the runs, with reports whose lists of cases are empty, and the
// number of all runs. It reads as much as it returns, however large the ledger is. An empty
// repository means all.
func PageRuns(ctx context.Context, store *Ledger, repository string, p RunPage) (found []Run, total int, err error) {
	err = store.Store().Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&total) },
		"SELECT count(*) FROM runs WHERE ? IN ('', repository)", repository)
	if err != nil {
		return nil, 0, store.Store().Fault("count the runs", err)
	}
	err = store.Store().Each(ctx, func(rows *sql.Rows) error {
		r, err := scanReportedRun(rows)
		if err != nil {
			return err
		}
		found = append(found, r)
		return nil
	}, selectRuns+` WHERE ? IN ('', repository)
		ORDER BY started DESC, runs.id DESC LIMIT ? OFFSET ?`, repository, p.Limit, p.Skip)
	return found, total, store.Store().Fault("read the runs", err)
}

// reportWithoutCases returns a stored report without its pieces, which hold the cases.
func reportWithoutCases(body []byte) (json.RawMessage, error) {
	frame, err := inflate(body)
	if err != nil {
		return nil, err
	}
	split, err := parseFrame(frame)
	return split.Join(), err
}

// RunOfCommit returns the id of the newest run of a head whose commit begins with a prefix.
// It returns "" if there is none.
func RunOfCommit(ctx context.Context, store *Ledger, repository, prefix string) (id string, err error) {
	err = store.Store().Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&id) },
		`SELECT id FROM runs WHERE ? IN ('', repository) AND substr(head, 1, length(?2)) = ?2
		ORDER BY started DESC, id DESC LIMIT 1`, repository, prefix)
	return id, store.Store().Fault("look for a run", err)
}

// A PullHead is a commit of a pull request.
type PullHead struct {
	PullRequest int
	Head        string
}

// NewestOfHeads returns the id of the newest run of each pull request head of a repository.
func NewestOfHeads(ctx context.Context, store *Ledger, repository string) (map[PullHead]string, error) {
	out := map[PullHead]string{}
	err := store.Store().Each(ctx, func(rows *sql.Rows) error {
		var id string
		var h PullHead
		if err := rows.Scan(&id, &h.PullRequest, &h.Head); err != nil {
			return err
		}
		out[h] = id // a later one is newer
		return nil
	}, "SELECT id, pull_request, head FROM runs WHERE repository = ? AND pull_request > 0 ORDER BY started, id", repository)
	return out, store.Store().Fault("list the heads", err)
}

// NewestOfBranch returns the id of the newest run of a repository outside pull requests. It
// returns "" if there is none.
func NewestOfBranch(ctx context.Context, store *Ledger, repository string) (id string, err error) {
	err = store.Store().Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&id) },
		"SELECT id FROM runs WHERE repository = ? AND pull_request = 0 ORDER BY started DESC, id DESC LIMIT 1", repository)
	return id, store.Store().Fault("read the newest run", err)
}

// RunWithoutCases returns a run with a report whose list of cases is empty. It returns nil if
// there is no such run.
func RunWithoutCases(ctx context.Context, store *Ledger, id string) (found *Run, err error) {
	err = store.Store().Each(ctx, func(rows *sql.Rows) error {
		r, err := scanReportedRun(rows)
		found = &r
		return err
	}, selectRuns+" WHERE runs.id = ?", id)
	return found, store.Store().Fault("read a run", err)
}

// ReportWithoutCases returns the text of a run's report with an empty list of cases, or nil
// if the run is not stored. The text is decompressed while it is read.
func ReportWithoutCases(ctx context.Context, store *Ledger, id string) (text io.Reader, err error) {
	err = store.Store().Each(ctx, func(rows *sql.Rows) error {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return err
		}
		packed := bufio.NewReader(io.LimitReader(flate.NewReader(bytes.NewReader(body)), maxInflated))
		_, err := packed.ReadString('\n') // how long the text before the cases is
		text = packed
		return err
	}, "SELECT body FROM reports WHERE run = ?", id)
	return text, store.Store().Fault("read a report", err)
}

// selectRuns selects the columns that scanReportedRun reads.
const selectRuns = `SELECT runs.id, repository, pull_request, base, head, started, finished, body
	FROM runs JOIN reports ON reports.run = runs.id`

// scanReportedRun reads a run and its report from a row.
func scanReportedRun(rows *sql.Rows) (r Run, err error) {
	var started, finished int64
	var body []byte
	if err := rows.Scan(&r.ID, &r.Repository, &r.PullRequest, &r.Base, &r.Head, &started, &finished, &body); err != nil {
		return r, err
	}
	r.Started, r.Finished = time.UnixMilli(started).UTC(), time.UnixMilli(finished).UTC()
	if r.Report, err = reportWithoutCases(body); err != nil {
		return r, fmt.Errorf("report of run %s: %w", r.ID, err)
	}
	return r, nil
}

// A PastJudgement records one time that a case was judged.
type PastJudgement struct {
	At      time.Time
	Verdict verdict.Verdict
	Score   *float64
	// Digest is the decision digest. Changed means that it differs from the judgement
	// before, or for a base from the base before: the case or its evaluators changed in
	// between.
	Digest  string
	Changed bool
	// Current means that the digest is the requested one.
	Current bool
	// Run is the run of the repository that was active then. It is empty if the run is no
	// longer stored.
	Run string
	// Commit is the commit of the case, empty for a working tree. Base means that it was
	// the base of the run.
	Commit string
	Base   bool
	// J is the judgement digest. The judgement rests on so many Samples, up to the ordinal
	// Last, and Evaluators holds their results.
	J             string
	Last, Samples int
	Evaluators    []verdict.EvaluatorResult
}

// PastJudgements returns the newest judgements of the case with a decision digest that the
// scope may read, under any digest: at most limit, the oldest first. An unknown digest has
// none.
func PastJudgements(ctx context.Context, store *Ledger, scope Scope, digest string, limit int) ([]PastJudgement, error) {
	var found []PastJudgement
	var id string
	err := store.Store().Each(ctx, func(rows *sql.Rows) error {
		var j PastJudgement
		var at int64
		var body sql.RawBytes
		if err := rows.Scan(&at, &j.Verdict, &j.Score, (*digestColumn)(&j.Digest), &j.Commit, (*digestColumn)(&j.J), &j.Last, &body, &id); err != nil {
			return err
		}
		var decision Decision
		if err := json.Unmarshal(body, &decision); err != nil {
			return fmt.Errorf("verdict %s: %w", j.Digest, err)
		}
		j.Samples, j.Evaluators = decision.Samples, decision.Result.Evaluators
		j.At, j.Current = time.UnixMilli(at).UTC(), j.Digest == digest
		found = append(found, j)
		return nil
	}, `SELECT v.created, v.verdict, v.score, v.d, v.commit_id, v.j, v.last, v.body, v.case_id
		FROM (SELECT * FROM verdicts WHERE ns IN ('', ?1)
			AND case_id = (SELECT case_id FROM verdicts WHERE d = ?2 AND case_id <> '' ORDER BY id DESC LIMIT 1)
			ORDER BY id DESC LIMIT ?3) v
		ORDER BY v.id`, scope.Namespace(), digestBytes(digest), limit)
	if repository, _, ok := strings.Cut(id, "\n"); ok && err == nil {
		err = addRuns(ctx, store, repository, found)
	}
	ofBase := "" // the last digest at base
	for i := range found {
		j, before := &found[i], ofBase
		if j.Base {
			ofBase = j.Digest
		} else if i > 0 {
			before = found[i-1].Digest
		}
		j.Changed = before != "" && j.Digest != before
	}
	return found, store.Store().Fault("read how the case was judged", err)
}

// addRuns adds to judgements the latest runs of a repository that were going on.
func addRuns(ctx context.Context, store *Ledger, repository string, found []PastJudgement) error {
	first, last := found[0].At, found[0].At
	for _, j := range found {
		if j.At.Before(first) {
			first = j.At
		}
		if j.At.After(last) {
			last = j.At
		}
	}
	var runs []Run
	err := store.Store().Each(ctx, func(rows *sql.Rows) error {
		var run Run
		var started, finished int64
		if err := rows.Scan(&run.ID, &run.Head, &run.Base, &started, &finished); err != nil {
			return err
		}
		run.Started, run.Finished = time.UnixMilli(started), time.UnixMilli(finished)
		runs = append(runs, run)
		return nil
	}, `SELECT id, head, base, started, finished FROM runs WHERE repository = ?1 AND started <= ?2 AND finished >= ?3 ORDER BY started, id`,
		repository, last.UnixMilli(), first.UnixMilli())
	for i := range found {
		j := &found[i]
		for _, run := range slices.Backward(runs) {
			if run.Started.After(j.At) || run.Finished.Before(j.At) {
				continue
			}
			j.Run, j.Base = run.ID, j.Commit != "" && j.Commit == run.Base && j.Commit != run.Head
			if j.Commit == "" {
				j.Commit = run.Head // a version before this one decided
			}
			break
		}
	}
	return err
}
