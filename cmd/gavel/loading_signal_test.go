package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

const mockTarget = "version: 1\ndefault_target: m\ntargets:\n  m: {provider: mock, replies: [{reply: word}]}\n"

// largeSuites are files that are loaded for much longer than a test waits: each has
// 8,000 rows with twenty assertions.
func largeSuites() map[string]string {
	var asserts, rows strings.Builder
	for i := range 20 {
		fmt.Fprintf(&asserts, "  - {type: contains, value: w%d}\n", i)
	}
	for i := range 8000 {
		fmt.Fprintf(&rows, "a%d\n", i)
	}
	files := map[string]string{}
	for i := range 12 {
		folder := fmt.Sprintf("test_definitions/s%02d/", i)
		files[folder+"promptfooconfig.yaml"] = fmt.Sprintf("prompts: [\"say {{x}} %d\"]\nproviders: [m]\ndefaultTest:\n  assert:\n%stests: file://t.csv\n", i, &asserts)
		files[folder+"t.csv"] = "x\n" + rows.String()
	}
	return files
}

// TestSignalsEndLoading: SIGTERM ends each command from within loading, and nothing is
// half-written.
func TestSignalsEndLoading(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent SIGTERM here")
	}
	base := map[string]string{"gavel.yaml": mockTarget, "test_definitions/a.json": `{"test_type": "agent", "name": "m", "user_input": ["hi"]}`}
	j := newOrigin(t, base, largeSuites())
	j.git(t, "checkout", "-q", "topic")
	for _, args := range [][]string{
		{"validate"}, {"plan"}, {"plan", "--base", "main"}, {"run"}, {"run", "--base", "main"}, {"watch"}, {"watch", "--json"},
		{"pr", "--repo", forgetest.Repository, "--pr", "1"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "work")
			gittest.Run(t, j.folder, "clone", "-q", "--no-hardlinks", j.folder, dir)
			gittest.Run(t, dir, "branch", "-q", "main", "origin/main")
			endsAtSIGTERM(t, j, dir, args)
			if state := gittest.Run(t, dir, "status", "--porcelain"); state != "" {
				t.Errorf("the work tree has changes:\n%s", state)
			}
			wantNoDrafts(t, filepath.Join(dir, ".gavel"))
		})
	}
}

// TestSignalsEndHashing has every command that hashes the files of a target in the working
// tree end at SIGTERM within that. The files have holes alone, and 25 GB.
func TestSignalsEndHashing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent SIGTERM here")
	}
	target := strings.Replace(mockTarget, "}\n", ", inputs: [\"data/**\"]}\n", 1)
	base := map[string]string{"gavel.yaml": target, "test_definitions/a.json": `{"test_type": "agent", "name": "m", "user_input": ["hi"]}`}
	j := newOrigin(t, base, map[string]string{"test_definitions/b.json": `{"test_type": "agent", "name": "n", "user_input": ["ho"]}`})
	gittest.Run(t, j.folder, "checkout", "-q", "topic")
	for i := range 400 {
		name := filepath.Join(j.folder, "data", fmt.Sprint(i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o644), os.Truncate(name, 63<<20)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"plan"}, {"plan", "--base", "main"}, {"run"}, {"run", "--base", "main"}, {"watch"}, {"watch", "--json"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) { endsAtSIGTERM(t, j, j.folder, args) })
	}
}

// endsAtSIGTERM sends a command SIGTERM while it still has much to read, and wants it to
// end as interrupted.
func endsAtSIGTERM(t *testing.T, j *job, dir string, args []string) {
	t.Helper()
	var said bytes.Buffer
	cmd := program(t, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	for name, value := range j.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // most of the time that reading takes is still to come
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("it ended before: %v\n%s", err, &said)
	}
	told := time.Now()
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("%v, want code %d:\n%s", cmd.ProcessState, exitInterrupted, &said)
	}
	if took := time.Since(told); took > 20*time.Second {
		t.Errorf("it went on for %v", took)
	}
}

// wantNoDrafts wants no file in a folder that was not given its place.
func wantNoDrafts(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && (strings.Contains(d.Name(), "draft") || strings.Contains(d.Name(), "tmp")) {
			t.Errorf("%s is left", name)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
}
