// Package forge reads pull requests from GitHub, GitHub Enterprise, Gitea and Forgejo:
// the event that started a CI job ([ReadEvent]), the live state of a pull request
// ([Client.Pull]), its author's permission ([Client.Permission]), and the trust that
// follows from both ([Trusted]).
//
// Most callers create one [Client] per credential with [New] and share it: the client
// holds the credential, repeats requests within limits, and sends one write per second.
// [Client.REST] gives the same connection to the publisher.
package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A Config selects a forge and a credential.
type Config struct {
	// BaseURL is the root of the REST API, a job's GITHUB_API_URL:
	// https://api.github.com, https://HOST/api/v3 for GitHub Enterprise,
	// https://HOST/api/v1 for Gitea and Forgejo. Defaults to GitHub.
	BaseURL string
	// Token is the credential. Defaults to none: public data, few requests.
	Token Token
	// Read returns the credential for each request, such as from a file that is
	// replaced periodically. It replaces Token.
	Read func() (Token, error)
	// App is a GitHub App. It replaces Token and Read.
	App *AppConfig
	// Transport carries the requests. Defaults to a copy of
	// [http.DefaultTransport].
	Transport http.RoundTripper
	// Timeout bounds one attempt of a request, body included. Defaults to 30 s.
	Timeout time.Duration
	// MaxWait bounds a request's total wait for limits and between attempts. Defaults
	// to 2 min.
	MaxWait time.Duration
	// Clock paces requests. Defaults to the machine's.
	Clock clock.Clock
}

const userAgent = "gavel"

// isGitea reports whether an API's base is Gitea's or Forgejo's.
func isGitea(base *url.URL) bool { return strings.HasSuffix(base.Path, "/api/v1/") }

// DefaultBaseURL is GitHub's public API.
const DefaultBaseURL = "https://api.github.com"

// A Client accesses one forge with one credential. It is safe for concurrent use. Two
// clients with one credential would write at the same time, which GitHub punishes:
// share one.
type Client struct {
	rest      *github.Client
	transport *transport

	mu       sync.Mutex
	noChecks map[string]time.Time // times of refused check runs, by repository; guarded by mu
}

// New returns a Client. It sends nothing; an error means that the base URL is
// unusable.
func New(cfg Config) (*Client, error) {
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if cfg.App != nil && isGitea(base) {
		return nil, errors.New("forge: Gitea and Forgejo have no GitHub Apps: use a token")
	}
	t := newTransport(withDefaults(cfg), base)
	rest := github.NewClient(&http.Client{Transport: t, CheckRedirect: checkRedirect})
	rest.BaseURL = base
	rest.UserAgent = userAgent
	return &Client{rest: rest, transport: t, noChecks: map[string]time.Time{}}, nil
}

// REST returns the typed client over this client's connection, credential and limits.
// Its errors are go-github's, except that an exhausted rate limit is always a
// [LimitError].
func (c *Client) REST() *github.Client { return c.rest }

func withDefaults(cfg Config) Config {
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.MaxWait == 0 {
		cfg.MaxWait = 2 * time.Minute
	}
	cfg.Clock = clock.Or(cfg.Clock)
	return cfg
}

// parseBase never repeats the URL in its errors, since it may contain a password.
func parseBase(raw string) (*url.URL, error) {
	if raw == "" {
		raw = DefaultBaseURL
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("forge: the base URL cannot be parsed")
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "":
		return nil, errors.New("forge: the base URL must be http(s)://host/path, such as " + DefaultBaseURL)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("forge: the base URL of %s must have no user, query or fragment", u.Host)
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	return u, nil
}

// WebURL returns the root of a forge's pages, derived from its API's root.
func WebURL(api string) string {
	u, err := url.Parse(api)
	if err != nil || api == DefaultBaseURL {
		return "https://github.com"
	}
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(strings.TrimSuffix(u.Path, "/api/v3"), "/api/v1")
}

// PullPage returns the page of a pull request. root is the result of [WebURL].
func (c *Client) PullPage(root string, repo Repo, number int) string {
	part := "pull"
	if isGitea(c.transport.base) {
		part = "pulls"
	}
	return fmt.Sprintf("%s/%s/%s/%d", root, repo, part, number)
}

// A Repo names a repository. Compare names with [Repo.Same], which ignores case.
type Repo struct {
	Owner string
	Name  string
}

var namePattern = lazyregexp.New(`^[A-Za-z0-9._-]+$`)

// isName reports whether a text may be the name of a repository or an account. Names
// are put into URLs unescaped, so a valid one must not leave its path segment.
func isName(text string) bool { return len(text) <= 100 && namePattern.MatchString(text) }

// ParseRepo parses owner/name.
func ParseRepo(s string) (Repo, error) {
	owner, name, _ := strings.Cut(s, "/")
	r := Repo{Owner: owner, Name: name}
	return r, r.check()
}

func (r Repo) check() error {
	for _, part := range []string{r.Owner, r.Name} {
		if !isName(part) || part == "." || part == ".." {
			return fmt.Errorf("forge: %q is not a repository; write owner/name", r.String())
		}
	}
	return nil
}

// String returns owner/name.
func (r Repo) String() string { return r.Owner + "/" + r.Name }

// Same reports whether both names mean one repository: forges ignore case.
func (r Repo) Same(other Repo) bool {
	return strings.EqualFold(r.Owner, other.Owner) && strings.EqualFold(r.Name, other.Name)
}

// Permission is a user's permission on a repository, in the forge's words.
type Permission string

// The permissions that forges return. PermissionUnknown means that the forge could not
// be asked; it allows nothing.
const (
	PermissionUnknown  Permission = ""
	PermissionNone     Permission = "none"
	PermissionRead     Permission = "read"
	PermissionWrite    Permission = "write"
	PermissionMaintain Permission = "maintain"
	PermissionAdmin    Permission = "admin"
	PermissionOwner    Permission = "owner"
)

// CanWrite reports whether the user may push: write or more. GitHub returns write for
// maintain and read for triage; Gitea adds owner.
func (p Permission) CanWrite() bool {
	switch p {
	case PermissionWrite, PermissionMaintain, PermissionAdmin, PermissionOwner:
		return true
	}
	return false
}

// Pull reads the live state of a pull request. It rejects an answer whose commits are
// not commit ids. A 401, 403 or 404 is a [DeniedError].
func (c *Client) Pull(ctx context.Context, repo Repo, number int) (Pull, error) {
	op := fmt.Sprintf("read pull request %s#%d", repo, number)
	if err := repo.check(); err != nil {
		return Pull{}, err
	}
	var wire wirePull
	path := fmt.Sprintf("repos/%s/%s/pulls/%d", repo.Owner, repo.Name, number)
	if err := c.get(ctx, path, &wire); err != nil {
		return Pull{}, Explain(op, "pull-requests: read", err)
	}
	p, err := wire.pull()
	if err != nil {
		return Pull{}, fmt.Errorf("%s: %w", op, err)
	}
	if p.Number != number {
		return Pull{}, fmt.Errorf("%s: the forge answered with number %d", op, p.Number)
	}
	return p, nil
}

// Permission returns user's permission on repo. A bot account is not a collaborator and
// gets [PermissionNone] without a request: GitHub answers 404 for it, as it does if our
// own permission is missing. A string that is not an account's name gets the same. Any
// error comes with [PermissionUnknown].
func (c *Client) Permission(ctx context.Context, repo Repo, user string) (Permission, error) {
	op := fmt.Sprintf("read the permission of %q on %s", user, repo)
	if err := repo.check(); err != nil {
		return PermissionUnknown, err
	}
	if !isName(user) { // a bot's name ends with [bot]
		return PermissionNone, nil
	}
	var wire struct {
		Permission Permission `json:"permission"`
	}
	path := fmt.Sprintf("repos/%s/%s/collaborators/%s/permission", repo.Owner, repo.Name, user)
	if err := c.get(ctx, path, &wire); err != nil {
		return PermissionUnknown, Explain(op, "metadata: read", err)
	}
	return wire.Permission, nil
}

// get decodes into our own small types rather than go-github's: one field of an
// unexpected type among hundreds of unused ones must not fail the run.
func (c *Client) get(ctx context.Context, path string, into any) error {
	req, err := c.rest.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	_, err = c.rest.Do(ctx, req, into)
	return err
}
