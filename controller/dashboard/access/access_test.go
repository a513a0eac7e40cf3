package access_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard/access"
)

var known = []access.User{
	{Name: "ada", Token: "a-token-of-ada-123", Role: access.Edit},
	{Name: "bob", Role: access.Judge, Repositories: []string{"octo/demo"}},
}

// asked returns who a request is taken for, and its status.
func asked(g *access.Gate, r *http.Request) (*access.User, int) {
	var who *access.User
	w := httptest.NewRecorder()
	g.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { who = access.UserOf(r) })).ServeHTTP(w, r)
	return who, w.Code
}

func request(from string, header ...string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = from + ":4711"
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// TestWhoAsks holds that only a token, and the header from the proxy's address, say
// who somebody is.
func TestWhoAsks(t *testing.T) {
	proxied := access.GateConfig{Users: known, Header: "X-User", From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	open := proxied
	open.Others = access.See
	for _, tt := range []struct {
		name   string
		cfg    access.GateConfig
		r      *http.Request
		want   string
		role   access.Role
		status int
	}{
		{"nobody", proxied, request("10.1.1.1"), "", 0, 200},
		{"a token", proxied, request("192.0.2.1", "Authorization", "Bearer a-token-of-ada-123"), "ada", access.Edit, 200},
		{"a wrong token", proxied, request("192.0.2.1", "Authorization", "Bearer a-token-of-ada-12"), "", 0, 401},
		{"no token", proxied, request("192.0.2.1", "Authorization", "Bearer "), "", 0, 401},
		{"the proxy", proxied, request("10.1.1.1", "X-User", "bob"), "bob", access.Judge, 200},
		{"the proxy over mapped addresses", proxied, request("[::ffff:10.1.1.1]", "X-User", "bob"), "bob", access.Judge, 200},
		{"another address", proxied, request("192.0.2.1", "X-User", "bob"), "", 0, 200},
		{"two headers", proxied, request("10.1.1.1", "X-User", "bob", "X-User", "ada"), "", 0, 200},
		{"another name", proxied, request("10.1.1.1", "X-User", "eve"), "", 0, 200},
		{"another name with a role", open, request("10.1.1.1", "X-User", "eve"), "eve", access.See, 200},
		{"no proxy", access.GateConfig{Users: known}, request("10.1.1.1", "X-User", "bob"), "", 0, 200},
	} {
		who, status := asked(access.NewGate(tt.cfg), tt.r)
		got, role := "", access.Nobody
		if who != nil {
			got, role = who.Name, who.RoleIn("octo/demo")
		}
		if got != tt.want || role != tt.role || status != tt.status {
			t.Errorf("%s: %q with role %d, status %d, want %q, %d, %d", tt.name, got, role, status, tt.want, tt.role, tt.status)
		}
	}
	if got := known[1].RoleIn("octo/other"); got != access.Nobody {
		t.Errorf("a user of one repository has role %d in another", got)
	}
}

// TestASession is good for its user until it ends, and as long as the token is one.
func TestASession(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	secret := []byte("a secret of the server")
	cfg := access.GateConfig{Users: known, Secret: secret, Now: func() time.Time { return now }}
	g := access.NewGate(cfg)
	w := httptest.NewRecorder()
	g.Begin(w, request("192.0.2.1"), g.UserWithToken("a-token-of-ada-123"))
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Secure {
		t.Fatalf("the cookies are %+v", cookies)
	}
	with := func(value string) *http.Request {
		r := request("192.0.2.1")
		r.AddCookie(&http.Cookie{Name: cookies[0].Name, Value: value})
		return r
	}
	for _, tt := range []struct {
		name  string
		gate  *access.Gate
		value string
		want  string
	}{
		{"as it is", g, cookies[0].Value, "ada"},
		{"changed", g, cookies[0].Value + "x", ""},
		{"another one's", g, "Ym9i" + cookies[0].Value[4:], ""},
		{"another server's", access.NewGate(access.GateConfig{Users: known, Now: cfg.Now}), cookies[0].Value, ""},
		{"another token", access.NewGate(access.GateConfig{
			Users: []access.User{{Name: "ada", Token: "another-token-of-ada", Role: access.Edit}}, Secret: secret, Now: cfg.Now,
		}), cookies[0].Value, ""},
		{"broken", g, "..", ""},
	} {
		who, _ := asked(tt.gate, with(tt.value))
		if got := who; (got != nil) != (tt.want != "") || got != nil && got.Name != tt.want {
			t.Errorf("a session that is %s is of %+v, want %q", tt.name, got, tt.want)
		}
	}
	other := httptest.NewRecorder()
	g.Begin(other, request("192.0.2.1"), g.UserWithToken("a-token-of-ada-123"))
	g.End(httptest.NewRecorder(), with(other.Result().Cookies()[0].Value))
	if who, _ := asked(g, with(other.Result().Cookies()[0].Value)); who != nil {
		t.Error("a copy of the cookie is good after its session was ended")
	}
	if who, _ := asked(g, with(cookies[0].Value)); who == nil {
		t.Error("another session of the user ended, too")
	}
	now = now.Add(12 * time.Hour)
	if who, _ := asked(g, with(cookies[0].Value)); who != nil {
		t.Error("a session is good after its end")
	}
	end := httptest.NewRecorder()
	if g.End(end, request("192.0.2.1")); end.Result().Cookies()[0].MaxAge >= 0 {
		t.Error("the end of a session leaves the cookie")
	}
}

// TestAWrongTokenOfAProgram holds that the API says in JSON that a token is unknown.
func TestAWrongTokenOfAProgram(t *testing.T) {
	r := httptest.NewRequest("GET", "/r/octo/demo/api/runs", nil)
	r.Header.Set("Authorization", "Bearer another-token-123")
	w := httptest.NewRecorder()
	access.NewGate(access.GateConfig{Users: known}).Handler(http.NotFoundHandler()).ServeHTTP(w, r)
	if got := w.Body.String(); w.Code != http.StatusUnauthorized || !strings.HasPrefix(got, `{"error":"the token is unknown; `) || !strings.Contains(got, `"success":false`) {
		t.Errorf("a wrong token is answered with %d and %s, want 401 and an error in JSON", w.Code, got)
	}
}
