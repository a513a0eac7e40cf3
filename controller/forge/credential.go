package forge

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// reader is a credential that is read again for each request.
type reader struct {
	read func() (Token, error)

	mu   sync.Mutex
	last Token // guarded by mu
}

// token falls back to the last credential while none is readable: a file that is being
// replaced is missing or empty for a moment.
func (r *reader) token(context.Context, Repo, Token) (Token, error) {
	token, err := r.read()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && token != "" {
		r.last = token
	}
	switch {
	case r.last != "":
	case err != nil:
		return "", fmt.Errorf("read the token: %w", err)
	default:
		return "", errors.New("read the token: it is empty")
	}
	return r.last, nil
}

// GitToken returns the credential for git over http and https, as any user's password.
// refused is a credential that the remote has just refused, so that another is wanted;
// "" otherwise.
func (c *Client) GitToken(ctx context.Context, repo Repo, refused Token) (Token, error) {
	return c.transport.token(ctx, repo, refused)
}
