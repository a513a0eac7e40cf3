package forge

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A User is an account of a forge.
type User struct {
	// ID survives renames.
	ID    int64
	Login string
	// Bot is true for an account that is not a person's.
	Bot bool
}

type wireUser struct {
	Login string `json:"login"`
	ID    int64  `json:"id"`
	Type  string `json:"type"`
}

func (w wireUser) user() User {
	return User{w.ID, w.Login, w.Type == "Bot" || strings.HasSuffix(w.Login, "[bot]")}
}

// ErrNoPusher means that the forge does not report who pushed a commit.
var ErrNoPusher = errors.New("the forge does not report who pushed the commit")

// Pusher returns the account whose push last moved a branch to a commit. It is the
// forge's own record, not the commit's author. The error is [ErrNoPusher] if the forge
// does not report it: Gitea and Forgejo never do.
func (c *Client) Pusher(ctx context.Context, repo Repo, branch, sha string) (User, error) {
	if err := errors.Join(repo.check(), checkRef("branch", branch)); err != nil {
		return User{}, err
	}
	if isGitea(c.transport.base) {
		return User{}, ErrNoPusher
	}
	var pushes []struct {
		Ref, After string
		Actor      *wireUser
	}
	path := fmt.Sprintf("repos/%s/%s/activity?per_page=100&ref=%s", repo.Owner, repo.Name, url.QueryEscape("refs/heads/"+branch))
	if err := c.get(ctx, path, &pushes); err != nil {
		return User{}, Explain(fmt.Sprintf("read who pushed %.12s", sha), "contents: read", err)
	}
	for _, p := range pushes { // the newest first
		if p.Ref == "refs/heads/"+branch && p.After == sha && p.Actor != nil && p.Actor.Login != "" {
			return p.Actor.user(), nil
		}
	}
	return User{}, ErrNoPusher
}
