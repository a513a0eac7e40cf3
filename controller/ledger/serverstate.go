package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A ServerState keeps what gavel serve needs after a restart: the names of repositories,
// the times of schedules, unfinished heads, and suspects. A server has one ledger for all
// its repositories, so its state is as safe against a crash as a verdict. A ServerState is
// safe for concurrent use.
type ServerState struct{ store *store.Store }

// NewServerState returns the state in a ledger.
func NewServerState(l *Ledger) *ServerState { return &ServerState{l.Store()} }

// insertName names a repository. If another repository has the name, the id is added.
const insertName = `INSERT INTO served_repositories (id, name)
	SELECT CAST(?1 AS BIGINT), CASE WHEN EXISTS (SELECT 1 FROM served_repositories WHERE name = ?2) THEN ?2 || ' (' || ?1 || ')' ELSE ?2 END
	WHERE true ON CONFLICT DO NOTHING`

// Name returns the name of a repository in the ledger, which is the name under which it was
// first seen. now is its current name. So a repository keeps its entries over a rename, and
// another one that takes the old name gets none of them.
func (s *ServerState) Name(ctx context.Context, id int64, now string) (name string, err error) {
	read := func() error {
		return s.store.Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&name) }, "SELECT name FROM served_repositories WHERE id = ?", id)
	}
	if err := read(); err != nil || name != "" {
		return name, s.store.Fault("read the name of a repository", err)
	}
	err = s.store.Submit(ctx, func(t *store.Tx) error { return t.Exec(insertName, id, now) })
	if err == nil {
		err = read()
	}
	return name, s.store.Fault("store the name of a repository", err)
}

const upsertSchedule = `INSERT INTO schedules (repository, branch, judged) VALUES (?, ?, ?)
	ON CONFLICT (repository, branch) DO UPDATE SET judged = excluded.judged`

// Judged returns the time up to which the schedule had a branch judged. known is false if
// it never had.
func (s *ServerState) Judged(ctx context.Context, repository int64, branch string) (at time.Time, known bool, err error) {
	err = s.store.Each(ctx, func(rows *sql.Rows) error {
		var nanos int64
		err := rows.Scan(&nanos)
		at, known = time.Unix(0, nanos), true
		return err
	}, "SELECT judged FROM schedules WHERE repository = ? AND branch = ?", repository, branch)
	return at, known, s.store.Fault("read the times of scheduled runs", err)
}

// SetJudged stores the time up to which the schedule had a branch judged.
func (s *ServerState) SetJudged(ctx context.Context, repository int64, branch string, at time.Time) error {
	return s.store.Fault("store the times of scheduled runs", s.store.Submit(ctx, func(t *store.Tx) error {
		return t.Exec(upsertSchedule, repository, branch, at.UnixNano())
	}))
}

// A PendingHead is a commit whose review is not finished.
type PendingHead struct {
	Repository int64
	// Kind is the reason of the review. The server defines the kinds.
	Kind string
	// Pull is a pull request, Ref a branch; each may be zero.
	Pull int
	Ref  string
	SHA  string
	// Seen is when the head was first seen, or zero.
	Seen time.Time
	// Contexts are the known statuses of its groups.
	Contexts []string
}

// AddPending stores a head or updates it.
func (s *ServerState) AddPending(ctx context.Context, h PendingHead) error {
	return s.fault("store", h.SHA, s.store.Submit(ctx, func(t *store.Tx) error { return putPending(t, h) }))
}

func putPending(t *store.Tx, h PendingHead) error {
	contexts, err := json.Marshal(h.Contexts)
	if err != nil {
		return err
	}
	return t.Exec(`INSERT INTO pending_heads (repository, kind, pull_request, ref, head, seen, contexts) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (repository, kind, pull_request, ref, head) DO UPDATE SET seen = excluded.seen, contexts = excluded.contexts`,
		h.Repository, h.Kind, h.Pull, h.Ref, h.SHA, nanos(h.Seen), string(contexts))
}

// RemovePending forgets a head that is finished.
func (s *ServerState) RemovePending(ctx context.Context, h PendingHead) error {
	return s.fault("forget", h.SHA, s.store.Submit(ctx, func(t *store.Tx) error {
		return t.Exec("DELETE FROM pending_heads WHERE repository = ? AND kind = ? AND pull_request = ? AND ref = ? AND head = ?",
			h.Repository, h.Kind, h.Pull, h.Ref, h.SHA)
	}))
}

// MovePending moves the heads of one repository id to another. When a repository is
// reached, its forge's id replaces the server's.
func (s *ServerState) MovePending(ctx context.Context, from, to int64) error {
	if from == to || from == 0 {
		return nil
	}
	return s.store.Fault("move pending heads", s.store.Submit(ctx, func(t *store.Tx) error {
		return errors.Join(
			t.Exec(`INSERT INTO pending_heads (repository, kind, pull_request, ref, head, seen, contexts)
				SELECT CAST(? AS BIGINT), kind, pull_request, ref, head, seen, contexts FROM pending_heads WHERE repository = ? ON CONFLICT DO NOTHING`, to, from),
			t.Exec("DELETE FROM pending_heads WHERE repository = ?", from),
		)
	}))
}

// Pending returns the heads of a repository that are not finished.
func (s *ServerState) Pending(ctx context.Context, repository int64) ([]PendingHead, error) {
	var found []PendingHead
	err := s.store.Each(ctx, func(rows *sql.Rows) error {
		h := PendingHead{Repository: repository}
		var seen int64
		var contexts []byte
		if err := rows.Scan(&h.Kind, &h.Pull, &h.Ref, &h.SHA, &seen, &contexts); err != nil {
			return err
		}
		h.Seen = instant(seen)
		found = append(found, h)
		return json.Unmarshal(contexts, &found[len(found)-1].Contexts)
	}, "SELECT kind, pull_request, ref, head, seen, contexts FROM pending_heads WHERE repository = ?", repository)
	return found, s.store.Fault("read the pending heads", err)
}

// Load returns the stored form of a head, and whether the head is stored.
func (s *ServerState) Load(ctx context.Context, h PendingHead) (PendingHead, bool, error) {
	all, err := s.Pending(ctx, h.Repository)
	for _, one := range all {
		if one.Kind == h.Kind && one.Pull == h.Pull && one.Ref == h.Ref && one.SHA == h.SHA {
			return one, true, nil
		}
	}
	return h, false, err
}

// A Suspect is a head that is being judged, or whose judging ended a process.
type Suspect struct {
	Repository int64
	// Pull is 0 for the head of a branch.
	Pull int
	SHA  string
	// Ended counts the child processes that judging it ended, the last one At.
	Ended int
	At    time.Time
	// Noted is when it was stored.
	Noted time.Time
}

// AddSuspect stores a suspect or updates it.
func (s *ServerState) AddSuspect(ctx context.Context, h Suspect) error {
	return s.fault("store", h.SHA, s.store.Submit(ctx, func(t *store.Tx) error { return putSuspect(t, h) }))
}

func putSuspect(t *store.Tx, h Suspect) error {
	return t.Exec(`INSERT INTO suspects (repository, pull_request, head, ended, at, noted) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (repository, pull_request, head) DO UPDATE SET ended = excluded.ended, at = excluded.at, noted = excluded.noted`,
		h.Repository, h.Pull, h.SHA, h.Ended, nanos(h.At), nanos(h.Noted))
}

// RemoveSuspect ends the suspicion of a head.
func (s *ServerState) RemoveSuspect(ctx context.Context, h Suspect) error {
	return s.fault("forget", h.SHA, s.store.Submit(ctx, func(t *store.Tx) error {
		return t.Exec("DELETE FROM suspects WHERE repository = ? AND pull_request = ? AND head = ?", h.Repository, h.Pull, h.SHA)
	}))
}

// Suspects returns all suspects.
func (s *ServerState) Suspects(ctx context.Context) ([]Suspect, error) {
	var found []Suspect
	err := s.store.Each(ctx, func(rows *sql.Rows) error {
		var h Suspect
		var at, noted int64
		err := rows.Scan(&h.Repository, &h.Pull, &h.SHA, &h.Ended, &at, &noted)
		h.At, h.Noted = instant(at), instant(noted)
		found = append(found, h)
		return err
	}, "SELECT repository, pull_request, head, ended, at, noted FROM suspects")
	return found, s.store.Fault("read the suspects", err)
}

func (s *ServerState) fault(verb, sha string, err error) error {
	return s.store.Fault(fmt.Sprintf("%s the head %.12s", verb, sha), err)
}

// nanos encodes a time, the zero one as 0.
func nanos(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixNano()
}

func instant(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
