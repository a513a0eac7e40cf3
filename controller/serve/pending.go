package serve

import "github.com/gavel-evals/gavel/controller/ledger"

// pendingHead is what the ledger keeps of a commit while a key is looked at.
func pendingHead(key Key, sha string) ledger.PendingHead {
	return ledger.PendingHead{Repository: key.Repository, Kind: string(key.Kind), Pull: key.Pull, Ref: key.Ref, SHA: sha}
}

// rerunOf is what the ledger keeps of a commit whose check run somebody requested
// again.
func rerunOf(repository int64, sha string) ledger.PendingHead {
	return pendingHead(Key{Repository: repository, Kind: CheckRerun, Ref: sha}, sha)
}

// keyOf is the key that a pending head was looked at for.
func keyOf(h ledger.PendingHead) Key {
	return Key{Repository: h.Repository, Kind: Kind(h.Kind), Pull: h.Pull, Ref: h.Ref}
}
