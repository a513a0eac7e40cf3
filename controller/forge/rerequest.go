package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/go-github/v60/github"
)

// rerequested reads the commit of a re-requested check run or suite. The forge knows
// whose it is, see [Client.Rerequests].
func (w *wireHint) rerequested(hint Hint) (Hint, error) {
	suite := cmp.Or(w.CheckRun, w.CheckSuite)
	if w.Action != "rerequested" || suite == nil {
		return Hint{}, errors.New("the check run asks for nothing")
	}
	hint.Rerequested = suite.HeadSHA
	return hint, checkSHA("head_sha", hint.Rerequested)
}

// A Rerequest is a completed check run that was re-requested and not yet answered.
type Rerequest struct {
	// ExternalID is its writer's own id.
	ExternalID string
	// Branch is the branch that the commit was pushed to, without refs/heads/; empty if
	// the forge knows none, as for a fork.
	Branch string
}

// wireChecks is a page of suites, or of check runs.
type wireChecks struct {
	Suites []struct {
		ID         int64  `json:"id"`
		HeadBranch string `json:"head_branch"`
		Status     string `json:"status"`
		Conclusion string `json:"conclusion"`
	} `json:"check_suites"`
	Runs []struct {
		ExternalID string `json:"external_id"`
		Status     string `json:"status"`
		Suite      struct {
			ID int64 `json:"id"`
		} `json:"check_suite"`
	} `json:"check_runs"`
}

// Rerequests lists the re-requested check runs of a name at a commit. The forge records
// a re-request in their suite: it is queued again and has no conclusion, while the
// check runs stay as they are. A suite without check runs has been queued since the
// push, which is not a re-request.
func (c *Client) Rerequests(ctx context.Context, repo Repo, sha, name string) ([]Rerequest, error) {
	op := fmt.Sprintf("list the check suites of %s@%.12s", repo, sha)
	if err := errors.Join(repo.check(), checkSHA("commit", sha)); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	commit := fmt.Sprintf("repos/%s/%s/commits/%s/", repo.Owner, repo.Name, sha)
	query := url.Values{}
	if app := c.transport.app; app != nil { // the suites of other Apps do not count
		query.Set("app_id", fmt.Sprint(app.cfg.ID))
	}
	suites, err := c.checks(ctx, commit+"check-suites", query)
	answer, refused := errors.AsType[*github.ErrorResponse](err)
	if refused && answer.Response.StatusCode == http.StatusUnprocessableEntity {
		return nil, nil // the commit does not exist
	}
	if err != nil {
		return nil, Explain(op, "checks: read", err)
	}
	branches := map[int64]string{} // the queued suites' branches
	for _, s := range suites.Suites {
		if s.Status == "queued" && s.Conclusion == "" {
			branches[s.ID] = s.HeadBranch
		}
	}
	if len(branches) == 0 {
		return nil, nil
	}
	runs, err := c.checks(ctx, commit+"check-runs", url.Values{"check_name": {name}, "filter": {"all"}})
	if err != nil {
		return nil, Explain(op, "checks: read", err)
	}
	var found []Rerequest
	for _, r := range runs.Runs {
		if branch, queued := branches[r.Suite.ID]; queued && r.Status == "completed" {
			found = append(found, Rerequest{r.ExternalID, branch})
		}
	}
	return found, nil
}

// checks reads all pages of a listing.
func (c *Client) checks(ctx context.Context, path string, query url.Values) (all wireChecks, err error) {
	const most = 20 // pages of a hundred
	query.Set("per_page", "100")
	for page, next := 0, 1; page < next && next <= most; {
		page = next
		query.Set("page", fmt.Sprint(page))
		req, err := c.rest.NewRequest(http.MethodGet, path+"?"+query.Encode(), nil)
		if err != nil {
			return all, err
		}
		var wire wireChecks
		resp, err := c.rest.Do(ctx, req, &wire)
		if err != nil {
			return all, err
		}
		all.Suites, all.Runs = append(all.Suites, wire.Suites...), append(all.Runs, wire.Runs...)
		next = resp.NextPage
	}
	return all, nil
}
