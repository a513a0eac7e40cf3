package ledger

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
)

// Reports are stored in pieces, so that the common parts of two reports are stored
// once. The report of an unchanged run costs a row for each piece, and one changed case
// costs one piece.
const (
	usualPiece   = 128 // cases in a piece
	largestPiece = 1024
)

// caseList begins the list of cases of a report, and noProblems is a list of no problems.
var (
	caseList   = []byte(`"cases":[`)
	noProblems = []byte(`"problems":[]`)
)

// A splitReport is a report cut into a frame of two halves and the pieces between them,
// which commas join.
type splitReport struct {
	Before, After []byte
	Pieces        [][]byte
}

// cutReport cuts a report into frame and pieces. A report without a list of cases is a
// frame alone.
func cutReport(report []byte) splitReport {
	start := bytes.Index(report, caseList)
	if start < 0 {
		return splitReport{Before: report}
	}
	start += len(caseList)
	ends := elementEnds(report[start:])
	if len(ends) == 0 {
		return splitReport{Before: report}
	}
	s := splitReport{Before: report[:start], After: report[start+ends[len(ends)-1]:]}
	from, begin, n := 0, 0, 0
	for i, end := range ends {
		n++
		if endsPiece(report[start+begin:start+end]) || n == largestPiece || i == len(ends)-1 {
			s.Pieces = append(s.Pieces, report[start+from:start+end])
			from, n = end+1, 0 // behind the comma
		}
		begin = end + 1
	}
	return s
}

// frameReport returns the frame of a report whose list of cases is empty. The pieces that
// [eachPiece] makes belong into it. A report without such a list is an error.
func frameReport(report []byte) (splitReport, error) {
	start := bytes.Index(report, caseList)
	if start < 0 || !bytes.HasPrefix(report[start+len(caseList):], []byte("]")) {
		return splitReport{}, errors.New("the report has no empty list of cases")
	}
	start += len(caseList)
	return splitReport{Before: report[:start], After: report[start:]}, nil
}

// eachPiece calls do for each piece that [cutReport] would find in a list of these cases,
// without building the list. A piece is valid until the next call. The error is the first
// of cases or do.
func eachPiece(cases iter.Seq2[[]byte, error], do func(piece []byte) error) error {
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
		if n++; endsPiece(element) || n == largestPiece {
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

// endsPiece reports whether a piece ends with a case. The key of the case decides, so that
// an added case moves few ends. CRC-32 spreads keys that differ in a few digits.
func endsPiece(element []byte) bool {
	key, _, _ := bytes.Cut(element, []byte(","))
	return crc32.ChecksumIEEE(key)%usualPiece == 0
}

// elementEnds returns the ends of the elements of the list at the beginning of data. It returns
// none if the list is empty or does not end.
func elementEnds(data []byte) []int {
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

// Join returns the whole report.
func (s splitReport) Join() []byte {
	return bytes.Join([][]byte{s.Before, bytes.Join(s.Pieces, []byte(",")), s.After}, nil)
}

// packFrame compresses the report without its pieces, and with the problems, unless they are
// nil, in its empty list of problems. [parseFrame] reads it after [inflate]. The error is the
// first of problems, or says that the report has no such list.
func (s splitReport) packFrame(problems iter.Seq2[[]byte, error]) ([]byte, error) {
	p := newPacker()
	_, _ = fmt.Fprintf(p, "%d\n", len(s.Before))
	_, _ = p.Write(s.Before)
	rest := s.After
	if problems != nil {
		end := bytes.Index(rest, noProblems) + len(noProblems) - 1
		if end < len(noProblems)-1 {
			return nil, errors.New("the report has no empty list of problems")
		}
		_, _ = p.Write(rest[:end])
		rest = rest[end:]
		var comma []byte
		for problem, err := range problems {
			if err != nil {
				return nil, err
			}
			_, _ = p.Write(comma)
			_, _ = p.Write(problem)
			comma = []byte(",")
		}
	}
	_, _ = p.Write(rest)
	return p.packed(), nil
}

// parseFrame reads what [splitReport.packFrame] compressed.
func parseFrame(frame []byte) (splitReport, error) {
	var n int
	head, rest, ok := bytes.Cut(frame, []byte("\n"))
	if _, err := fmt.Sscan(string(head), &n); !ok || err != nil || n < 0 || n > len(rest) {
		return splitReport{}, fmt.Errorf("the frame of a report begins with %.20q and not with a length", head)
	}
	return splitReport{Before: rest[:n], After: rest[n:]}, nil
}

// A packer compresses what is written to it. Nothing that is written to memory fails.
type packer struct {
	*flate.Writer
	out bytes.Buffer
}

// idlePackers keeps used packers, which are expensive to make.
var idlePackers = make(chan *packer, 2)

// newPacker returns an idle packer or a new one.
func newPacker() *packer {
	select {
	case p := <-idlePackers:
		p.Reset(&p.out)
		return p
	default:
	}
	p := &packer{}
	var err error
	if p.Writer, err = flate.NewWriter(&p.out, flate.DefaultCompression); err != nil {
		panic(err) // the level is a constant of the package
	}
	return p
}

// packed returns the compressed data, and keeps the packer for the next.
func (p *packer) packed() []byte {
	_ = p.Close()
	packed := p.out.Bytes()
	p.out = bytes.Buffer{} // the caller has it now
	select {
	case idlePackers <- p:
	default:
	}
	return packed
}

// deflate compresses data.
func deflate(data []byte) []byte {
	p := newPacker()
	_, _ = p.Write(data)
	return p.packed()
}

// maxInflated bounds the size of an inflated piece.
const maxInflated = 1 << 30

// inflate returns the data that [deflate] compressed.
func inflate(packed []byte) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxInflated+1))
	if err == nil && len(data) > maxInflated {
		err = fmt.Errorf("it has more than %d bytes", maxInflated)
	}
	return data, err
}
