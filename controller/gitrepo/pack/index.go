package pack

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"io"
	"slices"
)

// encode writes the index in git's version 2 format.
func (ix *indexer) encode(to io.Writer) error {
	slices.SortFunc(ix.objects, func(a, b object) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	sum := sha1.New()
	out := bufio.NewWriterSize(io.MultiWriter(to, sum), 64<<10)
	number := func(n uint32) { out.Write(binary.BigEndian.AppendUint32(nil, n)) } //nolint:errcheck // Flush reports it
	out.WriteString("\377tOc")                                                    //nolint:errcheck // Flush reports it
	number(2)
	var upTo [256]uint32
	for _, o := range ix.objects {
		upTo[o.hash[0]]++
	}
	for i, n := range upTo {
		if i > 0 {
			upTo[i] = upTo[i-1] + n
		}
		number(upTo[i])
	}
	for _, o := range ix.objects {
		out.Write(o.hash[:]) //nolint:errcheck // Flush reports it
	}
	for _, o := range ix.objects {
		number(o.crc)
	}
	const far = 1 << 31
	var large []int64
	for _, o := range ix.objects {
		if o.offset < far {
			number(uint32(o.offset))
			continue
		}
		number(far | uint32(len(large)))
		large = append(large, o.offset)
	}
	for _, offset := range large {
		out.Write(binary.BigEndian.AppendUint64(nil, uint64(offset))) //nolint:errcheck // Flush reports it
	}
	out.Write(ix.checksum[:]) //nolint:errcheck // Flush reports it
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := to.Write(sum.Sum(nil))
	return err
}
