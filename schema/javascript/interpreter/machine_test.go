package interpreter

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/javascript"
)

func prepared(t testing.TB) *machine {
	t.Helper()
	m, err := newMachine()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	return m
}

// TestSameAsNode compares values with what Node.js 22.23 gives.
func TestSameAsNode(t *testing.T) {
	m := prepared(t)
	rows, err := os.Open("testdata/node-22.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	lines := bufio.NewScanner(rows)
	for lines.Scan() {
		var row struct {
			Code, Thrown string
			Value        json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		got := run(m, javascript.Call{Code: javascript.Inline(row.Code, "")})
		if string(got.Value) != string(row.Value) || !strings.HasPrefix(got.Thrown, row.Thrown) || got.Invalid != "" || got.Missing() != nil {
			t.Errorf("%s: %s %+v, in Node.js %s%s", row.Code, got.Value, got, row.Value, row.Thrown)
		}
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
}

// TestAbsent has the names that only a program has, also where the code catches the
// error or asks for the type.
func TestAbsent(t *testing.T) {
	m := prepared(t)
	for code, want := range map[string]string{
		"new Intl.NumberFormat('en').format(1)":                             "Intl",
		"setTimeout(() => 1, 5)":                                            "setTimeout",
		"process.env.HOME":                                                  "process",
		"fetch('https://example.com')":                                      "fetch",
		"Buffer.from('a').toString('base64')":                               "Buffer",
		"require('fs')":                                                     "require",
		"crypto.randomUUID()":                                               "crypto",
		"(() => { try { return fetch } catch (e) { return true } })()":      "fetch",
		"typeof process === 'undefined'":                                    "process",
		"(1234.5).toLocaleString('en-US') === '1,234.5'":                    "Number.toLocaleString",
		"[1234].toLocaleString()":                                           "Number.toLocaleString",
		"new Date(0).toLocaleDateString('en-US')":                           "Date.toLocaleDateString",
		"['b', 'a'].sort((a, b) => a.localeCompare(b)).join()":              "String.localeCompare",
		"'I'.toLocaleLowerCase('tr')":                                       "String.toLocaleLowerCase",
		"new TextDecoder('latin1')":                                         `TextDecoder("latin1")`,
		"new URL('https://münchen.de').host":                                "URL with a host that is not ASCII",
		"new URL('http://[::1]/').host":                                     "URL with an IPv6 address",
		"import('fs').catch(() => 1)":                                       "import",
		"(async () => { await null; return fetch('x') })()":                 "fetch",
		"(async () => { try { await import('fs') } catch { return 1 } })()": "import",
	} {
		got := run(m, javascript.Call{Code: javascript.Inline(code, "output")})
		if got.Absent != want {
			t.Errorf("%s: %+v, want that %s is absent", code, got, want)
		}
	}
	for _, code := range []string{"(() => { const fetch = () => 1; return fetch() })()", "((process) => process)(1)", "(() => { fetch = () => 1; return fetch() })()"} {
		if got := run(m, javascript.Call{Code: javascript.Inline(code, "output")}); string(got.Value) != "1" {
			t.Errorf("%s: %+v, want 1, since the code has the name of its own", code, got)
		}
	}
}

// TestCallsAreApart changes everything that a function can reach; the next one finds
// each built-in object as it was.
func TestCallsAreApart(t *testing.T) {
	m := prepared(t)
	const seen = `(function () {
	const lines = [];
	const walk = (object, path, known) => {
		if (object === null || typeof object !== 'object' && typeof object !== 'function' || known.has(object)) return;
		known.add(object);
		lines.push(path + ' ' + Object.isExtensible(object));
		walk(Object.getPrototypeOf(object), path + '.__proto__', known);
		for (const key of Reflect.ownKeys(object)) {
			const d = Object.getOwnPropertyDescriptor(object, key), name = path + '.' + String(key);
			lines.push(name + ' ' + d.writable + d.configurable + d.enumerable + typeof d.value + (typeof d.value === 'object' || typeof d.value === 'function' ? '' : String(d.value)));
			for (const part of ['value', 'get', 'set']) walk(d[part], name + ':' + part, known);
		}
	};
	walk(globalThis, 'global', new Set());
	return [lines.length, lines.join('\n'), Math.random()];
})`
	before := run(m, javascript.Call{Code: seen})
	var size []any
	if json.Unmarshal(before.Value, &size) != nil || size[0].(float64) < 2000 {
		t.Fatalf("the walk finds %.200s %s, want thousands of properties", before.Value, before.Thrown)
	}
	for _, code := range []string{
		"(function () { left = 1; Array.prototype.map = () => 'mine'; JSON.parse = () => 1; delete globalThis.console; return 1 })",
		"(function () { for (const k of Reflect.ownKeys(globalThis)) { try { delete globalThis[k] } catch {} } return 1 })",
		"(function () { Object.prototype.toJSON = () => 'x'; Function.prototype.call = null; Promise.prototype.then = null; return 1 })",
		"(function () { Object.freeze(Array.prototype); Object.preventExtensions(globalThis); RegExp.prototype.exec = () => null; return 1 })",
		"(function () { Object.setPrototypeOf(Array.prototype, {odd: 1}); Symbol.for('x'); return Math.random() })",
		"(function () { throw new Error('no') })",
		"(function () { const a = []; for (let i = 0; i < 1e5; i++) a.push({i}); return a.length })",
		"(function () { const f = () => f() + 1; return f() })",
		"(function () { globalThis.kept = new Promise(() => {}); return kept })",
		"(function () { return Promise.reject(new Error('x')) })",
		"(function (",
	} {
		_ = run(m, javascript.Call{Code: code})
		if after := run(m, javascript.Call{Code: seen}); string(after.Value) != string(before.Value) {
			t.Errorf("after %s a function finds other names", code)
		}
		_ = run(m, javascript.Call{Code: code, Pure: true})
		if after := run(m, javascript.Call{Code: seen}); string(after.Value) != string(before.Value) {
			t.Errorf("after a pure %s a function finds other names", code)
		}
	}
}

// TestMemoryIsClean: what a call left in memory that was free before is in no buffer or
// array of the next one, whatever its size.
func TestMemoryIsClean(t *testing.T) {
	m := prepared(t)
	for _, pure := range []bool{false, true} {
		_ = run(m, javascript.Call{Pure: pure, Code: "(function () { const kept = []; for (let n = 1; n < 70000; n = n * 3 + 1) for (let i = 0; i < 3; i++) kept.push(new Uint8Array(n).fill(0xaa), 'secret'.repeat(n / 6)); return 1 })"})
		got := run(m, javascript.Call{Pure: pure, Code: "(function () { for (let n = 1; n < 70000; n = n * 3 + 1) for (let i = 0; i < 3; i++) { if (new Uint8Array(n).some((b) => b !== 0) || new Uint8Array(new ArrayBuffer(n)).some((b) => b !== 0) || Object.keys(new Array(n)).length > 0) return n } return 'clean' })"})
		if string(got.Value) != `"clean"` {
			t.Errorf("pure %v: the next call gets %s %s, want memory that is clean", pure, got.Value, got.Thrown)
		}
	}
}

// TestLimits has functions that need too much: their outcome names the limit.
func TestLimits(t *testing.T) {
	m := prepared(t)
	if got := run(m, javascript.Call{Code: "(function () { const f = () => f() + 1; return f() })"}); !got.Deep {
		t.Errorf("a function that calls itself forever gives %+v, want that it is too deep", got)
	}
	if got := run(m, javascript.Call{Code: "(function () { return 'a'.repeat(2 << 20) })"}); !strings.Contains(got.Thrown, "a result of more than") {
		t.Errorf("a large result gives %.100s, want that it is too large", got.Thrown)
	}
	full := prepared(t)
	_ = run(full, javascript.Call{Code: "(function () { const a = []; try { for (;;) a.push('x'.repeat(1 << 20) + a.length) } catch (e) { return 1 } })"})
	if !full.isFull() || !full.isLarge() {
		t.Error("a function without an end of memory is not noticed")
	}
}

// TestClasses has sizes around the borders of the allocator's classes.
func TestClasses(t *testing.T) {
	last := uintptr(0)
	for n := uintptr(1); n <= maxArena+header; n += 1 + n/97 {
		class := classOf(n)
		if class < 0 || class >= classes {
			t.Fatalf("%d bytes are of class %d of %d", n, class, classes)
		}
		size := bytesOf(class)
		if size < n || size < last || size%16 != 0 || size > n+n/4+16 {
			t.Fatalf("%d bytes are of class %d with %d bytes", n, class, size)
		}
		if class > 0 && bytesOf(class-1) >= n {
			t.Fatalf("%d bytes are of class %d, and a smaller one has %d", n, class, bytesOf(class-1))
		}
		last = size
	}
}

func BenchmarkMachine(b *testing.B) {
	m := prepared(b)
	for b.Loop() {
		if out, err := m.call("(function (output, context) { return output.length > 2 && /a+/.test(output) })", `["aaa", {"vars": {}}]`, false); err != nil || out != "vtrue" {
			b.Fatal(out, err)
		}
	}
}

func BenchmarkNewMachine(b *testing.B) {
	for b.Loop() {
		m, err := newMachine()
		if err != nil {
			b.Fatal(err)
		}
		m.close()
	}
}
