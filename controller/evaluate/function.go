package evaluate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gavel-evals/gavel/schema/evaluator"
)

// callFunction runs the program of a function on an answer, which is JSON, and reads what it
// returns, as [readResult] does. The error is that of the program, or says that programs is
// nil.
func callFunction(ctx context.Context, spec evaluator.Function, answer json.RawMessage, programs Programs) (functionResult, error) {
	if programs == nil {
		return functionResult{}, fmt.Errorf("programs are not run here: %s is not started", spec.Argv[0])
	}
	stdin, err := json.Marshal(map[string]any{"output": answer, "context": spec.Context, "code": spec.Code, "config": spec.Config})
	if err != nil {
		return functionResult{}, err
	}
	printed, err := programs(ctx, Start{Program: spec.Program, Stdin: stdin})
	if err != nil {
		return functionResult{}, err
	}
	return readResult(printed, spec.Threshold)
}

// transform returns what the steps of transforms make of an answer: any value as JSON, which
// the next step is given. The error is that of [transformScript].
func transform(ctx context.Context, spec evaluator.Transformed, answer string) (json.RawMessage, error) {
	value := jsonText(answer)
	for _, code := range spec.Steps {
		var err error
		if value, err = transformScript(ctx, javaScript{Code: code, Output: value, Context: spec.Context}); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// jsonText is an answer as functions are given it.
func jsonText(answer string) json.RawMessage {
	raw, _ := json.Marshal(answer) // a text
	return raw
}
