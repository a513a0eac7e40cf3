//go:build amd64 || arm64

package confinetest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// attemptsEnv has a child make the attempts in the folder that it names.
	attemptsEnv = "GAVEL_CONFINETEST_ATTEMPTS"
	// withoutEnv has a test run on a kernel without means.
	withoutEnv = "GAVEL_CONFINETEST_WITHOUT"
	fileName   = "file"
)

// A report is what a child reports about itself.
type report struct {
	Error   string
	Reached []string
}

// Confine returns what a child uses to confine itself: process, and if [Child] started
// it, the attempts and the end of the child after that.
func Confine(process func() error) func() error {
	dir := os.Getenv(attemptsEnv)
	if dir == "" {
		return process
	}
	return func() error {
		var said report
		if err := process(); err != nil {
			said.Error = err.Error()
		}
		said.Reached = Reached(filepath.Join(dir, fileName), dir)
		if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
			panic(err)
		}
		os.Exit(0)
		return nil
	}
}

// Child starts the test binary as a child with an argument, which a variable allows,
// and fails the test for everything that the child can reach. The child needs to call
// the result of [Confine].
func Child(t *testing.T, arg, variable string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, arg)
	cmd.Env = []string{variable + "=1", attemptsEnv + "=" + dir, "GORACE=atexit_sleep_ms=0"}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var said report
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatalf("the child did not confine itself: %v: %s", err, out)
	}
	if said.Error != "" {
		t.Error(said.Error)
	}
	for _, what := range said.Reached {
		t.Error("not refused: " + what)
	}
}

// RunUnconfined runs the test in a process of its own whose kernel has neither Landlock
// nor filters, and reports whether this is that process.
func RunUnconfined(t *testing.T) bool {
	t.Helper()
	if os.Getenv(withoutEnv) != "" {
		WithoutMeans()
		return true
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), withoutEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("on a kernel without means: %v\n%s", err, out)
	}
	return false
}
