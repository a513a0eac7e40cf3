package forge

import (
	"errors"
	"io"
	"sync"
)

// chunk is how many bytes are taken at once. A delivery about a pull request has
// some 25 KB.
const chunk = 16 << 10

var (
	// errTooLong means that a body has more bytes than any may have.
	errTooLong = errors.New("the body is too long")
	// errFull means that other bodies take all the room at this moment.
	errFull = errors.New("other bodies take all the room")
)

// bounds say how much is held. The bytes held at once are at most room and
// longest together.
type bounds struct {
	// longest is how many bytes a body may have.
	longest int64
	// large is how many bytes a body may have before it is large. One large body
	// is read at a time.
	large int64
	// room is how many bytes are held for all bodies together, without those that
	// a large one has past large.
	room int64
}

// An intake bounds the bodies of all connections. It is safe for concurrent use.
type intake struct {
	cfg   bounds
	spare sync.Pool // of *[chunk]byte

	mu sync.Mutex
	// The fields below are guarded by mu.
	room  int64 // that is left
	large bool  // whether one is read
	held  int64
	peak  int64
}

// newIntake makes an intake that holds nothing yet.
func newIntake(cfg bounds) *intake {
	return &intake{cfg: cfg, room: cfg.room, spare: sync.Pool{New: func() any { return new([chunk]byte) }}}
}

// peaked returns how many bytes are held now, and how many were at most.
func (in *intake) peaked() (now, peak int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.held, in.peak
}

// read takes a body of a declared length, -1 where none was declared, and gives
// each byte to sum as it comes. The caller closes the body. The error is
// [errTooLong], [errFull], or one of reading; then nothing is held.
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
			_, _ = sum.Write(room[:n]) // a hash takes all
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

// pass returns a body to sum and keeps nothing of it. The errors are those of
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

// acquire returns one more chunk, or nil if there is no room.
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

// A body is one that is held.
type body struct {
	in     *intake
	size   int64
	chunks []*[chunk]byte
	shared int // how many of the chunks are of the room for all
	large  bool
}

// enlarge makes a body the large one, and reports whether it may be.
func (b *body) enlarge() bool {
	b.in.mu.Lock()
	defer b.in.mu.Unlock()
	if b.in.large {
		return false
	}
	b.in.large, b.large = true, true
	return true
}

// next is where the next bytes go.
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

// close gives back what the body held. It may be called more than once.
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
