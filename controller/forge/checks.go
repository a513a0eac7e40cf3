package forge

import (
	"context"
	"strings"
	"time"
)

// checksAgain is how long a refusal of check runs is believed: who owns an App
// may allow them meanwhile.
const checksAgain = time.Hour

// CanCheck reports whether check runs may be tried in a repository: by a GitHub
// App and by a job's token, which is one of an App, on a forge that has
// them, and where they were not refused lately.
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

// RefusedChecks notes that the forge refused one.
func (c *Client) RefusedChecks(repo Repo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noChecks[strings.ToLower(repo.String())] = c.transport.cfg.Clock.Now()
}
