package interpreter

import (
	"math/bits"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"

	"github.com/gavel-evals/gavel/schema/javascript"
)

// maxArena bounds the memory of the engine, in bytes. The system gives it page by page.
const maxArena = javascript.MaxMemory

// An arena is the memory of the engine: one block, whose beginning is the arena itself.
// Everything that the engine allocates is inside it, and so is the state of the
// allocator, so that a copy of its used part is a copy of the whole machine.
type arena struct {
	// top is the address of the first byte that was never used, and end the first one
	// after the block.
	top, end uintptr
	// full means that an allocation was refused.
	full bool
	// imported means that code imported a module, which is never there.
	imported bool
	// free has the first free chunk of each size class, or 0.
	free [classes]uintptr
}

// A chunk is an allocation with a header: its class, and in a free one the next free
// chunk of the class.
type chunk struct {
	class int
	next  uintptr
}

const (
	// classes are four sizes for each power of two from 64 bytes.
	classes = 4 * 24
	header  = unsafe.Sizeof(chunk{})
)

// classOf returns the smallest class of at least n bytes with its size.
func classOf(n uintptr) (class int, size uintptr) {
	n = max(n, 64)
	power := bits.Len64(uint64(n-1)) - 1 // 2^power < n ≤ 2^(power+1), or n = 2^(power+1)
	step := uintptr(1) << (power - 2)
	quarters := (n - 1) >> (power - 2) // 4 to 7
	return (power-5)*4 + int(quarters) - 4, (quarters + 1) * step
}

// at returns the value at an address outside of Go's memory.
func at[T any](address uintptr) *T { return (*T)(unsafe.Add(nil, address)) }

// newArena returns the address of a new arena, or 0 without memory for it.
func newArena(tls *libc.TLS) uintptr {
	base := libc.Xmalloc(tls, maxArena)
	if base != 0 {
		*at[arena](base) = arena{top: (base + unsafe.Sizeof(arena{}) + 15) &^ 15, end: base + maxArena}
	}
	return base
}

// alloc returns n bytes, or 0 if there are none left.
func (a *arena) alloc(n uintptr) uintptr {
	if n > maxArena {
		a.full = true
		return 0
	}
	class, size := classOf(n)
	if p := a.free[class]; p != 0 {
		a.free[class] = at[chunk](p).next
		return p + header
	}
	if size+header > a.end-a.top {
		a.full = true
		return 0
	}
	p := a.top
	a.top += size + header
	at[chunk](p).class = class
	return p + header
}

// release makes an allocation free.
func (a *arena) release(p uintptr) {
	c := at[chunk](p - header)
	c.next = a.free[c.class]
	a.free[c.class] = p - header
}

// sizeOf returns the bytes of an allocation.
func sizeOf(p uintptr) uintptr {
	class := at[chunk](p - header).class
	return uintptr(class%4+5) << (class/4 + 3)
}

// The functions that the engine allocates with. Its allocator knows the arena by the
// pointer that it hands on.

func engineAlloc(_ *libc.TLS, state uintptr, n lib.Tsize_t) uintptr {
	s := at[lib.TJSMallocState](state)
	p := at[arena](s.Fopaque).alloc(uintptr(n))
	if p != 0 {
		s.Fmalloc_count++
		s.Fmalloc_size += lib.Tsize_t(sizeOf(p))
	}
	return p
}

func engineFree(_ *libc.TLS, state, p uintptr) {
	if p == 0 {
		return
	}
	s := at[lib.TJSMallocState](state)
	s.Fmalloc_count--
	s.Fmalloc_size -= lib.Tsize_t(sizeOf(p))
	at[arena](s.Fopaque).release(p)
}

func engineRealloc(tls *libc.TLS, state, p uintptr, n lib.Tsize_t) uintptr {
	switch {
	case p == 0 && n == 0:
		return 0
	case p == 0:
		return engineAlloc(tls, state, n)
	case n == 0:
		engineFree(tls, state, p)
		return 0
	case uintptr(n) <= sizeOf(p):
		return p
	}
	grown := engineAlloc(tls, state, n)
	if grown != 0 {
		copy(span(grown, sizeOf(p)), span(p, sizeOf(p)))
		engineFree(tls, state, p)
	}
	return grown
}

func engineSize(_ *libc.TLS, p uintptr) lib.Tsize_t {
	if p == 0 {
		return 0
	}
	return lib.Tsize_t(sizeOf(p))
}

// span returns bytes outside of Go's memory.
func span(p, n uintptr) []byte { return unsafe.Slice(at[byte](p), n) }

// pointer returns a Go function as the engine calls it.
func pointer(f any) uintptr {
	return (*[2]uintptr)(unsafe.Pointer(&f))[1]
}
