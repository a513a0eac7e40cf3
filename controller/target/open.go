package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"time"
	"unicode"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// An Env has the parts of the outside world that a target needs.
type Env struct {
	// Lookup returns the value of an environment variable. Defaults to none set.
	Lookup func(name string) (string, bool)
	// Files is the repository at the commit in question; replay targets read
	// their recording from it.
	Files fs.FS
	// Dir is the folder that command targets read: an export of the
	// repository, or the working tree.
	Dir string
	// Programs is the sandbox of command targets; without it there are none.
	Programs *sandbox.Box
	// Shown are the files of the repository that a command target sees, in addition to
	// its input; nil for all.
	Shown []string
	// Process is the agent of an http target that Gavel starts, see [Start]; Transport is
	// then the agent's.
	Process *Process
	// Commit and PullRequest fill {sha} and {pr} of a url_template; empty if there is
	// none.
	Commit, PullRequest string
	// Transport carries HTTP. Defaults to a [Transport] for each target; one
	// that is shared and closed by the caller leaves no idle connection behind.
	Transport http.RoundTripper
	// Now is the clock of latencies and of Retry-After. Defaults to time.Now.
	Now func() time.Time
}

// Transport returns a transport that keeps as many connections to one host as
// targets use at once. Its owner calls CloseIdleConnections at the end.
func Transport() *http.Transport {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		// The headers that the client reads before the body's own limit.
		MaxResponseHeaderBytes: 256 << 10,
	}
	return t
}

// New opens a configured target. It reads the target's recording and credential and
// checks the rules that the configuration's own schema cannot, but sends nothing. The
// error is an [*OpenError].
func New(cfg config.Target, env Env) (Target, error) {
	if env.Lookup == nil {
		env.Lookup = func(string) (string, bool) { return "", false }
	}
	if env.Transport == nil {
		env.Transport = Transport()
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	t, err := open(cfg, env)
	if err != nil {
		return nil, NewOpenError(cfg, env, err)
	}
	return t, nil
}

// An OpenError is about a target that cannot be asked with its configuration.
type OpenError struct {
	Target string
	Err    error

	hide func(string) string
}

// NewOpenError returns the error of a target that cannot be opened. It hides the target's
// secrets from the replies of [OpenError.Respond].
func NewOpenError(cfg config.Target, env Env, err error) *OpenError {
	return &OpenError{cfg.Name, err, ScrubSecrets([]config.Target{cfg}, env.Lookup)}
}

// Error names the target and what to change.
func (e *OpenError) Error() string { return fmt.Sprintf("open target %s: %v", e.Target, e.Err) }

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// Respond implements [Target] with the error, as the reply to each request to a target that
// cannot be opened.
func (e *OpenError) Respond(context.Context, Request) (Reply, error) {
	return Reply{}, &Error{Target: e.Target, Message: printable(e.hide(e.Err.Error()))}
}

func open(cfg config.Target, env Env) (Target, error) {
	b := base{name: cfg.Name, hide: ScrubSecrets([]config.Target{cfg}, env.Lookup), now: env.Now}
	switch cfg.Provider {
	case config.OpenAI, config.Gemini:
		return newOpenAI(cfg, env, b)
	case config.Anthropic:
		return newAnthropic(cfg, env, b)
	case config.HTTP:
		return newHTTP(cfg, env, b)
	case config.Command:
		return newCommand(cfg, env, b)
	case config.Replay:
		return newReplay(cfg, env, b)
	case config.Mock:
		return newMock(cfg, b)
	}
	known := []string{config.OpenAI, config.Anthropic, config.Gemini, config.HTTP, config.Command, config.Replay, config.Mock}
	msg := fmt.Sprintf("there is no provider %q", cfg.Provider)
	if hint := suggest.DidYouMean(cfg.Provider, known); hint != "" {
		msg += "; " + hint
	}
	return nil, errors.New(msg)
}

// base is the common part of all targets: a name, a clock, and the removal of their
// secrets from errors.
type base struct {
	name string
	hide func(string) string
	now  func() time.Time
}

// fail completes an error: it gets the target's name, and its message loses
// credentials, control characters and excess length.
func (b base) fail(e Error) error {
	e.Target = b.name
	e.Message, e.Hint = printable(b.hide(e.Message)), printable(b.hide(e.Hint))
	return &e
}

const maxMessage = 1000

// printable keeps words from outside from moving a terminal's cursor, and
// short.
func printable(s string) string {
	runes := []rune(s)
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = ' '
		}
	}
	if len(runes) > maxMessage {
		runes = append(slices.Clip(runes[:maxMessage]), '…')
	}
	return string(runes)
}
