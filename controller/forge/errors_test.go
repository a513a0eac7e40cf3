package forge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo"
)

// TestTransient tells what may go by itself from what stays.
func TestTransient(t *testing.T) {
	answer := func(status int) error {
		return fmt.Errorf("comment: %w", &github.ErrorResponse{Response: &http.Response{StatusCode: status}})
	}
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"nothing", nil, false},
		{"502", answer(502), true},
		{"422", answer(422), false},
		{"403", forge.Explain("comment", "pull-requests: write", answer(403)), false},
		{"a limit", fmt.Errorf("comment: %w", &forge.LimitError{Until: time.Now()}), true},
		{"no connection", &url.Error{Op: "Get", Err: errors.New("connection refused")}, true},
		{"no answer in time", &url.Error{Op: "Get", Err: context.DeadlineExceeded}, true},
		{"the caller's own end", &url.Error{Op: "Get", Err: context.Canceled}, false},
		{"a remote that is away", fmt.Errorf("fetch: %w", &gitrepo.AwayError{}), true},
		{"a mistake of ours", errors.New("no pull request"), false},
		{"one of two", errors.Join(answer(422), &forge.LimitError{}), true},
	} {
		if got := forge.Transient(tt.err); got != tt.want {
			t.Errorf("%s: Transient(%v) = %v, want %v", tt.name, tt.err, got, tt.want)
		}
	}
}

// TestARedirectIsNotTransient, however often it is followed.
func TestARedirectIsNotTransient(t *testing.T) {
	f := newForge(t)
	f.Inject(forgetest.Fault{Status: 302, Times: -1, Header: map[string]string{"Location": "https://elsewhere.example/steal"}})
	_, err := newClient(t, f.URL, new(forgetest.Clock)).Pull(t.Context(), demo, 7)
	if err == nil || forge.Transient(err) {
		t.Errorf("Transient(%v)", err)
	}
}

// TestRefused is true where a missing permission is all there is.
func TestRefused(t *testing.T) {
	denied := func(status int) error { return fmt.Errorf("publish: %w", &forge.DeniedError{Status: status}) }
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"nothing", nil, false},
		{"403", denied(403), true},
		{"403 and 404", errors.Join(denied(403), denied(404)), true},
		{"401", denied(401), false},
		{"403 and a failure", errors.Join(denied(403), errors.New("502")), false},
		{"a failure", errors.New("502"), false},
	} {
		if got := forge.Refused(tt.err); got != tt.want {
			t.Errorf("%s: Refused(%v) = %v, want %v", tt.name, tt.err, got, tt.want)
		}
	}
}
