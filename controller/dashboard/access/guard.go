package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ContentPolicy lets a page load files of this server and nothing else: no inline script
// or style, no frame, no other host.
const ContentPolicy = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'"

// MaxBody limits the bytes of a request.
const MaxBody = 64 << 20

// maxForm limits the bytes of a form.
const maxForm = 4 << 20

// A Guard keeps other sites from reading or using the pages of a server. Its fields
// list the names by which browsers may ask for them.
type Guard struct {
	// Hosts are names that are accepted next to loopback addresses and localhost.
	Hosts []string
	// AnyAddress also accepts addresses other than loopback.
	AnyAddress bool
	// Secret signs the tokens of forms. Defaults to a random one.
	Secret []byte
}

// guarded is the handler of a [Guard].
type guarded struct {
	cfg    Guard
	cross  *http.CrossOriginProtection
	next   http.Handler
	secret []byte
}

// Handler refuses requests under a foreign name with 421, requests from another site
// with 403, bodies of another type than JSON or a form with 415, and forms without
// their token with 403. It sets the headers that isolate a page.
func (c Guard) Handler(next http.Handler) http.Handler {
	g := &guarded{cfg: c, cross: http.NewCrossOriginProtection(), next: next, secret: c.Secret}
	if len(g.secret) == 0 {
		g.secret = make([]byte, sha256.Size)
		_, _ = rand.Read(g.secret) // it never fails
	}
	return g
}

// ServeHTTP checks a request and passes it to the next handler.
func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", ContentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !g.named(r.Host) {
		refuse(w, r, http.StatusMisdirectedRequest, "Host is not allowed; use localhost or 127.0.0.1")
		return
	}
	if err := g.cross.Check(r); err != nil {
		refuse(w, r, http.StatusForbidden, "the request comes from another site")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if status, why := g.written(w, r); status != 0 {
			refuse(w, r, status, why)
			return
		}
	}
	g.next.ServeHTTP(w, r.WithContext(withGuard(r.Context(), g)))
}

// named reports whether a host is one of the server's. A page whose owner points its
// name at this server (DNS rebinding) has another host.
func (g *guarded) named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return g.cfg.AnyAddress || addr.IsLoopback()
	}
	known := func(name string) bool { return strings.EqualFold(name, host) }
	return known("localhost") || slices.ContainsFunc(g.cfg.Hosts, known)
}

// written checks a request that changes something. It returns status 0 for a request
// that is accepted.
func (g *guarded) written(w http.ResponseWriter, r *http.Request) (status int, why string) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method == http.MethodDelete && r.ContentLength == 0 && kind == "":
		return 0, "" // another site cannot send one without being asked first
	case err == nil && kind == "application/json":
		return 0, "" // nor this
	case err != nil || kind != "application/x-www-form-urlencoded" || IsAPI(r.URL.Path):
		return http.StatusUnsupportedMediaType, "the body is not JSON; send Content-Type: application/json"
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return http.StatusBadRequest, fmt.Sprintf("the form cannot be read: %v", err)
	}
	cookie, err := r.Cookie(formCookie)
	if err != nil || !hmac.Equal([]byte(r.PostForm.Get(FormField)), []byte(g.sign(cookie.Value))) {
		return http.StatusForbidden, "the form was not made for this browser; load its page again"
	}
	return 0, ""
}

// refuse answers a request with the reason of its refusal, as JSON for the API.
func refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if !IsAPI(r.URL.Path) {
		http.Error(w, why, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "error": why}) // the client is gone
}

// IsAPI reports whether a path belongs to the API: below /api/, or below the API of a
// repository on a server, such as /r/acme/shop/api/.
func IsAPI(path string) bool {
	if below, ok := strings.CutPrefix(path, "/r/"); ok {
		parts := strings.SplitN(below, "/", 3) // owner, name and the rest
		path = "/" + parts[len(parts)-1]
	}
	return strings.HasPrefix(path, "/api/")
}

// formCookie is the name of the cookie that forms are bound to.
const formCookie = "gavel_form"

// FormField is the name of the form field with the token.
const FormField = "form_token"

// sign returns the token for a cookie.
func (g *guarded) sign(cookie string) string {
	mac := hmac.New(sha256.New, g.secret)
	mac.Write([]byte(cookie))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// FormToken returns the value of [FormField] for forms in the answer to a request. If
// the browser has no cookie for the token, it sets one. The token is empty for a
// request that did not pass a [Guard.Handler].
func FormToken(w http.ResponseWriter, r *http.Request) string {
	g, ok := guardedOf(r.Context())
	if !ok {
		return ""
	}
	if cookie, err := r.Cookie(formCookie); err == nil && cookie.Value != "" {
		return g.sign(cookie.Value)
	}
	value := rand.Text()
	http.SetCookie(w, &http.Cookie{
		Name: formCookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil, MaxAge: int((30 * 24 * time.Hour).Seconds()),
	})
	return g.sign(value)
}

// guardKey is where a request has the gate that it came through.
type guardKey struct{}

func withGuard(ctx context.Context, g *guarded) context.Context {
	return context.WithValue(ctx, guardKey{}, g)
}

func guardedOf(ctx context.Context) (*guarded, bool) {
	g, ok := ctx.Value(guardKey{}).(*guarded)
	return g, ok
}
