package evaluate

import (
	"context"
	"encoding/json"
	"fmt"

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
	keys := []string{"pass", "pass_"} // pass is a keyword of Python
	if spec.Argv[0] == "node" {
		keys = keys[:1]
	}
	return readResult(printed, spec.Threshold, keys...)
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
