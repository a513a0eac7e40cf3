package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/go-github/v60/github"
)

// A Proposal is a pull request to open.
type Proposal struct {
	// Branch has the commits, and Base is the target branch. Both are in the repository
	// itself.
	Branch, Base string
	Title, Body  string
}

// OpenProposal opens a pull request and returns its number and the address of its page,
// which is empty if the pull request is open already. An error names the permission that
// the credential lacks.
func OpenProposal(ctx context.Context, client *Client, repo Repo, p Proposal) (number int, page string, err error) {
	made, _, err := client.REST().PullRequests.Create(ctx, repo.Owner, repo.Name, &github.NewPullRequest{
		Title: &p.Title, Head: &p.Branch, Base: &p.Base, Body: &p.Body,
	})
	var answer *github.ErrorResponse
	if errors.As(err, &answer) && answer.Response != nil && slices.Contains([]int{http.StatusUnprocessableEntity, http.StatusConflict}, answer.Response.StatusCode) {
		// The reply to an earlier request may be lost.
		if number, findErr := findProposal(ctx, client, repo, p); findErr != nil || number != 0 {
			return number, "", findErr
		}
	}
	if err != nil {
		return 0, "", Explain(fmt.Sprintf("open a pull request of %s in %s", p.Branch, repo), "pull-requests: write", err)
	}
	return made.GetNumber(), made.GetHTMLURL(), nil
}

// findProposal returns the number of the open pull request of a branch, 0 for none.
func findProposal(ctx context.Context, client *Client, repo Repo, p Proposal) (int, error) {
	open, _, err := client.OpenPulls(ctx, repo, "")
	if err != nil {
		return 0, err
	}
	for _, pull := range open {
		if !pull.Fork && pull.HeadRef == p.Branch && pull.BaseRef == p.Base {
			return pull.Number, nil
		}
	}
	return 0, nil
}
