package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/go-github/v60/github"
)

// A Repository is a forge's description of a repository.
type Repository struct {
	// ID survives renames and transfers, and is the key of the repository.
	ID   int64
	Repo Repo
	// DefaultBranch is without refs/heads/.
	DefaultBranch string
	// CloneURL is git's address, over http or https.
	CloneURL string
	Private  bool
	// Archived repositories are read-only.
	Archived bool
}

// Repository reads a repository's description. The returned name differs after a
// rename.
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

// ErrUnchanged means that a listing has not changed since the last time.
var ErrUnchanged = errors.New("nothing changed")

// A listRequest lists a collection of a repository.
type listRequest struct {
	repo Repo
	// path is the collection, with a query.
	path string
	// tag is the result of the last listing, or empty. With it, a forge without changes
	// answers for free.
	tag string
}

// maxPages bounds a listing, which has up to 100 items a page.
const maxPages = 1000

// each reads a listing to its end. The error is [ErrUnchanged] if the first page has
// not changed. Too many pages are an error, since items on the remaining pages would be
// taken for deleted.
func each[T any](ctx context.Context, c *Client, l listRequest, do func(T)) (now string, err error) {
	if err := l.repo.check(); err != nil {
		return "", err
	}
	seen := 0
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
		seen += len(items)
		switch {
		case resp.NextPage > page:
			page = resp.NextPage
		case len(items) > 0 && seen < counted(resp):
			page++
		default:
			return now, nil
		}
	}
	listed, _, _ := strings.Cut(l.path, "?")
	return "", fmt.Errorf("list %s of %s/%s: there are more than %d pages; close or remove what is no longer needed", listed, l.repo.Owner, l.repo.Name, maxPages)
}

// counted returns the number of items in a whole listing, 0 if the forge does not report
// it. Gitea cuts the comments of a repository into pages, and names no next one.
func counted(resp *github.Response) int {
	n, err := strconv.Atoi(resp.Header.Get("X-Total-Count"))
	if err != nil {
		return 0
	}
	return n
}

// OpenPulls lists the open pull requests of a repository, the last changed first. tag
// is the result of the last call, or empty. With it, a forge without changes answers
// for free, and the error is [ErrUnchanged]. An unreadable pull request is left out, so
// that it does not block the others.
func (c *Client) OpenPulls(ctx context.Context, repo Repo, tag string) (pulls []Pull, now string, err error) {
	// The first page holds the last changes: if it is unchanged, everything is.
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

// notModified reports a 304, which go-github treats as an error.
func notModified(resp *github.Response) bool {
	return resp != nil && resp.StatusCode == http.StatusNotModified
}

// Login returns the account that the credential writes as. A job's token may not read
// it.
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
