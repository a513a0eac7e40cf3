package forge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

const (
	headSHA = "9f31c2e000000000000000000000000000000001"
	baseSHA = "4b07d1a000000000000000000000000000000002"
)

var demo = forge.Repo{Owner: "octo", Name: "demo"}

func newForge(t *testing.T) *forgetest.Forge {
	f := forgetest.New(t)
	f.AddPull(forgetest.Pull{Number: 7, HeadSHA: headSHA, HeadRef: "prompts", BaseSHA: baseSHA})
	return f
}

// newClient speaks to base without jitter and without sleeping.
func newClient(t *testing.T, base string, fake *forgetest.Clock) *forge.Client {
	t.Helper()
	c, err := forge.New(forge.Config{
		BaseURL: base, Token: forgetest.TokenUser, Clock: clock.Funcs{NowFunc: fake.Now, SleepFunc: fake.Sleep, RandomFunc: func() float64 { return 0 }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPull(t *testing.T) {
	same := forge.Pull{
		Number: 7, Repo: demo, RepoID: 1, HeadSHA: headSHA, HeadRef: "prompts", HeadRepo: demo,
		BaseSHA: baseSHA, BaseRef: "main", Author: "maintainer", AuthorID: 100, Open: true, DefaultBranch: "main",
	}
	fork, gone, closed := same, same, same
	fork.Fork, fork.HeadRepo, fork.Author = true, forge.Repo{Owner: "stranger", Name: "demo"}, "stranger"
	gone.Fork, gone.HeadRepo, gone.Author, gone.AuthorID = true, forge.Repo{}, "", 0
	closed.Open, closed.Draft = false, true
	wire := forgetest.Pull{Number: 7, HeadSHA: headSHA, HeadRef: "prompts", BaseSHA: baseSHA}
	tests := []struct {
		name   string
		base   string
		change func(*forgetest.Pull)
		want   forge.Pull
	}{
		{name: "same repository", want: same},
		{name: "enterprise", base: "/api/v3", want: same},
		{name: "gitea", base: "/api/v1/", want: same},
		{name: "other case is the same", change: func(p *forgetest.Pull) { p.HeadRepo = "Octo/Demo" },
			want: func() forge.Pull { p := same; p.HeadRepo = forge.Repo{Owner: "Octo", Name: "Demo"}; return p }()},
		{name: "fork", change: func(p *forgetest.Pull) { p.HeadRepo, p.Author = "stranger/demo", "stranger" }, want: fork},
		{name: "deleted fork and author", change: func(p *forgetest.Pull) { p.HeadRepo, p.Author = "-", "-" }, want: gone},
		{name: "closed draft", change: func(p *forgetest.Pull) { p.Closed, p.Draft = true, true }, want: closed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, p := newForge(t), wire
			if tt.change != nil {
				tt.change(&p)
			}
			f.AddPull(p)
			got, err := newClient(t, f.URL+tt.base, new(forgetest.Clock)).Pull(t.Context(), demo, 7)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if path := f.Requests()[0].Path; path != strings.TrimSuffix(tt.base, "/")+"/repos/octo/demo/pulls/7" {
				t.Errorf("asked for %s", path)
			}
		})
	}
}

func TestPullRefusesOddCommits(t *testing.T) {
	f := newForge(t)
	f.AddPull(forgetest.Pull{Number: 8, HeadSHA: "--upload-pack=x", HeadRef: "-x", BaseSHA: baseSHA})
	_, err := newClient(t, f.URL, new(forgetest.Clock)).Pull(t.Context(), demo, 8)
	for _, field := range []string{"pull_request.head.sha", "pull_request.head.ref"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
}

func TestPermission(t *testing.T) {
	f := newForge(t)
	f.SetPermission("writer", "write")
	f.SetPermission("nobody", "none")
	c := newClient(t, f.URL, new(forgetest.Clock))
	for _, want := range []struct {
		user       string
		permission forge.Permission
		canWrite   bool
	}{
		{"maintainer", "admin", true},
		{"writer", "write", true},
		{"stranger", "read", false},
		{"nobody", "none", false},
		{"dependabot[bot]", "none", false},
		{"../../user", "none", false},
	} {
		got, err := c.Permission(t.Context(), demo, want.user)
		if err != nil || got != want.permission || got.CanWrite() != want.canWrite {
			t.Errorf("%s: got %q, can write %v, %v; want %+v", want.user, got, got.CanWrite(), err, want)
		}
	}
	if n := len(f.Requests()); n != 4 {
		t.Errorf("%d requests, want 4: a bot and a path are answered without one", n)
	}
}

func TestDenied(t *testing.T) {
	tests := []struct {
		status int
		want   string
	}{
		{http.StatusUnauthorized, "the token is missing, wrong or expired"},
		{http.StatusForbidden, "permissions:\n    pull-requests: read"},
		{http.StatusForbidden, "(it takes pull_requests=read; contents=read)"},
		{http.StatusNotFound, "permissions:\n    pull-requests: read"},
	}
	for _, tt := range tests {
		t.Run(http.StatusText(tt.status), func(t *testing.T) {
			f := newForge(t)
			f.Inject(forgetest.Fault{Status: tt.status, Header: map[string]string{"X-Accepted-GitHub-Permissions": "pull_requests=read; contents=read"}, Body: `{"message":"go \u001b[31maway, ` + forgetest.TokenUser + `"}`})
			_, err := newClient(t, f.URL, new(forgetest.Clock)).Pull(t.Context(), demo, 7)
			var denied *forge.DeniedError
			if !errors.As(err, &denied) || denied.Status != tt.status || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want a DeniedError with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), forgetest.TokenUser) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("the error repeats the token or an escape: %q", err)
			}
			if n := len(f.Requests()); n != 1 {
				t.Errorf("%d requests: a refusal is not a reason to ask again", n)
			}
		})
	}
}

func TestReadsAreRepeated(t *testing.T) {
	now := new(forgetest.Clock).Now()
	second := time.Second
	tests := []struct {
		name  string
		fault forgetest.Fault
		waits []time.Duration
	}{
		{"500 once", forgetest.Fault{Status: 500}, []time.Duration{second}},
		{"502 thrice", forgetest.Fault{Status: 502, Times: 3}, []time.Duration{second, 2 * second, 4 * second}},
		{"cut", forgetest.Fault{Cut: true}, []time.Duration{second}},
		{"half of what is announced", forgetest.Fault{Short: true}, []time.Duration{second}},
		{"half a document", forgetest.Fault{Half: true, Times: 2}, []time.Duration{second, 2 * second}},
		{"a page of a proxy", forgetest.Fault{Status: 200, Body: "<html>try later</html>"}, []time.Duration{second}},
		{"503 with a time", forgetest.Fault{Status: 503, Header: map[string]string{"Retry-After": "9"}}, []time.Duration{9 * second}},
		{"429", forgetest.TooManyRequests(5 * second), []time.Duration{5 * second}},
		{"429 without a time", forgetest.Fault{Status: 429}, []time.Duration{time.Minute}},
		{"429 with a date", forgetest.Fault{Status: 429, Header: map[string]string{
			"Date": now.Format(http.TimeFormat), "Retry-After": now.Add(11 * second).Format(http.TimeFormat),
		}}, []time.Duration{11 * second}},
		{"primary limit, clock skewed", func() forgetest.Fault {
			skewed := now.Add(-48 * time.Hour)
			f := forgetest.RateLimit(skewed.Add(30 * second))
			f.Header["Date"] = skewed.Format(http.TimeFormat)
			return f
		}(), []time.Duration{30 * second}},
		{"secondary limit without a time", forgetest.SecondaryLimit(), []time.Duration{time.Minute}},
		{"reset in the past", forgetest.Fault{Status: 429, Header: map[string]string{
			"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "12",
		}}, []time.Duration{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, fake := newForge(t), new(forgetest.Clock)
			f.Inject(tt.fault)
			if _, err := newClient(t, f.URL, fake).Pull(t.Context(), demo, 7); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.waits, fake.Waits()); diff != "" {
				t.Errorf("waits, -want +got:\n%s", diff)
			}
		})
	}
}

func TestJitter(t *testing.T) {
	f, fake := newForge(t), new(forgetest.Clock)
	f.Inject(forgetest.TooManyRequests(10 * time.Second))
	c, err := forge.New(forge.Config{
		BaseURL: f.URL, Token: forgetest.TokenUser, Clock: clock.Funcs{NowFunc: fake.Now, SleepFunc: fake.Sleep, RandomFunc: func() float64 { return 0.5 }},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Pull(t.Context(), demo, 7); err != nil {
		t.Fatal(err)
	}
	// Half of a tenth of ten seconds and of one second.
	if diff := cmp.Diff([]time.Duration{11 * time.Second}, fake.Waits()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPatienceEnds(t *testing.T) {
	tests := []struct {
		name     string
		fault    forgetest.Fault
		limit    bool
		requests int
	}{
		{"an hour is too long", forgetest.TooManyRequests(time.Hour), true, 1},
		{"absurd", forgetest.Fault{Status: 429, Header: map[string]string{"Retry-After": "99999999999999999999"}, Times: -1}, true, 2},
		{"refused again and again", func() forgetest.Fault {
			f := forgetest.TooManyRequests(time.Second)
			f.Times = -1
			return f
		}(), true, 5},
		{"always 500", forgetest.Fault{Status: 500, Times: -1}, false, 5},
		{"always cut", forgetest.Fault{Cut: true, Times: -1}, false, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, fake := newForge(t), new(forgetest.Clock)
			f.Inject(tt.fault)
			_, err := newClient(t, f.URL, fake).Pull(t.Context(), demo, 7)
			var limit *forge.LimitError
			if err == nil || errors.As(err, &limit) != tt.limit {
				t.Fatalf("got %v, want a LimitError: %v", err, tt.limit)
			}
			if limit != nil && !limit.RetryAt().After(fake.Now()) {
				t.Errorf("the limit ends at %v, it is %v", limit.RetryAt(), fake.Now())
			}
			if n := len(f.Requests()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
}

// TestLastRequestOfTheHour: an answer after which nothing remains is not a reason
// to refuse the next request without asking, nor is a refusal that says so
// about something else.
func TestLastRequestOfTheHour(t *testing.T) {
	f := newForge(t)
	c := newClient(t, f.URL, new(forgetest.Clock))
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		f.Inject(forgetest.Fault{Status: status, Body: `{"permission":"read"}`, Header: map[string]string{
			"X-Ratelimit-Limit": "60", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "99999999999",
		}})
		if _, err := c.Permission(t.Context(), demo, "mona"); (err == nil) != (status == http.StatusOK) {
			t.Fatalf("%d: got %v", status, err)
		}
		if _, err := c.Pull(t.Context(), demo, 7); err != nil {
			t.Errorf("after %d: %v", status, err)
		}
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	f := newForge(t)
	f.Inject(forgetest.Fault{Hang: true, Times: -1})
	fake := new(forgetest.Clock)
	c, err := forge.New(forge.Config{
		BaseURL: f.URL, Token: forgetest.TokenUser, Timeout: time.Millisecond, Clock: fake,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Pull(t.Context(), demo, 7); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline of an attempt", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Pull(ctx, demo, 7); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the caller's cancellation", err)
	}
}

// TestWritesKeepTheirDistance writes from several goroutines: one at a time,
// a second between two.
func TestWritesKeepTheirDistance(t *testing.T) {
	f, fake := newForge(t), new(forgetest.Clock)
	c := newClient(t, f.URL, fake)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			body := &github.IssueComment{Body: github.String(fmt.Sprint("comment ", i))}
			if _, _, err := c.REST().Issues.CreateComment(t.Context(), "octo", "demo", 7, body); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	second := time.Second
	if diff := cmp.Diff([]time.Duration{second, second, second}, fake.Waits()); diff != "" {
		t.Errorf("waits, -want +got:\n%s", diff)
	}
}

// TestPostIsNotRepeatedBlindly: whether it was applied only the caller can see.
func TestPostIsNotRepeatedBlindly(t *testing.T) {
	for _, fault := range []forgetest.Fault{
		forgetest.LostReply(http.MethodPost),
		{Method: http.MethodPost, Apply: true, Status: 502},
	} {
		f := newForge(t)
		f.Inject(fault)
		body := &github.IssueComment{Body: github.String("hello")}
		_, _, err := newClient(t, f.URL, new(forgetest.Clock)).REST().Issues.CreateComment(t.Context(), "octo", "demo", 7, body)
		if err == nil || len(f.Writes()) != 1 {
			t.Errorf("%+v: got %v after %d writes, want an error after one", fault, err, len(f.Writes()))
		}
	}
}

func TestRedirects(t *testing.T) {
	elsewhere := forgetest.New(t)
	f := newForge(t)
	f.AddPull(forgetest.Pull{Number: 8, HeadSHA: headSHA, HeadRef: "prompts", BaseSHA: baseSHA})
	c := newClient(t, f.URL, new(forgetest.Clock))

	f.Inject(forgetest.Fault{Path: "/pulls/7", Status: 301, Header: map[string]string{"Location": f.URL + "/repos/octo/demo/pulls/8"}})
	if _, err := c.Pull(t.Context(), demo, 7); err == nil || !strings.Contains(err.Error(), "number 8") {
		t.Errorf("a read that is redirected to another pull request: got %v", err)
	}
	f.Inject(forgetest.Fault{Path: "/pulls/7", Status: 302, Times: -1, Header: map[string]string{"Location": elsewhere.URL + "/steal"}})
	if _, err := c.Pull(t.Context(), demo, 7); err == nil || !strings.Contains(err.Error(), "refused a redirect") {
		t.Errorf("a redirect to another host: got %v", err)
	}
	if n := len(elsewhere.Requests()); n != 0 {
		t.Errorf("the other host saw %d requests", n)
	}
	f.Inject(forgetest.Fault{Method: "POST", Status: 301, Header: map[string]string{"Location": f.URL + "/repos/octo/demo/pulls/8"}})
	body := &github.IssueComment{Body: github.String("hello")}
	if _, _, err := c.REST().Issues.CreateComment(t.Context(), "octo", "demo", 7, body); err == nil || !strings.Contains(err.Error(), "renamed") {
		t.Errorf("a redirected write: got %v", err)
	}
}

func TestNewRefusesBaseURLs(t *testing.T) {
	for _, base := range []string{"ftp://host/", "/api", "https://user:hunter22@host/", "https://host/?x=1", "http://[::1", "https://%zz:hunter22@/"} {
		_, err := forge.New(forge.Config{BaseURL: base})
		if err == nil || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: got %v", base, err)
		}
	}
	c, err := forge.New(forge.Config{})
	if err != nil || c.REST().BaseURL.String() != "https://api.github.com/" {
		t.Errorf("the default: got %v, %v", c, err)
	}
}
