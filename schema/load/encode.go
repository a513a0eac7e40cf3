package load

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/domain"
)

// snapshotMagic begins the encoding and counts up when it changes.
const snapshotMagic = "gavel-snapshot-2\n"

// errSnapshot says that bytes are no snapshot of this version, or damaged.
var errSnapshot = errors.New("decode a snapshot: the bytes are none of this version")

// Encode writes the snapshot for [Decode]. 100,000 definitions take some ten
// megabytes and are read in less time than it takes to look at their files,
// which a general encoding does not achieve.
func (s *Snapshot) Encode() ([]byte, error) {
	var w writer
	// What is rare and of many forms is JSON: problems and names.
	type named struct {
		domain.Name
		File string
	}
	var names []named
	for name, file := range s.names {
		names = append(names, named{name, file})
	}
	slices.SortFunc(names, func(a, b named) int { return strings.Compare(a.File+"\x00"+a.ID, b.File+"\x00"+b.ID) })
	others := map[int][]schema.Problem{}
	for i, r := range s.records {
		if len(r.other) > 0 {
			others[i] = r.other
		}
	}
	rare, err := json.Marshal(rareParts[named]{s.problems, names, others, s.asked})
	if err != nil {
		return nil, err
	}
	w.text(string(rare))
	w.number(len(s.inputs))
	for _, set := range s.inputs {
		w.texts(set)
	}
	w.number(len(s.records))
	for i := range s.records {
		w.record(&s.records[i])
	}
	out := append([]byte(snapshotMagic), w.buf...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out)), nil
}

type rareParts[N any] struct {
	Problems []schema.Problem
	Names    []N
	Others   map[int][]schema.Problem
	Asked    []Asked
}

// A writer puts numbers as varints and texts behind their length.
type writer struct{ buf []byte }

func (w *writer) number(n int) { w.buf = binary.AppendUvarint(w.buf, uint64(n)) }

func (w *writer) text(s string) {
	w.number(len(s))
	w.buf = append(w.buf, s...)
}

func (w *writer) texts(list []string) {
	w.number(len(list))
	for _, s := range list {
		w.text(s)
	}
}

// The bits of a record or a case.
const (
	bitBad = 1 << iota
	bitSkipped
	bitDerived // the key is the file's path from some byte on, without extension
)

func (w *writer) record(r *record) {
	w.text(r.file)
	w.text(r.dialect)
	w.number(r.inputs)
	flags := 0
	if r.bad {
		flags = bitBad
	}
	w.number(flags)
	w.texts(r.ids)
	w.number(len(r.needs))
	for _, n := range r.needs {
		for _, part := range []int{n.asked, n.line, n.column, n.cases} {
			w.number(part)
		}
	}
	w.number(len(r.cases))
	for _, c := range r.cases {
		flags := 0
		if c.skipped {
			flags = bitSkipped
		}
		if base := stem(r.file); strings.HasSuffix(base, c.key) {
			w.number(flags | bitDerived)
			w.number(len(base) - len(c.key))
			continue
		}
		w.number(flags)
		w.text(c.key)
	}
}

// Decode reads what Encode wrote. Bytes that are damaged or of another version
// are an error.
func Decode(data []byte) (*Snapshot, error) {
	body := len(data) - 4
	if body < len(snapshotMagic) || string(data[:len(snapshotMagic)]) != snapshotMagic ||
		crc32.ChecksumIEEE(data[:body]) != binary.BigEndian.Uint32(data[body:]) {
		return nil, errSnapshot
	}
	r := reader{rest: string(data[len(snapshotMagic):body])}
	var rare rareParts[struct{ Root, Kind, ID, File string }]
	if err := json.Unmarshal([]byte(r.text()), &rare); err != nil {
		return nil, errSnapshot
	}
	s := &Snapshot{problems: rare.Problems, asked: rare.Asked, names: make(map[domain.Name]string, len(rare.Names))}
	for _, n := range rare.Names {
		s.names[domain.Name{Root: n.Root, Kind: n.Kind, ID: n.ID}] = n.File
	}
	for range r.count() {
		s.inputs = append(s.inputs, r.texts())
	}
	n := r.count()
	s.records = make([]record, 0, n)
	r.cases, r.ids = make([]caseRecord, 0, n), make([]string, 0, n)
	for range n {
		s.records = append(s.records, r.record())
	}
	for i, other := range rare.Others {
		if i < 0 || i >= len(s.records) {
			return nil, errSnapshot
		}
		s.records[i].other = other
	}
	for _, rec := range s.records {
		r.bad = r.bad || rec.inputs >= len(s.inputs) || slices.ContainsFunc(rec.needs, func(n needRecord) bool { return n.asked >= len(s.asked) })
	}
	if r.bad || r.rest != "" {
		return nil, errSnapshot
	}
	return s.count(), nil
}

// A reader takes values off a string, whose parts the values share.
type reader struct {
	rest string
	bad  bool
	// cases, ids and needs are those of all records, so that few pieces of memory
	// hold them.
	cases []caseRecord
	ids   []string
	needs []needRecord
}

func (r *reader) number() int {
	var n uint64
	for shift := 0; shift < 35; shift += 7 {
		if r.rest == "" {
			break
		}
		b := r.rest[0]
		r.rest = r.rest[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int(n)
		}
	}
	r.bad, r.rest = true, ""
	return 0
}

// count is a number of things of at least one byte each.
func (r *reader) count() int {
	n := r.number()
	if n > len(r.rest) {
		r.bad, r.rest = true, ""
		return 0
	}
	return n
}

func (r *reader) text() string {
	n := r.count()
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *reader) texts() []string {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *reader) record() record {
	rec := record{file: r.text(), dialect: r.text(), inputs: r.number()}
	rec.bad = r.number()&bitBad != 0
	first := len(r.ids)
	for range r.count() {
		r.ids = append(r.ids, r.text())
	}
	rec.ids = slices.Clip(r.ids[first:])
	begin := len(r.needs)
	for range r.count() {
		r.needs = append(r.needs, needRecord{r.number(), r.number(), r.number(), r.number()})
	}
	rec.needs = slices.Clip(r.needs[begin:])
	from := len(r.cases)
	for range r.count() {
		flags := r.number()
		c := caseRecord{skipped: flags&bitSkipped != 0}
		if flags&bitDerived != 0 {
			base := stem(rec.file)
			c.key = base[min(r.number(), len(base)):]
		} else {
			c.key = r.text()
		}
		r.cases = append(r.cases, c)
	}
	rec.cases = slices.Clip(r.cases[from:])
	return rec
}
