package cuefile

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

// ServeChild evaluates files until there are no more if this process was
// started by [Budget.Evaluate], and reports whether it was; the program then has to end.
func ServeChild() bool {
	if os.Getenv(childEnv) == "" || len(os.Args) != 2 || os.Args[1] != childArg {
		served.Store(true)
		return false
	}
	restrict()
	serve(os.Stdin, os.Stdout)
	return true
}

// restrict makes this process one that computes and does nothing else.
func restrict() {
	// An interrupt from the terminal reaches all its processes; this one ends
	// with its parent.
	signal.Ignore(os.Interrupt)
	// CUE's time package asks for the local zone, which is not the same
	// everywhere.
	time.Local = time.UTC
	runtime.GOMAXPROCS(min(2, runtime.NumCPU()))
	debug.SetMaxStack(64 << 20)
	// Without the system's means, as on other systems than Linux, the limits that
	// this process sets itself remain.
	confine.Memory(MaxMemory, memoryCode)
	_ = confineProcess()
}

// confineProcess is a variable for tests, which try what it leaves.
var confineProcess = confine.Process

// A request is a file to evaluate, or one about constraints.
type request struct {
	Source []byte       `json:"source,omitempty"`
	Rules  *ruleRequest `json:"rules,omitempty"`
}

// A server is what the child remembers from one request to the next.
type server struct{ set *ruleSet }

func (s *server) answer(r request) any {
	if r.Rules != nil {
		return s.rules(r.Rules)
	}
	return evaluate(r.Source)
}

// serve answers line by line. The input is read all the time: its end means
// that the parent has gone or has given this process up, in the middle of a
// file too.
func serve(in io.Reader, out io.Writer) {
	requests := make(chan request)
	go func() {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxRequest)
		for lines.Scan() {
			var r request
			if json.Unmarshal(lines.Bytes(), &r) != nil {
				break
			}
			requests <- r
		}
		os.Exit(0)
	}()
	answers := json.NewEncoder(out)
	var s server
	for {
		select {
		case r := <-requests:
			late := time.AfterFunc(MaxTime, func() { os.Exit(timeCode) })
			a := s.answer(r)
			late.Stop()
			if answers.Encode(a) != nil {
				return
			}
		case <-time.After(idleTime):
			return
		}
	}
}
