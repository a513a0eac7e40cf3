// Package pieces takes a report apart so that what two reports have in common
// is stored once.
//
// [Cut] gives a frame and the pieces of the list of cases; [Split.Join] puts them
// together again, byte for byte. [Pack] and [Unpack] make either small.
package pieces

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
)

// A report of an unchanged run costs a row for each piece, and one changed case
// costs one piece.
const (
	usual = 128 // cases in a piece
	most  = 1024
)

// list begins the list of cases of a report.
var list = []byte(`"cases":[`)

// A Split report is a frame with a place between its halves for the pieces,
// which are joined by commas.
type Split struct {
	Before, After []byte
	Pieces        [][]byte
}

// Cut takes a report apart. One whose list of cases is not found is a frame
// alone.
func Cut(report []byte) Split {
	start := bytes.Index(report, list)
	if start < 0 {
		return Split{Before: report}
	}
	start += len(list)
	ends := elements(report[start:])
	if len(ends) == 0 {
		return Split{Before: report}
	}
	s := Split{Before: report[:start], After: report[start+ends[len(ends)-1]:]}
	from, begin, n := 0, 0, 0
	for i, end := range ends {
		n++
		if last(report[start+begin:start+end]) || n == most || i == len(ends)-1 {
			s.Pieces = append(s.Pieces, report[start+from:start+end])
			from, n = end+1, 0 // behind the comma
		}
		begin = end + 1
	}
	return s
}

// Frame is the frame of a report whose list of cases is empty, without pieces:
// those that [Each] makes of the cases belong there. The error is that of a report
// without such a list.
func Frame(report []byte) (Split, error) {
	start := bytes.Index(report, list)
	if start < 0 || !bytes.HasPrefix(report[start+len(list):], []byte("]")) {
		return Split{}, errors.New("the report has no empty list of cases")
	}
	start += len(list)
	return Split{Before: report[:start], After: report[start:]}, nil
}

// Each hands on the pieces that [Cut] would find in a list of these cases, one after
// the other. A piece lasts until the next. The error is the first of cases or do.
func Each(cases iter.Seq2[[]byte, error], do func(piece []byte) error) error {
	var piece []byte
	n := 0
	for element, err := range cases {
		if err != nil {
			return err
		}
		if n > 0 {
			piece = append(piece, ',')
		}
		piece = append(piece, element...)
		if n++; last(element) || n == most {
			if err := do(piece); err != nil {
				return err
			}
			piece, n = piece[:0], 0
		}
	}
	if n == 0 {
		return nil
	}
	return do(piece)
}

// last reports whether a piece ends with a case. The beginning of the case
// decides, which is its key, so that a case that is added moves few ends.
func last(element []byte) bool {
	key, _, _ := bytes.Cut(element, []byte(","))
	h := fnv.New32a()
	_, _ = h.Write(key) // it never fails
	return h.Sum32()%usual == 0
}

// elements are the ends of the elements of a list that begins where data does,
// none where the list is empty or does not end.
func elements(data []byte) []int {
	var ends []int
	depth, text := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ']'):
			if i == 0 {
				return nil
			}
			if ends = append(ends, i); c == ']' {
				return ends
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// Join is the report that was taken apart.
func (s Split) Join() []byte {
	return bytes.Join([][]byte{s.Before, bytes.Join(s.Pieces, []byte(",")), s.After}, nil)
}

// Frame is what is left of the report without the pieces. [Framed] reads it.
func (s Split) Frame() []byte {
	return fmt.Appendf(nil, "%d\n%s%s", len(s.Before), s.Before, s.After)
}

// Framed is a report without its pieces, made of what [Split.Frame] gave.
func Framed(frame []byte) (Split, error) {
	var n int
	head, rest, ok := bytes.Cut(frame, []byte("\n"))
	if _, err := fmt.Sscan(string(head), &n); !ok || err != nil || n < 0 || n > len(rest) {
		return Split{}, fmt.Errorf("the frame of a report begins with %.20q and not with a length", head)
	}
	return Split{Before: rest[:n], After: rest[n:]}, nil
}

// A packer makes data small.
type packer struct {
	*flate.Writer
	out bytes.Buffer
}

// idle are the packers that were used, since they are dear to make.
var idle = make(chan *packer, 2)

// newPacker returns an idle one, else a new one.
func newPacker() *packer {
	select {
	case p := <-idle:
		return p
	default:
	}
	p := &packer{}
	var err error
	if p.Writer, err = flate.NewWriter(&p.out, flate.DefaultCompression); err != nil {
		panic(err) // the level is one of the package's own
	}
	return p
}

// Pack makes data small.
func Pack(data []byte) []byte {
	p := newPacker()
	p.Reset(&p.out)
	// Nothing that is written to memory fails.
	_, _ = p.Write(data)
	_ = p.Close()
	packed := p.out.Bytes()
	p.out = bytes.Buffer{} // the caller has it now
	select {
	case idle <- p:
	default:
	}
	return packed
}

// maxBytes bounds what one packed piece may become.
const maxBytes = 1 << 30

// Unpack is what [Pack] made small.
func Unpack(packed []byte) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	return data, err
}
