package interpreter

import (
	_ "embed" // the prelude
	"encoding/json"
	"errors"
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// maxSlots bounds how deep functions call each other: a call takes at least one slot.
const maxSlots = 3000

// keepArena is how many bytes of an arena may be in use after a call for the next one
// to take the same arena.
const keepArena = 32 << 20

//go:embed prelude.js
var prelude string

//go:embed pure.js
var pure string

// A machine is an engine with its built-in names. Before each call its whole memory
// becomes what it was before the first one, so that no call sees another.
type machine struct {
	tls     *libc.TLS
	base    uintptr // the arena
	runtime uintptr
	context uintptr
	// drive calls a function, and outcome returns what came out.
	drive, outcome lib.TJSValue
	// fresh is the used memory before a call; pure is for functions that always return
	// the same.
	fresh, pure []part
}

// allocator has the functions of the arena.
var allocator = lib.TJSMallocFunctions{
	Fjs_malloc: pointer(engineAlloc), Fjs_free: pointer(engineFree), Fjs_realloc: pointer(engineRealloc), Fjs_malloc_usable_size: pointer(engineSize),
}

// newMachine returns a machine that made no call yet.
func newMachine() (*machine, error) {
	m := &machine{tls: libc.NewTLS()}
	if m.base = newArena(m.tls); m.base == 0 {
		m.tls.Close()
		return nil, errors.New("the engine cannot get memory")
	}
	functions := libc.Xmalloc(m.tls, libc.Tsize_t(unsafe.Sizeof(allocator)))
	if functions == 0 {
		return nil, errors.New("the engine cannot get memory")
	}
	defer libc.Xfree(m.tls, functions)
	*at[lib.TJSMallocFunctions](functions) = allocator
	m.runtime = lib.XJS_NewRuntime2(m.tls, functions, m.base)
	lib.XJS_SetMaxStackSize(m.tls, m.runtime, maxSlots)
	lib.XJS_SetModuleLoaderFunc(m.tls, m.runtime, 0, pointer(refuseModule), m.base)
	m.context = lib.XJS_NewContext(m.tls, m.runtime)
	// Less to copy before each call.
	lib.XJS_SetStripInfo(m.tls, m.runtime, lib.MJS_STRIP_SOURCE|lib.MJS_STRIP_DEBUG)
	made, err := m.eval(prelude)
	if err != nil {
		return nil, fmt.Errorf("prepare the engine: %w", err)
	}
	m.drive, m.outcome = m.property(made, "drive"), m.property(made, "outcome")
	lib.XJS_SetStripInfo(m.tls, m.runtime, 0)
	m.fresh = at[arena](m.base).save()
	if _, err := m.eval(pure); err != nil {
		return nil, fmt.Errorf("prepare the engine: %w", err)
	}
	m.pure = at[arena](m.base).save()
	return m, nil
}

// refuseModule is called for a module that code imports.
func refuseModule(tls *libc.TLS, context, _, base uintptr) uintptr {
	at[arena](base).imported = true
	lib.XJS_Throw(tls, context, lib.TJSValue{Ftag: lib.EJS_TAG_UNDEFINED})
	return 0
}

// close releases the memory.
func (m *machine) close() {
	libc.Xfree(m.tls, m.base)
	m.tls.Close()
}

// isLarge reports whether a call took so much memory that the machine should not be
// kept.
func (m *machine) isLarge() bool { return at[arena](m.base).top-m.base > keepArena }

// isFull reports whether an allocation was refused.
func (m *machine) isFull() bool { return at[arena](m.base).full }

// An invalidError is about code that does not compile.
type invalidError struct{ message string }

func (e *invalidError) Error() string { return e.message }

// call calls the function that code is with arguments, a list in JSON. The outcome
// begins with its kind: v and the value as JSON, t and the thrown message, m and the
// name of something that only a program has, p for a promise that nothing resolves.
func (m *machine) call(code, args string, isPure bool) (string, error) {
	before := m.fresh
	if isPure {
		before = m.pure
	}
	at[arena](m.base).restore(before)
	function, err := m.eval(code)
	if err != nil {
		return m.ended(err)
	}
	if _, err := m.invoke(m.drive, function, m.text(args)); err != nil {
		return m.ended(err)
	}
	for lib.XJS_ExecutePendingJob(m.tls, m.runtime, 0) != 0 {
		if m.isFull() {
			break
		}
	}
	return m.ended(nil)
}

// ended returns the outcome of a call, or the error that ended it.
func (m *machine) ended(err error) (string, error) {
	if invalid, ok := errors.AsType[*invalidError](err); ok {
		return "", invalid
	}
	if at[arena](m.base).imported {
		return `m"import"`, nil
	}
	out, outErr := m.invoke(m.outcome)
	if outErr != nil {
		return "", outErr
	}
	said := m.goText(out)
	if err != nil && (said == "" || said[0] != 'm') {
		raw, _ := json.Marshal(err.Error()) // a text
		return "t" + string(raw), nil
	}
	return said, nil
}

// eval evaluates code. The error is an [*invalidError] or what the code throws.
func (m *machine) eval(code string) (lib.TJSValue, error) {
	source, file := m.bytes(code), m.bytes("")
	if source == 0 || file == 0 {
		return lib.TJSValue{}, errors.New("out of memory")
	}
	compiled := lib.XJS_Eval(m.tls, m.context, source, lib.Tsize_t(len(code)), file, lib.MJS_EVAL_FLAG_COMPILE_ONLY)
	at[arena](m.base).release(source)
	if isException(compiled) {
		return compiled, &invalidError{m.thrown()}
	}
	value := lib.XJS_EvalFunction(m.tls, m.context, compiled)
	if isException(value) {
		return value, errors.New(m.thrown())
	}
	return value, nil
}

// invoke calls a function of the prelude.
func (m *machine) invoke(function lib.TJSValue, args ...lib.TJSValue) (lib.TJSValue, error) {
	size := unsafe.Sizeof(lib.TJSValue{})
	list := at[arena](m.base).alloc(size * uintptr(len(args)+1))
	if list == 0 {
		return lib.TJSValue{}, errors.New("out of memory")
	}
	for i, arg := range args {
		*at[lib.TJSValue](list + uintptr(i)*size) = arg
	}
	undefined := lib.TJSValue{Ftag: lib.EJS_TAG_UNDEFINED}
	value := lib.XJS_Call(m.tls, m.context, function, undefined, int32(len(args)), list) //nolint:gosec // at most two
	if isException(value) {
		return value, errors.New(m.thrown())
	}
	return value, nil
}

// thrown returns the exception that is pending as text.
func (m *machine) thrown() string {
	if text := m.goText(lib.XJS_GetException(m.tls, m.context)); text != "" {
		return text
	}
	return "an error without a text"
}

// property returns a property of an object.
func (m *machine) property(object lib.TJSValue, name string) lib.TJSValue {
	return lib.XJS_GetPropertyStr(m.tls, m.context, object, m.bytes(name))
}

// text converts a text to a value.
func (m *machine) text(s string) lib.TJSValue {
	from := m.bytes(s)
	if from == 0 {
		return lib.TJSValue{Ftag: lib.EJS_TAG_UNDEFINED}
	}
	return lib.XJS_NewStringLen(m.tls, m.context, from, lib.Tsize_t(len(s)))
}

// bytes copies a text to the arena and ends it with a zero.
func (m *machine) bytes(s string) uintptr {
	p := at[arena](m.base).alloc(uintptr(len(s)) + 1)
	if p != 0 {
		copy(span(p, uintptr(len(s))), s)
		*at[byte](p + uintptr(len(s))) = 0
	}
	return p
}

// goText converts a value to a text. It is empty if that throws.
func (m *machine) goText(v lib.TJSValue) string {
	length := at[arena](m.base).alloc(8)
	if length == 0 {
		return ""
	}
	p := lib.XJS_ToCStringLen2(m.tls, m.context, length, v, 0)
	if p == 0 {
		return ""
	}
	return string(span(p, uintptr(*at[lib.Tsize_t](length))))
}

func isException(v lib.TJSValue) bool { return int32(v.Ftag) == lib.EJS_TAG_EXCEPTION } //nolint:gosec // as the engine does
