// Package packed encodes numbers and texts in few bytes: a number is a varint, a
// text follows its length. Reading takes no memory for the texts.
package packed

import "encoding/binary"

// A Writer appends values to Bytes.
type Writer struct{ Bytes []byte }

// Number appends a number that is not negative.
func (w *Writer) Number(n int) { w.Bytes = binary.AppendUvarint(w.Bytes, uint64(n)) }

// Fixed appends a number in eight bytes.
func (w *Writer) Fixed(n uint64) { w.Bytes = binary.BigEndian.AppendUint64(w.Bytes, n) }

// Text appends a text.
func (w *Writer) Text(s string) {
	w.Number(len(s))
	w.Bytes = append(w.Bytes, s...)
}

// Texts appends a list of texts.
func (w *Writer) Texts(list []string) {
	w.Number(len(list))
	for _, s := range list {
		w.Text(s)
	}
}

// A Reader takes values off Rest, whose memory the texts share. Damaged
// bytes read as zero values and set Bad.
type Reader struct {
	Rest string
	Bad  bool
}

func (r *Reader) fail() {
	r.Bad, r.Rest = true, ""
}

// Number reads a number.
func (r *Reader) Number() int {
	var n uint64
	for shift := 0; shift < 35; shift += 7 {
		if r.Rest == "" {
			break
		}
		b := r.Rest[0]
		r.Rest = r.Rest[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int(n)
		}
	}
	r.fail()
	return 0
}

// Count reads a number of things that follow, of at least one byte each.
func (r *Reader) Count() int {
	n := r.Number()
	if n > len(r.Rest) {
		r.fail()
		return 0
	}
	return n
}

// Fixed reads a number of eight bytes.
func (r *Reader) Fixed() uint64 {
	const size = 8
	if len(r.Rest) < size {
		r.fail()
		return 0
	}
	n := binary.BigEndian.Uint64([]byte(r.Rest[:size]))
	r.Rest = r.Rest[size:]
	return n
}

// Text reads a text.
func (r *Reader) Text() string {
	n := r.Count()
	s := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return s
}

// Texts reads a list of texts; nil if it is empty.
func (r *Reader) Texts() []string {
	n := r.Count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.Text()
	}
	return list
}
