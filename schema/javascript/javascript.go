// Package javascript runs untrusted JavaScript functions of definitions, in child
// processes that can only compute.
//
// Most callers want [Budget.Run], or [Run] to bound each call alone; main and TestMain
// call interpreter.ServeChild first.
//
// The interpreter only has the language: no files, no network, no modules, no timers.
// The kernel only allows the child to compute (package confine), and the child ends if
// a function takes too much time or memory.
package javascript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/schema/childpool"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

const (
	// MaxTime is the processor time that one call may take.
	MaxTime = 2 * time.Second
	// MaxMemory is how many bytes the engine may take.
	MaxMemory = 192 << 20
)

// A Call is a function in JavaScript with its arguments.
type Call struct {
	// Code is an expression that is a function, as [Inline] and [Module] write it.
	Code string `json:"code"`
	// Args are the arguments, as JSON.
	Args []json.RawMessage `json:"args,omitempty"`
	// Pure functions always return the same: reading the clock or a random number
	// throws. Otherwise random numbers are the same in each call.
	Pure bool `json:"pure,omitempty"`
}

// An Answer is the result of a call: the value as JSON, the thrown error, or the reason
// why the code is not a function. A promise returns its resolved value.
type Answer struct {
	Value   json.RawMessage `json:"value,omitempty"`
	Thrown  string          `json:"thrown,omitempty"`
	Invalid string          `json:"invalid,omitempty"`
	// Absent is the name of something that only a program has and the function used,
	// even if it caught the error.
	Absent string `json:"absent,omitempty"`
	// Deep means that functions called each other more deeply than a child allows.
	Deep bool `json:"deep,omitempty"`
}

// Run calls a function. The error means that it took too much time or memory, or that
// no child answered.
func Run(ctx context.Context, c Call) (Answer, error) {
	return ask(ctx, c)
}

// declaring matches code of one line that begins with a declaration.
var declaring = lazyregexp.New(`^(const|let|var)\s`)

// Inline converts code of a definition to a function with named parameters: an
// expression is returned, also one after declarations, and code of several lines has its
// own return.
func Inline(code, parameters string) string {
	code = strings.TrimSpace(code)
	switch {
	case strings.Contains(code, "\n") || strings.HasPrefix(code, "return ") || strings.HasPrefix(code, "return("):
	case declaring.MatchString(code):
		code = strings.TrimRight(code, "; \t")
		if end := lastSemicolon(code) + 1; end > 0 {
			code = code[:end] + " return " + code[end:]
		}
	default:
		code = "return " + code
	}
	return "(function (" + parameters + ") {" + code + "\n})"
}

// lastSemicolon returns the index of the last semicolon outside of quotes, or -1.
func lastSemicolon(code string) int {
	last, quote := -1, byte(0)
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == ';':
			last = i
		}
	}
	return last
}

// The bounds of a [Budget].
const (
	totalTime = 30 * time.Second
	// timeEach is the time that each call adds to the total: many times a usual call's,
	// so that any number of usual calls succeeds.
	timeEach = 5 * time.Millisecond
	// maxOver is how many calls may break their limit.
	maxOver = 3
)

// A Budget bounds the total time of one repository's functions while its definitions
// are compiled. A nil budget only bounds each call. It is safe for concurrent use.
type Budget struct {
	// Unstarted is called if no child could be started, which is not a definition's
	// fault. Set it before the first call; nil ignores it.
	Unstarted func(error)

	mu   sync.Mutex
	left time.Duration // guarded by mu
	over int           // calls that broke their limit, guarded by mu
}

// NewBudget returns the budget of one repository's functions.
func NewBudget() *Budget { return &Budget{left: totalTime} }

// errSpent means that a budget is used up.
var errSpent = errors.New("the functions of the definitions take too long together")

// Run calls a function and returns its value. The error is a [*MissingError], thrown by
// the function, or the reason for a missing value.
func (b *Budget) Run(ctx context.Context, c Call) (json.RawMessage, error) {
	if b.isSpent() {
		return nil, errSpent
	}
	begun := time.Now()
	out, err := Run(ctx, c)
	b.spend(time.Since(begun), err)
	switch {
	case err != nil:
		return nil, err
	case out.Invalid != "":
		return nil, errors.New("the function does not compile: " + clip(out.Invalid))
	case out.Missing() != nil:
		return nil, out.Missing()
	case out.Thrown != "":
		return nil, errors.New("the function throws " + clip(out.Thrown))
	}
	return out.Value, nil
}

// Missing returns a [*MissingError] if the function ended because of one, else nil.
func (a Answer) Missing() error {
	if a.Absent != "" {
		return &MissingError{Name: a.Absent}
	}
	return nil
}

// A MissingError is about a function that needs something only a program has.
type MissingError struct{ Name string }

// Error names the missing thing.
func (e *MissingError) Error() string {
	return "the function uses " + e.Name + ", which only a program has"
}

func (b *Budget) isSpent() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left <= 0 || b.over >= maxOver
}

// spend subtracts the time of a call, which works for MaxTime at most; more than that it
// waited for a processor. It records its end.
func (b *Budget) spend(took time.Duration, err error) {
	if b == nil {
		return
	}
	start, isStart := errors.AsType[*childpool.StartError](err)
	if isStart && b.Unstarted != nil {
		b.Unstarted(fmt.Errorf("run JavaScript: %w", start))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += timeEach - min(took, MaxTime)
	if errors.Is(err, errTime) || errors.Is(err, errMemory) {
		b.over++
	}
}

// clip shortens a thrown message.
func clip(s string) string {
	const most = 200
	if runes := []rune(strings.Join(strings.Fields(s), " ")); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return strings.Join(strings.Fields(s), " ")
}
