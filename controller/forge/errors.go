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

	"github.com/gavel-evals/gavel/controller/forge/priority"
)

// A Token is a credential. Everything that prints or encodes it shows
// [redacted].
type Token string

const redacted = "[redacted]"

// Format prints [redacted] for every verb, %x and %#v included.
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// String is [redacted].
func (t Token) String() string { return redacted }

// MarshalText is [redacted], in JSON and in logs.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// A DeniedError means that the forge did not let the credential do something:
// 401, 403, or 404, with which forges hide what the credential may not see.
type DeniedError struct {
	// Op is what was tried, such as "read pull request octo/demo#7".
	Op string
	// Status is the HTTP status: 401, 403 or 404.
	Status int
	// Permission is the line that a workflow's permissions need, such as
	// "pull-requests: write".
	Permission string
	// Message is the forge's own explanation, with the permissions that it says it
	// would accept.
	Message string
}

// Error says what to write where.
func (e *DeniedError) Error() string {
	if e.Status == http.StatusUnauthorized {
		return fmt.Sprintf("%s: 401 %s: the token is missing, wrong or expired", e.Op, e.Message)
	}
	return fmt.Sprintf("%s: %d %s: not found, or the credential lacks the permission; gavel serve --check says what it lacks, in a workflow add\n  permissions:\n    %s",
		e.Op, e.Status, e.Message, e.Permission)
}

// A LimitError means that the forge asked for more patience than the request
// was given, see [Config.MaxWait].
type LimitError struct {
	// Until is the earliest time at which the forge will answer again.
	Until time.Time
}

// Error says when to try again.
func (e *LimitError) Error() string {
	return "rate limit of the forge exhausted until " + e.Until.UTC().Format(time.RFC3339)
}

// RetryAt is Until. Packages that must not import this one find it by this
// method.
func (e *LimitError) RetryAt() time.Time { return e.Until }

// printable keeps a forge's words from moving a terminal's cursor, and short.
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

// Transient reports whether the same request may succeed later: the forge did
// not answer, answered with a fault of its own or with part of a document, or
// asked for patience. So may errors that say it of themselves by a method
// Transient. A refusal stays one, and so does an error of the caller's context.
func Transient(err error) bool {
	var answer *github.ErrorResponse
	var unanswered *url.Error
	var itself interface{ Transient() bool }
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, priority.ErrDropped), errors.Is(err, errRedirected):
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

// Refused reports whether err holds nothing but refusals for want of a
// permission: each is a [DeniedError] with 403 or 404. It is false for nil.
func Refused(err error) bool {
	switch wrapped := err.(type) {
	case nil:
		return false
	case *DeniedError:
		return wrapped.Status != http.StatusUnauthorized
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(wrapped.Unwrap(), func(err error) bool { return !Refused(err) })
	}
	return Refused(errors.Unwrap(err))
}

// Explain adds to an error of go-github what was tried, and makes a refusal a
// [DeniedError] with the permission that it asks for; nil stays nil. A rate
// limit never arrives here as a 403: the transport gives a [LimitError].
func Explain(op, permission string, err error) error {
	if err == nil {
		return nil
	}
	var answer *github.ErrorResponse
	if errors.As(err, &answer) && answer.Response != nil {
		switch status := answer.Response.StatusCode; status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
			message := answer.Message
			// GitHub says it to Apps and to fine-grained tokens.
			if accepted := answer.Response.Header.Get("X-Accepted-GitHub-Permissions"); accepted != "" {
				message += " (it takes " + accepted + ")"
			}
			return &DeniedError{Op: op, Status: status, Permission: permission, Message: printable(message)}
		}
	}
	return fmt.Errorf("%s: %w", op, err)
}
