package gitrepo

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
)

// A Credential gives the token for http and https. refused is one that the
// remote has just refused, so that another is wanted, else empty. It may give
// the same again if there is no other.
type Credential func(ctx context.Context, refused string) (string, error)

// Constant is a credential that is always the same.
func Constant(token string) Credential {
	return func(context.Context, string) (string, error) { return token, nil }
}

// authenticate calls do with the credential for a remote, and once more
// where that had ended. Errors show no token and say what may be done.
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
		// The forges take a token as the password of any user.
		err = do(&http.BasicAuth{Username: "x-access-token", Password: token})
		if !again && (errors.Is(err, transport.ErrAuthenticationRequired) || errors.Is(err, transport.ErrAuthorizationFailed)) {
			continue
		}
		return explain(ctx, err, from, token)
	}
}
