package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/term"
)

// A pty is a terminal whose other end the test holds.
type pty struct {
	hold, side *os.File

	mu  sync.Mutex
	out bytes.Buffer // its output so far; guarded by mu
}

// newPTY returns a terminal of 80 by 24.
func newPTY(t *testing.T) *pty {
	t.Helper()
	hold, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	p := &pty{hold: hold}
	control := func(request uintptr, arg unsafe.Pointer) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, hold.Fd(), request, uintptr(arg)); errno != 0 {
			t.Fatal(errno)
		}
	}
	var locked, number int32
	size := [4]uint16{24, 80}
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	if p.side, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.side.Close() //nolint:errcheck // the test is over
		hold.Close()   //nolint:errcheck // the test is over
	})
	go func() { _, _ = io.Copy(p, hold) }() // until it is closed
	return p
}

func (p *pty) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *pty) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// until waits for a text on the terminal.
func (p *pty) until(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(p.said(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the terminal does not show %q:\n%q", text, p.said())
		}
	}
}

// talk is a repository with one case.
func talk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, tt := range []struct{ name, text string }{
		{"gavel.yaml", "version: 1\ntargets: {bot: {provider: mock, replies: [{reply: hello}]}}\n"},
		{"test_definitions/talk/domain.json", `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`},
		{"test_definitions/talk/level_1/a.json", `{"id": "a", "name": "A", "prompt": "a", "expected": {"keywords": ["hello"]}}`},
	} {
		file := filepath.Join(dir, filepath.FromSlash(tt.name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return dir
}

// TestSignalsEndLines has a watch that prints lines end by signals.
func TestSignalsEndLines(t *testing.T) {
	dir := talk(t)
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			cmd := program(t, "watch", "--ledger", filepath.Join(t.TempDir(), "ledger.db"))
			cmd.Dir = dir
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var said string
			for lines := bufio.NewScanner(out); lines.Scan(); {
				said += lines.Text() + "\n"
				if strings.HasPrefix(lines.Text(), "result") {
					if err := cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
				t.Errorf("%v, want code %d:\n%s", cmd.ProcessState, exitInterrupted, said)
			}
		})
	}
}

// TestTheSecondSignalEndsTheProcess whatever it is about.
func TestTheSecondSignalEndsTheProcess(t *testing.T) {
	cmd := program(t)
	cmd.Args[0] = "stubborn"
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := 0
	for lines := bufio.NewScanner(out); lines.Scan(); said++ {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); said != 2 || !ok || status.Signal() != syscall.SIGINT {
		t.Errorf("after %d signals it ended with %v", said, cmd.ProcessState)
	}
}

// TestTheTerminalIsGivenBack has a watch on a real terminal end in several
// ways: afterwards the terminal is as it was before.
func TestTheTerminalIsGivenBack(t *testing.T) {
	dir := talk(t)
	for _, tt := range []struct {
		name string
		end  func(p *pty, gavel *os.Process) error
		code int
	}{
		{"q", func(p *pty, _ *os.Process) error { _, err := p.hold.WriteString("q"); return err }, 0},
		{"Ctrl-C", func(p *pty, _ *os.Process) error { _, err := p.hold.WriteString("\x03"); return err }, exitInterrupted},
		{"a signal", func(_ *pty, gavel *os.Process) error { return gavel.Signal(syscall.SIGTERM) }, exitInterrupted},
		{"an interrupt", func(_ *pty, gavel *os.Process) error { return gavel.Signal(os.Interrupt) }, exitInterrupted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPTY(t)
			before, err := term.GetState(int(p.side.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			cmd := program(t, "watch", "--ledger", filepath.Join(t.TempDir(), "ledger.db"))
			cmd.Dir = dir
			cmd.Stdin, cmd.Stdout, cmd.Stderr = p.side, p.side, p.side
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			p.until(t, "gate pass")
			during, err := term.GetState(int(p.side.Fd()))
			if err != nil || reflect.DeepEqual(before, during) {
				t.Errorf("the terminal is not taken over: %v", err)
			}
			if err := tt.end(p, cmd.Process); err != nil {
				t.Fatal(err)
			}
			if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != tt.code {
				t.Errorf("%v, want code %d", cmd.ProcessState, tt.code)
			}
			after, err := term.GetState(int(p.side.Fd()))
			if err != nil || !reflect.DeepEqual(before, after) {
				t.Errorf("the terminal was %+v and is %+v, %v", before, after, err)
			}
			p.until(t, "1 passed; spent 1 call\r\n") // the sentence at the end, below the earlier output
			out := p.said()
			for _, tt := range []struct{ on, off string }{{"\x1b[?1049h", "\x1b[?1049l"}, {"\x1b[?25l", "\x1b[?25h"}} {
				if strings.LastIndex(out, tt.on) < 0 || strings.LastIndex(out, tt.off) < strings.LastIndex(out, tt.on) {
					t.Errorf("%q is not taken back by %q", tt.on, tt.off)
				}
			}
		})
	}
}
