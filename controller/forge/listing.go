package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

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

// A listRequest is a listing of something that a repository has.
type listRequest struct {
	repo Repo
	// path is what is listed, with a query.
	path string
	// tag is what the listing gave the last time, or empty. With it a forge that
	// knows of no change answers for free.
	tag string
}

// maxPages bounds a listing, which has up to 100 items a page.
const maxPages = 1000

// each reads a listing to its end. The error is [ErrUnchanged] where its first
// page is what it was. A listing of more pages than are read is an error, since
// what is on the rest would be taken for gone.
func each[T any](ctx context.Context, c *Client, l listRequest, do func(T)) (now string, err error) {
	if err := l.repo.check(); err != nil {
		return "", err
	}
	for page := 1; page <= maxPages; {
		req, err := c.rest.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/%s&page=%d", l.repo.Owner, l.repo.Name, l.path, page), nil)
		if err != nil {
			return "", err
		}
		if page == 1 && l.tag != "" {
			req.Header.Set("If-None-Match", l.tag)
		}
		var items []T
		resp, err := c.rest.Do(ctx, req, &items)
		if notModified(resp) {
			return l.tag, ErrUnchanged
		}
		if err != nil {
			return "", err
		}
		if page == 1 {
			now = resp.Header.Get("ETag")
		}
		for _, item := range items {
			do(item)
		}
		// A forge that ignores paging names no next page.
		if resp.NextPage <= page {
			return now, nil
		}
		page = resp.NextPage
	}
	listed, _, _ := strings.Cut(l.path, "?")
	return "", fmt.Errorf("list %s of %s/%s: there are more than %d pages; close or remove what is no longer needed", listed, l.repo.Owner, l.repo.Name, maxPages)
}

// OpenPulls lists the open pull requests of a repository, those that changed
// last first. tag is what the last call gave, or empty; with it a forge that
// knows of no change answers for free, and the error is [ErrUnchanged]. A pull
// request that cannot be read is left out, so that it holds up no other.
func (c *Client) OpenPulls(ctx context.Context, repo Repo, tag string) (pulls []Pull, now string, err error) {
	// The first page holds what changed last: if it is the same, all is.
	now, err = each(ctx, c, listRequest{repo, "pulls?state=open&sort=updated&direction=desc&per_page=100", tag}, func(w wirePull) {
		if p, err := w.pull(); err == nil {
			pulls = append(pulls, p)
		}
	})
	if err != nil && err != ErrUnchanged {
		return nil, "", Explain("list the pull requests of "+repo.String(), "pull-requests: read", err)
	}
	return pulls, now, err
}

// notModified reports a 304, which go-github takes for an error.
func notModified(resp *github.Response) bool {
	return resp != nil && resp.StatusCode == http.StatusNotModified
}

// Login is the account that the credential writes as. The token of a job may
// not ask that.
func (c *Client) Login(ctx context.Context) (string, error) {
	if c.transport.app != nil {
		return c.transport.app.name(ctx)
	}
	var wire wireUser
	if err := c.get(ctx, "user", &wire); err != nil {
		return "", Explain("read the account of the credential", "metadata: read", err)
	}
	return wire.Login, nil
}
