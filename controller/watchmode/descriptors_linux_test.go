package watchmode_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"
)

// fewFiles is set in the child of TestAbuseManySavesWithFewDescriptors.
const fewFiles = "GAVEL_TEST_FEW_FILES"

// TestAbuseManySavesWithFewDescriptors saves more often than a process may have
// files open, in a repository whose objects have a file each. It does so in a
// process of its own, whose limit it lowers.
func TestAbuseManySavesWithFewDescriptors(t *testing.T) {
	const limit, saves = 256, 280
	if os.Getenv(fewFiles) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAbuseManySavesWithFewDescriptors$", "-test.v")
		cmd.Env = append(os.Environ(), fewFiles+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("the child ended with %v, want it to pass:\n%s", err, out)
		}
		return
	}
	// A file that nobody closes is closed by the garbage collector, some time.
	// Here that is late.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(256 << 20)
	r := newRepo(t)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	cfg := r.config()
	cfg.Watch.Settle = time.Millisecond
	f := follow(r, cfg)
	f.settles()
	for i := range saves {
		before := f.last
		r.write(map[string]string{hello: greeting(fmt.Sprint("hi ", i))})
		for slices.Equal(before, f.last) {
			look, err := f.tree.Next(t.Context())
			r.must(err)
			if look.Fault != nil {
				t.Fatalf("save %d: %v", i, look.Fault)
			}
			f.last = linesOf(look)
			r.must(look.Close())
		}
	}
	f.settles()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil || len(list) > limit/2 {
		t.Errorf("%d files are open after %d saves, %v", len(list), saves, err)
	}
}
