package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
)

// concurrency is how many calls to each model are in flight at once.
const concurrency = 16

const configuration = `version: 1
default_target: agent
targets:
  agent: {provider: openai, model: agent, base_url: %[1]q, api_key_env: KEY, concurrency: %[2]d}
  user: {provider: openai, model: user, base_url: %[1]q, api_key_env: KEY, concurrency: %[2]d}
  judge: {provider: openai, model: judge, base_url: %[1]q, api_key_env: KEY, concurrency: %[2]d}
roles: {judge: judge, simulator: user}
`

const conversation = `{
  "name": "Asks for order A-%[1]d",
  "persona": {"type": "busy", "description": "Waits for A-%[1]d.", "instructions": %[2]q},
  "user_context": {"order": "A-%[1]d"},
  "max_turns": 4,
  "expected_outcomes": {"told_about_%[1]d": true}
}`

// definitionOf returns the path of a case.
func definitionOf(i int) string { return fmt.Sprintf("test_definitions/order_%d.json", i) }

const (
	// worse is a text in a conversation that makes the judge find it worse than at
	// base, and chance one that makes it find it worse once.
	worse, chance = "WORSE", "CHANCE"
	// chanceCase is the case that fails once by chance.
	chanceCase = 2
)

// A fixture is a repository with its ledger.
type fixture struct {
	*trial
	dir string
	// env is added to this process's environment.
	env []string
	// against are the arguments that compare the working tree with a commit; none for
	// no comparison.
	against []string
	// line is the command that is killed. lasts says that it does not end by itself.
	line  []string
	lasts bool
	// ledger is its file or address.
	ledger string
	// finish lets gavel come to its end, and returns the verdicts by key.
	finish func(context.Context) (map[string]caseVerdict, error)
	// log has the logged text.
	log logged
}

// place makes a repository in a folder.
func (t *trial) place(name string) *fixture { return t.placeWith(name, concurrency) }

// placeWith makes a repository. This many calls to a model may be in flight.
func (t *trial) placeWith(name string, inFlight int) *fixture {
	p := &fixture{trial: t, dir: filepath.Join(t.dir, name), line: []string{"run"}}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.ledger, p.log.verbose = filepath.Join(p.dir, ".gavel", "ledger.db"), t.verbose
	p.finish = func(ctx context.Context) (map[string]caseVerdict, error) { return p.judge(ctx) }
	p.env = []string{"KEY=none", "TMPDIR=" + t.scratch()}
	gittest.Init(t, p.dir, "main")
	files := map[string]string{"gavel.yaml": fmt.Sprintf(configuration, t.server.URL+"/v1", inFlight), ".gitignore": ".gavel/\n"}
	for i := range t.cases {
		files[definitionOf(i)] = fmt.Sprintf(conversation, i, "Be brief.")
	}
	gittest.Commit(t, p.dir, files)
	return p
}

// changedFiles returns all conversations, every fifth changed for the worse.
func (t *trial) changedFiles() map[string]string {
	files := map[string]string{}
	for i := range t.cases {
		instructions := "Be very brief."
		switch {
		case i%5 == 1:
			instructions = worse
		case i == chanceCase:
			instructions = chance
		}
		files[definitionOf(i)] = fmt.Sprintf(conversation, i, instructions)
	}
	return files
}

// change changes all conversations in the working tree, which is compared with main.
func (p *fixture) change() {
	p.against = []string{"--base", "main"}
	p.line = append(p.line, p.against...)
	for name, text := range p.changedFiles() {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			p.Fatal(err)
		}
	}
}

// command runs gavel here.
func (p *fixture) command(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	var problems bytes.Buffer
	cmd.Stderr = io.MultiWriter(&problems, &p.log)
	return cmd, &problems
}

// A logged text grows from several processes.
type logged struct {
	verbose bool
	mu      sync.Mutex
	text    bytes.Buffer // guarded by mu
}

// Write takes a line.
func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.verbose {
		_, _ = os.Stderr.Write(line) // it is stored as well
	}
	return l.text.Write(line)
}

// String returns the logged text.
func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// tail returns the end of the log.
func (l *logged) tail() string {
	text := l.String()
	return text[max(0, len(text)-3000):]
}

// A caseVerdict has the parts that may not differ between two runs.
type caseVerdict struct {
	verdict string
	score   float64
	samples int
	class   string // empty if it is not compared
}

// judge runs gavel to its end, with more arguments, and returns the verdicts by key.
func (p *fixture) judge(ctx context.Context, args ...string) (map[string]caseVerdict, error) {
	return p.verdicts(p.command(ctx, append(append([]string{"run", "--json"}, p.against...), args...)...))
}

// verdicts runs a command that prints a report to its end.
func (p *fixture) verdicts(cmd *exec.Cmd, problems *bytes.Buffer) (map[string]caseVerdict, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	// That some cases fail is meant.
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("gavel %s: %w: %s", cmd.Args[1], err, problems)
	}
	verdicts, err := readReport(out)
	if err != nil {
		return nil, fmt.Errorf("gavel %s: %w: %s", cmd.Args[1], err, problems)
	}
	return verdicts, nil
}

// readReport reads the verdicts by key.
func readReport(text []byte) (map[string]caseVerdict, error) {
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
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, err
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

// lostCalls are the calls that were sent and are not in the journal: of all kills, and
// the most of one.
type lostCalls struct{ sum, most int }

// killed starts gavel as often as it is to be killed, over so many calls.
func (p *fixture) killed(ctx context.Context, calls int) (lost lostCalls, err error) {
	before, kept := p.server.received(), 0
	end, most := before+calls, patience
	for left := p.kills; left > 0; left-- {
		// The kills are spread over the remaining work.
		begun := p.server.received()
		at := begun + p.random.IntN(2*max(end+lost.sum-begun, 0)/(left+1)+1)
		if err := p.kill(ctx, at, most); err != nil {
			return lost, err
		}
		stored, err := p.journal(ctx)
		if err != nil {
			return lost, err
		}
		received := p.server.received()
		now := received - before - (stored - kept)
		lost.sum, lost.most = lost.sum+now, max(lost.most, now)
		before, kept = received, stored
		if received == begun && at > begun { // no request is left; the rest may be cut off
			most = 10 * p.moment()
		}
	}
	return lost, nil
}

// patience bounds the wait for a server without further requests.
const patience = 5 * time.Second

// moment returns a short time, so that a kill hits other steps each time.
func (t *trial) moment() time.Duration {
	return time.Duration(t.random.IntN(100)) * time.Millisecond
}

// kill starts gavel and kills it soon after the models got so many requests, while it
// starts up, or after so long.
func (p *fixture) kill(ctx context.Context, at int, most time.Duration) error {
	pause := p.random.IntN(20)
	if at <= p.server.received() {
		pause = p.random.IntN(400)
	}
	cmd, problems := p.command(ctx, p.line...)
	if err := cmd.Start(); err != nil {
		return err
	}
	over, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		cancel()
	}()
	p.server.until(at, over.Done())
	select {
	case <-over.Done():
	case <-time.After(time.Duration(pause) * time.Millisecond):
	}
	if err := p.end(cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	err := <-ended
	var exit *exec.ExitError
	switch wasKilled := errors.As(err, &exit) && exit.ExitCode() < 0; {
	case wasKilled, !p.lasts && (err == nil || exit != nil && exit.ExitCode() == 1):
		return nil
	case err == nil:
		err = errors.New("it ended unexpectedly")
	}
	return fmt.Errorf("gavel %s: %w: %s", p.line[0], err, problems)
}

// end kills a process, and every other time also the processes that it has started, as
// when the machine fails.
func (t *trial) end(process *os.Process) error {
	var children []*os.Process
	if t.random.IntN(2) == 0 {
		children = childrenOf(process.Pid)
	}
	err := process.Kill()
	for _, child := range children {
		_ = child.Kill() // it may have ended
	}
	return err
}

// childrenOf returns the processes that one has started, if the system knows them.
func childrenOf(pid int) (children []*os.Process) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is valid
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for number := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(number)
			if err != nil {
				continue
			}
			if process, err := os.FindProcess(child); err == nil {
				children = append(children, process)
			}
		}
	}
	return children
}

// verify makes gavel check whether all its results follow from its stored samples.
func (p *fixture) verify(ctx context.Context) error {
	args := []string{"ledger", "verify"}
	if filepath.IsAbs(p.ledger) {
		args = append(args, "--ledger", p.ledger)
	}
	cmd, problems := p.command(ctx, args...)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("gavel ledger verify: %w: %s%s", err, out, problems)
	}
	_, err = p.out.Write(out)
	return err
}

// withLedger opens the ledger.
func (p *fixture) withLedger(ctx context.Context, do func(*ledger.Ledger) error) error {
	store, err := ledger.Open(ctx, ledger.Config{Path: p.ledger})
	if err != nil {
		return err
	}
	return errors.Join(do(store), store.Close())
}

// finished returns when nothing is left behind in the ledger. A server that was started
// after the verdict has still to look at what the killed one was at.
func (p *fixture) finished(ctx context.Context) error {
	return p.withLedger(ctx, func(l *ledger.Ledger) error { return ledgertest.Finished(ctx, l) })
}

// journal counts the calls that are stored.
func (p *fixture) journal(ctx context.Context) (calls int, err error) {
	if filepath.IsAbs(p.ledger) {
		if _, err := os.Stat(p.ledger); errors.Is(err, os.ErrNotExist) {
			return 0, nil // killed before it began
		}
	}
	return calls, p.withLedger(ctx, func(l *ledger.Ledger) error {
		counts, err := l.Counts(ctx)
		calls = int(counts.Calls)
		return err
	})
}

// left returns the errors in the ledger, and the entries that were left behind.
func (p *fixture) left(ctx context.Context) (wrong []error) {
	wrong = append(wrong, p.verify(ctx), p.finished(ctx))
	for _, dir := range []string{p.dir, p.dir + "-data"} {
		wrong = append(wrong, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".lock") {
				return fmt.Errorf("%s was left behind", path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}))
	}
	if p.against != nil {
		wrong = append(wrong, p.clean())
	}
	return wrong
}

// clean demands that nothing but definitions differs from the last commit.
func (p *fixture) clean() error {
	for line := range strings.Lines(gittest.Run(p, p.dir, "status", "--porcelain")) {
		if !strings.HasPrefix(line, " M test_definitions/") && !strings.HasPrefix(line, "M test_definitions/") {
			return fmt.Errorf("in the working tree is %s", line)
		}
	}
	return nil
}
