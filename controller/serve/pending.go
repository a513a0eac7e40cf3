package serve

import "github.com/gavel-evals/gavel/controller/ledger"

// pendingHead is the ledger's record of a commit while a key is being judged.
func pendingHead(key Key, sha string) ledger.PendingHead {
	return ledger.PendingHead{Repository: key.Repository, Kind: string(key.Kind), Pull: key.Pull, Ref: key.Ref, SHA: sha}
}

// rerunOf is the ledger's record of a commit whose check run somebody requested again.
func rerunOf(repository int64, sha string) ledger.PendingHead {
	return pendingHead(Key{Repository: repository, Kind: CheckRerun, Ref: sha}, sha)
}

// keyOf returns the key for which a pending head was judged.
func keyOf(h ledger.PendingHead) Key {
	return Key{Repository: h.Repository, Kind: Kind(h.Kind), Pull: h.Pull, Ref: h.Ref}
}
