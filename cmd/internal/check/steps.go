package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// A step is one thing that a change has to pass. An error is a finding or what
// kept the step from looking.
type step struct {
	name string
	run  func(ctx context.Context, root string, out io.Writer) error
}

// steps are in the order in which they run: the quick ones first.
var steps = []step{
	{"gofmt", overSource(formatted)},
	{"layers", overSource(checkLayers)},
	{"sizes", overSource(checkSizes)},
	{"words", words},
	{"links", overSource(checkLinks)},
	{"documents", documents},
	{"tidy", tool("mod", "tidy", "-diff")},
	{"generate", generate},
	{"workflows", workflows},
	{"vet", tool("vet", "./...")},
	// The last three hold doc comments to the name that they are about.
	{"staticcheck", tool("tool", "staticcheck", "-checks", "inherit,ST1020,ST1021,ST1022", "./...")},
	{"systems", systems},
	{"races", races},
}

// overSource is a step that looks at every Go file of the module.
func overSource(find func([]source) []finding) func(context.Context, string, io.Writer) error {
	return func(_ context.Context, root string, _ io.Writer) error {
		files, err := readSource(root)
		if err != nil {
			return err
		}
		return report(find(files))
	}
}

// tool is a step that runs the go command and shows what it says when it is
// not content.
func tool(args ...string) func(context.Context, string, io.Writer) error {
	return func(ctx context.Context, root string, _ io.Writer) error {
		_, err := output(ctx, root, "go", args...)
		return err
	}
}

// watched are the folders whose tests run under the race detector: what is below them
// starts goroutines that share something. A list that people keep needs no guess at which
// tests those are.
var watched = []string{
	"controller/serve", "controller/queue", "controller/ledger", "controller/run", "controller/watchmode",
	"controller/review", "controller/reconcile", "controller/forge", "controller/filewatch", "controller/target",
}

// races runs the tests of what is watched, all of them, and shows the lines of go test
// as they come, since it takes the longest. The tests are vetted by a step of their own.
func races(ctx context.Context, root string, out io.Writer) error {
	// Uses of unsafe, which are checked along with races, are looked for in our own code.
	args := []string{
		"test", "-race", "-vet=off", "-shuffle=on", "-timeout", "60m",
		"-gcflags=all=-d=checkptr=0", "-gcflags=" + module + "/...=-d=checkptr=1",
	}
	for _, dir := range watched {
		args = append(args, "./"+dir+"/...")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, out, out
	// Each program with the race detector waits for a second at its end, to let
	// other threads report. Nothing runs then in a test that waits for what it
	// started. Memory of short tests is collected less often.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0", "GOGC=400")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// workflows runs actionlint on the workflows of the project and on those that
// users copy. What else is installed on a machine changes nothing.
func workflows(ctx context.Context, root string, _ io.Writer) error {
	args := []string{"tool", "actionlint", "-no-color", "-shellcheck=", "-pyflakes=",
		// It is newer than actionlint; the example says what it is for.
		"-ignore", `unexpected key "cache-mode" for "job"`}
	for _, folder := range []string{".github/workflows", "examples/workflow"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.yml"))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s has no workflow", folder)
		}
		args = append(args, files...)
	}
	_, err := output(ctx, root, "go", args...)
	return err
}

// systems vets the code and its tests for the systems that the tests of this machine do
// not cover. Vet compiles both and links nothing. Nobody runs what it compiles, so it
// compiles without optimizations, which takes a quarter less time.
func systems(ctx context.Context, root string, _ io.Writer) error {
	var errs []error
	for _, system := range []string{"darwin", "windows"} {
		if system == runtime.GOOS {
			continue
		}
		cmd := exec.CommandContext(ctx, "go", "vet", "-gcflags=all=-N -l", "./...")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("GOOS=%s go vet: %w\n%s", system, err, out))
		}
	}
	return errors.Join(errs...)
}

// generate runs the generators and demands that they write what is there.
func generate(ctx context.Context, root string, _ io.Writer) error {
	before, err := state(ctx, root)
	if err != nil {
		return err
	}
	if _, err := output(ctx, root, "go", "generate", "./..."); err != nil {
		return err
	}
	after, err := state(ctx, root)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		return fmt.Errorf("generated files were not current; they are now:\n%s", after)
	}
	return nil
}

// state tells two contents of the working tree apart.
func state(ctx context.Context, root string) ([]byte, error) {
	status, err := output(ctx, root, "git", "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	diff, err := output(ctx, root, "git", "diff", "HEAD")
	return append(status, diff...), err
}

// output runs a program in the module's root.
func output(ctx context.Context, root, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = root
	var said, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complained
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(args, " "), err, &said, &complained)
	}
	return said.Bytes(), nil
}

// moduleRoot is the folder of the go.mod that the command was started in.
func moduleRoot() (string, error) {
	file, err := output(context.Background(), ".", "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	path := strings.TrimSpace(string(file))
	if filepath.Base(path) != "go.mod" {
		return "", errors.New("started outside of the module")
	}
	return filepath.Dir(path), nil
}

func formatted(files []source) []finding {
	var found []finding
	for _, f := range files {
		tidy, err := format.Source(f.data)
		if err == nil && !bytes.Equal(tidy, f.data) {
			found = append(found, finding{f.path, 0, "is not formatted; run gofmt -w"})
		}
	}
	return found
}
