package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A Need is a permission in a repository.
type Need struct {
	// Permission is GitHub's name for Apps and fine-grained tokens, such as
	// pull_requests.
	Permission string
	// Level is read or write.
	Level string
}

// String returns a line such as "pull-requests: write".
func (n Need) String() string { return strings.ReplaceAll(n.Permission, "_", "-") + ": " + n.Level }

// words returns the name in a forge's settings.
func (n Need) words() string {
	name := map[string]string{"statuses": "Commit statuses"}[n.Permission]
	if name == "" {
		name = strings.ReplaceAll(strings.ToUpper(n.Permission[:1])+n.Permission[1:], "_", " ")
	}
	if n.Level == "read" {
		return name + ": Read-only"
	}
	return name + ": Read and write"
}

// ErrUnreported means that a forge does not report whether a credential may do something:
// only an attempt shows it.
var ErrUnreported = errors.New("the forge does not report it before an attempt")

// Rights are a credential's permissions in a repository, if the forge reports them.
type Rights struct {
	// Events are the events that an App receives; nil for every other credential.
	Events []string

	kind     credentialKind
	private  bool
	push     bool              // the account may write, whatever its token may
	admin    bool              // the account may do everything
	granted  map[string]string // to an App
	scopes   []string          // a classic token's
	disabled bool
}

// A credentialKind decides who reports a credential's rights.
type credentialKind int

const (
	fineGrained credentialKind = iota // nobody
	classic                           // the token's scopes
	appKind                           // the App's installation
	giteaKind                         // nobody
)

// Rights reads the credential's permissions in a repository. An error describes how to
// give it access to the repository at all.
func (c *Client) Rights(ctx context.Context, repo Repo) (Rights, error) {
	r := Rights{kind: fineGrained}
	switch {
	case isGitea(c.transport.base):
		r.kind = giteaKind
	case c.transport.app != nil:
		r.kind = appKind
		wire, err := c.transport.app.installed(ctx, repo)
		if err != nil {
			return r, err
		}
		r.granted, r.disabled, r.Events = wire.Permissions, wire.SuspendedAt != "", append([]string{}, wire.Events...)
	}
	if err := repo.check(); err != nil {
		return r, err
	}
	var wire struct {
		wireRepo
		Permissions struct{ Push, Admin bool }
	}
	req, err := c.rest.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s", repo.Owner, repo.Name), nil)
	if err != nil {
		return r, err
	}
	resp, err := c.rest.Do(ctx, req, &wire)
	if err != nil {
		return r, c.misplaced(r.unseen(repo, err))
	}
	r.private, r.admin = wire.Private, wire.Permissions.Admin
	r.push = r.admin || wire.Permissions.Push
	if values, named := resp.Header["X-Oauth-Scopes"]; named && r.kind == fineGrained {
		r.kind = classic
		for _, scope := range strings.Split(strings.Join(values, ","), ",") {
			r.scopes = append(r.scopes, strings.TrimSpace(scope))
		}
	}
	return r, nil
}

// misplaced adds the API's address to an error if the configured address is not an API.
func (c *Client) misplaced(err error) error {
	base := c.transport.base
	if isGitea(base) || strings.HasSuffix(base.Path, "/api/v3/") || strings.HasPrefix(base.Host, "api.") {
		return err
	}
	return fmt.Errorf("%w; the API of Gitea and Forgejo is at https://%s/api/v1, that of GitHub Enterprise at https://%s/api/v3", err, base.Host, base.Host)
}

// unseen describes how to give a credential access to a repository.
func (r Rights) unseen(repo Repo, err error) error {
	err = Explain("read the repository "+repo.String(), "metadata: read", err)
	denied, ok := errors.AsType[*DeniedError](err)
	if !ok {
		return err
	}
	repair := "correct the name, or give the token access to it: a fine-grained one by Repository access, a classic one by the scope repo"
	switch {
	case denied.Status == http.StatusUnauthorized && r.kind != appKind:
		repair = "the token is wrong, or it has expired: make a new one"
	case r.kind == appKind:
		repair = "add the repository to the installation of the App"
	case r.kind == giteaKind:
		repair = "correct the name, or make its account a collaborator and give the token the scope read:repository"
	}
	return fmt.Errorf("%d %s; %s", denied.Status, denied.Message, repair)
}

// Allows returns nil if the credential has the permission, [ErrUnreported] if the forge
// does not report it, and else the missing permission with the repair.
func (r Rights) Allows(need Need) error {
	switch {
	case r.kind == appKind:
		return r.allowsApp(need)
	case need.Level == "write" && !r.push:
		return errors.New("the account of the token may not write to the repository: give it the role Write there")
	case r.kind == classic:
		return r.allowsScope(need)
	case r.kind == giteaKind:
		return fmt.Errorf("%w; of Gitea and Forgejo a token takes the scopes write:repository, write:issue and read:user", ErrUnreported)
	}
	return fmt.Errorf("%w; a fine-grained token takes %s", ErrUnreported, need.words())
}

// Asks returns nil if the credential may read others' permissions, see
// [Client.Permission], and else the repair. Without that nobody is trusted.
func (r Rights) Asks() error {
	switch {
	case r.kind == giteaKind && !r.admin:
		return errors.New("on Gitea and Forgejo only an administrator may ask what others may do, and without an answer nothing is run for them: make the account of the token one, of this repository")
	case r.kind != appKind && !r.push:
		return errors.New("the account of the token may not ask what others may do: give it the role Write there")
	}
	return nil
}

func (r Rights) allowsApp(need Need) error {
	switch has := r.granted[need.Permission]; {
	case r.disabled:
		return errors.New("the installation of the App is suspended: unsuspend it in the settings of the account that it is installed in")
	case has == need.Level, has == "write", has == "admin":
		return nil
	case has == "":
		has = "nothing"
		fallthrough
	default:
		return fmt.Errorf("the installation grants %s: choose %s under Permissions & events of the App, and accept the change in its installation", has, need.words())
	}
}

// allowsScope checks the scopes of classic tokens, which are wider than needs.
func (r Rights) allowsScope(need Need) error {
	enough := []string{"repo"}
	if !r.private {
		enough = append(enough, "public_repo")
		if need.Level == "read" {
			return nil
		}
	}
	if need.Permission == "statuses" {
		enough = append(enough, "repo:status")
	}
	if slices.ContainsFunc(enough, func(scope string) bool { return slices.Contains(r.scopes, scope) }) {
		return nil
	}
	return fmt.Errorf("the token has the scopes %q: add %s in its settings", strings.Join(r.scopes, ", "), strings.Join(enough, " or "))
}
