package forge_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge"
)

// A slow forge takes a second for every answer and counts the requests in progress.
type slow struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	now, most map[string]int // requests in flight, by credential and read or write
	refuse    int            // so many writes, by a limit that asks for a minute
}

func (s *slow) RoundTrip(req *http.Request) (*http.Response, error) {
	kind := req.Header.Get("Authorization") + " write"
	if req.Method == http.MethodGet {
		kind = req.Header.Get("Authorization") + " read"
	}
	s.mu.Lock()
	s.now[kind]++
	s.most[kind] = max(s.most[kind], s.now[kind])
	status, header := http.StatusOK, http.Header{}
	if s.refuse > 0 && req.Method != http.MethodGet {
		s.refuse--
		status, header = http.StatusForbidden, http.Header{"Retry-After": {"60"}}
	}
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now[kind]--
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(`{"number": 7}`)), Request: req}, nil
}

// TestOneWriteInFlight for each credential, whatever kind of write it is, and reads
// next to it. A write that has to wait is not overtaken by another one.
func TestOneWriteInFlight(t *testing.T) {
	for _, tt := range []struct {
		name   string
		refuse int
		took   time.Duration
	}{
		{"well", 0, 3*2*time.Second - time.Second},                 // three writes, a second between two
		{"by a secondary limit", 1, 3*2*time.Second + time.Minute}, // a second for the refusal
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &slow{now: map[string]int{}, most: map[string]int{}, refuse: tt.refuse}
				start := time.Now()
				var group sync.WaitGroup
				for _, token := range []forge.Token{"one-credential", "another-credential"}[:2-tt.refuse] {
					client, err := forge.New(forge.Config{Token: token, Transport: transport, Clock: clock.Funcs{RandomFunc: func() float64 { return 0 }}})
					if err != nil {
						t.Fatal(err)
					}
					speakAtOnce(t, &group, client)
				}
				group.Wait()
				for kind, n := range transport.most {
					if write := strings.HasSuffix(kind, "write"); write && n != 1 || !write && n != 2 {
						t.Errorf("%s: %d at the same time", kind, n)
					}
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// speakAtOnce makes three writes and two reads.
func speakAtOnce(t *testing.T, group *sync.WaitGroup, client *forge.Client) {
	rest, ctx := client.REST(), t.Context()
	for _, do := range []func() error{
		func() error {
			_, _, err := rest.Issues.CreateComment(ctx, "octo", "demo", 7, &github.IssueComment{Body: github.String("hello")})
			return err
		},
		func() error {
			_, _, err := rest.Issues.EditComment(ctx, "octo", "demo", 7, &github.IssueComment{Body: github.String("hello")})
			return err
		},
		func() error {
			_, _, err := rest.Repositories.CreateStatus(ctx, "octo", "demo", "abc", &github.RepoStatus{State: github.String("success")})
			return err
		},
		func() error { _, _, err := rest.PullRequests.Get(ctx, "octo", "demo", 7); return err },
		func() error { _, _, err := rest.PullRequests.Get(ctx, "octo", "demo", 8); return err },
	} {
		group.Go(func() {
			if err := do(); err != nil {
				t.Error(err)
			}
		})
	}
}
