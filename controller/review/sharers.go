package review

import (
	"context"

	"github.com/gavel-evals/gavel/controller/forge"
)

// forgeSharers asks the forge which pull requests have a commit as their head. It does
// not know pull requests without a publication.
type forgeSharers struct {
	client *forge.Client
	repo   forge.Repo
}

// Heads looks the pull request up.
func (s forgeSharers) Heads(ctx context.Context, number int, sha string) (bool, error) {
	return Heads(ctx, s.client, s.repo, number, sha)
}

// Expected returns none: another job may publish at any time.
func (s forgeSharers) Expected(string) (numbers []int, complete bool) { return nil, false }

// Heads reports whether a pull request is open and has a commit as its head. An
// unreadable one counts as open, so that its statuses are not lost.
func Heads(ctx context.Context, client *forge.Client, repo forge.Repo, number int, sha string) (bool, error) {
	pull, err := client.Pull(ctx, repo, number)
	if forge.Refused(err) {
		return true, nil
	}
	return err == nil && pull.Open && pull.HeadSHA == sha, err
}

// Predecessor returns the reviewed head as one that nobody waits for.
func (r *Review) Predecessor() Predecessor {
	return Predecessor{Number: r.number, Queued: r.queued, Head: r.head, Pushed: r.pushed}
}
