package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// patience bounds the wait for a server that has nothing left to ask.
const patience = 5 * time.Second

// verdict is what the log says of a branch that is judged.
var verdict = regexp.MustCompile(`main at [0-9a-f]{7}: `)

// serve kills gavel serve again and again while it judges a branch. It demands that
// the verdicts are those of a run that was not killed, and that no kill is taken for the
// fault of the commit that was looked at.
func (t *trial) serve(ctx context.Context, dir string, want map[string]caseVerdict) error {
	p, err := newPlace(ctx, filepath.Join(dir, "served"), t)
	if err != nil {
		return err
	}
	file, err := p.served(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	var log bytes.Buffer
	for most, left := patience, t.kills; left > 0; left-- {
		before := t.server.received()
		at := before + t.random.IntN(2*t.cases/t.kills+1)
		if err := p.killServer(ctx, file, &log, at, most); err != nil {
			return err
		}
		if t.server.received() == before && at > before { // nothing is left to ask; what follows may be cut off
			most = 10 * t.moment()
		}
	}
	if err := p.settle(ctx, file, &log); err != nil {
		return err
	}
	// A kill may meet the moment between the verdict and its line in the log.
	calls := t.server.received()
	got, err := p.judge(ctx, "--ledger", filepath.Join(p.dir+"-data", "ledger.db"))
	if err != nil {
		return err
	}
	wrong := differences(got, want)
	if more := t.server.received() - calls; more > 0 {
		wrong = append(wrong, fmt.Errorf("gavel serve has judged the branch, and %d calls were missing", more))
	}
	proven := strings.Count(log.String(), "did no harm in a process of its own")
	fmt.Fprintf(t.out, "serve killed %d times: judged after %d trials, %.1f s\n", t.kills, proven, time.Since(start).Seconds())
	for _, refusal := range []string{"ended a process of its own", "ended the server"} {
		if i := strings.Index(log.String(), refusal); i >= 0 {
			wrong = append(wrong, fmt.Errorf("a kill was taken for a fault of the commit: %.200s", log.String()[max(0, i-100):]))
		}
	}
	return errors.Join(wrong...)
}

// commit makes main of what is there.
func (p *fixture) commit(ctx context.Context) error {
	for _, args := range [][]string{{"checkout", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "conversations"}} {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=Gavel", "-c", "user.email=gavel@localhost"}, args...)...)
		cmd.Dir = p.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// served commits what is there and returns the file of a server for it.
func (p *fixture) served(ctx context.Context) (file string, err error) {
	if err := p.commit(ctx); err != nil {
		return "", err
	}
	file = p.dir + "-server.yaml"
	text := fmt.Sprintf("version: 1\nlisten: 127.0.0.1:0\ndata: %q\nrepositories: [{url: %q, branches: [main]}]\n", p.dir+"-data", p.dir)
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// killServer starts a server and kills it soon after the agents got so many
// requests, or after so long.
func (p *fixture) killServer(ctx context.Context, file string, log io.Writer, at int, most time.Duration) error {
	cmd := exec.CommandContext(ctx, p.program, "serve", "--config", file)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return err
	}
	quiet, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	p.server.until(at, quiet.Done())
	select {
	case <-ctx.Done():
	case <-time.After(p.moment()):
	}
	if err := cmd.Process.Kill(); err != nil {
		return fmt.Errorf("gavel serve ended unexpectedly: %w", err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() >= 0 {
		return fmt.Errorf("gavel serve: %w", err)
	}
	return nil
}

// moment is a short time, so that a kill meets other steps each time.
func (t *trial) moment() time.Duration {
	return time.Duration(t.random.IntN(100)) * time.Millisecond
}

// settle lets a server judge the branch to its end.
func (p *fixture) settle(ctx context.Context, file string, log io.Writer) error {
	cmd := exec.CommandContext(ctx, p.program, "serve", "--config", file)
	judged := &watched{to: log, words: `"looked at"`, seen: make(chan struct{})}
	cmd.Stderr = judged
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-judged.seen:
	case err := <-ended:
		return fmt.Errorf("gavel serve ended unexpectedly: %w", err)
	case <-time.After(10 * time.Minute):
		return errors.Join(errors.New("gavel serve does not judge the branch"), cmd.Process.Kill(), <-ended)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return <-ended
}

// A watched log tells when some words are in it. It is written by one goroutine.
type watched struct {
	to    io.Writer
	words string
	seen  chan struct{}
	done  bool
}

// Write passes a line on.
func (w *watched) Write(line []byte) (int, error) {
	if !w.done && bytes.Contains(line, []byte(w.words)) {
		w.done = true
		close(w.seen)
	}
	return w.to.Write(line)
}
