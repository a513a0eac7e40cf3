package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// maxAttempts bounds the attempts of one request.
	maxAttempts = 5
	// maxBody bounds an answer: a page of 100 comments of 65,536 characters,
	// four bytes each, with room for the rest.
	maxBody = 32 << 20
	// writeGap is GitHub's rule for writing clients: one at a time, at least a second
	// apart.
	writeGap = time.Second
	// mediaType is the media type recommended by GitHub's published description.
	mediaType = "application/vnd.github+json"
	// minSecret keeps a very short token from being redacted in unrelated text.
	minSecret = 8
)

// transport adds the credential, serialises writes, and repeats repeatable requests.
// Answers are read whole, so that a connection cut in the middle of a body is one more
// failed attempt.
type transport struct {
	cfg  Config
	base *url.URL
	// token returns the credential of a request about a repository; refused is one that
	// the forge has just refused, so that another is wanted.
	token func(ctx context.Context, repo Repo, refused Token) (Token, error)
	app   *app // nil unless the credential is an App
	known *answers

	turns *writeTurns
}

func newTransport(cfg Config, base *url.URL) *transport {
	t := &transport{cfg: cfg, base: base, known: newAnswers(), turns: newWriteTurns(cfg.Clock)}
	switch {
	case cfg.App != nil:
		t.app = newApp(*cfg.App, t)
		t.token = t.app.token
	case cfg.Read != nil:
		t.token = (&reader{read: cfg.Read}).token
	default:
		t.token = func(context.Context, Repo, Token) (Token, error) { return cfg.Token, nil }
	}
	return t
}

// errRedirected reports a forbidden redirect by the forge.
var errRedirected = errors.New("redirected")

// checkRedirect follows a renamed repository's redirect of a read. Go turns a
// redirected POST into a GET, which would look like success.
func checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 3:
		return fmt.Errorf("%w: more than 3 of them", errRedirected)
	case req.Method != via[0].Method:
		return fmt.Errorf("%w: the forge redirects this write; was the repository renamed?", errRedirected)
	}
	return nil
}

// RoundTrip sends req until it is answered, within the limits. After a refused
// credential it requests one once more: it may have expired in transit, or been
// replaced.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := takeBody(req)
	if err != nil {
		return nil, err
	}
	// The credential goes only to its own forge, whatever a redirect says.
	if req.URL.Host != t.base.Host || req.URL.Scheme != t.base.Scheme {
		return nil, fmt.Errorf("%w: refused a redirect from %s to %s", errRedirected, t.base.Host, req.URL.Host)
	}
	repo := t.repository(req.URL.Path)
	token, err := t.token(req.Context(), repo, "")
	if err != nil {
		return nil, err
	}
	resp, err := t.conditional(req, body, token)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	next, err := t.token(req.Context(), repo, token)
	if err != nil {
		return nil, err
	}
	if next == token {
		return resp, nil
	}
	return t.conditional(req, body, next)
}

// repository returns the repository of a path, or zero.
func (t *transport) repository(path string) Repo {
	parts := strings.Split(strings.TrimPrefix(path, t.base.Path), "/")
	if len(parts) < 3 || parts[0] != "repos" {
		return Repo{}
	}
	return Repo{Owner: parts[1], Name: parts[2]}
}

func takeBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// isWrite reports whether a method may change something.
func isWrite(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// isRepeatable reports whether a request has the same effect twice as once. Otherwise
// the caller must look first: a PATCH adds annotations to a check run each time. A
// second token of an App does no harm.
func isRepeatable(req *http.Request) bool {
	switch req.Method {
	case http.MethodPost:
		return strings.HasSuffix(req.URL.Path, "/access_tokens")
	case http.MethodPatch:
		return !strings.Contains(req.URL.Path, "/check-runs/")
	}
	return true
}

// send sends a request until it is answered, a write in its turn. It waits for a limit
// with every method, since nothing was done, but repeats a lost or broken answer only
// if the request [isRepeatable]. Between two attempts the turn goes to others, who are
// subject to the same limit.
func (t *transport) send(req *http.Request, body []byte, token Token) (*http.Response, error) {
	ctx := req.Context()
	worth := writeFromContext(ctx, t.cfg.Clock.Now())
	var waited time.Duration
	for n := 1; ; n++ {
		resp, err := t.inTurn(req, body, token, worth)
		delay := t.delay(resp, n)
		limited := err == nil && isLimited(resp)
		broken := err != nil || resp.StatusCode >= 500
		if errors.Is(err, errWriteDropped) || !limited && (!broken || !isRepeatable(req)) {
			return settle(resp), err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if n == maxAttempts || waited+delay > t.cfg.MaxWait {
			if limited {
				return nil, &LimitError{Until: t.cfg.Clock.Now().Add(delay)}
			}
			return settle(resp), err
		}
		waited += delay
		if err := t.cfg.Clock.Sleep(ctx, delay); err != nil {
			return nil, err
		}
	}
}

// inTurn sends the request once, a write in its turn.
func (t *transport) inTurn(req *http.Request, body []byte, token Token, worth PendingWrite) (*http.Response, error) {
	if !isWrite(req.Method) {
		return t.attempt(req.Context(), req, body, token)
	}
	if err := t.turns.Acquire(req.Context(), worth); err != nil {
		return nil, err
	}
	after := writeGap
	defer func() { t.turns.Release(after) }()
	resp, err := t.attempt(sending(req.Context()), req, body, token)
	if err == nil && isLimited(resp) {
		if asked := t.delay(resp, 1); asked <= t.cfg.MaxWait {
			after = max(after, asked)
		}
	}
	return resp, err
}

// giteaQuery writes the query of a URL in Gitea's words: it takes `limit` for the size of
// a page, orders pull requests by `recentupdate` and comments not at all, and lists the
// reactions to a comment at once.
func giteaQuery(u *url.URL) *url.URL {
	query := u.Query()
	if size := query.Get("per_page"); size != "" {
		query.Set("limit", size)
	}
	drop := []string{"per_page", "direction"}
	switch {
	case strings.HasSuffix(u.Path, "/reactions"):
		drop = append(drop, "limit", "page")
	case !strings.HasSuffix(u.Path, "/pulls"):
		drop = append(drop, "sort")
	case query.Has("sort"):
		query.Set("sort", "recentupdate")
	}
	for _, name := range drop {
		query.Del(name)
	}
	out := *u
	out.RawQuery = query.Encode()
	return &out
}

// isWhole reports whether a successful answer is one JSON document, as every answer
// with a body is. A proxy may cut an answer off and give the length of the part, and an
// empty page of a listing would look like one without items.
func isWhole(method string, status int, data []byte) bool {
	switch {
	case status < 200 || status > 299:
		return true
	case len(data) == 0:
		return method != http.MethodGet || status != http.StatusOK
	}
	return json.Valid(data)
}

// settle removes headers by which go-github would refuse the next request by its own
// clock: limits are kept here. Without a reset time go-github knows no limit; a missing
// remainder alone would count as zero.
func settle(resp *http.Response) *http.Response {
	if resp != nil {
		resp.Header.Del(headerReset)
	}
	return resp
}

// attempt sends the request once and reads the whole answer. Its results contain no
// token, even if the forge echoes it.
func (t *transport) attempt(ctx context.Context, req *http.Request, body []byte, token Token) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	out := req.Clone(ctx)
	if body != nil {
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.ContentLength = int64(len(body))
	}
	// go-github asks for older and preview versions of this media type, which are
	// equivalent now.
	if out.Header.Get("Accept") != "" {
		out.Header.Set("Accept", mediaType)
	}
	if isGitea(t.base) {
		out.URL = giteaQuery(out.URL)
	}
	if token != "" {
		out.Header.Set("Authorization", "Bearer "+string(token))
	}
	resp, err := t.cfg.Transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(data) > maxBody {
		return nil, fmt.Errorf("the answer is larger than %d MiB", maxBody>>20)
	}
	if secret := []byte(token); len(secret) >= minSecret {
		data = bytes.ReplaceAll(data, secret, []byte(redacted))
	}
	if !isWhole(req.Method, resp.StatusCode, data) {
		return nil, errors.New("the answer is not a whole JSON document: it was cut off on the way, or the forge did not write it")
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	resp.ContentLength = int64(len(data))
	// The answer belongs to the caller's request: the clone has the credential in its
	// header.
	resp.Request = req
	return resp, nil
}
