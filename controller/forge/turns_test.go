package forge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge"
)

// A listener records the writes with their times, takes a second for each answer, and
// answers some with 502.
type listener struct {
	begin time.Time
	// away is how many writes of a path are answered with 502.
	away map[string]int

	mu    sync.Mutex
	heard []string // guarded by mu
}

func (l *listener) RoundTrip(req *http.Request) (*http.Response, error) {
	what := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
	l.mu.Lock()
	l.heard = append(l.heard, fmt.Sprintf("%v %s", time.Since(l.begin), what))
	status := http.StatusOK
	if l.away[what] > 0 {
		l.away[what]--
		status = http.StatusBadGateway
	}
	l.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`)), Request: req}, nil
}

// written runs writes in virtual time and gives what the forge heard.
func written(t *testing.T, away map[string]int, do func(context.Context, *github.Client, *sync.WaitGroup)) (heard []string) {
	return writtenBy(t, away, func(ctx context.Context, c *forge.Client, group *sync.WaitGroup) { do(ctx, c.REST(), group) })
}

// writtenBy is written with the whole client.
func writtenBy(t *testing.T, away map[string]int, do func(context.Context, *forge.Client, *sync.WaitGroup)) (heard []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &listener{begin: time.Now(), away: away}
		client, err := forge.New(forge.Config{Token: "a-credential", Transport: l, Clock: clock.Funcs{RandomFunc: func() float64 { return 0 }}})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		do(t.Context(), client, &group)
		group.Wait()
		heard = slices.Clone(l.heard)
	})
	return heard
}

// status writes one to a commit, which names the write.
func status(ctx context.Context, rest *github.Client, sha string) error {
	_, _, err := rest.Repositories.CreateStatus(ctx, "octo", "demo", sha, &github.RepoStatus{State: github.String("success")})
	return err
}

// TestWritesGoByWorth: what waits while another is written goes by worth and
// then by push, and what comes while the distance is kept is considered, too.
func TestWritesGoByWorth(t *testing.T) {
	heard := written(t, nil, func(ctx context.Context, rest *github.Client, group *sync.WaitGroup) {
		begin := time.Now()
		write := func(sha string, worth forge.WriteWorth, pushed time.Duration) {
			ctx := forge.WithWrite(ctx, forge.PendingWrite{Worth: worth, Pushed: begin.Add(pushed)})
			group.Go(func() {
				if err := status(ctx, rest, sha); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		write("first", forge.WorthPending, 0)
		write("pending", forge.WorthPending, 0)
		write("comment", forge.WorthComment, 0)
		write("old-verdict", forge.WorthVerdict, 0)
		write("new-verdict", forge.WorthVerdict, time.Millisecond)
		time.Sleep(1500 * time.Millisecond) // within the distance to the first one
		write("newest-verdict", forge.WorthVerdict, 1500*time.Millisecond)
	})
	want := []string{"0s first", "2s newest-verdict", "4s new-verdict", "6s old-verdict", "8s comment", "10s pending"}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestACrowdGetsItsVerdictsFirst: an announcement that has its turn gives it back when many
// heads come to wait, and is written when they have their verdicts.
func TestACrowdGetsItsVerdictsFirst(t *testing.T) {
	heard := writtenBy(t, nil, func(ctx context.Context, c *forge.Client, group *sync.WaitGroup) {
		write := func(sha string, worth forge.WriteWorth) {
			ctx := forge.WithWrite(ctx, forge.PendingWrite{Worth: worth})
			group.Go(func() {
				if err := status(ctx, c.REST(), sha); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		write("first", forge.WorthVerdict)
		write("pending", forge.WorthPending)
		time.Sleep(1500 * time.Millisecond) // it has the turn, and keeps the distance
		var ends []func()
		for range 9 {
			ends = append(ends, c.Await())
		}
		time.Sleep(10 * time.Second)
		write("verdict", forge.WorthVerdict)
		for _, end := range ends {
			end()
		}
	})
	want := []string{"0s first", "11.5s verdict", "13.5s pending"}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAFailureLetsOthersPass: who waits for another try does not keep the turn.
func TestAFailureLetsOthersPass(t *testing.T) {
	heard := written(t, map[string]int{"7": 2}, func(ctx context.Context, rest *github.Client, group *sync.WaitGroup) {
		group.Go(func() {
			if _, _, err := rest.Issues.EditComment(ctx, "octo", "demo", 7, &github.IssueComment{Body: github.String("hello")}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		group.Go(func() {
			if err := status(ctx, rest, "other"); err != nil {
				t.Error(err)
			}
		})
	})
	want := []string{"0s 7", "2s other", "4s 7", "7s 7"}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDropped: a write whose caller is gone is not sent if it waits, and is
// finished if it was sent.
func TestDropped(t *testing.T) {
	heard := written(t, nil, func(ctx context.Context, rest *github.Client, group *sync.WaitGroup) {
		soft, drop := context.WithCancel(ctx)
		leaving := forge.Finishing(soft, ctx)
		group.Go(func() {
			if err := status(leaving, rest, "sent"); err != nil {
				t.Errorf("the write that was sent: %v", err)
			}
		})
		synctest.Wait()
		for _, at := range []time.Duration{0, time.Second} { // in the queue, and within the distance
			group.Go(func() {
				time.Sleep(at)
				if err := status(leaving, rest, "waiting"); !errors.Is(err, context.Canceled) || forge.Transient(err) {
					t.Errorf("the write that waited: %v", err)
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		drop()
		synctest.Wait()
		group.Go(func() {
			if err := status(ctx, rest, "next"); err != nil {
				t.Error(err)
			}
		})
	})
	if diff := cmp.Diff([]string{"0s sent", "2s next"}, heard); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAnUnfinishedWriteEnds with the context that bounds its requests.
func TestAnUnfinishedWriteEnds(t *testing.T) {
	written(t, nil, func(ctx context.Context, rest *github.Client, _ *sync.WaitGroup) {
		sent, end := context.WithTimeout(ctx, 300*time.Millisecond)
		defer end()
		begin := time.Now()
		err := status(forge.Finishing(ctx, sent), rest, "slow")
		if took := time.Since(begin); err == nil || took != 300*time.Millisecond {
			t.Errorf("%v after %v, want an error after 300ms", err, took)
		}
	})
}
