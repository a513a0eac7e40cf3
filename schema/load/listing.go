package load

import (
	"math"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/packed"
)

// A StoredCase is a Snapshot's record of a case with a note.
type StoredCase struct {
	// Info lists the case. It has neither its description nor its inputs.
	Info schema.CaseInfo
	// Note is the result of Options.Note for the case.
	Note string
}

// Cases yields every case with its note, by file. It returns false at the first one
// without a note, or a damaged one.
func (s *Snapshot) Cases(yield func(StoredCase)) bool {
	for i := range s.records {
		r := &s.records[i]
		for _, c := range r.cases {
			if c.note == "" {
				return false
			}
			info := schema.CaseInfo{Key: c.key, Dialect: r.dialect}
			info.Origin.File = r.file
			if !decodeListing(c.listing, &info) {
				return false
			}
			yield(StoredCase{Info: info, Note: c.note})
		}
	}
	return true
}

// Unnoted lists the files with cases that have no notes.
func (s *Snapshot) Unnoted() []string {
	var files []string
	for i := range s.records {
		if r := &s.records[i]; slices.ContainsFunc(r.cases, func(c caseRecord) bool { return c.note == "" }) {
			files = append(files, r.file)
		}
	}
	return files
}

// The flags of a listing.
const (
	isPerTarget = 1 << iota
	asksNothing
	isWanted
	isUnwanted
)

// encodeListing encodes the listing fields that a record lacks.
func encodeListing(c *schema.CaseInfo) string {
	var w packed.Writer
	w.Number(c.Origin.Line)
	w.Number(c.Origin.Column)
	w.Text(c.Target)
	flags := 0
	if c.PerTarget {
		flags |= isPerTarget
	}
	if c.AsksNothing {
		flags |= asksNothing
	}
	switch c.Trigger {
	case schema.Wanted:
		flags |= isWanted
	case schema.Unwanted:
		flags |= isUnwanted
	}
	w.Number(flags)
	w.Fixed(math.Float64bits(c.Weight))
	w.Text(c.Skip)
	l := &c.Labels
	for _, text := range []string{l.ID, l.Name, l.Description, l.Difficulty, l.Status, l.Conversation, l.Prompt, l.Vars} {
		w.Text(text)
	}
	w.Number(l.GridColumn)
	w.Texts(l.Tags)
	w.Texts(l.Groups)
	return string(w.Bytes)
}

func decodeListing(listing string, c *schema.CaseInfo) bool {
	r := packed.Reader{Rest: listing}
	c.Origin.Line, c.Origin.Column = r.Number(), r.Number()
	c.Target = r.Text()
	flags := r.Number()
	c.PerTarget, c.AsksNothing = flags&isPerTarget != 0, flags&asksNothing != 0
	switch {
	case flags&isWanted != 0:
		c.Trigger = schema.Wanted
	case flags&isUnwanted != 0:
		c.Trigger = schema.Unwanted
	}
	c.Weight = math.Float64frombits(r.Fixed())
	c.Skip = r.Text()
	l := &c.Labels
	for _, text := range []*string{&l.ID, &l.Name, &l.Description, &l.Difficulty, &l.Status, &l.Conversation, &l.Prompt, &l.Vars} {
		*text = r.Text()
	}
	l.GridColumn = r.Number()
	l.Tags, l.Groups = r.Texts(), r.Texts()
	return !r.Bad && r.Rest == ""
}
