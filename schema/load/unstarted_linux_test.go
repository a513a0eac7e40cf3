package load

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"testing/fstest"
)

// noFiles is set in the child of TestAbuseNoChildForCUE.
const noFiles = "GAVEL_TEST_NO_FILES"

// TestAbuseNoChildForCUE: where no process can be started for a .cue file, that
// is not a mistake of the file. It lowers the limit of a process of its own.
func TestAbuseNoChildForCUE(t *testing.T) {
	if os.Getenv(noFiles) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAbuseNoChildForCUE$", "-test.v")
		cmd.Env = append(os.Environ(), noFiles+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("the child ended with %v, want it to pass:\n%s", err, out)
		}
		return
	}
	var held []*os.File
	limit := syscall.Rlimit{Cur: 64, Max: 64}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for { // until there are none left
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		held = append(held, f)
	}
	files := fstest.MapFS{"test_definitions/a.cue": &fstest.MapFile{Data: []byte(`name: "a", initial_message: "hello", expected_outcomes: greets: true`)}}
	res, err := Load(t.Context(), files, Options{Settings: oneFolder})
	for _, f := range held {
		f.Close() //nolint:errcheck // it was only held
	}
	if !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("Load = %+v, %v; want %v", res, err, syscall.EMFILE)
	}
	if res, err = Load(t.Context(), files, Options{Settings: oneFolder}); err != nil || len(res.Cases) != 1 {
		t.Errorf("Load with files = %+v, %v; want the case", res, err)
	}
}
