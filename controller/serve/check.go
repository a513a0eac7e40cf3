package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
)

// Check tries what looking after a repository takes, as far as nothing is
// written, and tells of each permission whether it is there. Whatever is
// missing, the rest is tried.
func Check(ctx context.Context, repo Repository, tell func(permission string, err error)) {
	url, branches := repo.URL, repo.Branches
	if repo.Client != nil {
		said, err := repo.Client.Repository(ctx, repo.Name)
		tell("metadata: read", err)
		if err != nil {
			return
		}
		_, _, err = repo.Client.OpenPulls(ctx, repo.Name, "")
		tell("pull-requests: read", err)
		tell("statuses: write, pull-requests: write", mayWrite(ctx, repo))
		url = cmp.Or(url, said.CloneURL)
		if len(branches) == 0 {
			branches = []string{said.DefaultBranch}
		}
	}
	for _, branch := range branches {
		mirror := gitrepo.MirrorConfig{URL: url, Token: repo.Token}
		tell("contents: read, branch "+branch, gitrepo.Reach(ctx, mirror, "refs/heads/"+branch))
	}
	if len(branches) == 0 {
		tell("branches", errors.New("without a forge its branches have to be listed"))
	}
}

// mayWrite asks who the credential is and what that account may do.
func mayWrite(ctx context.Context, repo Repository) error {
	login, err := repo.Client.Login(ctx)
	if err != nil {
		return err
	}
	permission, err := repo.Client.Permission(ctx, repo.Name, login)
	if err == nil && !permission.CanWrite() {
		err = fmt.Errorf("%s has the permission %q, and %q is needed", login, permission, forge.PermissionWrite)
	}
	return err
}
