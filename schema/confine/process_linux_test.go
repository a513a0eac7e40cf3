//go:build amd64 || arm64

package confine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/schema/confine"
	"github.com/gavel-evals/gavel/schema/confine/confinetest"
)

// roleEnv says what a process is that a test started.
const roleEnv = "GAVEL_CONFINE_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	var said finding
	// Threads that are there before are confined too.
	var ready, done = make(chan bool), make(chan bool)
	for range 8 {
		go func() {
			runtime.LockOSThread()
			ready <- true
			<-done
		}()
		<-ready
	}
	if role == "without means" {
		confinetest.WithoutMeans()
	}
	if role != "free" {
		if err := confine.Process(); err != nil {
			said.Error = err.Error()
		}
	}
	said.Threads = threads()
	said.Reached = confinetest.Reached(os.Args[1], os.Args[2])
	said.Sum = compute()
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		panic(err)
	}
	close(done)
}

// A finding is a process's report about itself.
type finding struct {
	Error   string
	Reached []string
	Sum     int
	// Threads is the sum of what new threads computed.
	Threads int
}

// compute takes memory, timers and the collector.
func compute() int {
	kept := make([][]byte, 0, 64)
	for i := range 64 {
		kept = append(kept, make([]byte, 1<<20))
		kept[i][i] = 1
	}
	runtime.GC()
	<-time.After(time.Millisecond)
	sum := 0
	for i := range kept {
		sum += int(kept[i][i])
	}
	return sum
}

// threads starts some, and waits for them.
func threads() int {
	from, hold := make(chan int), make(chan bool)
	for range 8 {
		go func() {
			runtime.LockOSThread()
			from <- 1
			<-hold
		}()
	}
	sum := 0
	for range 8 {
		sum += <-from
	}
	close(hold)
	return sum
}

// start runs this test binary in a role.
func start(t *testing.T, role string) finding {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, file, dir)
	cmd.Env = []string{roleEnv + "=" + role, "GORACE=atexit_sleep_ms=0"}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the child ended with %v and printed %s", err, out)
	}
	var said finding
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("what the child printed is not JSON: %v: %s", err, out)
	}
	if said.Sum != 64 || said.Threads != 8 {
		t.Errorf("the process computed %d with %d threads, want 64 with 8", said.Sum, said.Threads)
	}
	return said
}

// TestProcess has a process try all that it is refused, from threads of before and
// after. A free process shows that most of it is possible here at all.
func TestProcess(t *testing.T) {
	free := len(start(t, "free").Reached)
	if least := len(confinetest.Attempts("", "")) - 10; free < least {
		t.Errorf("a free process reaches %d things, fewer than %d: the attempts show nothing", free, least)
	}
	said := start(t, "confined")
	if said.Error != "" {
		t.Error(said.Error)
	}
	for _, what := range said.Reached {
		t.Error("not refused: " + what)
	}
}

// TestProcessWithoutMeans wants a process to go on where the kernel has nothing,
// without files and sockets at least.
func TestProcessWithoutMeans(t *testing.T) {
	said := start(t, "without means")
	for _, word := range []string{"filter system calls", "restrict files"} {
		if !strings.Contains(said.Error, word) {
			t.Errorf("the error %q does not have %q", said.Error, word)
		}
	}
	reached := fmt.Sprint(said.Reached)
	for _, what := range []string{"read a file", "write a file", "make a socket", "listen"} {
		if strings.Contains(reached, what) {
			t.Errorf("%q is not refused: %s", what, reached)
		}
	}
	if len(said.Reached) == 0 {
		t.Error("everything is refused, so the kernel did have means")
	}
}
