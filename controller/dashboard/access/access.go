// Package access says who asks for a page, and what they may do: by a token, by the
// session that a token began, or by the header of a trusted proxy.
//
// Most callers make a [Gate] with [New] and wrap a handler with [Gate.Handler]; the
// handler then asks [UserOf] who it is.
package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Role is what somebody may do. Each role may do what those before it may.
type Role int

// The roles. See reads what is private, Judge has commits looked at again, and Edit
// changes definitions.
const (
	Nobody Role = iota
	See
	Judge
	Edit
)

// roles are the names of the roles.
var roles = map[string]Role{"see": See, "judge": Judge, "edit": Edit}

// RoleNamed returns the role of a name: see, judge or edit; [Nobody] for every other.
func RoleNamed(name string) Role { return roles[name] }

// A User is somebody who is known.
type User struct {
	Name string
	// Token signs in; empty for one who comes through the proxy.
	Token string
	Role  Role
	// Repositories are those that the role is for; none means all.
	Repositories []string
}

// RoleIn returns what the user may do in a repository. A nil user may do nothing.
func (u *User) RoleIn(repository string) Role {
	if u == nil || len(u.Repositories) > 0 && !slices.ContainsFunc(u.Repositories, func(r string) bool { return strings.EqualFold(r, repository) }) {
		return Nobody
	}
	return u.Role
}

// A Config says who is known.
type Config struct {
	Users []User
	// Header has the name of the user in requests from the addresses From. Empty means
	// that no header counts.
	Header string
	From   []netip.Prefix
	// Others is the role of names in the header that are not users.
	Others Role
	// Secret signs sessions. Defaults to a random one, which ends them with the process.
	Secret []byte
	// Ended has the sessions that were signed out; gates with one secret share it.
	// Defaults to an own one.
	Ended *Ended
	// Now defaults to [time.Now].
	Now func() time.Time
}

// Ended are sessions that their users ended: a copy of a cookie is good for nothing then.
// The zero value has none. It is safe for concurrent use.
type Ended struct {
	mu    sync.Mutex
	until map[string]int64 // guarded by mu; when each would have ended by itself, by its id
}

// add ends a session, and forgets those that are over by now.
func (e *Ended) add(id string, until, now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.until, func(_ string, until int64) bool { return until <= now })
	if e.until == nil {
		e.until = map[string]int64{}
	}
	e.until[id] = until
}

// has reports whether a session was ended.
func (e *Ended) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ended := e.until[id]
	return ended
}

// A Gate knows who asks. It is safe for concurrent use.
type Gate struct{ cfg Config }

// New returns a gate.
func New(cfg Config) *Gate {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if len(cfg.Secret) == 0 {
		cfg.Secret = make([]byte, sha256.Size)
		_, _ = rand.Read(cfg.Secret) // it never fails
	}
	if cfg.Ended == nil {
		cfg.Ended = &Ended{}
	}
	return &Gate{cfg}
}

// userKey is where a request has its user.
type userKey struct{}

// UserOf returns who asks; nil for somebody who is not known.
func UserOf(r *http.Request) *User {
	u, _ := r.Context().Value(userKey{}).(*User)
	return u
}

// Handler adds to each request who asks, see [UserOf]. A wrong token is refused with 401:
// it must not look like an answer for everybody.
func (g *Gate) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var u *User
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case bearer:
			if u = g.Named(token); u == nil {
				w.Header().Set("WWW-Authenticate", "Bearer")
				refuse(w, r, http.StatusUnauthorized, "the token is unknown; use one of pages.users of the operator's file")
				return
			}
		default:
			if u = g.proxied(r); u == nil {
				u = g.session(r).user
			}
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, u)))
	})
}

// Named returns the user with a token, nil for an unknown one.
func (g *Gate) Named(token string) *User {
	var found *User
	given := sha256.Sum256([]byte(token))
	for i := range g.cfg.Users { // all of them, so that the time says nothing
		known := sha256.Sum256([]byte(g.cfg.Users[i].Token))
		if hmac.Equal(given[:], known[:]) && g.cfg.Users[i].Token != "" {
			found = &g.cfg.Users[i]
		}
	}
	return found
}

// proxied is the user whose name a trusted proxy sends.
func (g *Gate) proxied(r *http.Request) *User {
	if g.cfg.Header == "" {
		return nil
	}
	names := r.Header.Values(g.cfg.Header)
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || len(names) != 1 || names[0] == "" {
		return nil // two headers are one that somebody else has added
	}
	trusted := func(p netip.Prefix) bool { return p.Contains(from.Addr().Unmap()) }
	if !slices.ContainsFunc(g.cfg.From, trusted) {
		return nil
	}
	if u := g.user(names[0]); u != nil {
		return u
	}
	if g.cfg.Others == Nobody {
		return nil
	}
	return &User{Name: names[0], Role: g.cfg.Others}
}

// user is the one with a name.
func (g *Gate) user(name string) *User {
	for i := range g.cfg.Users {
		if g.cfg.Users[i].Name == name {
			return &g.cfg.Users[i]
		}
	}
	return nil
}

const (
	cookieName = "gavel_session"
	// lasting is how long a session is good for.
	lasting = 12 * time.Hour
)

// sign is what only this server writes about a session. It ends with the token.
func (g *Gate) sign(u *User, id, until string) string {
	mac := hmac.New(sha256.New, g.cfg.Secret)
	for _, part := range []string{u.Name, u.Token, id, until} {
		mac.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// A session is a signed cookie.
type session struct {
	user  *User
	id    string
	until int64
}

// session returns the session of a request that goes on; its user is nil for none.
func (g *Gate) session(r *http.Request) (out session) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return out
	}
	parts := strings.Split(cookie.Value, ".")
	if len(parts) != 4 {
		return out
	}
	name, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		return out
	}
	u := g.user(string(name))
	if u == nil || u.Token == "" || !hmac.Equal([]byte(parts[3]), []byte(g.sign(u, parts[1], parts[2]))) {
		return out
	}
	until, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || g.cfg.Now().Unix() >= until || g.cfg.Ended.has(parts[1]) {
		return out
	}
	return session{u, parts[1], until}
}

// Begin begins a session of a user in the browser that asks.
func (g *Gate) Begin(w http.ResponseWriter, r *http.Request, u *User) {
	id, until := rand.Text(), strconv.FormatInt(g.cfg.Now().Add(lasting).Unix(), 10)
	value := strings.Join([]string{base64.RawURLEncoding.EncodeToString([]byte(u.Name)), id, until, g.sign(u, id, until)}, ".")
	g.cookie(w, r, value, int(lasting.Seconds()))
}

// End ends the session of the browser that asks, also for somebody who has a copy of its
// cookie.
func (g *Gate) End(w http.ResponseWriter, r *http.Request) {
	if s := g.session(r); s.user != nil {
		g.cfg.Ended.add(s.id, s.until, g.cfg.Now().Unix())
	}
	g.cookie(w, r, "", -1)
}

func (g *Gate) cookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	// A proxy that ends TLS says so; the header only makes the cookie stricter.
	secure := r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode, MaxAge: age,
	})
}
