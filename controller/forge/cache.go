package forge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// CacheKeys are the names under which the jobs of a repository keep ledgers
// from one to the next, where all that is kept is a cache with names. What a
// head was judged under has names of its own: a job of base never asks for
// them, so that no head, whatever it wrote, serves base or another pull request.
type CacheKeys struct {
	// Base begins the names of the ledgers of the base branch, of which the
	// newest is wanted.
	Base string `json:"base"`
	// Own begins those of the pull request; empty where there is none.
	Own string `json:"own"`
	// Save is what the job's ledger is saved as; empty where nothing is judged
	// that would serve a later job.
	Save string `json:"save"`
	// Folder is base or own: the one that the job's ledger is in.
	Folder string `json:"folder"`
}

// CacheKeys names the ledgers of the job that an event started. run tells this
// job from all others, such as the id of the run with the number of the
// attempt.
func (e Event) CacheKeys(run string) CacheKeys {
	// A digest, because a name may hold what a cache refuses, and because one
	// name may begin with another.
	sum := sha256.Sum256([]byte(e.BaseRef))
	k := CacheKeys{Base: "gavel-base-" + hex.EncodeToString(sum[:8]) + "-", Folder: "own"}
	switch {
	case e.Pull != nil:
		k.Own = fmt.Sprintf("gavel-pull-%d-", e.Pull.Number)
		if !e.Pull.Fork { // of which nothing is run
			k.Save = k.Own + run
		}
	case e.Name == EventPush && e.HeadRef == e.BaseRef:
		k.Save, k.Folder = k.Base+run, "base"
	}
	return k
}

// Env gives the keys as a job's steps hand values on, a line each.
func (k CacheKeys) Env() string {
	return fmt.Sprintf("base=%s\nown=%s\nsave=%s\nfolder=%s\n", k.Base, k.Own, k.Save, k.Folder)
}
