//go:build amd64 || arm64

package cuefile_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/confine/confinetest"
)

// TestChildIsConfined has the child itself try what it is refused.
func TestChildIsConfined(t *testing.T) {
	confinetest.Child(t, "cuefile-child", "GAVEL_CUEFILE_CHILD")
}

// TestChildrenAreConfined looks at all threads of the children that have evaluated
// a file.
func TestChildrenAreConfined(t *testing.T) {
	evaluates(t)
	// A child that waits for the next file is still there.
	tasks, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	parent, children := "PPid:\t"+strconv.Itoa(os.Getpid())+"\n", 0
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		if err != nil || !strings.Contains(string(status), parent) {
			continue
		}
		children++
		for _, want := range []string{"Seccomp:\t2\n", "NoNewPrivs:\t1\n"} {
			if !strings.Contains(string(status), want) {
				t.Errorf("%s does not have %q:\n%s", task, want, status)
			}
		}
	}
	if children == 0 {
		t.Error("there is no child")
	}
}

// TestEvaluateWithoutMeans evaluates on a kernel that can confine nothing.
func TestEvaluateWithoutMeans(t *testing.T) {
	if confinetest.RunUnconfined(t) {
		evaluates(t)
	}
}

// evaluates has a file evaluated that takes packages, memory and time.
func evaluates(t *testing.T) {
	t.Helper()
	src := "import (\"list\", \"strings\", \"time\", \"regexp\")\n" +
		"sum: list.Sum(list.Range(0, 2000, 1))\nday: time.Parse(time.RFC3339, \"2026-01-02T03:04:05Z\")\n" +
		"long: len(strings.Repeat(\"x\", 1000000))\nmatches: regexp.Match(\"^a+$\", \"aaa\")\n"
	v, err := unbounded.Evaluate(t.Context(), "x.cue", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if got := show(v); !strings.Contains(got, "1999000") || !strings.Contains(got, "true") {
		t.Errorf("the file gives %s", got)
	}
}
