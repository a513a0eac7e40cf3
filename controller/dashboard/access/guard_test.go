package access_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/dashboard/access"
)

// echo answers with the token of a form, or with its request.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprint(w, access.FormToken(w, r))
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	}
})

func ask(cfg access.Guard, method, host, body string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/settings", strings.NewReader(body))
	r.Host = host
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	cfg.Handler(echo).ServeHTTP(w, r)
	return w
}

// TestAbuseAForeignNameIsRefused holds that a page which leads its own name here
// (DNS rebinding) reads nothing.
func TestAbuseAForeignNameIsRefused(t *testing.T) {
	for _, tt := range []struct {
		host string
		cfg  access.Guard
		want int
	}{
		{"localhost:8080", access.Guard{}, 200},
		{"LOCALHOST", access.Guard{}, 200},
		{"127.0.0.1:8080", access.Guard{}, 200},
		{"[::1]:8080", access.Guard{}, 200},
		{"127.0.0.1.evil.example", access.Guard{}, 421},
		{"evil.example:8080", access.Guard{}, 421},
		{"192.168.0.7:8080", access.Guard{}, 421},
		{"192.168.0.7:8080", access.Guard{AnyAddress: true}, 200},
		{"evil.example", access.Guard{AnyAddress: true}, 421},
		{"gavel.example.com", access.Guard{Hosts: []string{"gavel.example.com"}}, 200},
		{"", access.Guard{}, 421},
	} {
		if got := ask(tt.cfg, "GET", tt.host, "", nil).Code; got != tt.want {
			t.Errorf("Host %q with %+v: %d, want %d", tt.host, tt.cfg, got, tt.want)
		}
	}
}

// TestAbuseAnotherSiteWritesNothing holds that neither a form nor a script of another
// site is answered, whatever type it sends.
func TestAbuseAnotherSiteWritesNothing(t *testing.T) {
	json, form := "application/json", "application/x-www-form-urlencoded"
	for _, tt := range []struct {
		name, method string
		header       map[string]string
		want         int
	}{
		{"curl", "POST", map[string]string{"Content-Type": json}, 200},
		{"curl with a charset", "POST", map[string]string{"Content-Type": json + "; charset=utf-8"}, 200},
		{"curl without a type", "POST", nil, 415},
		{"text", "POST", map[string]string{"Content-Type": "text/plain"}, 415},
		{"multipart", "POST", map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, 415},
		{"form without a token", "POST", map[string]string{"Content-Type": form}, 403},
		{"another origin", "POST", map[string]string{"Content-Type": json, "Origin": "https://evil.example"}, 403},
		{"another port", "POST", map[string]string{"Content-Type": json, "Origin": "http://localhost:9"}, 403},
		{"no origin", "POST", map[string]string{"Content-Type": json, "Origin": "null"}, 403},
		{"cross site", "POST", map[string]string{"Content-Type": json, "Sec-Fetch-Site": "cross-site"}, 403},
		{"same site", "DELETE", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"same origin", "POST", map[string]string{"Content-Type": json, "Sec-Fetch-Site": "same-origin"}, 200},
		{"own origin", "DELETE", map[string]string{"Origin": "http://localhost:8080"}, 200},
	} {
		if got := ask(access.Guard{}, tt.method, "localhost:8080", "", tt.header).Code; got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestTheAPITakesJSON holds that a form that is sent to the API, as curl does unless told
// otherwise, is answered with what to send.
func TestTheAPITakesJSON(t *testing.T) {
	for _, tt := range []struct {
		path  string
		isAPI bool
	}{
		{"/api/settings/tests", true}, {"/r/acme/shop/api/settings/tests", true},
		{"/settings/edit", false}, {"/r/acme/api/settings/edit", false}, {"/r/api/shop/settings/edit", false},
	} {
		r := httptest.NewRequest("POST", "http://localhost"+tt.path, strings.NewReader(`{"id": "a"}`))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		access.Guard{}.Handler(echo).ServeHTTP(w, r)
		var said struct {
			Success *bool
			Error   string
		}
		_ = json.Unmarshal(w.Body.Bytes(), &said) // a page is refused in plain text
		isRight := w.Code == http.StatusUnsupportedMediaType && said.Success != nil && !*said.Success && strings.Contains(said.Error, "send Content-Type: application/json")
		if isRight != tt.isAPI {
			t.Errorf("a form at %s is answered with %d and %s, want 415 and what to send as JSON: %v", tt.path, w.Code, w.Body, tt.isAPI)
		}
	}
}

// TestAToken holds that a form works in the browser that loaded its page, and in no
// other.
func TestAToken(t *testing.T) {
	server := httptest.NewServer(access.Guard{}.Handler(echo))
	defer server.Close()
	load := func() (token, cookie string) {
		res, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body), res.Header.Get("Set-Cookie")
	}
	send := func(token, cookie string) int {
		r, err := http.NewRequest("POST", server.URL, strings.NewReader(url.Values{access.FormField: {token}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", strings.Split(cookie, ";")[0])
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return errorless(t, res)
	}
	token, cookie := load()
	other, _ := load()
	if !strings.Contains(cookie, "SameSite=Strict") || !strings.Contains(cookie, "HttpOnly") {
		t.Errorf("the cookie is %s, want one for this site alone that no script reads", cookie)
	}
	for _, tt := range []struct {
		token, cookie string
		want          int
	}{{token, cookie, 200}, {other, cookie, 403}, {token, "", 403}, {"", cookie, 403}, {token, "gavel_form=forged", 403}} {
		if got := send(tt.token, tt.cookie); got != tt.want {
			t.Errorf("token %q with cookie %q: %d, want %d", tt.token, tt.cookie, got, tt.want)
		}
	}
}

func errorless(t *testing.T, res *http.Response) int {
	t.Helper()
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

func TestHeaders(t *testing.T) {
	h := ask(access.Guard{}, "GET", "localhost", "", nil).Header()
	if got := h.Get("Content-Security-Policy"); got != access.ContentPolicy || strings.Contains(got, "unsafe") {
		t.Errorf("the policy is %q", got)
	}
	if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("the headers are %v, want those that keep a page alone", h)
	}
}

// TestALargeBodyEnds holds that a body is read up to its bound.
func TestALargeBodyEnds(t *testing.T) {
	r := httptest.NewRequest("POST", "/", io.LimitReader(zeros{}, access.MaxBody+1))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	access.Guard{}.Handler(echo).ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over the bound gives %d, want %d", w.Code, http.StatusRequestEntityTooLarge)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
