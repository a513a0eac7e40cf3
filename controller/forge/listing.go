package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/google/go-github/v60/github"
)

// A Repository is what a forge says of one.
type Repository struct {
	// ID survives renames and transfers: it is the key under which the
	// repository is known.
	ID   int64
	Repo Repo
	// DefaultBranch is without refs/heads/.
	DefaultBranch string
	// CloneURL is where git finds it, over http or https.
	CloneURL string
	Private  bool
	// Archived ones can be read and nothing else.
	Archived bool
}

// Repository reads what the forge says of a repository. The name that it
// answers with may be another one after a rename.
func (c *Client) Repository(ctx context.Context, repo Repo) (Repository, error) {
	op := "read the repository " + repo.String()
	if err := repo.check(); err != nil {
		return Repository{}, err
	}
	var wire struct {
		wireRepo
		CloneURL string `json:"clone_url"`
		Archived bool   `json:"archived"`
	}
	if err := c.get(ctx, fmt.Sprintf("repos/%s/%s", repo.Owner, repo.Name), &wire); err != nil {
		return Repository{}, Explain(op, "metadata: read", err)
	}
	now, err := ParseRepo(wire.FullName)
	if err == nil {
		err = checkRef("default_branch", wire.DefaultBranch)
	}
	if err == nil && wire.ID <= 0 {
		err = errors.New("it has no id")
	}
	if err != nil {
		return Repository{}, fmt.Errorf("%s: %w", op, err)
	}
	return Repository{wire.ID, now, wire.DefaultBranch, wire.CloneURL, wire.Private, wire.Archived}, nil
}

// ErrUnchanged means that a listing is what it was at the last time.
var ErrUnchanged = errors.New("nothing changed")

// maxPulls bounds how many open pull requests of a repository are followed.
const maxPulls = 5000

// OpenPulls lists the open pull requests of a repository, those that changed
// last first. tag is what the last call gave, or empty; with it a forge that
// knows of no change answers for free, and the error is [ErrUnchanged]. A pull
// request that cannot be read is left out, so that it holds up no other.
func (c *Client) OpenPulls(ctx context.Context, repo Repo, tag string) (pulls []Pull, now string, err error) {
	op := "list the pull requests of " + repo.String()
	if err := repo.check(); err != nil {
		return nil, "", err
	}
	for page := 1; page != 0 && len(pulls) < maxPulls; {
		path := fmt.Sprintf("repos/%s/%s/pulls?state=open&sort=updated&direction=desc&per_page=100&page=%d", repo.Owner, repo.Name, page)
		req, err := c.rest.NewRequest(http.MethodGet, path, nil)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", op, err)
		}
		// The first page holds what changed last: if it is the same, all is.
		if page == 1 && tag != "" {
			req.Header.Set("If-None-Match", tag)
		}
		var wire []wirePull
		resp, err := c.rest.Do(ctx, req, &wire)
		if notModified(resp) {
			return nil, tag, ErrUnchanged
		}
		if err != nil {
			return nil, "", Explain(op, "pull-requests: read", err)
		}
		if page == 1 {
			now = resp.Header.Get("ETag")
		}
		for _, w := range wire {
			if p, err := w.pull(); err == nil {
				pulls = append(pulls, p)
			}
		}
		// A forge that ignores paging names no next page.
		next := resp.NextPage
		if next <= page {
			break
		}
		page = next
	}
	return pulls, now, nil
}

// notModified reports a 304, which go-github takes for an error.
func notModified(resp *github.Response) bool {
	return resp != nil && resp.StatusCode == http.StatusNotModified
}

// String is the id.
func (r Repository) String() string {
	return r.Repo.String() + " (" + strconv.FormatInt(r.ID, 10) + ")"
}

// Login is the account that the credential writes as. The token of a job may
// not ask that.
func (c *Client) Login(ctx context.Context) (string, error) {
	if c.transport.app != nil {
		return c.transport.app.name(ctx)
	}
	var wire wireUser
	if err := c.get(ctx, "user", &wire); err != nil {
		return "", Explain("read whose the credential is", "metadata: read", err)
	}
	return wire.Login, nil
}
