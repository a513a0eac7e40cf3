package load

import (
	"bytes"
	"encoding/gob"
	"io"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/domain"
)

// The parts of a snapshot as encoding/gob can write them.
type (
	gobSnapshot struct {
		Records  []gobRecord
		Inputs   [][]string
		Asked    []Callee
		Problems []schema.Problem
		Names    map[domain.Name]string
	}
	gobRecord struct {
		File, Dialect string
		Cases         []gobCase
		IDs           []string
		Inputs        int
		Bad           bool
		Other         []schema.Problem
		Needs         [][4]int
	}
	gobCase struct {
		Key           string
		Skipped       bool
		Listing, Note string
	}
)

func forGob(s *Snapshot) gobSnapshot {
	g := gobSnapshot{Inputs: s.inputs, Asked: s.asked, Problems: s.problems, Names: s.names}
	for _, r := range s.records {
		rec := gobRecord{File: r.file, Dialect: r.dialect, IDs: r.ids, Inputs: r.inputs, Bad: r.bad, Other: r.other}
		for _, n := range r.needs {
			rec.Needs = append(rec.Needs, [4]int{n.asked, n.line, n.column, n.cases})
		}
		for _, c := range r.cases {
			rec.Cases = append(rec.Cases, gobCase{c.key, c.skipped, c.listing, c.note})
		}
		g.Records = append(g.Records, rec)
	}
	return g
}

// BenchmarkSnapshot writes and reads the snapshot of 10,000 definitions, next
// to the same parts by encoding/gob.
func BenchmarkSnapshot(b *testing.B) {
	const n = 10_000
	s, err := Scan(b.Context(), mixed(n), Options{Settings: settings})
	if err != nil {
		b.Fatal(err)
	}
	for i := range s.records { // a digest and what lists the case
		for j := range s.records[i].cases {
			s.records[i].cases[j].listing = strings.Repeat("l", 60)
			s.records[i].cases[j].note = strings.Repeat("n", 96)
		}
	}
	text := encoded(b, s)
	var general bytes.Buffer
	if err := gob.NewEncoder(&general).Encode(forGob(s)); err != nil {
		b.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		size int
		do   func() error
	}{
		{"write/packed", len(text), func() error { return s.Encode(io.Discard) }},
		{"write/gob", general.Len(), func() error { return gob.NewEncoder(io.Discard).Encode(forGob(s)) }},
		{"read/packed", len(text), func() error { _, err := Decode(text); return err }},
		{"read/gob", general.Len(), func() error {
			return gob.NewDecoder(bytes.NewReader(general.Bytes())).Decode(&gobSnapshot{})
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := tt.do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(tt.size), "bytes")
		})
	}
}
