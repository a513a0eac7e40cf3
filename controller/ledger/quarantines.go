package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// QuarantineVerb is the verb of these commands.
const QuarantineVerb = "quarantine"

// ReadQuarantines returns the commands of a repository that were not refused, in the order in
// which they were written.
func ReadQuarantines(ctx context.Context, l *Ledger, repository string) ([]Command, error) {
	var found []Command
	err := l.Store().Each(ctx, func(rows *sql.Rows) error {
		c := Command{Repository: repository, Verb: QuarantineVerb}
		var cases []byte
		var taken int64
		if err := rows.Scan(&c.PullRequest, &c.Comment, &c.Login, &c.Argument, &cases, &taken); err != nil {
			return err
		}
		c.Taken = time.UnixMilli(taken).UTC()
		found = append(found, c)
		return json.Unmarshal(cases, &found[len(found)-1].Cases)
	}, `SELECT pull_request, comment, login, argument, cases, taken FROM commands
		WHERE repository = ? AND verb = ? AND refused = '' ORDER BY comment`, repository, QuarantineVerb)
	return found, l.Store().Fault("read the quarantines", err)
}
