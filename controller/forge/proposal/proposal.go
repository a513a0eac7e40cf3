// Package proposal opens pull requests. Most callers want [Open].
package proposal

import (
	"context"
	"fmt"

	"github.com/google/go-github/v60/github"

	"github.com/gavel-evals/gavel/controller/forge"
)

// A Proposal is a pull request that is to be opened.
type Proposal struct {
	// Branch has the commits, and Base is the branch that is to have them. Both are of
	// the repository itself.
	Branch, Base string
	Title, Body  string
}

// Open opens a pull request and returns its number and the address of its page. An
// error names the permission that the credential lacks.
func Open(ctx context.Context, client *forge.Client, repo forge.Repo, p Proposal) (number int, page string, err error) {
	made, _, err := client.REST().PullRequests.Create(ctx, repo.Owner, repo.Name, &github.NewPullRequest{
		Title: &p.Title, Head: &p.Branch, Base: &p.Base, Body: &p.Body,
	})
	if err != nil {
		return 0, "", forge.Explain(fmt.Sprintf("open a pull request of %s in %s", p.Branch, repo), "pull-requests: write", err)
	}
	return made.GetNumber(), made.GetHTMLURL(), nil
}
