package ci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/gavel-evals/gavel/controller/forge"
)

// Keys are the names under which a repository's jobs keep ledgers if only a cache with
// names persists. A head's ledger has its own names: a job of base never reads them, so
// no head can affect base or another pull request.
type Keys struct {
	// Base is the prefix of the base branch's ledgers, of which the newest is wanted.
	Base string `json:"base"`
	// Own is the prefix of the pull request's ledgers; empty without one.
	Own string `json:"own"`
	// Save is the name for saving the job's ledger, if anything was run; empty if no
	// later job could use it.
	Save string `json:"save"`
	// Folder is base or own: the group of the job's ledger.
	Folder string `json:"folder"`
}

// KeysOf names the ledgers of an event's job; all are empty if it needs nothing. The
// event of a comment lacks the base branch, which is then looked up at the forge. run
// identifies this job among all others, such as the id of the run with the number of
// the attempt.
func KeysOf(ctx context.Context, client *forge.Client, e forge.Event, run string) (Keys, error) {
	k := Keys{Folder: "own"}
	if Idle(e, true) != "" {
		return k, nil
	}
	base := e.BaseRef
	if e.Name == forge.EventIssueComment {
		pull, err := client.Pull(ctx, e.Repo, e.Number)
		if err != nil {
			return k, err
		}
		base = pull.BaseRef
	}
	// A digest, because a cache may refuse characters of a name, and because one name
	// may be the prefix of another.
	sum := sha256.Sum256([]byte(base))
	k.Base = "gavel-base-" + hex.EncodeToString(sum[:8]) + "-"
	switch {
	case e.Number != 0:
		k.Own = fmt.Sprintf("gavel-pull-%d-", e.Number)
		k.Save = k.Own + run
	case e.Name == forge.EventPush && e.HeadRef == e.BaseRef:
		k.Save, k.Folder = k.Base+run, "base"
	}
	return k, nil
}

// Env formats the keys as a job's steps pass values on, a line each.
func (k Keys) Env() string {
	return fmt.Sprintf("base=%s\nown=%s\nsave=%s\nfolder=%s\n", k.Base, k.Own, k.Save, k.Folder)
}
