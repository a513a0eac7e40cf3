package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
)

// caseID names a case in the ledger, which may serve several repositories.
func caseID(repository, id string) string {
	return repository + "\n" + strings.ReplaceAll(id, "\x00", "\n")
}

// outlined returns the stored outline of parts: enough to find out which of them
// changed.
func outlined(parts []plan.Part) []plan.Part {
	out := slices.Clone(parts)
	for i := range out {
		out[i].Files, out[i].Digest = nil, out[i].Digest[:min(len(out[i].Digest), plan.OutlineDigits)]
	}
	return out
}

// LastParts returns the parts of each case at its latest decision that the scope may
// see, whatever its age. It is parallel to the IDs; nil represents a case that never
// existed.
func (l *Ledger) LastParts(ctx context.Context, scope Scope, ids []string) ([][]plan.Part, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = caseID(scope.Trust.Repository, id)
	}
	found := make([][]plan.Part, len(ids))
	err := l.bulk(ctx, names, func(rows *sql.Rows) error {
		var i int
		var body sql.RawBytes
		if err := rows.Scan(&i, &body); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &found[i]); err != nil {
			return fmt.Errorf("parts of %s: %w", ids[i], err)
		}
		return nil
	}, `SELECT q.key, v.parts FROM json_each(?2) q JOIN verdicts v ON v.id =
		(SELECT max(id) FROM verdicts WHERE case_id = q.value AND ns IN ('', ?1)) WHERE v.parts IS NOT NULL`, scope.Namespace())
	return found, l.store.Fault("read the parts of cases", err)
}
