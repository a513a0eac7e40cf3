package gittest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

const (
	// piece is the number of bytes that copyPiece copies from the beginning of a
	// delta's base.
	piece      = 64 << 10
	copyPiece  = 0x80
	kindOfBlob = 3
	// kindOfDelta is a delta that names its base by hash.
	kindOfDelta = 7
	// packHeader is a header of version 2 with two objects.
	packHeader = "PACK\x00\x00\x00\x02\x00\x00\x00\x02"
)

// Expanding stores a blob of the given number of 64 KiB pieces as a delta of a single
// piece, and returns both hashes. Both together take some hundred bytes, and the index
// is written here, so that not even git inflates them. Git sends the delta unchanged to
// clients that get both.
func Expanding(tb testing.TB, dir string, pieces int) (small, large string) {
	tb.Helper()
	base := bytes.Repeat([]byte("x"), piece)
	one, all := blobHash(base, 1), blobHash(base, pieces)
	delta := binary.AppendUvarint(nil, piece)
	delta = binary.AppendUvarint(delta, uint64(pieces)*piece)
	delta = append(delta, bytes.Repeat([]byte{copyPiece}, pieces)...)
	p := packing{TB: tb}
	p.WriteString(packHeader)
	p.observe(p.OnHeader(2))
	p.add(kindOfBlob, base, nil, one)
	p.add(kindOfDelta, delta, one[:], all)
	sum := sha1.Sum(p.Bytes())
	p.Write(sum[:])
	p.observe(p.OnFooter(sum))
	index, err := p.Index()
	p.observe(err)
	var idx bytes.Buffer
	_, err = idxfile.NewEncoder(&idx).Encode(index)
	p.observe(err)
	name := filepath.Join(dir, ".git/objects/pack", fmt.Sprintf("pack-%x", sum))
	p.observe(os.MkdirAll(filepath.Dir(name), 0o755))
	p.observe(os.WriteFile(name+".pack", p.Bytes(), 0o444))
	p.observe(os.WriteFile(name+".idx", idx.Bytes(), 0o444))
	return one.String(), all.String()
}

// A packing is a pack under construction, and its index.
type packing struct {
	testing.TB
	bytes.Buffer
	idxfile.Writer
}

func (p *packing) observe(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// add writes an object, optionally with a base.
func (p *packing) add(kind byte, data, base []byte, hash plumbing.Hash) {
	p.Helper()
	at := p.Len()
	// The kind is between the lowest four bits of the size and the others.
	size := binary.AppendUvarint(nil, uint64(len(data)>>4))
	first := kind<<4 | byte(len(data)&0xf)
	if size[0] != 0 {
		first |= 0x80
	} else {
		size = nil
	}
	p.Write(slices.Concat([]byte{first}, size, base))
	deflater := zlib.NewWriter(&p.Buffer)
	_, err := deflater.Write(data)
	p.observe(err)
	p.observe(deflater.Close())
	p.observe(p.OnInflatedObjectContent(hash, int64(at), crc32.ChecksumIEEE(p.Bytes()[at:]), nil))
}

// blobHash returns the hash of a blob that repeats a text.
func blobHash(text []byte, times int) plumbing.Hash {
	hasher := sha1.New()
	fmt.Fprintf(hasher, "blob %d\x00", len(text)*times)
	for range times {
		hasher.Write(text)
	}
	return plumbing.Hash(hasher.Sum(nil))
}
