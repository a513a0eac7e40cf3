package forge

import (
	"errors"
	"io"
	"sync"
)

// chunk is the number of bytes taken at once. A delivery about a pull request has some
// 25 KB.
const chunk = 16 << 10

var (
	// errTooLong reports a body beyond the bound.
	errTooLong = errors.New("the body is too long")
	// errFull means that other bodies currently use all the memory.
	errFull = errors.New("other bodies take all the room")
)

// bounds limit the held bytes, which are at most room and longest together.
type bounds struct {
	// longest bounds a body.
	longest int64
	// large is the size beyond which a body is large. One large body is read at a time.
	large int64
	// room bounds the bytes of all bodies together, without a large body's bytes beyond
	// large.
	room int64
}

// An intake bounds the bodies of all connections. It is safe for concurrent use.
type intake struct {
	cfg   bounds
	spare sync.Pool // of *[chunk]byte

	mu sync.Mutex
	// The fields below are guarded by mu.
	room  int64 // remaining
	large bool  // a large body is being read
	held  int64
	peak  int64
}

// newIntake returns an empty intake.
func newIntake(cfg bounds) *intake {
	return &intake{cfg: cfg, room: cfg.room, spare: sync.Pool{New: func() any { return new([chunk]byte) }}}
}

// peaked returns the bytes held now and their maximum so far.
func (in *intake) peaked() (now, peak int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.held, in.peak
}

// read reads a body of a declared length, -1 if none was declared, and passes each byte
// to sum as it arrives. The caller closes the body. The error is [errTooLong],
// [errFull], or a read error; then nothing is held.
func (in *intake) read(r io.Reader, length int64, sum io.Writer) (*body, error) {
	if length > in.cfg.longest {
		return nil, errTooLong
	}
	b := &body{in: in}
	if length > in.cfg.large && !b.enlarge() {
		return nil, errFull
	}
	for b.size != length {
		room, err := b.next()
		if err == nil {
			var n int
			n, err = r.Read(room)
			b.size += int64(n)
			_, _ = sum.Write(room[:n]) // a hash accepts everything
		}
		switch {
		case b.size > in.cfg.longest:
			b.close()
			return nil, errTooLong
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			b.close()
			return nil, err
		}
	}
	return b, nil
}

// pass passes a body to sum and keeps nothing of it. It returns the errors of
// [intake.read].
func (in *intake) pass(r io.Reader, length int64, sum io.Writer) error {
	if length > in.cfg.longest {
		return errTooLong
	}
	b := &body{in: in}
	defer b.close()
	room, err := b.next()
	if err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{sum}, io.LimitReader(r, in.cfg.longest+1), room)
	if n > in.cfg.longest {
		return errTooLong
	}
	return err
}

// acquire returns another chunk, or nil if there is no room.
func (in *intake) acquire(large bool) *[chunk]byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !large {
		if in.room < chunk {
			return nil
		}
		in.room -= chunk
	}
	in.held += chunk
	in.peak = max(in.peak, in.held)
	return in.spare.Get().(*[chunk]byte)
}

// A body is a held body.
type body struct {
	in     *intake
	size   int64
	chunks []*[chunk]byte
	shared int // chunks that belong to the common room
	large  bool
}

// enlarge makes this the large body, and reports whether it may be.
func (b *body) enlarge() bool {
	b.in.mu.Lock()
	defer b.in.mu.Unlock()
	if b.in.large {
		return false
	}
	b.in.large, b.large = true, true
	return true
}

// next returns the space for the next bytes.
func (b *body) next() ([]byte, error) {
	if at := b.size % chunk; at > 0 || b.size/chunk < int64(len(b.chunks)) {
		return b.chunks[len(b.chunks)-1][at:], nil
	}
	past := b.size >= b.in.cfg.large
	if past && !b.large && !b.enlarge() {
		return nil, errFull
	}
	c := b.in.acquire(past)
	if c == nil {
		return nil, errFull
	}
	b.chunks = append(b.chunks, c)
	if !past {
		b.shared++
	}
	return c[:], nil
}

// bytes returns a copy of the body.
func (b *body) bytes() []byte {
	out := make([]byte, 0, b.size)
	for _, c := range b.chunks {
		out = append(out, c[:min(chunk, b.size-int64(len(out)))]...)
	}
	return out
}

// close releases the body's memory. It may be called more than once.
func (b *body) close() {
	b.in.mu.Lock()
	defer b.in.mu.Unlock()
	for _, c := range b.chunks {
		b.in.spare.Put(c)
	}
	b.in.held -= int64(len(b.chunks)) * chunk
	b.in.room += int64(b.shared) * chunk
	if b.large {
		b.in.large = false
	}
	b.chunks, b.shared, b.size, b.large = nil, 0, 0, false
}
