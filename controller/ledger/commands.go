package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A Command is a command in a comment on a pull request, with its outcome.
type Command struct {
	// Repository names it by its forge and its id there.
	Repository  string
	PullRequest int
	// Comment is the id of the comment, which is followed once.
	Comment int64
	Login   string
	Account int64
	// Verb and Argument are the request, Cases the keys that it concerns.
	Verb, Argument string
	Cases          []string
	// Head is the commit that it is about.
	Head string
	// Refused says why it is not followed; empty if it is.
	Refused string
	// Written is the forge's time. Taken is ours, and defaults to now. Answered says
	// that the forge has the answer.
	Written, Taken time.Time
	Answered       bool
}

// TakeCommand stores a command that was not taken before. If several take
// the same comment, one gets true.
func (l *Ledger) TakeCommand(ctx context.Context, c Command) (isFirst bool, err error) {
	cases, err := json.Marshal(c.Cases)
	if err != nil {
		return false, l.store.Fault("store a command", err)
	}
	if c.Taken.IsZero() {
		c.Taken = l.now()
	}
	var answered *int64
	if c.Answered {
		at := c.Taken.UnixMilli()
		answered = &at
	}
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		n, err := t.Change(`INSERT INTO commands (repository, pull_request, comment, login, account, verb, argument, cases, head, refused, written, taken, answered)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			c.Repository, c.PullRequest, c.Comment, c.Login, c.Account, c.Verb, c.Argument, string(cases), c.Head, c.Refused,
			c.Written.UnixMilli(), c.Taken.UnixMilli(), answered)
		isFirst = n == 1
		return err
	})
	return isFirst, l.store.Fault("store a command", err)
}

// AnswerCommand records that the answer to a comment was sent to the forge.
func (l *Ledger) AnswerCommand(ctx context.Context, repository string, comment int64) error {
	return l.store.Fault("note an answer", l.store.Submit(ctx, func(t *store.Tx) error {
		return t.Exec("UPDATE commands SET answered = ? WHERE repository = ? AND comment = ?", l.now().UnixMilli(), repository, comment)
	}))
}

// Commands returns the commands of a pull request, in the order in which they were
// written.
func (l *Ledger) Commands(ctx context.Context, repository string, number int) ([]Command, error) {
	var found []Command
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		c := Command{Repository: repository, PullRequest: number}
		var cases []byte
		var written, taken int64
		err := rows.Scan(&c.Comment, &c.Login, &c.Account, &c.Verb, &c.Argument, &cases, &c.Head, &c.Refused, &written, &taken, &c.Answered)
		if err != nil {
			return err
		}
		c.Written, c.Taken = time.UnixMilli(written).UTC(), time.UnixMilli(taken).UTC()
		found = append(found, c)
		return json.Unmarshal(cases, &found[len(found)-1].Cases)
	}, `SELECT comment, login, account, verb, argument, cases, head, refused, written, taken, answered IS NOT NULL
		FROM commands WHERE repository = ? AND pull_request = ? ORDER BY comment`, repository, number)
	return found, l.store.Fault("read the commands", err)
}

// FirstSeen returns when a commit was first recorded as the head of a pull request, or
// of a branch if the number is 0. A new one is recorded now.
func (l *Ledger) FirstSeen(ctx context.Context, repository string, number int, head string) (time.Time, error) {
	for {
		heads, err := l.SeeHead(ctx, repository, number, head)
		if seen, known := heads[head]; err != nil || known {
			return seen, err
		}
	}
}

// Heads returns the commits that were noted as heads of a pull request, with the
// time at which each was.
func (l *Ledger) Heads(ctx context.Context, repository string, number int) (map[string]time.Time, error) {
	heads := map[string]time.Time{}
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		var sha string
		var seen int64
		err := rows.Scan(&sha, &seen)
		heads[sha] = time.UnixMilli(seen).UTC()
		return err
	}, "SELECT head, seen FROM heads WHERE repository = ? AND pull_request = ?", repository, number)
	return heads, l.store.Fault("read the heads", err)
}

// ForgetHead removes the record that a commit was a head at the given time. A later
// record of it stays.
func (l *Ledger) ForgetHead(ctx context.Context, repository string, number int, head string, seen time.Time) error {
	return l.store.Fault("forget a head", l.store.Submit(ctx, func(t *store.Tx) error {
		return t.Exec("DELETE FROM heads WHERE repository = ? AND pull_request = ? AND head = ? AND seen = ?",
			repository, number, head, seen.UnixMilli())
	}))
}

// SeeHead records that a commit is the head of a pull request, and returns the earlier
// heads, each with the time of its record.
func (l *Ledger) SeeHead(ctx context.Context, repository string, number int, head string) (map[string]time.Time, error) {
	heads, err := l.Heads(ctx, repository, number)
	if _, known := heads[head]; err != nil || known {
		return heads, err
	}
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		return t.Exec("INSERT INTO heads (repository, pull_request, head, seen) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			repository, number, head, l.now().UnixMilli())
	})
	return heads, l.store.Fault("note a head", err)
}
