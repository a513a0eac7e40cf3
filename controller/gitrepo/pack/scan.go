package pack

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// An object is an object of a pack.
type object struct {
	offset, data int64 // start of the object and of its compressed bytes
	size         int64 // inflated; for a delta its own size until it is resolved
	hash         plumbing.Hash
	crc          uint32
	kind         plumbing.ObjectType
	delta        bool // stored as a delta
	// child is the first delta that builds on it, next the next delta of the same base;
	// -1 for none.
	child, next int32
}

// An indexer lists the objects of a pack.
type indexer struct {
	ctx      context.Context // the Writer's
	most     Bounds
	file     *os.File
	objects  []object
	checksum plumbing.Hash
	// refs are deltas whose base is not found yet, by the base's hash.
	refs     map[plumbing.Hash][]int32
	inflated int64
}

// scan reads the whole pack: the position of each object, and its hash unless it is a
// delta.
func (ix *indexer) scan() error {
	in := &reader{ctx: ix.ctx, in: ix.file, sum: sha1.New(), crc: crc32.NewIEEE()}
	if _, err := ix.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var head [12]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return truncated(err)
	}
	version, count := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
	if !bytes.Equal(head[:4], []byte("PACK")) || version != 2 {
		return malformed("it does not begin as one of version 2")
	}
	if int64(count) > int64(ix.most.Objects) {
		return passed(int64(ix.most.Objects), "%d objects are new", count)
	}
	inflate := &inflater{}
	for range count {
		if err := ix.next(in, inflate); err != nil {
			return truncated(err)
		}
	}
	in.flush()
	copy(ix.checksum[:], in.sum.Sum(nil))
	var written plumbing.Hash
	if _, err := io.ReadFull(in, written[:]); err != nil {
		return truncated(err)
	}
	if written != ix.checksum {
		return malformed("its checksum is not that of its bytes")
	}
	return nil
}

func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed("it ends too early")
	}
	return err
}

// next reads one object.
func (ix *indexer) next(in *reader, inflate *inflater) error {
	in.flush()
	in.crc.Reset()
	o := object{offset: in.offset(), child: -1, next: -1}
	base, err := ix.header(in, &o)
	if err != nil {
		return err
	}
	o.data, o.delta = in.offset(), isDelta(o.kind)
	if err := ix.allow(o.kind, o.size, o.delta); err != nil {
		return err
	}
	if err := ix.content(in, inflate, &o); err != nil {
		return err
	}
	in.flush()
	o.crc = in.crc.Sum32()
	i := int32(len(ix.objects))
	if base >= 0 {
		o.next, ix.objects[base].child = ix.objects[base].child, i
	}
	ix.objects = append(ix.objects, o)
	return nil
}

// header reads an object's header and returns the base of a delta, or -1 if it is
// unknown.
func (ix *indexer) header(in *reader, o *object) (base int32, err error) {
	c, err := in.ReadByte()
	if err != nil {
		return -1, err
	}
	o.kind, o.size = plumbing.ObjectType(c>>4&7), int64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = in.ReadByte(); err != nil {
			return -1, err
		}
		if shift > 55 {
			return -1, malformed("the size of an object does not fit")
		}
		o.size |= int64(c&0x7f) << shift
	}
	switch o.kind {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		return -1, nil
	case plumbing.REFDeltaObject:
		var name plumbing.Hash
		_, err := io.ReadFull(in, name[:])
		ix.refs[name] = append(ix.refs[name], int32(len(ix.objects)))
		return -1, err
	case plumbing.OFSDeltaObject:
		return ix.baseDistance(in, o.offset)
	}
	return -1, malformed("an object is of no known type")
}

// baseDistance reads the distance from an offset back to the base.
func (ix *indexer) baseDistance(in *reader, offset int64) (int32, error) {
	c, err := in.ReadByte()
	back := int64(c & 0x7f)
	for err == nil && c&0x80 != 0 {
		if back >= 1<<54 {
			return -1, malformed("a delta points too far back")
		}
		c, err = in.ReadByte()
		back = (back+1)<<7 | int64(c&0x7f)
	}
	if err != nil {
		return -1, err
	}
	i, ok := slices.BinarySearchFunc(ix.objects, offset-back, func(o object, at int64) int { return int(min(max(o.offset-at, -1), 1)) })
	if !ok {
		return -1, malformed("a delta builds on what is not an object")
	}
	return int32(i), nil
}

// content inflates an object to its end, and hashes it unless it is a delta.
func (ix *indexer) content(in *reader, inflate *inflater, o *object) error {
	from, err := inflate.reset(in)
	if err != nil {
		return err
	}
	if o.delta {
		sizes := &prefix{}
		if err := copyExactly(sizes, from, o.size); err != nil {
			return err
		}
		_, target, err := sizes.read()
		if err != nil {
			return err
		}
		return ix.allow(o.kind, target, true)
	}
	hasher := plumbing.NewHasher(o.kind, o.size)
	if err := copyExactly(hasher, from, o.size); err != nil {
		return err
	}
	o.hash = hasher.Sum()
	return nil
}

// allow checks the size of an object, or of a delta, against the bounds.
func (ix *indexer) allow(kind plumbing.ObjectType, size int64, delta bool) error {
	if ix.inflated += size; ix.inflated > ix.most.Inflated || size > ix.most.Inflated {
		return passed(ix.most.Inflated, "the new objects have more bytes than may be unpacked")
	}
	return ix.fits(kind, size, delta)
}

// fits is allow without counting.
func (ix *indexer) fits(kind plumbing.ObjectType, size int64, delta bool) error {
	switch {
	case size > ix.most.Object:
		return passed(ix.most.Object, "a new object has %d bytes", size)
	case delta && size > ix.most.Delta:
		return passed(ix.most.Delta, "a new object of %d bytes is stored as the difference to another one, or another one as the difference to it", size)
	case kind != plumbing.BlobObject && !isDelta(kind) && size > ix.most.Listed:
		return passed(ix.most.Listed, "a new %s has %d bytes", kind, size)
	}
	return nil
}

func isDelta(kind plumbing.ObjectType) bool {
	return kind == plumbing.OFSDeltaObject || kind == plumbing.REFDeltaObject
}

// copyExactly copies an inflated object, which must have the given size.
func copyExactly(to io.Writer, from io.Reader, size int64) error {
	n, err := io.Copy(to, io.LimitReader(from, size+1))
	if err == nil && n != size {
		err = malformed("an object has %d bytes and says that it has %d", n, size)
	}
	return err
}

// An inflater reuses the buffers of inflating.
type inflater struct{ in io.ReadCloser }

// reset starts inflating; it reads nothing beyond the compressed bytes.
func (f *inflater) reset(in interface {
	io.Reader
	io.ByteReader
}) (io.Reader, error) {
	var err error
	if f.in == nil {
		f.in, err = zlib.NewReader(in)
	} else {
		err = f.in.(zlib.Resetter).Reset(in, nil)
	}
	return damaged{f.in}, compression(err)
}

// damaged reports errors in compressed bytes as malformed.
type damaged struct{ io.Reader }

func (d damaged) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	return n, compression(err)
}

func compression(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum), errors.Is(err, zlib.ErrDictionary), errors.As(err, &corrupt):
		return malformed("an object cannot be inflated: %v", err)
	}
	return err
}

// A reader reads the pack, and hashes what was read of it in large pieces.
type reader struct {
	ctx       context.Context // of the Writer
	in        io.Reader
	sum       hash.Hash
	crc       hash.Hash32
	buffer    [32 << 10]byte
	done      int64 // bytes before the buffer
	at, end   int   // unread bytes
	unchecked int   // start of the bytes not hashed yet
}

func (r *reader) offset() int64 { return r.done + int64(r.at) }

// flush hashes the bytes read so far.
func (r *reader) flush() {
	r.sum.Write(r.buffer[r.unchecked:r.at])
	r.crc.Write(r.buffer[r.unchecked:r.at])
	r.unchecked = r.at
}

func (r *reader) fill() error {
	if r.at < r.end {
		return nil
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.flush()
	r.done += int64(r.end)
	n, err := r.in.Read(r.buffer[:])
	r.at, r.unchecked, r.end = 0, 0, n
	if n > 0 {
		return nil
	}
	return err
}

// ReadByte reads a byte.
func (r *reader) ReadByte() (byte, error) {
	if r.at == r.end {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	c := r.buffer[r.at]
	r.at++
	return c, nil
}

// Read reads from the buffer.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := copy(p, r.buffer[r.at:r.end])
	r.at += n
	return n, nil
}
