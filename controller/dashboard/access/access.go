// Package access decides who may see and change which pages. A [Gate] identifies the
// user by a token, by the session that a token began, or by the header of a trusted
// proxy. A [Guard] keeps other sites from reading or using the pages. [ConnectionLimit]
// and [StreamLimit] bound the connections and streams of strangers.
//
// Most callers make a gate with [NewGate], wrap a handler with [Gate.Handler] and a
// [Guard], and ask [UserOf] in the handler.
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

// A Role is a set of permissions. Each role includes the ones before it.
type Role int

// The roles. See reads private pages, Judge lets commits be judged again, and Edit
// changes definitions.
const (
	Nobody Role = iota
	See
	Judge
	Edit
)

// roles are the names of the roles.
var roles = map[string]Role{"see": See, "judge": Judge, "edit": Edit}

// RoleNamed returns the role with a name: see, judge or edit; [Nobody] for every other.
func RoleNamed(name string) Role { return roles[name] }

// A User is a known user.
type User struct {
	Name string
	// Token signs in; empty for a user who comes through the proxy.
	Token string
	Role  Role
	// Repositories limit the role to some repositories; none means all.
	Repositories []string
}

// RoleIn returns the role of the user in a repository. A nil user has none.
func (u *User) RoleIn(repository string) Role {
	if u == nil || len(u.Repositories) > 0 && !slices.ContainsFunc(u.Repositories, func(r string) bool { return strings.EqualFold(r, repository) }) {
		return Nobody
	}
	return u.Role
}

// A GateConfig lists the known users.
type GateConfig struct {
	Users []User
	// Header is the header with the user's name in requests from the addresses From.
	// If it is empty, no header counts.
	Header string
	From   []netip.Prefix
	// Others is the role of names in the header that are not among Users.
	Others Role
	// Secret signs sessions. Defaults to a random one, which ends them with the process.
	Secret []byte
	// Ended has the sessions that were signed out. Gates with the same secret share it.
	// Defaults to a new one.
	Ended *Ended
	// Now defaults to [time.Now].
	Now func() time.Time
}

// Ended lists the sessions that their users ended, so that a copy of a cookie is
// worthless. The zero value lists none. It is safe for concurrent use.
type Ended struct {
	mu    sync.Mutex
	until map[string]int64 // guarded by mu; the expiry of each, by id
}

// add ends a session and forgets expired ones.
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

// A Gate identifies users. It is safe for concurrent use.
type Gate struct{ cfg GateConfig }

// NewGate returns a gate.
func NewGate(cfg GateConfig) *Gate {
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

// UserOf returns the user of a request, or nil if it is unknown.
func UserOf(r *http.Request) *User {
	u, _ := r.Context().Value(userKey{}).(*User)
	return u
}

// Handler adds the user to each request, see [UserOf]. It refuses a wrong token with 401,
// since the public answer would look like the user's own.
func (g *Gate) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var u *User
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case bearer:
			if u = g.UserWithToken(token); u == nil {
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

// UserWithToken returns the user with a token, or nil.
func (g *Gate) UserWithToken(token string) *User {
	var found *User
	given := sha256.Sum256([]byte(token))
	for i := range g.cfg.Users { // all of them, so that the time reveals nothing
		known := sha256.Sum256([]byte(g.cfg.Users[i].Token))
		if hmac.Equal(given[:], known[:]) && g.cfg.Users[i].Token != "" {
			found = &g.cfg.Users[i]
		}
	}
	return found
}

// proxied returns the user whose name a trusted proxy sends.
func (g *Gate) proxied(r *http.Request) *User {
	if g.cfg.Header == "" {
		return nil
	}
	names := r.Header.Values(g.cfg.Header)
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || len(names) != 1 || names[0] == "" {
		return nil // with two headers, somebody else added one
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

// user returns the user with a name, or nil.
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
	// sessionLifetime bounds a session.
	sessionLifetime = 12 * time.Hour
)

// sign returns the signature of a session. It covers the user's token, so that a session
// ends with it.
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

// session returns the active session of a request; its user is nil if there is none.
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

// Begin begins a session of a user in the browser that sent the request.
func (g *Gate) Begin(w http.ResponseWriter, r *http.Request, u *User) {
	id, until := rand.Text(), strconv.FormatInt(g.cfg.Now().Add(sessionLifetime).Unix(), 10)
	value := strings.Join([]string{base64.RawURLEncoding.EncodeToString([]byte(u.Name)), id, until, g.sign(u, id, until)}, ".")
	g.cookie(w, r, value, int(sessionLifetime.Seconds()))
}

// End ends the session of the browser that sent the request. A copy of its cookie is
// worthless then.
func (g *Gate) End(w http.ResponseWriter, r *http.Request) {
	if s := g.session(r); s.user != nil {
		g.cfg.Ended.add(s.id, s.until, g.cfg.Now().Unix())
	}
	g.cookie(w, r, "", -1)
}

func (g *Gate) cookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	// A proxy that terminates TLS sends this; the header can only make the cookie
	// stricter.
	secure := r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode, MaxAge: age,
	})
}
