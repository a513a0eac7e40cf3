package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// newGreenJob is a job for a pull request that changes no case.
func newGreenJob(t *testing.T) *job {
	t.Helper()
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.git(t, "checkout", "-q", "-b", "calm", "main")
	j.head = gittest.Commit(t, j.folder, map[string]string{"NOTES.md": "nothing that a case reads"})
	j.git(t, "checkout", "-q", "friendlier-support")
	j.move(t, j.head)
	return j
}

// until calls the program with a clock by which the forge is away for a while.
func (j *job) until(t *testing.T, away time.Duration, faults ...forgetest.Fault) (stderr string, code int, took time.Duration) {
	t.Helper()
	fake := &forgetest.Clock{}
	begin := fake.Now()
	for _, f := range faults {
		f.Times, f.While = -1, func() bool { return fake.Now().Sub(begin) < away }
		j.forge.Inject(f)
	}
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Dir: j.checkout, Clock: clock.Funcs{NowFunc: fake.Now, SleepFunc: fake.Sleep, AfterFunc: never}, LookupEnv: func(name string) (string, bool) {
		v, ok := j.env[name]
		return v, ok
	}}
	code = execute(t.Context(), a, []string{"pr", "--repo", "octo/demo", "--pr", "1"})
	return errs.String(), code, fake.Now().Sub(begin)
}

// TestAbuseForgeAway has a forge answer 502, half a document or nothing for
// minutes, to all requests from the first one or only to writes. The job waits:
// its statuses are terminal and there is one comment.
func TestAbuseForgeAway(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault forgetest.Fault
	}{
		{"502 for all", forgetest.Fault{Status: http.StatusBadGateway}},
		{"502 for writes", forgetest.Fault{Method: http.MethodPost, Status: http.StatusBadGateway}},
		{"half a document", forgetest.Fault{Half: true}},
		{"half of an announced body", forgetest.Fault{Short: true}},
		{"half an answer to writes", forgetest.Fault{Method: http.MethodPost, Half: true}},
		{"200 and an empty body", forgetest.Fault{Method: http.MethodGet, Status: http.StatusOK, Body: " "}},
		{"cut connections", forgetest.Fault{Cut: true}},
		{"503 with a time", forgetest.Fault{Status: http.StatusServiceUnavailable, Header: map[string]string{"Retry-After": "45"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := newGreenJob(t)
			stderr, code, took := j.until(t, 5*time.Minute, tt.fault)
			// A write whose answer was cut off is found by reading.
			least := map[bool]time.Duration{false: 5 * time.Minute}[tt.fault.Method == http.MethodPost && tt.fault.Half]
			if code != exitPass || took < least || took > 8*time.Minute {
				t.Errorf("exit code %d after %v, want 0 soon after the forge is back\n%s", code, took, stderr)
			}
			if n := len(j.forge.Written(1, "maintainer", comment.Marker)); n != 1 {
				t.Errorf("%d comments, want one\n%s", n, stderr)
			}
			for _, context := range []string{"gavel/validate", "gavel/verdict"} {
				if state := j.states()[context]; !strings.HasPrefix(state, "success: ") {
					t.Errorf("%s is %q\n%s", context, state, stderr)
				}
			}
		})
	}
}

// TestAbuseForgeStaysAway: a job that could not publish all of its report does
// not end with 0, and ends after the time that it has.
func TestAbuseForgeStaysAway(t *testing.T) {
	for _, tt := range []struct{ name, path string }{{"all", ""}, {"statuses", "/statuses/"}, {"comments", "/issues/1/comments"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := newGreenJob(t)
			method := http.MethodPost
			if tt.path == "" {
				method = ""
			}
			stderr, code, took := j.until(t, 24*time.Hour, forgetest.Fault{Method: method, Path: tt.path, Status: http.StatusBadGateway})
			if code != exitInternal || took < 10*time.Minute || took > 15*time.Minute {
				t.Errorf("exit code %d after %v, want %d after ten minutes\n%s", code, took, exitInternal, stderr)
			}
			if got := len(j.forge.Written(1, "maintainer", comment.Marker)); tt.path == "/statuses/" && got != 1 {
				t.Errorf("%d comments, although the forge takes them\n%s", got, stderr)
			}
			for context, state := range j.states() {
				if !strings.HasPrefix(state, "success: ") {
					t.Errorf("%s is %q, although the forge takes statuses\n%s", context, state, stderr)
				}
			}
		})
	}
}

// TestStatusesComeFirst: when the forge is back, what people merge by is written
// before anything else.
func TestStatusesComeFirst(t *testing.T) {
	j := newGreenJob(t)
	stderr, code, _ := j.until(t, 3*time.Minute, forgetest.Fault{Method: http.MethodPost, Status: http.StatusBadGateway})
	if code != exitPass {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	writes := j.forge.Writes()
	if len(writes) < 3 {
		t.Fatalf("writes %v", writes)
	}
	for i, part := range []string{"/statuses/", "/statuses/", "/comments"} {
		if w := writes[len(writes)-3+i]; !strings.Contains(w.Path, part) {
			t.Errorf("the write %d from the end is %s, want %s", 3-i, w, part)
		}
	}
}

// TestRefusalsAreNotRepeated: a permission does not come by waiting.
func TestRefusalsAreNotRepeated(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound} {
		j := newGreenJob(t)
		stderr, code, took := j.until(t, 24*time.Hour, forgetest.Fault{Method: http.MethodPost, Status: status})
		if code != exitPass || took > time.Minute || !strings.Contains(stderr, "statuses: write") {
			t.Errorf("%d: exit code %d after %v, want that of the verdict at once, and the permission\n%s", status, code, took, stderr)
		}
	}
}

// TestASignalEndsThePatience: a job that is stopped while it waits for the forge
// ends at once, and not with 0.
func TestASignalEndsThePatience(t *testing.T) {
	j := newGreenJob(t)
	j.forge.Inject(forgetest.Fault{Method: http.MethodPost, Status: http.StatusBadGateway, Times: -1})
	ctx, stop := context.WithCancel(t.Context())
	fake, waits := &forgetest.Clock{}, 0
	var out, errs bytes.Buffer
	sleep := func(ctx context.Context, d time.Duration) error {
		if d >= 16*time.Second { // only what tries for minutes waits so long
			waits++
			stop()
		}
		return fake.Sleep(ctx, d)
	}
	a := &App{Stdout: &out, Stderr: &errs, Dir: j.checkout, Clock: clock.Funcs{NowFunc: fake.Now, SleepFunc: sleep, AfterFunc: never}, LookupEnv: func(name string) (string, bool) {
		v, ok := j.env[name]
		return v, ok
	}}
	if code := execute(ctx, a, []string{"pr", "--repo", "octo/demo", "--pr", "1"}); code != exitInterrupted || waits != 1 {
		t.Errorf("exit code %d after %d waits, want %d after one\n%s", code, waits, exitInterrupted, errs.String())
	}
	if !strings.Contains(errs.String(), "could not be published") {
		t.Errorf("stderr does not say what is not published: %s", errs.String())
	}
}
