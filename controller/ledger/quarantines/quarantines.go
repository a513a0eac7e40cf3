// Package quarantines reads the commands by which people took cases out of the gate of
// a whole repository, whichever pull request they wrote them on.
package quarantines

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// Verb is the verb of these commands.
const Verb = "quarantine"

// Read returns the commands of a repository that were not refused, in the order in
// which they were written.
func Read(ctx context.Context, l *ledger.Ledger, repository string) ([]ledger.Command, error) {
	var found []ledger.Command
	err := l.Store().Each(ctx, func(rows *sql.Rows) error {
		c := ledger.Command{Repository: repository, Verb: Verb}
		var cases []byte
		var taken int64
		if err := rows.Scan(&c.PullRequest, &c.Comment, &c.Login, &c.Argument, &cases, &taken); err != nil {
			return err
		}
		c.Taken = time.UnixMilli(taken).UTC()
		found = append(found, c)
		return json.Unmarshal(cases, &found[len(found)-1].Cases)
	}, `SELECT pull_request, comment, login, argument, cases, taken FROM commands
		WHERE repository = ? AND verb = ? AND refused = '' ORDER BY comment`, repository, Verb)
	return found, l.Store().Fault("read the quarantines", err)
}
