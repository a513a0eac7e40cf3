package forge

import (
	"context"
	"fmt"

	"github.com/google/go-github/v60/github"
)

// A Proposal is a pull request to open.
type Proposal struct {
	// Branch has the commits, and Base is the target branch. Both are in the repository
	// itself.
	Branch, Base string
	Title, Body  string
}

// OpenProposal opens a pull request and returns its number and the address of its page.
// An error names the permission that the credential lacks.
func OpenProposal(ctx context.Context, client *Client, repo Repo, p Proposal) (number int, page string, err error) {
	made, _, err := client.REST().PullRequests.Create(ctx, repo.Owner, repo.Name, &github.NewPullRequest{
		Title: &p.Title, Head: &p.Branch, Base: &p.Base, Body: &p.Body,
	})
	if err != nil {
		return 0, "", Explain(fmt.Sprintf("open a pull request of %s in %s", p.Branch, repo), "pull-requests: write", err)
	}
	return made.GetNumber(), made.GetHTMLURL(), nil
}
