package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// verdict matches the log line of a branch that was judged.
var verdict = regexp.MustCompile(`main at [0-9a-f]{7}: `)

// branch kills gavel serve while it judges a branch. It demands that no kill is taken for
// the fault of the commit that was looked at.
func (t *trial) branch(ctx context.Context) error {
	want, err := t.plain(ctx)
	if err != nil {
		return err
	}
	p := t.place("branch")
	p.serves(p.served())
	p.finish = func(ctx context.Context) (map[string]caseVerdict, error) {
		from := len(p.log.String())
		if err := p.settle(ctx, func() bool { return strings.Contains(p.log.String()[from:], `"looked at"`) }); err != nil {
			return nil, err
		}
		// A kill may meet the moment between the verdict and its line in the log.
		calls := p.server.received()
		got, err := p.judge(ctx, "--ledger", p.ledger)
		if more := p.server.received() - calls; err == nil && more > 0 {
			err = fmt.Errorf("gavel serve has judged the branch, and %d calls were missing", more)
		}
		return got, err
	}
	return errors.Join(p.roughly(ctx, want, 2*concurrency), p.refused())
}

// served returns the file of a server for the repository.
func (p *fixture) served() (file string) {
	return p.operates(fmt.Sprintf("repositories: [{url: %q, branches: [main]}]\n", p.dir))
}

// operates writes the file of a server.
func (p *fixture) operates(repositories string) (file string) {
	file = p.dir + "-server.yaml"
	text := fmt.Sprintf("version: 1\nlisten: 127.0.0.1:0\ndata: %q\n%s", p.dir+"-data", repositories)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
	return file
}

// serves kills the server of a file.
func (p *fixture) serves(file string) {
	p.line, p.lasts, p.ledger = []string{"serve", "--config", file}, true, p.dir+"-data/ledger.db"
}

// refused demands that no kill was taken for a fault of a commit.
func (p *fixture) refused() error {
	log := p.log.String()
	fmt.Fprintf(p.out, "judged after %d trials\n", strings.Count(log, "did no harm in a process of its own"))
	for _, refusal := range []string{"ended a process of its own", "ended the server"} {
		if i := strings.Index(log, refusal); i >= 0 {
			return fmt.Errorf("a kill was taken for a fault of the commit: %.200s", log[max(0, i-100):])
		}
	}
	return nil
}

// settle lets a server run until it has done its work, and asks it to end.
func (p *fixture) settle(ctx context.Context, done func() bool) error {
	from := len(p.log.String())
	cmd, problems := p.command(ctx, p.line...)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// Before it is at work, the signal ends it as any process.
	if err := until(ctx, func() bool { return atWork.MatchString(p.log.String()[from:]) && done() }, ended); err != nil {
		return errors.Join(err, cmd.Process.Kill(), errors.New(p.log.tail()))
	}
	if err := p.finished(ctx); err != nil {
		return errors.Join(err, cmd.Process.Kill(), errors.New(p.log.tail()))
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("gavel serve: %w: %s", err, problems)
	}
	return nil
}

// until waits for something while a server runs.
func until(ctx context.Context, done func() bool, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for !done() {
		select {
		case err := <-ended:
			return fmt.Errorf("gavel serve ended unexpectedly: %w", err)
		case <-ctx.Done():
			return errors.New("gavel serve does not come to its end")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
