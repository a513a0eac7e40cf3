package ledger

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A Home is the repository whose local runs a ledger has. Local runs do not name their
// repository.
type Home struct {
	// Name is owner/name in lower case, empty without a remote.
	Name string `json:"name,omitempty"`
	// Root is the first commit, empty if it is not known.
	Root string `json:"root,omitempty"`
}

// Home returns the home of a ledger, zero if none is noted.
func (l *Ledger) Home(ctx context.Context) (home Home, err error) {
	err = l.store.Each(ctx, func(rows *sql.Rows) error {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return err
		}
		return json.Unmarshal(body, &home)
	}, "SELECT value FROM meta WHERE key = 'home'")
	return home, l.store.Fault("read the repository", err)
}

// SetHome notes the home of a ledger, unless one is noted.
func (l *Ledger) SetHome(ctx context.Context, home Home) error {
	body, err := json.Marshal(home)
	if err != nil {
		return err
	}
	return l.store.Fault("note the repository", l.store.Submit(ctx, func(t *store.Tx) error {
		return t.Exec("INSERT INTO meta (key, value) VALUES ('home', ?) ON CONFLICT DO NOTHING", body)
	}))
}
