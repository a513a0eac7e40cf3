package forge

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// ErrNoMergeBase means that the forge does not report a merge base.
var ErrNoMergeBase = errors.New("the forge does not report the merge base")

// MergeBase returns the common ancestor of two commits that the forge shows the changes
// of the second against, as 40 or 64 hex digits. The error is [ErrNoMergeBase] if the
// forge does not report it: Gitea and Forgejo never do, and the two may have none.
func (c *Client) MergeBase(ctx context.Context, repo Repo, base, head string) (string, error) {
	if err := errors.Join(repo.check(), checkSHA("base", base), checkSHA("head", head)); err != nil {
		return "", err
	}
	if isGitea(c.transport.base) {
		return "", ErrNoMergeBase
	}
	var wire struct {
		MergeBase *struct {
			SHA string `json:"sha"`
		} `json:"merge_base_commit"`
	}
	// Only the first page lists files, up to 300 with their changes.
	path := fmt.Sprintf("repos/%s/%s/compare/%s?page=2&per_page=1", repo.Owner, repo.Name, url.PathEscape(base+"..."+head))
	if err := c.get(ctx, path, &wire); err != nil {
		return "", Explain(fmt.Sprintf("compare %.12s with %.12s", head, base), "contents: read", err)
	}
	if wire.MergeBase == nil {
		return "", ErrNoMergeBase
	}
	return wire.MergeBase.SHA, checkSHA("merge_base_commit.sha", wire.MergeBase.SHA)
}
