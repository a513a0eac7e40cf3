package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestCheck has return values of functions, and their results.
func TestCheck(t *testing.T) {
	half := 0.5
	for _, tt := range []struct {
		code      string
		threshold *float64
		want      functionResult
	}{
		{"output.length > 3", nil, functionResult{Pass: true, Score: 1}},
		{"output === 'x'", nil, functionResult{Reason: "the function returns false"}},
		{"return output.includes('Paris')", nil, functionResult{Pass: true, Score: 1}},
		{"const n = output.split(' ').length;\nreturn n / 10;", nil, functionResult{Given: true, Pass: true, Score: 0.3}},
		{"const n = output.split(' ').length; n / 10", nil, functionResult{Given: true, Pass: true, Score: 0.3}},
		{"let s = 'a;b'; s === \"a;b\";", nil, functionResult{Pass: true, Score: 1}},
		{"0", nil, functionResult{Given: true, Reason: "the function returns 0"}},
		{"0.4", &half, functionResult{Given: true, Score: 0.4, Reason: "the function returns 0.4"}},
		{"0.5", &half, functionResult{Given: true, Pass: true, Score: 0.5}},
		{"5", nil, functionResult{Given: true, Pass: true, Score: 1}},
		{"({pass: false, score: 0.25, reason: ' too long '})", nil, functionResult{Given: true, Score: 0.25, Reason: "too long"}},
		{"({pass: true})", nil, functionResult{Pass: true, Score: 1}},
		{"context.vars.city === 'Paris'", nil, functionResult{Pass: true, Score: 1}},
		{"JSON.parse(output).a === 1", nil, functionResult{Reason: "the function throws SyntaxError: Unexpected token at the start: It is Paris.", Thrown: true}},
		{"/paris/i.test(output) && !/rome/i.test(output)", nil, functionResult{Pass: true, Score: 1}},
		{"output.match(/(?<=is )Paris/) !== null", nil, functionResult{Pass: true, Score: 1}},
	} {
		got, err := checkScript(t.Context(), javaScript{Code: tt.code, Output: jsonText("It is Paris."), Context: json.RawMessage(`{"vars": {"city": "Paris"}}`)}, tt.threshold)
		if strings.HasPrefix(tt.want.Reason, "the function throws SyntaxError") {
			tt.want.Reason = got.Reason
			if !strings.HasPrefix(got.Reason, "the function throws SyntaxError") {
				t.Errorf("%s: %+v, want that it throws", tt.code, got)
			}
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", tt.code, got, err, tt.want)
		}
	}
}

// TestRefused are values and functions that measure nothing: an error, never a
// score of 0.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{"'yes'", "must return true or false, a number, or {pass, score, reason}"},
		{"undefined", "and returns null"},
		{"output.length > 3 &&\n  output.length < 9", "and returns null; code of several lines needs return"},
		{"(output, context) => output.length > 3", "and returns null; write the body of the function alone, which has output and context"},
		{"({score: 1})", "no true or false under `pass`"},
		{"output >", "does not compile"},
		{"require('fs')", "uses require, which only a program has"},
		{"new Intl.NumberFormat('en').format(1) === '1'", "uses Intl, which only a program has"},
		{"(1234.5).toLocaleString() === '1,234.5'", "uses Number.toLocaleString, which only a program has"},
		{"function f() { return f() + 1; }\nreturn f();", "the function calls itself too deeply"},
		{"while (true) {}\nreturn 1;", "takes longer than"},
		{"let s = 'x'.repeat(1 << 28);\nreturn [s, s + 'y', s + 'z'].length;", "needs more memory than"},
		{"/^(?!b)(a+)+$/.test('a'.repeat(60) + '!')", "takes longer than"},
	} {
		got, err := checkScript(t.Context(), javaScript{Code: tt.code, Output: jsonText("")}, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v, want an error with %q", tt.code, got, err, tt.want)
		}
	}
	// The next function is not affected by those before.
	if got, err := checkScript(t.Context(), javaScript{Code: "true"}, nil); err != nil || !got.Pass {
		t.Errorf("after them: %+v, %v, want a pass", got, err)
	}
}

// TestNothingIsWithinReach of a function but the language. A name of Node.js is an error
// even where the code only asks for its type: its answer would be another one there.
func TestNothingIsWithinReach(t *testing.T) {
	for _, name := range []string{"require", "process", "fetch", "setTimeout", "Intl"} {
		_, err := checkScript(t.Context(), javaScript{Code: "typeof " + name + " === 'undefined'"}, nil)
		if err == nil || err.Error() != "the function uses "+name+", which only a program has" {
			t.Errorf("%s: %v, want that only a program has it", name, err)
		}
	}
	for _, name := range []string{"module", "globalThis.Deno", "XMLHttpRequest"} {
		got, err := checkScript(t.Context(), javaScript{Code: "typeof " + name + " === 'undefined'"}, nil)
		if err != nil || !got.Pass {
			t.Errorf("%s: %+v, %v, want that it is undefined", name, got, err)
		}
	}
	// The next function does not see the changes of one before.
	change := javaScript{Code: "JSON.stringify = () => 'true'; globalThis.seen = 1; String.prototype.includes = () => true;\nreturn true;"}
	if _, err := checkScript(t.Context(), change, nil); err != nil {
		t.Errorf("changing what is global: %v", err)
	}
	got, err := checkScript(t.Context(), javaScript{Code: "typeof seen === 'undefined' && !'a'.includes('b')"}, nil)
	if err != nil || !got.Pass {
		t.Errorf("after a change of what is global: %+v, %v, want that it is gone", got, err)
	}
}

// TestChanceIsTheSame each time.
func TestChanceIsTheSame(t *testing.T) {
	var first string
	for i := range 3 {
		got, err := transformScript(t.Context(), javaScript{Code: "Math.random()"})
		if err != nil || i > 0 && string(got) != first {
			t.Errorf("Math.random gives %s, %v, want %s", got, err, first)
		}
		first = string(got)
	}
}

func TestTransform(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{"output.toUpperCase()", `"HELLO"`},
		{"({a: output, n: 1})", `{"a":"hello","n":1}`},
		{"42", "42"},
	} {
		if got, err := transformScript(t.Context(), javaScript{Code: tt.code, Output: jsonText("hello")}); err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.code, got, err, tt.want)
		}
	}
	for _, code := range []string{"output.nope.x", "null", "undefined", "const x = output;\nx;"} {
		if got, err := transformScript(t.Context(), javaScript{Code: code, Output: jsonText("hello")}); err == nil {
			t.Errorf("the transform %s gives %s, want an error", code, got)
		}
	}
	_, err := transformScript(t.Context(), javaScript{Code: "new Intl.NumberFormat('en').format(1)", Output: jsonText("hello")})
	if err == nil || err.Error() != "the function uses Intl, which only a program has" {
		t.Errorf("a transform with Intl gives %v, want that only a program has it", err)
	}
}

// TestCancelled holds that the end of the context ends a function.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// A child that waits may answer before it is killed, so one try says little.
	for range 100 {
		if _, err := checkScript(t.Context(), javaScript{Code: "true"}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := checkScript(ctx, javaScript{Code: "true"}, nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("a function runs after the end of the context: %v", err)
		}
	}
}

// BenchmarkCheck is one function in a child that waits.
func BenchmarkCheck(b *testing.B) {
	for b.Loop() {
		if _, err := checkScript(b.Context(), javaScript{Code: "output.length > 3", Output: jsonText("It is Paris.")}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
