package review

import (
	"context"

	"github.com/gavel-evals/gavel/controller/forge"
)

// forgeSharers asks the forge which pull requests have a commit as their head. Those that
// no process has published of are not known.
type forgeSharers struct {
	client *forge.Client
	repo   forge.Repo
}

// Heads asks for the pull request.
func (s forgeSharers) Heads(ctx context.Context, number int, sha string) (bool, error) {
	return Heads(ctx, s.client, s.repo, number, sha)
}

// Expected knows of none: another job may publish at any time.
func (s forgeSharers) Expected(string) (numbers []int, complete bool) { return nil, false }

// Heads reports whether a pull request is open and has a commit as its head. One that may
// not be read counts as open: what it said of the commit is not to be lost by that.
func Heads(ctx context.Context, client *forge.Client, repo forge.Repo, number int, sha string) (bool, error) {
	pull, err := client.Pull(ctx, repo, number)
	if forge.Refused(err) {
		return true, nil
	}
	return err == nil && pull.Open && pull.HeadSHA == sha, err
}

// Predecessor is the head under review as one that nobody waits for.
func (r *Review) Predecessor() Predecessor {
	return Predecessor{Number: r.number, Queued: r.queued, Head: r.head, Pushed: r.pushed}
}
