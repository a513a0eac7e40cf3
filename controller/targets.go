package controller

import "github.com/gavel-evals/gavel/controller/ledger"

// trust returns the trust written into a checkout's entries.
func (p *Prepared) trust(s Checkout) ledger.Trust {
	if p.req.Base != nil && s.Commit == p.req.Base.Commit {
		return p.req.BaseTrust
	}
	return p.req.HeadTrust
}

// revision returns the revision that a deployed agent must run; a working tree has
// none.
func revision(commit string) string {
	if commit == Worktree {
		return ""
	}
	return commit
}

// Worktree is the commit of a checkout that is not committed.
const Worktree = "worktree"
