package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/go-github/v60/github"
)

// A Token is a credential. Everything that prints or encodes it shows
// [redacted].
type Token string

const redacted = "[redacted]"

// Format prints [redacted] for every verb, %x and %#v included.
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// String returns [redacted].
func (t Token) String() string { return redacted }

// MarshalText returns [redacted], in JSON and in logs.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// A DeniedError means that the forge denied the credential an operation: 401, 403, or
// 404, by which forges hide what the credential may not see; or 410 for issues that are
// turned off.
type DeniedError struct {
	// Op is the operation, such as "read pull request octo/demo#7".
	Op string
	// Status is the HTTP status: 401, 403, 404 or 410.
	Status int
	// Permission is the line missing in a workflow's permissions, such as
	// "pull-requests: write".
	Permission string
	// AppID is the App whose own token was denied; 0 for other credentials.
	AppID int64
	// Message is the forge's own explanation, with the permissions that it would
	// accept.
	Message string
}

// Error describes the repair and its place.
func (e *DeniedError) Error() string {
	switch {
	case e.Status == http.StatusUnauthorized && e.AppID != 0:
		return fmt.Sprintf("%s: 401 %s: app_id %d and the private key do not belong together; correct one of them, or make a new key on the App's page", e.Op, e.Message, e.AppID)
	case e.Status == http.StatusUnauthorized:
		return fmt.Sprintf("%s: 401 %s: the token is missing, wrong or expired", e.Op, e.Message)
	case e.Status == http.StatusGone:
		return fmt.Sprintf("%s: 410 %s: turn issues on in the settings of the repository", e.Op, strings.TrimSuffix(e.Message, "."))
	}
	return fmt.Sprintf("%s: %d %s: not found, or the credential lacks the permission; gavel serve --check says what it lacks, in a workflow add\n  permissions:\n    %s",
		e.Op, e.Status, e.Message, e.Permission)
}

// A LimitError means that the forge demands a longer wait than [Config.MaxWait] allows.
type LimitError struct {
	// Until is the earliest time at which the forge will answer again.
	Until time.Time
}

// Error names the time of the next try.
func (e *LimitError) Error() string {
	return "rate limit of the forge exhausted until " + e.Until.UTC().Format(time.RFC3339)
}

// RetryAt returns Until. Packages that must not import this one find it by this method.
func (e *LimitError) RetryAt() time.Time { return e.Until }

// printable shortens a forge's text and removes control characters of a terminal.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}

// Transient reports whether the same request may succeed later: the forge did not
// answer, answered with an internal error or a truncated document, or demands a longer
// wait. Errors with a method Transient decide themselves. A refusal is permanent, and
// so is an error of the caller's context.
func Transient(err error) bool {
	var answer *github.ErrorResponse
	var unanswered *url.Error
	var itself interface{ Transient() bool }
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, errWriteDropped), errors.Is(err, errRedirected):
		return false
	case errors.As(err, new(*LimitError)):
		return true
	case errors.As(err, &itself):
		return itself.Transient()
	case errors.As(err, &answer) && answer.Response != nil:
		return answer.Response.StatusCode >= 500
	}
	return errors.As(err, &unanswered)
}

// Refused reports whether err consists only of refusals for lack of a permission: each
// is a [DeniedError] with 403, 404 or 410. It is false for nil.
func Refused(err error) bool {
	return only(err, func(err error) bool {
		denied, ok := err.(*DeniedError)
		return ok && denied.Status != http.StatusUnauthorized
	})
}

// Rejected reports whether err consists only of answers with 422: what was sent will never
// be taken, as for a commit that is gone. It is false for nil.
func Rejected(err error) bool {
	return only(err, func(err error) bool {
		answer, ok := err.(*github.ErrorResponse)
		return ok && answer.Response != nil && answer.Response.StatusCode == http.StatusUnprocessableEntity
	})
}

// only reports whether each error that err joins is, or wraps, one of a kind.
func only(err error, is func(error) bool) bool {
	if err == nil {
		return false
	}
	if is(err) {
		return true
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !only(err, is) })
	}
	return only(errors.Unwrap(err), is)
}

// Explain adds the operation to an error of go-github, and turns a refusal into a
// [DeniedError] with the required permission; nil stays nil. A rate limit never arrives
// here as a 403: the transport returns a [LimitError].
func Explain(op, permission string, err error) error {
	if err == nil {
		return nil
	}
	var answer *github.ErrorResponse
	if errors.As(err, &answer) && answer.Response != nil {
		switch status := answer.Response.StatusCode; status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
			message := answer.Message
			// GitHub names them to Apps and to fine-grained tokens.
			if accepted := answer.Response.Header.Get("X-Accepted-GitHub-Permissions"); accepted != "" {
				message += " (it takes " + accepted + ")"
			}
			return &DeniedError{Op: op, Status: status, Permission: permission, Message: printable(message)}
		}
	}
	return fmt.Errorf("%s: %w", op, err)
}
