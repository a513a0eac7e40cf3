package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A javaScript is a JavaScript function with its arguments: an expression, or a
// function body with return.
type javaScript struct {
	Code string
	// Output is the argument output, as JSON.
	Output json.RawMessage
	// Context is the argument context, as JSON.
	Context json.RawMessage
}

// run calls the function.
func (f javaScript) run(ctx context.Context) (javascript.Answer, error) {
	args := []json.RawMessage{f.Output}
	if len(f.Context) > 0 {
		args = append(args, f.Context)
	}
	return javascript.Run(ctx, javascript.Call{Code: withProvider(javascript.Inline(f.Code, "output, context")), Args: args})
}

// withProvider makes the id of context.provider a function, as it is in promptfoo.
func withProvider(function string) string {
	if !strings.Contains(function, "provider") {
		return function
	}
	return "((f) => (output, context) => {\n" +
		"const id = context?.provider?.id;\n" +
		"if (id !== undefined) context.provider.id = () => id;\n" +
		"return f(output, context);\n})(" + function + ")"
}

// A functionResult is the result of a JavaScript assertion.
type functionResult struct {
	Pass bool
	// Score is from 0 to 1. A number outside of that range is clamped.
	Score  float64
	Reason string
	// Given means that the score is the function's own, and does not follow from Pass.
	Given bool
	// Thrown means that the function threw an exception, so neither it nor its negation
	// passes.
	Thrown bool
}

// checkScript runs a function that returns true or false, a number that passes when it
// is above 0 or reaches the threshold, or {pass, score, reason}. A function that throws
// fails, since answers of a wrong form make functions throw. Another value, or
// exceeding the time or memory limit, is an error.
func checkScript(ctx context.Context, f javaScript, threshold *float64) (functionResult, error) {
	out, err := f.run(ctx)
	switch {
	case err != nil:
		return functionResult{}, err
	case out.Invalid != "":
		return functionResult{}, errors.New("the function does not compile: " + clip(out.Invalid))
	case out.Missing() != nil: // independent of the answer
		return functionResult{}, out.Missing()
	case out.Thrown != "":
		return functionResult{Reason: "the function throws " + clip(out.Thrown), Thrown: true}, nil
	}
	got, err := readResult(out.Value, threshold, "pass")
	if err != nil && string(out.Value) == "null" {
		err = fmt.Errorf("%w%s", err, forgotten(f.Code))
	}
	return got, err
}

// forgotten returns a hint for code that returns nothing: the part it may lack. It is
// empty if unknown.
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

// arrow matches code that defines a function without calling it.
var arrow = lazyregexp.New(`^(async )?(\([^()]*\)|\w+)\s*=>|^function\b`)

// readResult parses the JSON result of a function: true or false, a number that passes
// when it is above 0 or reaches the threshold, or {pass, score, reason} with pass under
// the first of the keys that is there. Another value is an error.
func readResult(returned json.RawMessage, threshold *float64, keys ...string) (functionResult, error) {
	passes := func(n float64) bool {
		if threshold != nil {
			return n >= *threshold
		}
		return n > 0
	}
	var value any
	if err := json.Unmarshal(returned, &value); err != nil {
		return functionResult{}, fmt.Errorf("the result of the function: %w", err)
	}
	switch v := value.(type) {
	case bool:
		return functionResult{Pass: v, Score: share(v), Reason: map[bool]string{false: "the function returns false"}[v]}, nil
	case float64:
		r := functionResult{Given: true, Pass: passes(v), Score: math.Max(0, math.Min(1, v))}
		if !r.Pass {
			r.Reason = fmt.Sprintf("the function returns %v", v)
		}
		return r, nil
	case map[string]any:
		return readGraded(v, keys)
	}
	return functionResult{}, errors.New("the function must return true or false, a number, or {pass, score, reason}, and returns " + clip(string(returned)))
}

// readGraded parses {pass, score, reason}.
func readGraded(v map[string]any, keys []string) (functionResult, error) {
	var pass, isBool bool
	for _, key := range keys {
		if given, known := v[key]; known {
			pass, isBool = given.(bool)
			break
		}
	}
	score, isNumber := v["score"].(float64)
	if !isBool {
		return functionResult{}, errors.New("the object that the function returns has no true or false under `pass`")
	}
	if v["score"] != nil && !isNumber {
		return functionResult{}, errors.New("the object that the function returns has a `score` that is not a number")
	}
	if !isNumber {
		score = share(pass)
	}
	reason, _ := v["reason"].(string)
	return functionResult{Given: isNumber, Pass: pass, Score: math.Max(0, math.Min(1, score)), Reason: strings.TrimSpace(reason)}, nil
}

// transformScript runs a function that returns the JSON value to evaluate instead of an
// answer. A function that throws or returns nothing is an error.
func transformScript(ctx context.Context, f javaScript) (json.RawMessage, error) {
	out, err := f.run(ctx)
	switch {
	case err != nil:
		return nil, err
	case out.Invalid != "":
		return nil, errors.New("the transform does not compile: " + clip(out.Invalid))
	case out.Missing() != nil:
		return nil, out.Missing()
	case out.Thrown != "":
		return nil, errors.New("the transform throws " + clip(out.Thrown))
	case len(out.Value) == 0 || string(out.Value) == "null":
		return nil, errors.New("the transform returns nothing; it must return what to look at" + forgotten(f.Code))
	}
	return json.RawMessage(out.Value), nil
}
