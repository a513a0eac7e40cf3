package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// callFunction runs a function's program on the answer and reads its result, as
// [readResult] does. The error is the program's, or means that programs is nil.
func callFunction(ctx context.Context, spec evaluator.Function, in Input, programs Programs) (functionResult, error) {
	if programs == nil {
		return functionResult{}, fmt.Errorf("programs are not run here: %s is not started", spec.Argv[0])
	}
	stdin, err := json.Marshal(map[string]any{"output": in.value(), "context": in.told(spec.Context), "code": spec.Code, "config": spec.Config})
	if err != nil {
		return functionResult{}, err
	}
	printed, err := programs(ctx, Start{Program: spec.Program, Stdin: stdin})
	if err != nil {
		return functionResult{}, err
	}
	if len(bytes.TrimSpace(printed)) == 0 {
		return functionResult{}, errors.New("the program ended without an answer, with exit code 0; does its code exit before it returns?")
	}
	if spec.Argv[0] == "node" {
		return readResult(printed, spec.Threshold, "pass")
	}
	value := written(printed)
	got, err := readResult(value, spec.Threshold, "pass", "pass_") // pass is a keyword of Python
	// As in promptfoo, a dictionary's score is held against the threshold, which an object
	// of JavaScript is not.
	if least := spec.Threshold; err == nil && least != nil && strings.HasPrefix(string(value), "{") && got.Score < *least {
		got.Pass, got.Reason = false, strings.TrimSuffix(fmt.Sprintf("the score %v is below the threshold %v: %s", got.Score, *least, got.Reason), ": ")
	}
	return got, err
}

// written returns the value that a text of Python stands for, as promptfoo takes it: true
// or false in any case, an object as JSON, or a number. Others stay as they are.
func written(printed json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(printed, &text) != nil {
		return printed
	}
	value := json.RawMessage(text)
	if lower := strings.ToLower(text); lower == "true" || lower == "false" {
		return json.RawMessage(lower)
	}
	if _, isNumber := document.ParseNumber(value); isNumber || strings.HasPrefix(text, "{") && json.Valid(value) {
		return value
	}
	return printed
}

// transform passes an answer, as JSON, through the steps of transforms. The result is
// any JSON value, which is the next step's input. Errors come from [transformScript].
func transform(ctx context.Context, spec evaluator.Transformed, value json.RawMessage) (json.RawMessage, error) {
	for _, code := range spec.Steps {
		var err error
		if value, err = transformScript(ctx, javaScript{Code: code, Output: value, Context: spec.Context}); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// jsonText encodes an answer as a function's input.
func jsonText(answer string) json.RawMessage {
	raw, _ := json.Marshal(answer) // a text
	return raw
}
