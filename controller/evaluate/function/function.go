// Package function runs functions of a repository on answers: those in JavaScript that
// only compute, and programs. Nobody trusts either.
//
// Most callers want [Check], [Transform] or [Run].
package function

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gavel-evals/gavel/controller/evaluate/suite"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// Run runs the program of a function on an answer, which is JSON, and reads what it
// returns, as [Read] does. The error is that of the program, or says that programs is
// nil.
func Run(ctx context.Context, spec evaluator.Function, answer json.RawMessage, programs suite.Programs) (Result, error) {
	if programs == nil {
		return Result{}, fmt.Errorf("programs are not run here: %s is not started", spec.Argv[0])
	}
	stdin, err := json.Marshal(map[string]any{"output": answer, "context": spec.Context, "code": spec.Code, "config": spec.Config})
	if err != nil {
		return Result{}, err
	}
	printed, err := programs(ctx, suite.Start{Program: spec.Program, Stdin: stdin})
	if err != nil {
		return Result{}, err
	}
	return Read(printed, spec.Threshold)
}

// Apply returns what the steps of transforms make of an answer: any value as JSON, which
// the next step is given. The error is that of [Transform].
func Apply(ctx context.Context, spec evaluator.Transformed, answer string) (json.RawMessage, error) {
	value := Text(answer)
	for _, code := range spec.Steps {
		var err error
		if value, err = Transform(ctx, Script{Code: code, Output: value, Context: spec.Context}); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// Text is an answer as functions are given it.
func Text(answer string) json.RawMessage {
	raw, _ := json.Marshal(answer) // a text
	return raw
}
