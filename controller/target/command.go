package target

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

const (
	// minimalPath is where programs are found unless the target declares PATH.
	minimalPath = "/usr/local/bin:/usr/bin:/bin"
	// maxStderr is how much of the end of stderr is kept, shownStderr how much
	// of that an error shows. The difference is longer than a secret, so that
	// the cut cannot leave half of one, which would not be recognised.
	maxStderr   = 16 << 10
	shownStderr = 800
	// drain bounds the wait for what a program's children still write after it
	// ended.
	drain = 500 * time.Millisecond
)

// A command is an agent that is started anew for every turn.
type command struct {
	base
	argv    []string
	dir     string
	scratch string
	// environ are the declared variables that are set, with PATH.
	environ []string
}

func newCommand(cfg config.Target, env Env, b base) (*command, error) {
	if len(cfg.Argv) == 0 || cfg.Argv[0] == "" {
		return nil, errors.New("argv is empty; it names the program and its arguments")
	}
	if env.Dir == "" {
		return nil, errors.New("there is no folder to run the command in")
	}
	dir, err := filepath.Abs(env.Dir)
	if err != nil {
		return nil, fmt.Errorf("folder of the command: %w", err)
	}
	c := &command{base: b, dir: dir, scratch: env.Scratch}
	path := minimalPath
	for _, name := range cfg.Env {
		value, ok := env.Lookup(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("environment variable %s (env) is not set", name)
		case name == "PATH":
			path = value
		default:
			c.environ = append(c.environ, name+"="+value)
		}
	}
	c.environ = append(c.environ, "PATH="+path)
	program, err := findProgram(cfg.Argv[0], dir, path)
	if err != nil {
		return nil, err
	}
	c.argv = append([]string{program}, cfg.Argv[1:]...)
	return c, nil
}

// findProgram looks a bare name up in path and a name with a slash below dir.
// The process's own PATH does not count, so that a run finds the same program
// wherever it is started from.
func findProgram(name, dir, path string) (string, error) {
	candidates := []string{filepath.Join(dir, name)}
	switch {
	case filepath.IsAbs(name):
		candidates = []string{name}
	case !strings.ContainsAny(name, "/"+string(filepath.Separator)):
		candidates = nil
		for _, folder := range filepath.SplitList(path) {
			candidates = append(candidates, filepath.Join(folder, name))
		}
	}
	for _, file := range candidates {
		// A path with a slash is not searched for, only checked.
		if found, err := exec.LookPath(file); err == nil {
			return found, nil
		}
	}
	if len(candidates) == 1 {
		return "", fmt.Errorf("argv: %s is not there or cannot be executed", name)
	}
	return "", fmt.Errorf("argv: no program %s in %s; name PATH under env to search your own", name, path)
}

// Respond runs the program with one turn on its stdin. It and all processes
// that it starts in its group are over when Respond returns.
func (c *command) Respond(ctx context.Context, req Request) (Reply, error) {
	input, err := agentRequest(req)
	if err != nil {
		return Reply{}, c.fail(Error{Message: err.Error()})
	}
	home, err := os.MkdirTemp(c.scratch, "gavel-command-")
	if err != nil {
		return Reply{}, c.fail(Error{Message: "make a scratch folder: " + err.Error(), Err: err})
	}
	defer os.RemoveAll(home)
	start := c.now()
	stdout, err := c.run(ctx, home, input)
	if err != nil {
		return Reply{}, err
	}
	reply, err := commandReply(stdout)
	if err != nil {
		return Reply{}, c.fail(Error{Message: "stdout: " + err.Error()})
	}
	reply.Latency = c.now().Sub(start)
	return reply, nil
}

// commandReply reads what a program printed. What is no object with messages is
// plain text, of which nobody knows what tools were called for it.
func commandReply(stdout []byte) (Reply, error) {
	if hasMessages(stdout) {
		return agentReply(stdout)
	}
	said := strings.TrimRight(strings.ToValidUTF8(string(stdout), "\uFFFD"), "\r\n")
	if strings.TrimSpace(said) == "" {
		return Reply{}, errors.New("the program printed nothing")
	}
	return Reply{
		Messages: []schema.Message{{Role: schema.RoleAssistant, Content: said}},
		Usage:    verdict.Usage{Calls: 1},
	}, nil
}

// run executes the program and returns its stdout.
func (c *command) run(ctx context.Context, home string, input []byte) ([]byte, error) {
	// The program is also ended when it prints without end.
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	stdout := &limitedBuffer{exceeded: stop}
	stderr := &tail{}
	cmd := exec.CommandContext(runCtx, c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append([]string{"HOME=" + home, "TMPDIR=" + home}, c.environ...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	cmd.WaitDelay = drain
	ownGroup(cmd)
	if ctx.Err() != nil {
		return nil, c.ended(ctx)
	}
	err := cmd.Start()
	if err == nil {
		err = cmd.Wait()
		endGroup(cmd)
	}
	switch {
	case stdout.over:
		return nil, c.fail(Error{Message: "stdout: " + tooLong})
	case ctx.Err() != nil:
		return nil, c.ended(ctx)
	// A child that goes on holding stdout does not spoil what was printed.
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return stdout.data, nil
	}
	said := strings.TrimSpace(c.hide(string(stderr.data)))
	if len(said) > shownStderr {
		said = "…" + said[len(said)-shownStderr:]
	}
	return nil, c.fail(Error{Message: filepath.Base(c.argv[0]) + ": " + err.Error() + ": " + cmp.Or(said, "nothing on stderr")})
}

// A limitedBuffer keeps what is written until it is too much.
type limitedBuffer struct {
	data     []byte
	over     bool
	exceeded func()
}

// Write appends p, or drops it all when the limit is passed.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.over = b.over || len(b.data)+len(p) > maxReply; b.over {
		b.data = nil
		b.exceeded()
		return len(p), nil
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

// A tail keeps the end of what is written.
type tail struct{ data []byte }

// Write never fails, so that a talkative program is not held up.
func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p[max(len(p)-maxStderr, 0):]...)
	if len(t.data) > maxStderr {
		t.data = append(t.data[:0], t.data[len(t.data)-maxStderr:]...)
	}
	return len(p), nil
}
