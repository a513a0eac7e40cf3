package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

// mostFrames bounds how many functions of Gavel a reader passes from the command
// to the request, both included.
const mostFrames = 14

// traced is set in the process that runs with the stacks of goroutines that began
// others.
const traced = "GAVEL_TEST_TRACED"

// A stackTarget keeps the stack of its call, and the stacks of the goroutines above.
type stackTarget struct{ stack []byte }

func (s *stackTarget) Respond(context.Context, target.Request) (target.Reply, error) {
	s.stack = make([]byte, 1<<20)
	s.stack = s.stack[:runtime.Stack(s.stack, false)]
	return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "yes"}}}, nil
}

// functionOf matches the line of a stack that names a function of Gavel.
var functionOf = regexp.MustCompile(`^github\.com/gavel-evals/gavel/(\S+)\(.*\)$`)

// functions are Gavel's functions on a stack, from the command to the request. A
// function literal belongs to the function in which it is written, which is on the
// stack once more if the literal runs in its own goroutine.
func functions(stack []byte) []string {
	var names []string
	for line := range strings.Lines(string(stack)) {
		m := functionOf.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		name := regexp.MustCompile(`(\.func\d+|\.gowrap\d+|\.\d+)+$`).ReplaceAllString(m[1], "")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	slices.Reverse(names)
	if i := slices.Index(names, "cmd/gavel.runCases"); i >= 0 {
		names = names[i:]
	}
	return names
}

// TestFramesToTheRequest has `gavel run` ask a target that takes the stack. The
// runtime adds the goroutines that began others only to a process that begins
// with the setting, so that the test runs in one of its own.
func TestFramesToTheRequest(t *testing.T) {
	if os.Getenv(traced) == "" {
		t.Parallel()
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestFramesToTheRequest$")
		cmd.Env = append(os.Environ(), traced+"=1", "GODEBUG=tracebackancestors=20")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("the child ended with %v, want it to pass:\n%s", err, out)
		}
		return
	}
	p, bot := newProject(t), &stackTarget{}
	var out bytes.Buffer
	a := &App{
		Stdout: &out, Stderr: &out, LookupEnv: func(string) (string, bool) { return "", false }, Dir: p.folder,
		Open: func(config.Target, target.Env) (target.Target, error) { return bot, nil },
	}
	if code := execute(t.Context(), a, []string{"run"}); code != exitPass {
		t.Fatalf("gavel run ended with %d, want %d:\n%s", code, exitPass, &out)
	}
	names := functions(bot.stack)
	if len(names) < 2 || names[0] != "cmd/gavel.runCases" || names[len(names)-1] != "cmd/gavel.(*stackTarget).Respond" {
		t.Fatalf("the way from the command to the request is %q, want it from runCases to Respond; the stack:\n%s", names, bot.stack)
	}
	if len(names) > mostFrames {
		t.Errorf("%d functions are on the way from the command to the request, want at most %d:\n%s", len(names), mostFrames, strings.Join(names, "\n"))
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.Errorf("%s is on the way twice:\n%s", name, strings.Join(names, "\n"))
		}
	}
	t.Log(strings.Join(names, "\n"))
}
