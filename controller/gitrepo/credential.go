package gitrepo

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
)

// A Credential returns the token for http and https. refused is a token that the remote
// has just refused, so that another is wanted, else empty. It may return the same token
// if it has no other.
type Credential func(ctx context.Context, refused string) (string, error)

// Constant returns a credential that is always the same.
func Constant(token string) Credential {
	return func(context.Context, string) (string, error) { return token, nil }
}

// authenticate calls do with the credential for a remote, and retries once if the
// credential had expired. Errors show no token and suggest a repair.
func (c Credential) authenticate(ctx context.Context, from remote, do func(transport.AuthMethod) error) error {
	if c == nil || !from.private() {
		return explain(ctx, do(nil), from, "")
	}
	token := ""
	for again := false; ; again = true {
		next, err := c(ctx, token)
		if err != nil {
			return fmt.Errorf("get the credential: %w", err)
		}
		if again && next == token {
			return explain(ctx, transport.ErrAuthorizationFailed, from, token)
		}
		token = next
		// The forges accept a token as any user's password.
		err = do(&http.BasicAuth{Username: "x-access-token", Password: token})
		if !again && (errors.Is(err, transport.ErrAuthenticationRequired) || errors.Is(err, transport.ErrAuthorizationFailed)) {
			continue
		}
		return explain(ctx, err, from, token)
	}
}
