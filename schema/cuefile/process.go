package cuefile

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/gavel-evals/gavel/schema/childpool"
	"github.com/gavel-evals/gavel/schema/confine"
)

// maxAnswer holds MaxText with every byte escaped and all values, and so does
// maxRequest, in addition to constraints and their schema.
const (
	maxAnswer  = 64 << 20
	maxRequest = maxAnswer + 4*maxInput
)

// confineProcess is a variable so that tests can remove the confinement.
var confineProcess = confine.Process

// pool is the processes that evaluate, one file at a time.
var pool = childpool.New(childpool.Config{
	Name: "cuefile", Serves: "cueeval.ServeChild", MaxTime: MaxTime, MaxMemory: MaxMemory, MaxRequest: maxRequest, MaxAnswer: maxAnswer,
	Confine: func() error { return confineProcess() },
})

// Serve answers requests until there are no more if [Budget.Evaluate] started this
// process, and reports whether it did; the program then has to end.
func Serve(answer func(Request) any) bool {
	return pool.Serve(func(line []byte) (any, bool) {
		var r Request
		if json.Unmarshal(line, &r) != nil {
			return nil, false
		}
		return answer(r), true
	})
}

// A Request is a file to evaluate, or one about constraints.
type Request struct {
	Source []byte       `json:"source,omitempty"`
	Rules  *RuleRequest `json:"rules,omitempty"`
}

// ask lets one child answer one request, in the budget's remaining time. An answer that
// accept refuses does not count.
func (b *Budget) ask(ctx context.Context, r Request, accept func([]byte) error) error {
	done, err := pool.Turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	if b.isSpent() {
		return errSpent
	}
	defer func(begun time.Time) { b.spend(time.Since(begun)) }(time.Now())
	call := childpool.Call{Line: r.line, Accept: accept}
	if r.Rules != nil {
		call.Keep = r.Rules.ID
	}
	err = pool.Ask(ctx, call)
	if start, ok := errors.AsType[*childpool.StartError](err); ok {
		b.unstarted(start)
	}
	return err
}

// line encodes a request, without constraints that the child has.
func (r Request) line(known string) ([]byte, error) {
	if r.Rules != nil && r.Rules.ID == known {
		rules := *r.Rules
		rules.Schema, rules.Files = nil, nil
		r.Rules = &rules
	}
	return json.Marshal(r)
}
