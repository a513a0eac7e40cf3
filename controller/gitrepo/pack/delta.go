package pack

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
)

// A frame is an object between a base and the deltas that build on it.
type frame struct {
	object  int32
	content content
	next    int32 // the next delta, -1 for none
	chain   int64 // bytes of the deltas up to this object
}

// resolve computes the objects of the deltas. It descends from each whole object to the
// deltas that build on it, so that each is computed once.
func (ix *indexer) resolve(s *scratch) error {
	p := &patcher{indexer: ix, scratch: s, in: bufio.NewReaderSize(nil, 32<<10), delta: bufio.NewReaderSize(nil, 4<<10)}
	left := 0
	for i := range ix.objects {
		if ix.objects[i].delta {
			left++
		}
	}
	for i := range ix.objects {
		o := &ix.objects[i]
		if o.delta {
			continue
		}
		ix.adopt(int32(i))
		if o.child < 0 {
			continue
		}
		n, err := p.family(int32(i))
		if err != nil {
			return truncated(err)
		}
		left -= n
	}
	if left > 0 {
		return malformed("%d deltas build on objects that are not in it", left)
	}
	return nil
}

// adopt links an object with the deltas that name it.
func (ix *indexer) adopt(i int32) {
	o := &ix.objects[i]
	for _, child := range ix.refs[o.hash] {
		ix.objects[child].next, o.child = o.child, child
	}
	delete(ix.refs, o.hash)
}

// A patcher applies deltas.
type patcher struct {
	*indexer
	*scratch
	inflater
	in, delta *bufio.Reader
}

// family computes everything that builds on an object, and returns the count.
func (p *patcher) family(root int32) (made int, err error) {
	whole, err := p.whole(root)
	if err != nil {
		return 0, err
	}
	path := []frame{{root, whole, p.objects[root].child, 0}}
	for len(path) > 0 {
		if err := p.ctx.Err(); err != nil {
			return made, err
		}
		top := &path[len(path)-1]
		child := top.next
		if child < 0 {
			p.release(top.content)
			path = path[:len(path)-1]
			continue
		}
		top.next = p.objects[child].next
		below := frame{object: child, chain: top.chain + p.objects[child].size}
		if len(path) > p.most.Depth {
			return made, passed(int64(p.most.Depth), "%d new objects are each stored as the difference to the one before", len(path))
		}
		if below.chain > p.most.Delta {
			return made, passed(p.most.Delta, "a new object is stored as differences of %d bytes", below.chain)
		}
		if below.content, err = p.patch(*top, child); err != nil {
			return made, err
		}
		made++
		p.adopt(child)
		below.next = p.objects[child].child
		path = append(path, below)
	}
	return made, nil
}

// whole inflates a base object.
func (p *patcher) whole(i int32) (content, error) {
	o := p.objects[i]
	if err := p.fits(o.kind, o.size, true); err != nil {
		return content{}, err
	}
	from, err := p.inflate(o)
	if err != nil {
		return content{}, err
	}
	c, into := p.reserve(o.size)
	if err := copyExactly(into, from, o.size); err != nil {
		return c, err
	}
	return c, into.done(&c)
}

// inflate starts inflating an object.
func (p *patcher) inflate(o object) (io.Reader, error) {
	p.in.Reset(io.NewSectionReader(p.indexer.file, o.data, 1<<62))
	return p.reset(p.in)
}

// patch computes a delta's object, which from then on has its base's kind.
func (p *patcher) patch(base frame, i int32) (content, error) {
	o := &p.objects[i]
	from, err := p.inflate(*o)
	if err != nil {
		return content{}, err
	}
	p.delta.Reset(from)
	was, size, err := sizes(p.delta)
	if err != nil {
		return content{}, err
	}
	o.kind, o.size = p.objects[base.object].kind, size
	if was != base.content.size {
		return content{}, malformed("a delta is one to an object of another size")
	}
	if err := p.fits(o.kind, size, true); err != nil {
		return content{}, err
	}
	c, into := p.reserve(size)
	hasher := plumbing.NewHasher(o.kind, size)
	a := application{patcher: p, base: base.content, to: io.MultiWriter(hasher, into), left: size}
	if err := a.run(); err != nil {
		return c, err
	}
	o.hash = hasher.Sum()
	return c, into.done(&c)
}

// An application follows the instructions of one delta.
type application struct {
	*patcher
	base content
	to   io.Writer
	left int64 // bytes still to be written
}

func (a *application) run() error {
	for {
		op, err := a.delta.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && a.left == 0:
			return nil
		case err != nil:
			return err
		case op == 0:
			return malformed("a delta has an invalid instruction")
		case op&0x80 != 0:
			err = a.copy(op)
		default:
			err = a.insert(int64(op))
		}
		if err != nil {
			return err
		}
	}
}

func (a *application) insert(n int64) error {
	if a.left -= n; a.left < 0 {
		return malformed("a delta makes more than it says")
	}
	_, err := io.CopyN(a.to, a.delta, n)
	return err
}

// copy copies a piece of the base.
func (a *application) copy(op byte) error {
	var at, n int64
	for bit := range 7 {
		if op&(1<<bit) == 0 {
			continue
		}
		c, err := a.delta.ReadByte()
		if err != nil {
			return err
		}
		if bit < 4 {
			at |= int64(c) << (8 * bit)
		} else {
			n |= int64(c) << (8 * (bit - 4))
		}
	}
	if n == 0 {
		n = 0x10000
	}
	if a.left -= n; a.left < 0 || at+n > a.base.size {
		return malformed("a delta copies more than there is")
	}
	if err := a.ctx.Err(); err != nil {
		return err
	}
	return a.send(a.to, a.base, at, n)
}

// sizes reads the sizes of a delta's base and result.
func sizes(in io.ByteReader) (base, target int64, err error) {
	for _, into := range []*int64{&base, &target} {
		for shift := 0; ; shift += 7 {
			c, err := in.ReadByte()
			if err != nil {
				return 0, 0, err
			}
			if shift > 55 {
				return 0, 0, malformed("the size of a delta does not fit")
			}
			*into |= int64(c&0x7f) << shift
			if c&0x80 == 0 {
				break
			}
		}
	}
	return base, target, nil
}

// A prefix keeps the first bytes of its input, enough for two sizes.
type prefix struct {
	bytes [20]byte
	n     int
}

// Write accepts everything.
func (p *prefix) Write(data []byte) (int, error) {
	p.n += copy(p.bytes[p.n:], data)
	return len(data), nil
}

func (p *prefix) read() (base, target int64, err error) {
	base, target, err = sizes(bytes.NewReader(p.bytes[:p.n]))
	if err != nil {
		err = malformed("a delta has no sizes")
	}
	return base, target, err
}

const (
	// inMemory bounds an object that is kept in memory, and allInMemory the sum of
	// them.
	inMemory    = 1 << 20
	allInMemory = 32 << 20
)

// A scratch keeps the objects between a whole one and a delta: small ones in memory,
// the others in a file, each at its end.
type scratch struct {
	dir    string
	file   *os.File
	top    int64
	memory int64
	buffer [32 << 10]byte
}

// A content is a kept object, in memory or in the file.
type content struct {
	data     []byte // nil if in the file
	at, size int64
}

// A keeping writes a content.
type keeping struct {
	scratch *scratch
	buffer  *bytes.Buffer // nil if in the file
	out     *bufio.Writer
	err     error
}

// reserve makes room for an object of the given size.
func (s *scratch) reserve(size int64) (content, *keeping) {
	c := content{size: size}
	if size <= inMemory && s.memory+size <= allInMemory {
		s.memory += size
		return c, &keeping{scratch: s, buffer: bytes.NewBuffer(make([]byte, 0, size))}
	}
	c.at = s.top
	s.top += size
	k := &keeping{scratch: s}
	if s.file == nil {
		s.file, k.err = os.CreateTemp(s.dir, "tmp_delta_")
	}
	k.out = bufio.NewWriterSize(io.NewOffsetWriter(s.file, c.at), 32<<10)
	return c, k
}

// Write appends to an object.
func (k *keeping) Write(p []byte) (int, error) {
	switch {
	case k.err != nil:
		return 0, k.err
	case k.buffer != nil:
		return k.buffer.Write(p)
	}
	return k.out.Write(p)
}

// done ends the writing.
func (k *keeping) done(c *content) error {
	if k.buffer != nil {
		c.data = k.buffer.Bytes()
		return nil
	}
	return k.out.Flush()
}

// release frees the room of the last kept object.
func (s *scratch) release(c content) {
	if c.data != nil {
		s.memory -= c.size
	} else {
		s.top = c.at
	}
}

// send copies a piece of an object.
func (s *scratch) send(to io.Writer, c content, at, n int64) error {
	if c.data != nil {
		_, err := to.Write(c.data[at : at+n])
		return err
	}
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, io.NewSectionReader(s.file, c.at+at, n), s.buffer[:])
	return err
}

func (s *scratch) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), discard(s.file.Name()))
}
