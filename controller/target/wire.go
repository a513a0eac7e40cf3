package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/config"
)

// maxReply bounds a reply in bytes, unpacked. The longest that models write is
// about half a megabyte; the rest is room for agents' tool results.
const maxReply = 8 << 20

// A wire carries the HTTP exchanges of one target.
type wire struct {
	base
	cfg    config.Target
	client *http.Client
	key    secret
	keyEnv string
}

// newWire looks up the credential of a target that has one.
func newWire(cfg config.Target, env Env, b base) (wire, error) {
	w := wire{
		base: b, cfg: cfg, keyEnv: cfg.APIKeyEnv,
		client: &http.Client{Transport: env.Transport, CheckRedirect: checkRedirect},
	}
	if cfg.APIKeyEnv == "" {
		return w, nil
	}
	v, _ := env.Lookup(cfg.APIKeyEnv)
	if w.key = secret(strings.TrimSpace(v)); w.key == "" {
		return w, fmt.Errorf("environment variable %s (api_key_env) is not set: write export %[1]s=…", cfg.APIKeyEnv)
	}
	return w, nil
}

// exchange sends a request and reads the whole reply, so that a connection cut
// in its middle is a transport error like any other. It returns the headers
// and the body of a success; anything else is an *Error.
func (w *wire) exchange(req *http.Request) (resp *http.Response, body []byte, err error) {
	resp, err = w.client.Do(req)
	if err != nil {
		return nil, nil, w.broken(req, err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return nil, nil, w.broken(req, fmt.Errorf("read the reply: %w", err))
	}
	if len(body) > maxReply {
		return nil, nil, w.fail(Error{Status: resp.StatusCode, Message: tooLong})
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, nil, w.refused(resp, body)
	}
	if !utf8.Valid(body) {
		return nil, nil, w.fail(Error{Status: resp.StatusCode, Message: notUTF8(body)})
	}
	return resp, body, nil
}

// notUTF8 returns the error of a reply in another encoding: reading it as UTF-8 would judge
// a text that nobody wrote.
func notUTF8(data []byte) string {
	at := 0
	for len(data) > at {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return fmt.Sprintf("the reply is not UTF-8: byte %d is 0x%X; encode it as UTF-8", at+1, data[at])
}

var tooLong = fmt.Sprintf("the reply is longer than %d MiB", maxReply>>20)

// broken returns the error of an exchange without a whole reply.
func (w *wire) broken(req *http.Request, err error) error {
	if ctx := req.Context(); ctx.Err() != nil {
		return w.ended(ctx)
	}
	var redirect redirectError
	if errors.As(err, &redirect) {
		return w.fail(Error{Message: redirect.Error()})
	}
	return w.fail(Error{Retry: true, Message: req.URL.Host + ": " + unreached(err).Error(), Hint: unreachedHint(w.cfg, err)})
}

// ended returns the error of a call whose context is over.
func (b base) ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return b.fail(Error{Retry: true, Message: "no reply in time", Err: context.Cause(ctx)})
	}
	return b.fail(Error{Message: "the call was cancelled", Err: ctx.Err()})
}

// refused returns the error of a reply that is not a success.
func (w *wire) refused(resp *http.Response, body []byte) error {
	status := resp.StatusCode
	said := readComplaint(resp.Header, body, w.now())
	text := cmp.Or(http.StatusText(status), "unknown status")
	e := Error{
		Status: status,
		Retry: status == http.StatusRequestTimeout || status >= 500 ||
			(status == http.StatusTooManyRequests && !said.Spent),
		Message: fmt.Sprintf("%d %s", status, text),
	}
	if w.cfg.Provider == config.HTTP {
		e.Hint = refusedHint(w.cfg, status)
	}
	switch {
	case status != http.StatusUnauthorized || w.cfg.Provider == config.HTTP && w.keyEnv == "":
		if said.Message != "" {
			e.Message += ": " + said.Message
		}
		e.Hint = cmp.Or(e.Hint, said.Advice(status, place(w.cfg)))
	// Providers repeat parts of a wrong key, so their text is left out.
	case w.keyEnv != "":
		e.Message += ": the key in " + w.keyEnv + " is not accepted"
	default:
		e.Message += ": a key is asked for; name its environment variable as api_key_env"
	}
	if e.Retry {
		e.After = said.Wait
	}
	return w.fail(e)
}
