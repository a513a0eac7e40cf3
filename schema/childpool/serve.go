package childpool

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/gavel-evals/gavel/schema/confine"
)

const (
	// idleTime is how long a child waits for another request.
	idleTime = 10 * time.Second
	// maxStack bounds the stack of a child, in bytes.
	maxStack = 64 << 20

	timeCode, memoryCode = 3, 4
)

// Serve answers requests until there are no more if this process is a child of the
// pool, and reports whether it is; the program then has to end. An answer is written as
// JSON. If a request is unreadable, answer returns false, and the child ends.
func (p *Pool) Serve(answer func(line []byte) (any, bool)) bool {
	if !p.isChild() {
		p.served.Store(true)
		return false
	}
	p.restrict()
	p.serve(os.Stdin, os.Stdout, answer)
	return true
}

// restrict restricts this process to computing.
func (p *Pool) restrict() {
	// An interrupt from the terminal reaches all its processes; this one ends with its
	// parent.
	signal.Ignore(os.Interrupt)
	time.Local = time.UTC // the same everywhere
	runtime.GOMAXPROCS(min(2, runtime.NumCPU()))
	debug.SetMaxStack(maxStack)
	confine.Memory(p.MaxMemory, memoryCode)
	_ = p.Confine() // as documented by Config
}

// serve answers line by line. The input is read all the time: its end means that the
// parent has ended or has abandoned this process, even in the middle of a request.
func (p *Pool) serve(in io.Reader, out io.Writer, answer func([]byte) (any, bool)) {
	requests := make(chan []byte)
	go func() {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, p.MaxRequest)
		for lines.Scan() {
			requests <- append([]byte(nil), lines.Bytes()...)
		}
		os.Exit(0)
	}()
	answers := json.NewEncoder(out)
	for {
		select {
		case line := <-requests:
			stop := confine.AfterWork(p.MaxTime, func() { os.Exit(timeCode) })
			a, ok := answer(line)
			stop()
			if !ok || answers.Encode(a) != nil {
				return
			}
		case <-time.After(idleTime):
			return
		}
	}
}
