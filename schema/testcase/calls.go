package testcase

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A callFile is one expectation of a call.
type callFile struct {
	Tool       string          `json:"tool"`
	Params     json.RawMessage `json:"expected_params"`
	ShouldCall *bool           `json:"should_call"`
	Mocks      []struct {
		Params   json.RawMessage `json:"expected_params"`
		Response json.RawMessage `json:"response"`
	} `json:"mock_responses"`
	Mock json.RawMessage `json:"mock_response"`
}

func (f callFile) forbidden() bool { return f.ShouldCall != nil && !*f.ShouldCall }

// params returns nil if every call matches: an object without keys demands as little as
// null.
func params(raw json.RawMessage) json.RawMessage {
	if s := string(raw); s == "null" || s == "{}" {
		return nil
	}
	return raw
}

// calls returns the expectations in an order that does not depend on the file's, since
// calls may come in any.
func (c *compiler) calls() []evaluator.CallExpectation {
	var calls []evaluator.CallExpectation
	for i, f := range c.test.Calls {
		if f.forbidden() {
			c.contradiction(i)
		}
		calls = append(calls, evaluator.CallExpectation{Tool: f.Tool, Params: params(f.Params), Forbidden: f.forbidden()})
	}
	slices.SortStableFunc(calls, func(a, b evaluator.CallExpectation) int {
		return cmp.Or(boolOrder(a.Forbidden)-boolOrder(b.Forbidden), cmp.Compare(a.Tool, b.Tool), cmp.Compare(string(a.Params), string(b.Params)))
	})
	evaluator.NumberCalls(calls)
	return calls
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// contradiction warns if the call that an expectation forbids is one that another
// demands: no agent can pass then.
func (c *compiler) contradiction(i int) {
	no := c.test.Calls[i]
	for j, yes := range c.test.Calls {
		if yes.forbidden() || yes.Tool != no.Tool || !isSubset(params(no.Params), params(yes.Params)) {
			continue
		}
		c.Warn("contradiction", fmt.Sprintf("the calls of %s that are forbidden here are wanted in line %d", no.Tool, c.Doc.At("expected_tool_calls", j).Line),
			"narrow its expected_params, or remove one of the two", "expected_tool_calls", i, "should_call")
		return
	}
}

// isSubset reports whether a call that has all of b has all of a as well.
func isSubset(a, b json.RawMessage) bool {
	if a == nil {
		return true
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && contained(x, y)
}

// decode keeps the digits of numbers, which are in canonical form.
func decode(raw json.RawMessage) (value any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err = dec.Decode(&value)
	return value, err
}

// contained compares deeply, listed keys only.
func contained(x, y any) bool {
	a, isObject := x.(map[string]any)
	b, both := y.(map[string]any)
	if !isObject || !both {
		return reflect.DeepEqual(x, y)
	}
	for key, want := range a {
		if got, ok := b[key]; !ok || !contained(want, got) {
			return false
		}
	}
	return true
}

// mocks returns the mocks sorted by tool; mocks of one tool keep the file's order,
// which decides which answers first.
func (c *compiler) mocks() []schema.CallMock {
	var mocks []schema.CallMock
	agent := c.Settings.Targets[c.Settings.DefaultTarget].Agent
	for i, f := range c.test.Calls {
		const single = "mock_response"
		form, hasOne := "mock_responses", c.Doc.Has("expected_tool_calls", i, single)
		if hasOne {
			form = single
		}
		switch {
		case hasOne && len(f.Mocks) > 0:
			c.Fail("both-forms", "`mock_responses` and `mock_response` are two forms of the same", "remove one of them", "expected_tool_calls", i, single)
		case agent && (hasOne || len(f.Mocks) > 0):
			c.Warn("mocks-unused", fmt.Sprintf("the target %s runs its tools itself: these answers never reach it", c.Settings.DefaultTarget),
				"remove them, or name another target", "expected_tool_calls", i, form)
		}
		if hasOne {
			mocks = append(mocks, schema.CallMock{Tool: f.Tool, Params: params(f.Params), Response: f.Mock})
		}
		for _, m := range f.Mocks {
			mocks = append(mocks, schema.CallMock{Tool: f.Tool, Params: params(m.Params), Response: m.Response})
		}
	}
	slices.SortStableFunc(mocks, func(a, b schema.CallMock) int { return cmp.Compare(a.Tool, b.Tool) })
	return mocks
}
