package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// A crowd is a repository with many open pull requests, each of which changes one case.
type crowd struct {
	*pullRequest
	heads []string
	ended chan error // receives the end of the server
}

// measureCrowd starts a server that finds this many open pull requests at once, and prints
// when their heads have their final statuses and comments, what was written, how long
// /healthz took, and the memory of the server. An interrupt prints it for what there is.
func (t *trial) measureCrowd(ctx context.Context, pulls int) error {
	c := &crowd{pullRequest: t.pull("crowd", concurrency), ended: make(chan error, 1)}
	c.openPulls(pulls)
	cmd, _ := c.command(context.WithoutCancel(ctx), "serve", "--config", c.operator())
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { c.ended <- cmd.Wait() }()
	err := c.watchHeads(ctx, cmd)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return errors.Join(err, <-c.ended)
}

// openPulls commits the heads in one go, and opens their pull requests.
func (c *crowd) openPulls(n int) {
	var stream bytes.Buffer
	for i := range n {
		text := fmt.Sprintf(conversation, i%c.cases, fmt.Sprintf("Be as brief as %d.", i))
		fmt.Fprintf(&stream, "commit refs/pull/%d/head\ncommitter m <m@example.org> %d +0000\ndata 0\nfrom %s\nM 100644 inline %s\ndata %d\n%s\n",
			i+1, 1700000000+i, c.base, definitionOf(i%c.cases), len(text), text)
	}
	cmd := exec.Command("git", "fast-import", "--quiet", "--force")
	cmd.Dir, cmd.Stdin = c.dir, &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		c.Fatalf("make the heads: %v: %s", err, out)
	}
	for i := range n {
		head := gittest.Resolve(c, c.dir, fmt.Sprintf("refs/pull/%d/head", i+1))
		c.heads = append(c.heads, head)
		c.forge.AddPull(forgetest.Pull{Number: i + 1, HeadSHA: head, BaseSHA: c.base, HeadRef: fmt.Sprint("topic-", i+1)})
	}
}

var listening = regexp.MustCompile(`"listen":"([^"]+)"`)

// health is what /healthz answered so far.
type health struct {
	asked, failed int
	slowest       time.Duration
}

// ask asks once.
func (h *health) ask(ctx context.Context, address string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	start := time.Now()
	h.asked++
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err == nil {
		var resp *http.Response
		if resp, err = http.DefaultClient.Do(req); err == nil {
			err = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				err = errors.New(resp.Status)
			}
		}
	}
	if err != nil {
		h.failed++
	}
	h.slowest = max(h.slowest, time.Since(start))
}

// watchHeads returns when every head is final and has a comment, when ctx ends, or when
// the server does.
func (c *crowd) watchHeads(ctx context.Context, cmd *exec.Cmd) error {
	start, h := time.Now(), health{}
	var verdicts time.Duration // until all heads had theirs
	for tick := 0; ; tick++ {
		select {
		case <-ctx.Done():
			return c.printCrowd(cmd, h, start, verdicts)
		case err := <-c.ended:
			c.ended <- err
			return fmt.Errorf("gavel serve ended unexpectedly: %w; the end of the log: %s", err, c.log.tail())
		case <-time.After(time.Second):
		}
		if address := listening.FindStringSubmatch(c.log.String()); address != nil {
			h.ask(ctx, address[1])
		}
		if tick%5 > 0 {
			continue
		}
		final, commented := c.progress()
		if final == len(c.heads) && verdicts == 0 {
			verdicts = time.Since(start)
		}
		if final == len(c.heads) && commented == len(c.heads) {
			return c.printCrowd(cmd, h, start, verdicts)
		}
	}
}

// progress counts the heads with final statuses, and the pull requests with a comment.
func (c *crowd) progress() (final, commented int) {
	for i, head := range c.heads {
		states := c.states(head)
		if len(states) >= 2 && !slices.Contains([]string{states["gavel/verdict"], states["gavel/validate"]}, "pending") {
			final++
		}
		if len(c.forge.Comments(i+1)) > 0 {
			commented++
		}
	}
	return final, commented
}

func (c *crowd) printCrowd(cmd *exec.Cmd, h health, start time.Time, verdicts time.Duration) error {
	final, commented := c.progress()
	kinds := map[string]int{}
	pending := 0
	for _, r := range c.forge.Writes() {
		switch {
		case strings.Contains(r.Path, "/statuses/"):
			kinds["statuses"]++
			if bytes.Contains(r.Body, []byte(`"pending"`)) {
				pending++
			}
		case strings.Contains(r.Path, "/comments"):
			kinds["comments"]++
		default:
			kinds["others"]++
		}
	}
	fmt.Fprintf(c.out, "%d open pull requests, after %.0f s: %d heads are final (all after %.0f s), %d comments; writes %v, %d of them pending\n",
		len(c.heads), time.Since(start).Seconds(), final, verdicts.Seconds(), commented, kinds, pending)
	memory, err := memoryOf(cmd.Process.Pid)
	if err != nil {
		memory = err.Error()
	}
	fmt.Fprintf(c.out, "/healthz: %d requests, %d failed, the slowest %v; the most memory: %s\n", h.asked, h.failed, h.slowest.Round(time.Millisecond), memory)
	if h.failed > 0 || h.asked == 0 {
		return fmt.Errorf("/healthz did not answer %d of %d times", h.failed, h.asked)
	}
	return nil
}

var peak = regexp.MustCompile(`VmHWM:\s+(\d+ kB)`)

// memoryOf returns the most memory of a process so far, as Linux has it.
func memoryOf(pid int) (string, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "", err
	}
	found := peak.FindSubmatch(status)
	if found == nil {
		return "", errors.New("the system does not say it")
	}
	return string(found[1]), nil
}
