package ci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/gavel-evals/gavel/controller/forge"
)

// Keys are the names under which the jobs of a repository keep ledgers
// from one to the next, if all that persists is a cache with names. The ledger
// of a head has names of its own: a job of base never asks for
// them, so that no head, whatever it wrote, serves base or another pull request.
type Keys struct {
	// Base begins the names of the ledgers of the base branch, of which the
	// newest is wanted.
	Base string `json:"base"`
	// Own begins those of the pull request; empty where there is none.
	Own string `json:"own"`
	// Save is what the job's ledger is saved as, if anything was run; empty where
	// nothing is judged that would serve a later job.
	Save string `json:"save"`
	// Folder is base or own: the one that the job's ledger is in.
	Folder string `json:"folder"`
}

// KeysOf names the ledgers of the job that an event started; all are empty where
// it asks for nothing. The event of a comment lacks the base branch: then the forge
// is asked. run identifies this job among all others, such as the id of the run with the
// number of the attempt.
func KeysOf(ctx context.Context, client *forge.Client, e forge.Event, run string) (Keys, error) {
	k := Keys{Folder: "own"}
	if Idle(e) != "" {
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
	// A digest, because a name may hold what a cache refuses, and because one
	// name may begin with another.
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

// Env returns the keys as a job's steps hand values on, a line each.
func (k Keys) Env() string {
	return fmt.Sprintf("base=%s\nown=%s\nsave=%s\nfolder=%s\n", k.Base, k.Own, k.Save, k.Folder)
}
