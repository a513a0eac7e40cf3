package forge

import (
	"context"
	"strings"
	"time"
)

// checksAgain is the lifetime of a refusal of check runs: the App's owner may allow
// them meanwhile.
const checksAgain = time.Hour

// CanCheck reports whether to try check runs in a repository. A GitHub App and a job's
// token, which belongs to an App, may create them if the forge has them and has not
// refused them recently.
func (c *Client) CanCheck(ctx context.Context, repo Repo) bool {
	t := c.transport
	if isGitea(t.base) {
		return false
	}
	c.mu.Lock()
	refused, ok := c.noChecks[strings.ToLower(repo.String())]
	c.mu.Unlock()
	if ok && t.cfg.Clock.Now().Sub(refused) < checksAgain {
		return false
	}
	if t.app != nil {
		return true
	}
	token, err := t.token(ctx, repo, "")
	return err == nil && strings.HasPrefix(string(token), "ghs_")
}

// RefusedChecks records a refusal by the forge.
func (c *Client) RefusedChecks(repo Repo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noChecks[strings.ToLower(repo.String())] = c.transport.cfg.Clock.Now()
}
