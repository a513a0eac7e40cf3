package javascript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gavel-evals/gavel/schema/childpool"
	"github.com/gavel-evals/gavel/schema/confine"
)

// maxLine bounds a request and an answer, in bytes.
const maxLine = 64 << 20

// maxProcess bounds the memory of a child besides the engine's, whose address space is
// bounded by twice as much, in bytes.
const maxProcess = 256 << 20

var (
	errTime   = fmt.Errorf("the function takes longer than %v", MaxTime)
	errMemory = fmt.Errorf("the function needs more memory than %d MiB", MaxMemory>>20)
	errDeep   = errors.New("the function calls itself too deeply")
)

// confineProcess is a variable so that tests can remove the confinement. The
// interpreter itself lacks everything that a kernel cannot refuse.
var confineProcess = confine.Process

// pool is the processes that run functions, one at a time.
var pool = childpool.New(childpool.Config{
	Name: "javascript", Serves: "interpreter.ServeChild", MaxTime: MaxTime, MaxMemory: maxProcess, MaxRequest: maxLine, MaxAnswer: maxLine,
	Confine: func() error { return confineProcess() },
})

// Serve answers calls by run until there are no more if [Run] started this process, and
// reports whether it did; the program then has to end.
func Serve(run func(Call) Answer) bool {
	return pool.Serve(func(line []byte) (any, bool) {
		var c Call
		if json.Unmarshal(line, &c) != nil {
			return nil, false
		}
		return run(c), true
	})
}

// ask lets a child run a function.
func ask(ctx context.Context, c Call) (Answer, error) {
	var out Answer
	done, err := pool.Turn(ctx)
	if err != nil {
		return out, err
	}
	defer done()
	err = pool.Ask(ctx, childpool.Call{
		Line:   func(string) ([]byte, error) { return json.Marshal(c) },
		Accept: func(line []byte) error { return json.Unmarshal(line, &out) },
	})
	switch {
	case errors.Is(err, childpool.ErrTime):
		return Answer{}, errTime
	case errors.Is(err, childpool.ErrMemory):
		return Answer{}, errMemory
	}
	if err == nil && out.Deep {
		return Answer{}, errDeep
	}
	return out, err
}
