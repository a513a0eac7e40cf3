package load

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/domain"
	"github.com/gavel-evals/gavel/schema/packed"
)

// snapshotMagic begins the encoding and counts up when it changes.
const snapshotMagic = "gavel-snapshot-4\n"

// errSnapshot says that bytes are not a snapshot of this version, or damaged.
var errSnapshot = errors.New("decode a snapshot: the bytes are none of this version")

// Encode writes the snapshot for [Decode], in pieces. Reading takes a fifth of the time
// of encoding/gob, and memory for a few slices instead of for every text, which
// BenchmarkSnapshot shows. The error is out's.
func (s *Snapshot) Encode(out io.Writer) error {
	w := writer{out: out}
	w.Bytes = append(w.Bytes, snapshotMagic...)
	// Rare values are JSON.
	type named struct {
		domain.Name
		File string
	}
	var names []named
	for name, file := range s.names {
		names = append(names, named{name, file})
	}
	slices.SortFunc(names, func(a, b named) int { return strings.Compare(a.File+"\x00"+a.ID, b.File+"\x00"+b.ID) })
	rare, err := json.Marshal(rareParts[named]{names, s.asked})
	if err != nil {
		return err
	}
	w.Text(string(rare))
	w.problems(s.problems)
	w.Number(len(s.inputs))
	for _, set := range s.inputs {
		w.Texts(set)
	}
	w.Number(len(s.records))
	for i := range s.records {
		w.record(&s.records[i])
		w.flush(piece)
	}
	w.flush(0)
	w.Bytes = binary.BigEndian.AppendUint32(w.Bytes, w.sum)
	w.flush(0)
	return w.err
}

type rareParts[N any] struct {
	Names []N
	Asked []Callee
}

// piece is how many bytes are written or summed up at a time.
const piece = 32 << 10

// A writer hands its bytes on from time to time.
type writer struct {
	packed.Writer
	out io.Writer
	sum uint32 // of the written text
	err error  // the first of out
}

// flush hands on the bytes if they exceed a bound.
func (w *writer) flush(most int) {
	if len(w.Bytes) <= most || w.err != nil {
		return
	}
	w.sum = crc32.Update(w.sum, crc32.IEEETable, w.Bytes)
	_, w.err = w.out.Write(w.Bytes)
	w.Bytes = w.Bytes[:0]
}

// checksum returns the checksum of a text without copying it.
func checksum(text string) uint32 {
	var sum uint32
	some := make([]byte, piece)
	for text != "" {
		n := copy(some, text)
		sum = crc32.Update(sum, crc32.IEEETable, some[:n])
		text = text[n:]
	}
	return sum
}

// The bits of a record or a case.
const (
	bitBad = 1 << iota
	bitSkipped
	bitDerived // the key is the file's path from some byte on, without extension
)

func (w *writer) problems(list []schema.Problem) {
	w.Number(len(list))
	for i := range list {
		p := &list[i]
		w.Text(p.File)
		w.Number(p.Line)
		w.Number(p.Column)
		w.Text(string(p.Severity))
		w.Text(p.Rule)
		w.Text(p.Message)
		w.Text(p.Hint)
		w.flush(piece)
	}
}

func (w *writer) record(r *record) {
	w.Text(r.file)
	w.Text(r.dialect)
	w.Text(r.why)
	w.Number(r.inputs)
	flags := 0
	if r.bad {
		flags = bitBad
	}
	w.Number(flags)
	w.problems(r.other)
	w.Texts(r.ids)
	w.Number(len(r.needs))
	for _, n := range r.needs {
		for _, part := range []int{n.asked, n.line, n.column, n.cases} {
			w.Number(part)
		}
	}
	w.Number(len(r.cases))
	for _, c := range r.cases {
		flags := 0
		if c.skipped {
			flags = bitSkipped
		}
		if base := stem(r.file); strings.HasSuffix(base, c.key) {
			w.Number(flags | bitDerived)
			w.Number(len(base) - len(c.key))
		} else {
			w.Number(flags)
			w.Text(c.key)
		}
		w.Text(c.listing)
		w.Text(c.note)
	}
}

// Decode decodes the output of Encode; the Snapshot shares its memory. A damaged text
// or one of another version is an error.
func Decode(text string) (*Snapshot, error) {
	body := len(text) - 4
	if body < len(snapshotMagic) || !strings.HasPrefix(text, snapshotMagic) ||
		checksum(text[:body]) != binary.BigEndian.Uint32([]byte(text[body:])) {
		return nil, errSnapshot
	}
	r := reader{Reader: packed.Reader{Rest: text[len(snapshotMagic):body]}}
	var rare rareParts[struct{ Root, Kind, ID, File string }]
	if err := json.Unmarshal([]byte(r.Text()), &rare); err != nil {
		return nil, errSnapshot
	}
	s := &Snapshot{problems: r.problems(), asked: rare.Asked, names: make(map[domain.Name]string, len(rare.Names))}
	for _, n := range rare.Names {
		s.names[domain.Name{Root: n.Root, Kind: n.Kind, ID: n.ID}] = n.File
	}
	for range r.Count() {
		s.inputs = append(s.inputs, r.Texts())
	}
	n := r.Count()
	s.records = make([]record, 0, n)
	r.cases, r.ids = make([]caseRecord, 0, n), make([]string, 0, n)
	for range n {
		s.records = append(s.records, r.record())
	}
	for _, rec := range s.records {
		r.Bad = r.Bad || rec.inputs >= len(s.inputs) || slices.ContainsFunc(rec.needs, func(n needRecord) bool { return n.asked >= len(s.asked) })
	}
	if r.Bad || r.Rest != "" {
		return nil, errSnapshot
	}
	return s.count(), nil
}

type reader struct {
	packed.Reader
	// cases, ids and needs are shared by all records, so that few pieces of memory hold
	// them.
	cases []caseRecord
	ids   []string
	needs []needRecord
}

// problems returns nil if there are none.
func (r *reader) problems() []schema.Problem {
	n := r.Count()
	if n == 0 {
		return nil
	}
	list := make([]schema.Problem, 0, n)
	for range n {
		list = append(list, schema.Problem{
			Position: schema.Position{File: r.Text(), Line: r.Number(), Column: r.Number()},
			Severity: schema.Severity(r.Text()), Rule: r.Text(), Message: r.Text(), Hint: r.Text(),
		})
	}
	return list
}

func (r *reader) record() record {
	rec := record{file: r.Text(), dialect: r.Text(), why: r.Text(), inputs: r.Number()}
	rec.bad = r.Number()&bitBad != 0
	rec.other = r.problems()
	first := len(r.ids)
	for range r.Count() {
		r.ids = append(r.ids, r.Text())
	}
	rec.ids = slices.Clip(r.ids[first:])
	begin := len(r.needs)
	for range r.Count() {
		r.needs = append(r.needs, needRecord{r.Number(), r.Number(), r.Number(), r.Number()})
	}
	rec.needs = slices.Clip(r.needs[begin:])
	from := len(r.cases)
	for range r.Count() {
		flags := r.Number()
		c := caseRecord{skipped: flags&bitSkipped != 0}
		if flags&bitDerived != 0 {
			base := stem(rec.file)
			c.key = base[min(r.Number(), len(base)):]
		} else {
			c.key = r.Text()
		}
		c.listing, c.note = r.Text(), r.Text()
		r.cases = append(r.cases, c)
	}
	rec.cases = slices.Clip(r.cases[from:])
	return rec
}
