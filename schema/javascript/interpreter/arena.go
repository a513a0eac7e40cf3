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

// A chunk is an allocation behind a header with its class. A free one has the address of
// the next free chunk of the class in the first place of the allocation.
const (
	// steps are the classes of up to 128 bytes, one for every 16; the others are four for
	// each power of two. The engine has thousands of small allocations, and all of them are
	// put back before a call.
	steps   = 8
	classes = steps + 4*23
	header  = unsafe.Sizeof(0)
)

// classOf returns the smallest class whose chunks have at least n bytes.
func classOf(n uintptr) int {
	if n <= 16*steps {
		return int((max(n, 1) - 1) / 16) //nolint:gosec // less than steps
	}
	power := bits.Len64(uint64(n-1)) - 1 // 2^power < n ≤ 2^(power+1)
	quarters := (n - 1) >> (power - 2)   // 4 to 7
	return steps + (power-7)*4 + int(quarters) - 4
}

// bytesOf returns how many bytes the chunks of a class have.
func bytesOf(class int) uintptr {
	if class < steps {
		return uintptr(class+1) * 16
	}
	class -= steps
	return uintptr(class%4+5) << (class/4 + 5)
}

// at returns the value at an address outside of Go's memory.
func at[T any](address uintptr) *T { return (*T)(unsafe.Add(nil, address)) }

// newArena returns the address of a new arena, or 0 without memory for it.
func newArena(tls *libc.TLS) uintptr {
	base := libc.Xmalloc(tls, maxArena)
	if base != 0 {
		*at[arena](base) = arena{top: first(base), end: base + maxArena}
	}
	return base
}

// alloc returns n bytes, or 0 if there are none left.
func (a *arena) alloc(n uintptr) uintptr {
	if n > maxArena {
		a.full = true
		return 0
	}
	class := classOf(n + header)
	if p := a.free[class]; p != 0 {
		a.free[class] = *at[uintptr](p)
		return p
	}
	size := bytesOf(class)
	if size > a.end-a.top {
		a.full = true
		return 0
	}
	*at[int](a.top) = class
	a.top += size
	return a.top - size + header
}

// release makes an allocation free.
func (a *arena) release(p uintptr) {
	class := *at[int](p - header)
	*at[uintptr](p) = a.free[class]
	a.free[class] = p
}

// sizeOf returns the bytes of an allocation.
func sizeOf(p uintptr) uintptr { return bytesOf(*at[int](p - header)) - header }

// A part is memory as it was.
type part struct {
	from  uintptr
	bytes []byte
}

// leastGap is how many bytes of a free chunk are worth a part of their own.
const leastGap = 256

// save returns a copy of the arena and of all allocations. The bytes of a free chunk, but for
// its place in the list of its class, are not copied: the engine writes an allocation
// before it reads it.
func (a *arena) save() []part {
	free := map[uintptr]bool{}
	for _, p := range a.free {
		for ; p != 0; p = *at[uintptr](p) {
			free[p] = true
		}
	}
	base := uintptr(unsafe.Pointer(a))
	var parts []part
	keep := func(from, to uintptr) {
		parts = append(parts, part{from, append([]byte(nil), span(from, to-from)...)})
	}
	begun := base
	for p := first(base); p < a.top; p += bytesOf(*at[int](p)) {
		used := p + header + unsafe.Sizeof(p)
		next := p + bytesOf(*at[int](p))
		if free[p+header] && next-used >= leastGap {
			keep(begun, used)
			begun = next
		}
	}
	keep(begun, a.top)
	return parts
}

// restore makes the arena what it was, in which later allocations are free.
func (a *arena) restore(parts []part) {
	for _, p := range parts {
		copy(span(p.from, uintptr(len(p.bytes))), p.bytes)
	}
}

// first returns the address of the first chunk of an arena: an allocation begins at a
// multiple of 16, behind its header.
func first(base uintptr) uintptr {
	return (base+unsafe.Sizeof(arena{})+header+15)&^15 - header
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
