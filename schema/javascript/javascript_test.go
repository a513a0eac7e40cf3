package javascript_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/javascript/interpreter"
)

func TestMain(m *testing.M) {
	if interpreter.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// TestModule calls functions of files as Node.js would find them.
func TestModule(t *testing.T) {
	for _, tt := range []struct{ name, source, function, want string }{
		{"a module", "module.exports = (n) => n + 1;", "", "2"},
		{"a module with a name", "const add = (n) => n + 1;\nmodule.exports = {add, other: () => 9};", "add", "2"},
		{"the name of exports", "exports.add = function (n) { return n + 1; };", "add", "2"},
		{"a strict module", "'use strict';\n// adds\nmodule.exports = function add(n) { return n + 1; };", "", "2"},
		{"a module that is asynchronous", "module.exports = async (n) => { const m = await Promise.resolve(n); return m + 1; };", "", "2"},
		{"a module of ECMAScript", "export default function (n) { return n + 1; }", "", "2"},
		{"names of ECMAScript", "const one = 1;\nexport const add = (n) => n + one;\nexport async function twice(n) { return 2 * n; }", "twice", "2"},
		{"a list of ECMAScript", "const add = (n) => n + 1;\nexport { add, add as plus };\n", "plus", "2"},
		{"a console", "module.exports = (n) => { console.log('n is', n); console.error(n); return n + 1; };", "", "2"},
		{"a name that is not there", "module.exports = {other: () => 9};", "add", "throws TypeError: the file exports no function add"},
		{"no function", "module.exports = {a: 1};", "", "throws TypeError: the file exports no function"},
		{"modules of others", "const fs = require('fs');\nmodule.exports = () => 1;", "", "the function uses require, which only a program has"},
		{"imports", "import fs from 'fs';\nexport default () => 1;", "", "the function uses import, which only a program has"},
		{"a syntax error", "module.exports = (n) => n +;", "", "does not compile"},
		{"the clock", "module.exports = () => new Date().getFullYear();", "", "throws TypeError: there is no clock while definitions are compiled; write the date into a variable"},
		{"Date.now", "module.exports = () => Date.now();", "", "there is no clock"},
		{"a date that is written", "module.exports = () => new Date('2024-05-06T00:00:00Z').getUTCFullYear();", "", "2024"},
		{"chance", "module.exports = () => Math.random();", "", "there is no random number"},
		{"a promise without an end", "module.exports = () => new Promise(() => {});", "", "throws a promise that nothing resolves"},
		{"a rejection", "module.exports = async () => { throw new Error('no'); };", "", "throws Error: no"},
	} {
		got, err := (*javascript.Budget)(nil).Run(t.Context(), javascript.Call{Code: javascript.Module(tt.source, tt.function), Args: []json.RawMessage{json.RawMessage("1")}, Pure: true})
		if said := errorOr(got, err); !strings.Contains(said, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, said, tt.want)
		}
	}
}

// TestValue has exports of a file that need not be functions.
func TestValue(t *testing.T) {
	for _, tt := range []struct{ source, function, want string }{
		{"module.exports = [1, 2];", "", "[1,2]"},
		{"module.exports = {rows: [3]};", "rows", "[3]"},
		{"export default [4];", "", "[4]"},
		{"module.exports = () => [5];", "", "[5]"},
		{"module.exports = {rows: async () => [6]};", "rows", "[6]"},
	} {
		got, err := (*javascript.Budget)(nil).Run(t.Context(), javascript.Call{Code: javascript.Value(tt.source, tt.function), Pure: true})
		if said := errorOr(got, err); said != tt.want {
			t.Errorf("%s: %s, want %s", tt.source, said, tt.want)
		}
	}
}

func errorOr(value json.RawMessage, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(value)
}

// TestBudget: after some calls that never end, none is made.
func TestBudget(t *testing.T) {
	budget := javascript.NewBudget()
	endless := javascript.Call{Code: javascript.Inline("while (true) {}\nreturn 1", "vars")}
	for range 3 {
		if _, err := budget.Run(t.Context(), endless); err == nil || !strings.Contains(err.Error(), "takes longer than") {
			t.Fatalf("a function without an end gives %v, want that it takes too long", err)
		}
	}
	if _, err := budget.Run(t.Context(), javascript.Call{Code: javascript.Inline("1", "")}); err == nil || !strings.Contains(err.Error(), "take too long together") {
		t.Errorf("the next call gives %v, want that none is made", err)
	}
}

// BenchmarkRun is one call in a child that waits.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := javascript.Run(b.Context(), javascript.Call{Code: javascript.Inline("1", "")}); err != nil {
			b.Fatal(err)
		}
	}
}
