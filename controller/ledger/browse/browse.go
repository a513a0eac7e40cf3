// Package browse reads from a ledger what people page through: the list of runs
// without their cases, and how one case was judged over time.
//
// Most callers want [Runs] and [Judged]. Both read as much as they return, however
// large the ledger is.
package browse

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/pieces"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Run is a stored run. Its report has no cases.
type Run = ledger.Run

// A Page is a part of a list, from the newest: Limit entries after the first Skip.
type Page struct{ Skip, Limit int }

// Runs returns a page of the runs with their reports, whose lists of cases are
// empty, and how many runs there are. An empty repository means all.
func Runs(ctx context.Context, store *ledger.Ledger, repository string, p Page) (found []Run, total int, err error) {
	err = store.Store().Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&total) },
		"SELECT count(*) FROM runs WHERE ? IN ('', repository)", repository)
	if err != nil {
		return nil, 0, store.Store().Fault("count the runs", err)
	}
	err = store.Store().Each(ctx, func(rows *sql.Rows) error {
		r, err := scan(rows)
		if err != nil {
			return err
		}
		found = append(found, r)
		return nil
	}, selectRuns+` WHERE ? IN ('', repository)
		ORDER BY started DESC, runs.id DESC LIMIT ? OFFSET ?`, repository, p.Limit, p.Skip)
	return found, total, store.Store().Fault("read the runs", err)
}

// withoutCases is the report without its pieces, which the cases are in.
func withoutCases(body []byte) (json.RawMessage, error) {
	frame, err := pieces.Unpack(body)
	if err != nil {
		return nil, err
	}
	split, err := pieces.Framed(frame)
	return split.Join(), err
}

// RunOfCommit returns the id of the newest run of a head whose name begins with a prefix, such
// as 7 digits of a commit; empty where there is none.
func RunOfCommit(ctx context.Context, store *ledger.Ledger, repository, prefix string) (id string, err error) {
	err = store.Store().Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&id) },
		`SELECT id FROM runs WHERE ? IN ('', repository) AND substr(head, 1, length(?2)) = ?2
		ORDER BY started DESC, id DESC LIMIT 1`, repository, prefix)
	return id, store.Store().Fault("look for a run", err)
}

// A Head is a head of a pull request.
type Head struct {
	PullRequest int
	Head        string
}

// Heads returns the ids of the newest run of each head of the pull requests of a repository.
func Heads(ctx context.Context, store *ledger.Ledger, repository string) (map[Head]string, error) {
	out := map[Head]string{}
	err := store.Store().Each(ctx, func(rows *sql.Rows) error {
		var id string
		var h Head
		if err := rows.Scan(&id, &h.PullRequest, &h.Head); err != nil {
			return err
		}
		out[h] = id // a later one is newer
		return nil
	}, "SELECT id, pull_request, head FROM runs WHERE repository = ? AND pull_request > 0 ORDER BY started, id", repository)
	return out, store.Store().Fault("list the heads", err)
}

// OfBranch returns the id of the newest run of a repository that is not of a pull request;
// empty where there is none.
func OfBranch(ctx context.Context, store *ledger.Ledger, repository string) (id string, err error) {
	err = store.Store().Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&id) },
		"SELECT id FROM runs WHERE repository = ? AND pull_request = 0 ORDER BY started DESC, id DESC LIMIT 1", repository)
	return id, store.Store().Fault("read the newest run", err)
}

// One returns a run with its report, which has no cases; nil where there is none.
func One(ctx context.Context, store *ledger.Ledger, id string) (found *Run, err error) {
	err = store.Store().Each(ctx, func(rows *sql.Rows) error {
		r, err := scan(rows)
		found = &r
		return err
	}, selectRuns+" WHERE runs.id = ?", id)
	return found, store.Store().Fault("read a run", err)
}

// selectRuns are the columns that scan reads.
const selectRuns = `SELECT runs.id, repository, pull_request, base, head, started, finished, body
	FROM runs JOIN reports ON reports.run = runs.id`

// scan reads a run with its report.
func scan(rows *sql.Rows) (r Run, err error) {
	var started, finished int64
	var body []byte
	if err := rows.Scan(&r.ID, &r.Repository, &r.PullRequest, &r.Base, &r.Head, &started, &finished, &body); err != nil {
		return r, err
	}
	r.Started, r.Finished = time.UnixMilli(started).UTC(), time.UnixMilli(finished).UTC()
	if r.Report, err = withoutCases(body); err != nil {
		return r, fmt.Errorf("report of run %s: %w", r.ID, err)
	}
	return r, nil
}

// A Judgement is one time that a case was judged.
type Judgement struct {
	At      time.Time
	Verdict verdict.Verdict
	Score   *float64
	// Digest is the decision digest. Changed says that it is another one than before,
	// of a base than at the base before: the case, or what it is judged with, was
	// changed in between.
	Digest  string
	Changed bool
	// Current says that the digest is the one that was asked about.
	Current bool
	// Run is the run of the repository that was active then; empty where it is not
	// stored any more.
	Run string
	// Commit is the one that the case was of; empty for a working tree. Base says that it
	// was the base of the run, and not its head.
	Commit string
	Base   bool
	// J is the judgement digest. The judgement rests on so many Samples of it, the Last
	// of which has this ordinal, and Evaluators are their results.
	J             string
	Last, Samples int
	Evaluators    []verdict.EvaluatorResult
}

// Judged returns the newest judgements of the case with a decision digest, at most
// limit, the oldest first. It has those that the scope may read, under any digest.
// Nothing is returned for a digest that is not known.
func Judged(ctx context.Context, store *ledger.Ledger, scope ledger.Scope, digest string, limit int) ([]Judgement, error) {
	var found []Judgement
	err := store.Store().Each(ctx, func(rows *sql.Rows) error {
		var j Judgement
		var at int64
		var run, head, base sql.NullString
		var body sql.RawBytes
		if err := rows.Scan(&at, &j.Verdict, &j.Score, &j.Digest, &j.Commit, &j.J, &j.Last, &body, &run, &head, &base); err != nil {
			return err
		}
		var decision ledger.Decision
		if err := json.Unmarshal(body, &decision); err != nil {
			return fmt.Errorf("verdict %s: %w", j.Digest, err)
		}
		j.Samples, j.Evaluators = decision.Samples, decision.Result.Evaluators
		j.At, j.Run, j.Current = time.UnixMilli(at).UTC(), run.String, j.Digest == digest
		j.Base = j.Commit != "" && j.Commit == base.String && j.Commit != head.String
		if j.Commit == "" {
			j.Commit = head.String // a version before this one decided
		}
		found = append(found, j)
		return nil
	}, `SELECT v.created, v.verdict, v.score, v.d, v.commit_id, v.j, v.last, v.body, r.id, r.head, r.base
		FROM (SELECT * FROM verdicts WHERE ns IN ('', ?1)
			AND case_id = (SELECT case_id FROM verdicts WHERE d = ?2 AND case_id <> '' ORDER BY id DESC LIMIT 1)
			ORDER BY id DESC LIMIT ?3) v
		LEFT JOIN runs r ON r.id = (SELECT id FROM runs
			WHERE started <= v.created AND substr(v.case_id, 1, length(repository) + 1) = repository || ?4
			ORDER BY started DESC LIMIT 1) AND r.finished >= v.created
		ORDER BY v.id`, scope.Namespace(), digest, limit, "\n")
	ofBase := "" // the last digest at a base
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
