package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// concurrency is how many calls to each model are in flight at once.
const concurrency = 16

const configuration = `version: 1
default_target: agent
targets:
  agent: {provider: openai, model: agent, base_url: %[1]q, concurrency: %[2]d}
  user: {provider: openai, model: user, base_url: %[1]q, concurrency: %[2]d}
  judge: {provider: openai, model: judge, base_url: %[1]q, concurrency: %[2]d}
roles: {judge: judge, simulator: user}
`

const conversation = `{
  "name": "Asks for order A-%[1]d",
  "persona": {"type": "busy", "description": "Waits for A-%[1]d.", "instructions": "Be brief."},
  "user_context": {"order": "A-%[1]d"},
  "max_turns": 4,
  "expected_outcomes": {"told_about_%[1]d": true}
}`

// A place is a repository with its ledger.
type fixture struct {
	*trial
	dir string
	env []string // besides that of this process
	// against are the arguments that compare the working tree with a commit; none where
	// it is not compared.
	against []string
}

func newPlace(ctx context.Context, dir string, t *trial) (*fixture, error) {
	write := func(name, text string) error {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(text), 0o644)
	}
	if err := write("gavel.yaml", fmt.Sprintf(configuration, t.server.URL+"/v1", concurrency)); err != nil {
		return nil, err
	}
	for i := range t.cases {
		if err := write(fmt.Sprintf("test_definitions/order_%d.json", i), fmt.Sprintf(conversation, i)); err != nil {
			return nil, err
		}
	}
	if out, err := exec.CommandContext(ctx, "git", "init", "-q", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git init: %w: %s", err, out)
	}
	return &fixture{trial: t, dir: dir}, nil
}

// worse is what a conversation has in it that the judge finds worse than at base.
const worse = "WORSE"

// change commits what is there, and changes all conversations in the working tree, every
// fifth for the worse.
func (p *fixture) change(ctx context.Context) error {
	if err := p.commit(ctx); err != nil {
		return err
	}
	p.against = []string{"--base", "main"}
	for i := range p.cases {
		instructions := "Be very brief."
		if i%5 == 1 {
			instructions = worse
		}
		text := strings.Replace(fmt.Sprintf(conversation, i), "Be brief.", instructions, 1)
		if err := os.WriteFile(filepath.Join(p.dir, fmt.Sprintf("test_definitions/order_%d.json", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "gavel")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/gavel").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build gavel: %w: %s", err, out)
	}
	return program, nil
}

// command runs gavel here.
func (p *fixture) command(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	return cmd, &problems
}

// A caseVerdict is what may not differ between two runs.
type caseVerdict struct {
	verdict string
	score   float64
	samples int
	class   string // empty where it is not compared
}

// judge runs gavel to its end, with more arguments, and gives the verdicts by key.
func (p *fixture) judge(ctx context.Context, args ...string) (map[string]caseVerdict, error) {
	cmd, problems := p.command(ctx, append(append([]string{"run", "--json"}, p.against...), args...)...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	// That some cases fail is meant.
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("gavel run: %w: %s", err, problems)
	}
	var report struct {
		Cases []struct {
			Key     string   `json:"key"`
			Verdict string   `json:"verdict"`
			Score   *float64 `json:"score"`
			Samples int      `json:"samples"`
			Class   string   `json:"class"`
			Error   *string  `json:"error"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("gavel run: %w: %s", err, problems)
	}
	verdicts := map[string]caseVerdict{}
	for _, c := range report.Cases {
		if c.Error != nil || c.Score == nil {
			return nil, fmt.Errorf("%s was not judged: %v", c.Key, deref(c.Error))
		}
		verdicts[c.Key] = caseVerdict{c.Verdict, *c.Score, c.Samples, c.Class}
	}
	return verdicts, nil
}

func deref(s *string) string {
	if s == nil {
		return "it has no score"
	}
	return *s
}

// killed starts gavel as often as it is to be killed. It gives how many calls
// were in flight then: those that were sent and are not in the journal.
func (p *fixture) killed(ctx context.Context, calls int) (underway, most int, err error) {
	before, kept := p.server.received(), 0
	end := before + calls
	for left := p.kills; left > 0; left-- {
		// The kills are spread over what is still to be done.
		begun := p.server.received()
		rest := max(end+underway-begun, 0)
		if err := p.kill(ctx, begun+p.random.IntN(2*rest/(left+1)+1)); err != nil {
			return 0, 0, err
		}
		stored, err := p.journal(ctx)
		if err != nil {
			return 0, 0, err
		}
		received := p.server.received()
		lost := received - before - (stored - kept)
		underway, most = underway+lost, max(most, lost)
		before, kept = received, stored
	}
	return underway, most, nil
}

// kill starts gavel and kills it soon after the server got so many requests, or
// while it starts up.
func (p *fixture) kill(ctx context.Context, at int) error {
	pause := p.random.IntN(20)
	if at <= p.server.received() {
		pause = p.random.IntN(400)
	}
	cmd, problems := p.command(ctx, append([]string{"run"}, p.against...)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	over := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		close(over)
	}()
	p.server.until(at, over)
	select {
	case <-over:
	case <-time.After(time.Duration(pause) * time.Millisecond):
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	var exit *exec.ExitError
	if err := <-ended; err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 1) {
		return fmt.Errorf("gavel run: %w: %s", err, problems)
	}
	return nil
}

// verify has gavel look whether all that it stored follows from what it stored.
func (p *fixture) verify(ctx context.Context) error {
	cmd, problems := p.command(ctx, "ledger", "verify")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("gavel ledger verify: %w: %s%s", err, out, problems)
	}
	_, err = p.out.Write(out)
	return err
}

// journal counts the calls that are stored.
func (p *fixture) journal(ctx context.Context) (_ int, err error) {
	file := filepath.Join(p.dir, ".gavel", "ledger.db")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return 0, nil // killed before it began
	}
	store, err := ledger.Open(ctx, ledger.Config{Path: file})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	counts, err := store.Counts(ctx)
	return int(counts.Calls), err
}
