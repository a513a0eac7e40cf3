package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
)

// A RepositoryView is the pages' view of a repository that is kept current.
type RepositoryView struct {
	ID int64
	// Name is its current name, and Known its name in the ledger.
	Name  forge.Repo
	Known string
	// Private is true unless its forge lets everybody read it.
	Private bool
	// Branch is the one that pull requests are for.
	Branch     string
	ConfigFile string
	WebURL     string
	// Pulls are the open pull requests at the last poll, the newest first.
	Pulls []forge.Pull
	// Judging are the heads that are being judged, and Queued the heads that wait for
	// their turn.
	Judging, Queued []string
	// Client is nil if there is no forge.
	Client *forge.Client

	repo *repository
}

// Repositories returns the repositories that were reached, by name.
func (s *Server) Repositories() []RepositoryView {
	var out []RepositoryView
	for _, repo := range s.registry.all() {
		w := RepositoryView{
			ID: repo.id, Name: repo.name, Known: repo.ledgerName, Private: repo.Client == nil || repo.said.Private,
			Branch: repo.branches[0], ConfigFile: repo.ConfigFile, WebURL: repo.WebURL, Client: repo.Client, repo: repo,
		}
		if open := repo.open.Load(); open != nil {
			w.Pulls = slices.Clone(*open)
			slices.SortFunc(w.Pulls, func(a, b forge.Pull) int { return b.Number - a.Number })
		}
		queued := s.worker.queuedHeads(repo.id)
		for _, head := range s.worker.running(repo.id) {
			if queued[head] > 0 {
				queued[head]-- // it may be judged for another key
				w.Queued = append(w.Queued, head)
				continue
			}
			w.Judging = append(w.Judging, head)
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b RepositoryView) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Known), strings.ToLower(b.Known)), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Recheck makes the head of a pull request due, like a delivery about it.
func (s *Server) Recheck(w RepositoryView, number int) {
	s.loop.Add(Key{Repository: w.ID, Kind: PullRequest, Pull: number})
}

// Tip fetches the branch that pull requests are for. The caller closes the
// repository.
func (w RepositoryView) Tip(ctx context.Context) (repo *gitrepo.Repository, commit string, err error) {
	found, commits, err := w.repo.fetch(ctx, gitrepo.Source{Refs: []string{"refs/heads/" + w.Branch}, Most: gitrepo.OfBase})
	if err != nil {
		return nil, "", err
	}
	return found, commits[0], nil
}

// Clone opens the fetched clone. The caller closes it.
func (w RepositoryView) Clone() (*gitrepo.Repository, error) {
	if w.Client == nil {
		return nil, errNoClone
	}
	return gitrepo.Open(w.repo.clone)
}

// errNoClone means that a repository is read in its own folder, to which others have no
// access.
var errNoClone = errors.New("there is no clone of the repository")

// Push makes a branch with a commit at the repository's remote, and returns the commit.
func (w RepositoryView) Push(ctx context.Context, branch string, c gitrepo.Commit) (string, error) {
	return w.repo.mirror.Push(ctx, branch, c)
}

// all returns the repositories that were reached.
func (r *registry) all() []*repository {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*repository
	for _, repo := range r.reached {
		out = append(out, repo)
	}
	return out
}
