// Package interpreter is the child's side of package javascript: it runs the functions.
// Only programs and tests that serve children include the engine.
package interpreter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gavel-evals/gavel/schema/confine"
	"github.com/gavel-evals/gavel/schema/javascript"
)

// maxResult bounds a function's result, in bytes of JSON.
const maxResult = 1 << 20

// ServeChild runs functions until there are no more if [javascript.Run] started this
// process, and reports whether it did; the program then has to end.
func ServeChild() bool {
	var kept *machine
	return javascript.Serve(func(c javascript.Call) javascript.Answer {
		if kept == nil {
			var err error
			if kept, err = newMachine(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(confine.FatalCode)
			}
		}
		out := run(kept, c)
		if kept.isFull() {
			os.Exit(confine.FatalCode) // as when Go's runtime gets no memory
		}
		if kept.isLarge() {
			kept.close()
			kept = nil
		}
		return out
	})
}

// run calls a function.
func run(m *machine, c javascript.Call) javascript.Answer {
	args := bytes.Join(rawBytes(c.Args), []byte{','})
	said, err := m.call(c.Code, "["+string(args)+"]", c.Pure)
	if invalid, ok := errors.AsType[*invalidError](err); ok {
		return javascript.Answer{Invalid: invalid.message}
	}
	if err == nil && said == "" {
		err = errors.New("the engine has no outcome")
	}
	if err != nil {
		return javascript.Answer{Thrown: err.Error()}
	}
	kind, rest := said[0], said[1:]
	switch {
	case kind == 'v' && len(rest) > maxResult:
		return javascript.Answer{Thrown: fmt.Sprintf("a result of more than %d bytes", maxResult)}
	case kind == 'v':
		return javascript.Answer{Value: json.RawMessage(rest)}
	case kind == 'p':
		return javascript.Answer{Thrown: "a promise that nothing resolves"}
	}
	var text string
	if err := json.Unmarshal([]byte(rest), &text); err != nil {
		return javascript.Answer{Thrown: err.Error()}
	}
	switch {
	case kind == 'm':
		return javascript.Answer{Absent: text}
	case strings.HasPrefix(text, "InternalError: stack overflow"):
		return javascript.Answer{Deep: true}
	}
	return javascript.Answer{Thrown: text}
}

func rawBytes(args []json.RawMessage) [][]byte {
	out := make([][]byte, len(args))
	for i, arg := range args {
		out[i] = arg
	}
	return out
}
