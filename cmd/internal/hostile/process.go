package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

const hookSecret = "a-secret-of-the-webhook"

// command prepares gavel to run in a folder.
func (t *trial) command(ctx context.Context, at *fixture, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GITHUB_API_URL="+at.forge.URL, "GITHUB_TOKEN="+forgetest.TokenUser, "HOOK="+hookSecret)
	return cmd
}

// jobs makes gavel pr judge its heads.
func (t *trial) jobs(ctx context.Context, at *fixture) error {
	var errs []error
	for _, h := range at.heads {
		if h.job {
			errs = append(errs, t.job(ctx, at, h))
		}
	}
	return errors.Join(errs...)
}

func (t *trial) job(ctx context.Context, at *fixture, h head) error {
	dir := at.dir + fmt.Sprint(".job-", h.number)
	gittest.Run(t, t.dir, "clone", "-q", "--depth=1", "--no-checkout", at.forge.CloneURL, dir)
	cmd := t.command(ctx, at, dir, "pr", "--repo", forgetest.Repository, "--pr", fmt.Sprint(h.number))
	start := time.Now()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() < 0 || exit.ExitCode() > 2) {
		return fmt.Errorf("gavel pr of %s: %w: %s", h.name, err, out)
	}
	return errors.Join(t.measured("gavel pr: "+h.name, time.Since(start), tookOf(cmd.ProcessState)), checkPublished(at.forge, h))
}

// checkPublished checks what the forge shows about a head.
func checkPublished(forge *forgetest.Forge, h head) error {
	states := map[string]string{}
	for _, s := range forge.Statuses(h.sha) {
		states[s.Context] = s.State
	}
	comments := forge.Comments(h.number)
	switch {
	case len(comments) != 1:
		return fmt.Errorf("%s has %d comments", h.name, len(comments))
	case !strings.Contains(comments[0].Body, h.words):
		return fmt.Errorf("%s: the comment does not say %q:\n%s", h.name, h.words, comments[0].Body)
	}
	for _, context := range []string{"gavel/validate", "gavel/verdict"} {
		if s := states[context]; s == "" || s == "pending" || h.green && s != "success" {
			return fmt.Errorf("%s: the status %s is %q:\n%s", h.name, context, s, comments[0].Body)
		}
	}
	return nil
}

// siege makes one gavel serve judge all heads, in a flood of deliveries.
func (t *trial) siege(ctx context.Context) error {
	return t.server(ctx, t.place, fmt.Sprintf("%d heads and a flood", len(t.place.heads)), flood)
}

// multiplied makes jobs, and one server, judge heads whose lists multiply.
func (t *trial) multiplied(ctx context.Context) error {
	at := newMultiplied(t.Stage, t.dir)
	return t.both(ctx, at, fmt.Sprintf("%d heads whose lists multiply", len(at.heads)))
}

// both makes jobs, and one server, judge the heads of a place.
func (t *trial) both(ctx context.Context, at *fixture, what string) error {
	return errors.Join(t.jobs(ctx, at), t.server(ctx, at, what, func(context.Context, string) error { return nil }))
}

// crowd has one judge a head of a repository with many definitions. A job has two
// minutes until it judges, which a busy machine may need; a server has more here.
func (t *trial) crowd(ctx context.Context) error {
	at := newCrowd(t.Stage, t.dir)
	return t.server(ctx, at, at.heads[0].name, func(context.Context, string) error { return nil })
}

// bulk has one judge a head in which a writer adds many definitions.
func (t *trial) bulk(ctx context.Context) error {
	at := newBulk(t.Stage, t.dir)
	return t.server(ctx, at, at.heads[0].name, func(context.Context, string) error { return nil })
}

// server makes one gavel serve judge all heads of a place, during an action on its
// hooks.
func (t *trial) server(ctx context.Context, at *fixture, what string, meanwhile func(ctx context.Context, hooks string) error) error {
	file := at.dir + ".server.yaml"
	text := fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
data: %s
webhook: {secret_env: HOOK}
credentials: {bot: {token_env: GITHUB_TOKEN}}
repositories: [{name: %s, forge: %s, credential: bot}]
deadline: 10m
`, at.dir+".data", forgetest.Repository, at.second.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.patient)
	defer cancel()
	cmd := t.command(ctx, at, t.dir, "serve", "--config", file)
	log := &journal{serving: make(chan string, 1)}
	cmd.Stderr = log
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := t.besiege(ctx, at, siege{log, ended, meanwhile})
	peak, unread := peakOf(cmd.Process.Pid)
	if cmd.Process.Signal(syscall.SIGTERM) == nil {
		err = errors.Join(err, <-ended)
	}
	err = errors.Join(err, unread)
	if err != nil {
		return fmt.Errorf("gavel serve: %w:\n%s", err, log)
	}
	return t.measured("gavel serve: "+what, time.Since(start), peak)
}

// A siege is a server with the action against it.
type siege struct {
	log       *journal
	ended     <-chan error
	meanwhile func(ctx context.Context, hooks string) error
}

// besiege waits until every head of a place has its final statuses.
func (t *trial) besiege(ctx context.Context, at *fixture, s siege) error {
	select {
	case address := <-s.log.serving:
		if err := s.meanwhile(ctx, "http://"+address+"/hooks"); err != nil {
			return err
		}
	case err := <-s.ended:
		return fmt.Errorf("it ended: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		var open error
		for _, h := range at.heads {
			open = cmp.Or(open, checkPublished(at.second, h))
		}
		if open == nil {
			return nil
		}
		select {
		case <-look.C:
		case err := <-s.ended:
			return fmt.Errorf("it ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("after %v: %w", t.patient, open)
		}
	}
}

// flood sends large deliveries that nobody signed, all at once. They have to be
// refused, or their connections closed.
func flood(ctx context.Context, url string) error {
	const posts, size = 40, 24 << 20
	var group sync.WaitGroup
	errs := make([]error, posts)
	for i := range posts {
		group.Go(func() {
			body := io.LimitReader(spaces{}, size)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
			if err != nil {
				errs[i] = err
				return
			}
			req.ContentLength = size
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-GitHub-Event", "push")
			req.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return // it was not let finish
			}
			if err := resp.Body.Close(); err != nil || resp.StatusCode < 400 {
				errs[i] = errors.Join(err, fmt.Errorf("a delivery that nobody signed is answered %d", resp.StatusCode))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

type spaces struct{}

// Read returns spaces.
func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A journal keeps a server's log and finds its address.
type journal struct {
	serving chan string

	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
	told bool         // guarded by mu
}

// Write takes lines of the log.
func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.Write(b)
	var line struct{ Listen string }
	lines := bufio.NewScanner(bytes.NewReader(j.text.Bytes()))
	for !j.told && lines.Scan() {
		if strings.Contains(lines.Text(), `"serving"`) && json.Unmarshal(lines.Bytes(), &line) == nil {
			j.told = true
			j.serving <- line.Listen
		}
	}
	return len(b), nil
}

// String returns the logged text.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
