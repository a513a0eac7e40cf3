package forgetest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// An App is a GitHub App that is installed in [Repository].
type App struct {
	ID int64
	// Slug is the name in the login slug[bot].
	Slug         string
	Installation int64
	// Permissions are its permissions, such as checks: write.
	Permissions map[string]string
	// Events are the events that it receives; Suspended is the time of its suspension,
	// empty for never.
	Events    []string
	Suspended string
}

// tokenLife is the lifetime of an installation's token.
const tokenLife = time.Hour

// keyBits is the minimum key size for the signature.
const keyBits = 2048

// keys are shared by all forges of a process: creating a key takes longer than most
// tests that need one.
var keys keyring

// A keyring creates each key once.
type keyring struct {
	mu   sync.Mutex
	made []*rsa.PrivateKey
}

// key returns the i-th key. The keys differ from each other.
func (k *keyring) key(i int) (*rsa.PrivateKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.made) <= i {
		key, err := rsa.GenerateKey(rand.Reader, keyBits)
		if err != nil {
			return nil, err
		}
		k.made = append(k.made, key)
	}
	return k.made[i], nil
}

// AddApp installs an App, or changes the permissions of the one with its id, and
// returns the private key in PEM.
func (f *Forge) AddApp(tb testing.TB, app App) string {
	tb.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	key, err := keys.key(f.keysTaken)
	if err != nil {
		tb.Fatal(err)
	}
	f.apps[app.ID] = app
	f.keys[app.ID] = &key.PublicKey
	f.keysTaken++
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

// Change changes an App.
func (f *Forge) Change(id int64, change func(*App)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	app := f.apps[id]
	change(&app)
	f.apps[id] = app
}

// Revoke invalidates all tokens of Apps, as their expiry would.
func (f *Forge) Revoke() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.tokens)
}

// Knows reports whether a token is valid now, for a git server next to the forge.
func (f *Forge) Knows(token string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.accountOf(token)
	return ok
}

// Tokens returns the tokens issued to Apps, in order.
func (f *Forge) Tokens() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.given)
}

// A minted token is an App's token.
type minted struct {
	app   int64
	until time.Time
}

// now returns the forge's own time.
func (f *Forge) now() time.Time {
	if f.Clock != nil {
		return f.Clock()
	}
	return time.Now()
}

// accountOf returns a token's account. The caller holds the lock.
func (f *Forge) accountOf(token string) (account, bool) {
	if who, ok := accounts[token]; ok {
		return who, true
	}
	t, ok := f.tokens[token]
	if !ok || !f.now().Before(t.until) {
		return account{}, false
	}
	app := f.apps[t.app]
	return account{login: app.Slug + "[bot]", app: true, id: app.ID, permissions: app.Permissions}, true
}

// asApp returns the App that signed a request, or GitHub's message about the signature.
func (f *Forge) asApp(r *http.Request) (App, string) {
	var claims jwt.RegisteredClaims
	var app App
	_, err := jwt.ParseWithClaims(bearer(r), &claims, func(*jwt.Token) (any, error) {
		id, err := strconv.ParseInt(claims.Issuer, 10, 64)
		app = f.apps[id]
		if err != nil || f.keys[id] == nil {
			return nil, fmt.Errorf("no App %q", claims.Issuer)
		}
		return f.keys[id], nil
	}, jwt.WithoutClaimsValidation(), jwt.WithValidMethods([]string{"RS256"}))
	now := f.now()
	switch {
	case err != nil:
		return app, "A JSON web token could not be decoded"
	case claims.IssuedAt == nil || claims.IssuedAt.After(now):
		return app, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case claims.ExpiresAt == nil || !claims.ExpiresAt.After(now):
		return app, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case claims.ExpiresAt.After(now.Add(10 * time.Minute)):
		return app, "'Expiration time' claim ('exp') is too far in the future"
	}
	return app, ""
}

// signed answers as an App only.
func (f *Forge) signed(next func(w http.ResponseWriter, r *http.Request, app App)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		app, wrong := f.asApp(r)
		if wrong != "" {
			refuse(w, http.StatusUnauthorized, wrong)
			return
		}
		next(w, r, app)
	}
}

func getApp(w http.ResponseWriter, _ *http.Request, app App) {
	reply(w, http.StatusOK, map[string]any{"id": app.ID, "slug": app.Slug, "name": app.Slug})
}

func (f *Forge) getInstallation(w http.ResponseWriter, _ *http.Request, app App) {
	if app.Installation == 0 {
		notFound(w)
		return
	}
	var suspended any
	if app.Suspended != "" {
		suspended = app.Suspended
	}
	reply(w, http.StatusOK, map[string]any{
		"id": app.Installation, "app_id": app.ID, "app_slug": app.Slug, "permissions": app.Permissions, "events": app.Events, "suspended_at": suspended,
	})
}

func (f *Forge) createToken(w http.ResponseWriter, r *http.Request, app App) {
	if int64(number(r, "installation")) != app.Installation {
		notFound(w)
		return
	}
	token, until := fmt.Sprintf("ghs_test_%016d_of_an_app", len(f.given)+1), f.now().Add(tokenLife)
	f.tokens[token] = minted{app.ID, until}
	f.given = append(f.given, token)
	reply(w, http.StatusCreated, map[string]any{
		"token": token, "expires_at": until.UTC().Format(time.RFC3339), "permissions": app.Permissions, "repository_selection": "selected",
	})
}

// isAppPath reports whether a path is the App's own, where a signature counts
// and no token.
func isAppPath(path string) bool {
	return strings.HasSuffix(path, "/app") || strings.Contains(path, "/app/installations/") || strings.HasSuffix(path, "/installation")
}

// needs returns the permission and level that a request requires.
func needs(r *http.Request) (permission, level string) {
	level = "read"
	if r.Method != http.MethodGet {
		level = "write"
	}
	for _, tt := range []struct{ part, name string }{
		{"/check-runs", "checks"}, {"/check-suites", "checks"}, {"/statuses/", "statuses"}, {"/status", "statuses"}, {"/issues/", "pull_requests"}, {"/pulls", "pull_requests"},
	} {
		if strings.Contains(r.URL.Path, tt.part) {
			return tt.name, level
		}
	}
	return "metadata", "read"
}

// may reports whether an account may send a request. Only an App has a list of
// permissions, and metadata is always readable.
func (a account) may(r *http.Request) bool {
	permission, level := needs(r)
	if a.permissions == nil || permission == "metadata" {
		return true
	}
	has := a.permissions[permission]
	return has == "write" || has == level
}

// bearer returns the token of a request. Gitea also takes it after the word token.
func bearer(r *http.Request) string {
	header := r.Header.Get("Authorization")
	if rest, ok := strings.CutPrefix(header, "token "); ok && isGitea(r) {
		return rest
	}
	return strings.TrimPrefix(header, "Bearer ")
}
