package forge

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-github/v60/github"
)

// An AppConfig identifies a GitHub App as the credential. Its requests carry the token
// of an installation, which lives for an hour. The first token is requested when it is
// needed, and each later one before the previous one expires.
type AppConfig struct {
	ID int64
	// Key returns the private key in PEM. It is called for each token, so that a key
	// can be replaced.
	Key func() (Token, error)
	// Installation is the id of the installation to act as. Defaults to looking it up
	// per repository.
	Installation int64
	// Learned is called with every token, so that logs can redact it. Defaults to
	// nothing.
	Learned func(Token)
}

const (
	// refreshEarly is the time before its expiry at which a token is replaced, so that
	// none expires in transit or within a fetch.
	refreshEarly = 5 * time.Minute
	// GitHub refuses an App's token from the future, and one that expires more than ten
	// minutes after its own time.
	issuedBack  = time.Minute
	assertsLast = 9 * time.Minute
)

// app requests tokens of an App's installations.
type app struct {
	cfg AppConfig
	t   *transport

	// turn holds one token. Its holder may request an App token, so that others who
	// need the same wait for it.
	turn chan struct{}

	mu sync.Mutex
	// The fields below are guarded by mu.
	ids    map[string]int64  // installation by owner/name in lower case
	passes map[int64]passkey // by installation
	last   int64             // the installation used last
	skew   time.Duration     // the forge's clock minus ours
	login  string
}

// A passkey is the token of an installation.
type passkey struct {
	token Token
	until time.Time // by the forge's clock
}

func newApp(cfg AppConfig, t *transport) *app {
	if cfg.Learned == nil {
		cfg.Learned = func(Token) {}
	}
	a := &app{cfg: cfg, t: t, turn: make(chan struct{}, 1), ids: map[string]int64{}, passes: map[int64]passkey{}, last: cfg.Installation}
	a.turn <- struct{}{}
	return a
}

// token returns the token of a repository's installation.
func (a *app) token(ctx context.Context, repo Repo, refused Token) (Token, error) {
	if pass, ok := a.held(repo); ok && pass.token != refused && a.remaining(pass) > refreshEarly {
		return pass.token, nil
	}
	select {
	case <-a.turn:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { a.turn <- struct{}{} }()
	pass, ok := a.held(repo)
	if ok && pass.token != refused && a.remaining(pass) > refreshEarly {
		return pass.token, nil
	}
	next, err := a.ask(ctx, repo)
	// The existing token is used until it expires.
	if err != nil && ok && pass.token != refused && a.remaining(pass) > 0 && ctx.Err() == nil {
		return pass.token, nil
	}
	return next, err
}

// held returns the cached token for a repository; for requests without one, the token
// used last.
func (a *app) held(repo Repo) (passkey, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := a.cfg.Installation
	if id == 0 && repo == (Repo{}) {
		id = a.last
	} else if id == 0 {
		id = a.ids[strings.ToLower(repo.String())]
	}
	pass, ok := a.passes[id]
	return pass, ok
}

func (a *app) remaining(pass passkey) time.Duration { return pass.until.Sub(a.now()) }

// now returns the forge's time, if known.
func (a *app) now() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.t.cfg.Clock.Now().Add(a.skew)
}

// ask requests a token. Only the holder of the turn calls it.
func (a *app) ask(ctx context.Context, repo Repo) (Token, error) {
	id, err := a.installation(ctx, repo)
	if err != nil {
		return "", err
	}
	var wire struct {
		Token     Token     `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	err = a.call(ctx, http.MethodPost, fmt.Sprintf("app/installations/%d/access_tokens", id), &wire)
	if denied, ok := errors.AsType[*DeniedError](err); ok && denied.Status == http.StatusNotFound && a.cfg.Installation == 0 {
		a.forget(id) // it was removed, and may have been created again
	}
	if err != nil {
		return "", err
	}
	if wire.Token == "" || wire.ExpiresAt.IsZero() {
		return "", fmt.Errorf("ask for a token of installation %d: the answer has none", id)
	}
	a.cfg.Learned(wire.Token)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.passes[id], a.last = passkey{wire.Token, wire.ExpiresAt}, id
	return wire.Token, nil
}

func (a *app) forget(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, known := range a.ids {
		if known == id {
			delete(a.ids, name)
		}
	}
}

// installation returns the id of a repository's installation.
func (a *app) installation(ctx context.Context, repo Repo) (int64, error) {
	name := strings.ToLower(repo.String())
	a.mu.Lock()
	id := a.ids[name]
	if repo == (Repo{}) {
		id = a.last
	}
	a.mu.Unlock()
	switch {
	case a.cfg.Installation != 0:
		return a.cfg.Installation, nil
	case id != 0:
		return id, nil
	case repo == (Repo{}):
		return 0, errors.New("an App speaks about repositories, and no repository was named yet")
	}
	wire, err := a.installed(ctx, repo)
	if err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids[name] = wire.ID
	return wire.ID, nil
}

// wireInstallation is an App's installation in a repository: its permissions and
// events.
type wireInstallation struct {
	ID          int64             `json:"id"`
	Permissions map[string]string `json:"permissions"`
	Events      []string          `json:"events"`
	SuspendedAt string            `json:"suspended_at"`
}

func (a *app) installed(ctx context.Context, repo Repo) (wireInstallation, error) {
	var wire wireInstallation
	if err := repo.check(); err != nil {
		return wire, err
	}
	err := a.call(ctx, http.MethodGet, fmt.Sprintf("repos/%s/%s/installation", repo.Owner, repo.Name), &wire)
	if denied, ok := errors.AsType[*DeniedError](err); ok && denied.Status == http.StatusNotFound {
		return wire, fmt.Errorf("the App %d is not installed in %s: install it there from its settings, or correct app_id: %w", a.cfg.ID, repo, err)
	}
	if err == nil && wire.ID <= 0 {
		err = fmt.Errorf("find the installation in %s: the answer has no id", repo)
	}
	return wire, err
}

// name returns the account that the App writes as.
func (a *app) name(ctx context.Context) (string, error) {
	a.mu.Lock()
	known := a.login
	a.mu.Unlock()
	if known != "" {
		return known, nil
	}
	var wire struct {
		Slug string `json:"slug"`
	}
	if err := a.call(ctx, http.MethodGet, "app", &wire); err != nil {
		return "", err
	}
	if !isName(wire.Slug) {
		return "", fmt.Errorf("read the App %d: %.80q is not the name of an App", a.cfg.ID, wire.Slug)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.login = wire.Slug + "[bot]"
	return a.login, nil
}

// call sends a request as the App itself. If the forge reports a wrong clock, it
// repeats the request with the forge's time.
func (a *app) call(ctx context.Context, method, path string, into any) error {
	op := fmt.Sprintf("as the App %d: %s %s", a.cfg.ID, method, path)
	ctx = WithWrite(ctx, PendingWrite{Worth: WorthCredential})
	req, err := http.NewRequestWithContext(ctx, method, a.t.base.JoinPath(path).String(), nil)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	req.Header.Set("Accept", mediaType)
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	for again := false; ; again = true {
		assertion, err := a.assert()
		if err != nil {
			return err
		}
		resp, err := a.t.send(req, nil, assertion)
		if err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		off := a.learn(resp)
		if resp.StatusCode == http.StatusUnauthorized && off && !again {
			continue
		}
		if err := github.CheckResponse(resp); err != nil {
			err = Explain(op, "metadata: read", err)
			if denied, ok := errors.AsType[*DeniedError](err); ok {
				denied.AppID = a.cfg.ID
			}
			return err
		}
		// The answer may contain a token, which an error must not show.
		if json.NewDecoder(resp.Body).Decode(into) != nil {
			return fmt.Errorf("%s: the answer is not JSON of the expected form", op)
		}
		return nil
	}
}

// learn records the skew of the forge's clock, and reports whether that is new and
// large enough to matter.
func (a *app) learn(resp *http.Response) bool {
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.skew
	a.skew = date.Sub(a.t.cfg.Clock.Now())
	return (a.skew - before).Abs() > 5*time.Second
}

// assert signs the App's own token.
func (a *app) assert() (Token, error) {
	pem, err := a.cfg.Key()
	if err != nil {
		return "", fmt.Errorf("read the private key of App %d: %w", a.cfg.ID, err)
	}
	key, err := parseKey(pem)
	if err != nil {
		return "", fmt.Errorf("the private key of App %d: %w", a.cfg.ID, err)
	}
	now := a.now()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer:   strconv.FormatInt(a.cfg.ID, 10),
		IssuedAt: jwt.NewNumericDate(now.Add(-issuedBack)), ExpiresAt: jwt.NewNumericDate(now.Add(assertsLast)),
	}).SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign as the App %d: %w", a.cfg.ID, err)
	}
	return Token(signed), nil
}

// parseKey parses a private key as GitHub issues it. An environment variable often
// holds its line ends as \n. Errors of the decoder are dropped: they would not help,
// and must not reveal the key.
func parseKey(pem Token) (*rsa.PrivateKey, error) {
	text := strings.ReplaceAll(string(pem), `\n`, "\n")
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(text))
	if err != nil {
		return nil, errors.New("it is not an RSA key in PEM; take the file that GitHub gave out when the key was made")
	}
	return key, nil
}
