// Package javascript runs the functions that definitions write in JavaScript, on
// what a model answered. Neither is trusted.
//
// Most callers want [Check] or [Transform]; main and TestMain call [ServeChild]
// first.
//
// An interpreter runs in child processes of the same program, which answer one
// request after another. It has the language and nothing else: no files, no
// network, no modules, no timers. The kernel refuses the child everything but to
// compute (package confine), and the child ends where a function takes too long or
// too much memory.
package javascript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/evaluate/textnorm"
)

const (
	// MaxTime is how long one function may take.
	MaxTime = 2 * time.Second
	// MaxMemory is how many bytes the interpreter may take.
	MaxMemory = 256 << 20
	// maxResult bounds what a function returns, in bytes of JSON.
	maxResult = 1 << 20
)

// A Function is one in JavaScript with its arguments: an expression, or the body of
// a function with return.
type Function struct {
	Code string `json:"code"`
	// Output is the argument output.
	Output string `json:"output"`
	// Context is the argument context, as JSON.
	Context json.RawMessage `json:"context,omitempty"`
}

// A Result is what an assertion in JavaScript gave.
type Result struct {
	Pass bool
	// Score is from 0 to 1. A number outside of that range is taken for the nearest
	// one.
	Score  float64
	Reason string
}

// Check runs a function that returns true or false, a number that passes when it is
// above 0 or reaches the threshold, or {pass, score, reason}. A function that
// throws fails, since answers of a wrong form make functions throw. Another value,
// and one that took too long or too much memory, is an error.
func Check(ctx context.Context, f Function, threshold *float64) (Result, error) {
	out, err := ask(ctx, f)
	switch {
	case err != nil:
		return Result{}, err
	case out.Invalid != "":
		return Result{}, errors.New("the function does not compile: " + textnorm.Clip(out.Invalid))
	case out.Thrown != "":
		return Result{Reason: "the function throws " + textnorm.Clip(out.Thrown)}, nil
	}
	got, err := Read(json.RawMessage(out.Value), threshold)
	if err != nil && string(out.Value) == "null" {
		err = fmt.Errorf("%w%s", err, forgotten(f.Code))
	}
	return got, err
}

// forgotten is what code that returns nothing may lack; empty where it is not known.
func forgotten(code string) string {
	code = strings.TrimSpace(code)
	switch {
	case arrow.MatchString(code):
		return "; write the body of the function alone, which has output and context"
	case strings.Contains(code, "\n") && !strings.Contains(code, "return"):
		return "; code of several lines needs return"
	}
	return ""
}

// arrow matches code that is a function, and does not call it.
var arrow = regexp.MustCompile(`^(async )?(\([^()]*\)|\w+)\s*=>|^function\b`)

// Read reads what a function returned, as JSON: true or false, a number that passes when
// it is above 0 or reaches the threshold, or {pass, score, reason}. Another value is an
// error.
func Read(returned json.RawMessage, threshold *float64) (Result, error) {
	passes := func(n float64) bool {
		if threshold != nil {
			return n >= *threshold
		}
		return n > 0
	}
	var value any
	if err := json.Unmarshal(returned, &value); err != nil {
		return Result{}, fmt.Errorf("the result of the function: %w", err)
	}
	switch v := value.(type) {
	case bool:
		return Result{Pass: v, Score: share(v), Reason: map[bool]string{false: "the function returns false"}[v]}, nil
	case float64:
		r := Result{Pass: passes(v), Score: math.Max(0, math.Min(1, v))}
		if !r.Pass {
			r.Reason = fmt.Sprintf("the function returns %v", v)
		}
		return r, nil
	case map[string]any:
		return graded(v)
	}
	return Result{}, errors.New("the function must return true or false, a number, or {pass, score, reason}, and returns " + textnorm.Clip(string(returned)))
}

// graded reads {pass, score, reason}.
func graded(v map[string]any) (Result, error) {
	pass, isBool := v["pass"].(bool)
	score, isNumber := v["score"].(float64)
	if !isBool {
		return Result{}, errors.New("the object that the function returns has no true or false under `pass`")
	}
	if !isNumber {
		score = share(pass)
	}
	reason, _ := v["reason"].(string)
	return Result{Pass: pass, Score: math.Max(0, math.Min(1, score)), Reason: strings.TrimSpace(reason)}, nil
}

// Transform runs a function that returns the text to look at instead of an answer.
// Another value than a text is written as JSON. A function that throws is an
// error.
func Transform(ctx context.Context, f Function) (string, error) {
	out, err := ask(ctx, f)
	switch {
	case err != nil:
		return "", err
	case out.Invalid != "":
		return "", errors.New("the transform does not compile: " + textnorm.Clip(out.Invalid))
	case out.Thrown != "":
		return "", errors.New("the transform throws " + textnorm.Clip(out.Thrown))
	}
	var text string
	if json.Unmarshal(out.Value, &text) == nil {
		return text, nil
	}
	return string(out.Value), nil
}

func share(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
