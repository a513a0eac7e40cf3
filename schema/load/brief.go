package load

import (
	"fmt"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema"
)

// A briefCase is the part of a case in a Snapshot. A hundred thousand of them fit into
// memory where the cases do not.
type briefCase struct {
	key string
	// id is the key, with the target where the case is there for several.
	id   string
	at   schema.Position
	skip *string // why it is skipped; nil if it is not
	// inputs are the source files of the case, except its own and its checks', and
	// asked are its callees. Equal cases share them.
	inputs []string
	asked  []Callee
	// listing and note are as in a caseRecord.
	listing, note string
}

// brief returns the part of a case in a Snapshot, with its note.
func brief(file string, c *schema.Case, note string) briefCase {
	b := briefCase{key: c.Key, id: c.ID(), at: c.Origin, asked: Callees(c), note: note}
	if why := c.Skip; why != "" {
		b.skip = &why
	}
	if note != "" {
		b.listing = encodeListing(&c.CaseInfo)
	}
	for _, in := range c.Inputs {
		if in.File != file && in.Role != checksRole { // whose name follows from the file's
			b.inputs = append(b.inputs, in.File)
		}
	}
	return b
}

// condense returns a function that replaces the cases of a definition by brief ones;
// nil if they stay. The function is safe for concurrent use.
func (l *loader) condense() func(*Definition) {
	if !l.opts.Brief {
		return nil
	}
	var inputs, asked sync.Map // by content
	return func(d *Definition) {
		d.brief = d.condensed()
		for i := range d.brief {
			c := &d.brief[i]
			shared, _ := inputs.LoadOrStore(strings.Join(c.inputs, "\x00"), c.inputs)
			c.inputs, _ = shared.([]string)
			shared, _ = asked.LoadOrStore(fmt.Sprint(c.asked), c.asked)
			c.asked, _ = shared.([]Callee)
		}
		d.Cases, d.notes = nil, nil
	}
}

// condensed are the cases of a definition in brief.
func (d *Definition) condensed() []briefCase {
	if len(d.Cases) == 0 {
		return d.brief
	}
	cases := make([]briefCase, len(d.Cases))
	for i, c := range d.Cases {
		note := ""
		if len(d.notes) > 0 {
			note = d.notes[i]
		}
		cases[i] = brief(d.File, c, note)
	}
	return cases
}

// otherInputs lists the files that some cases were built from besides their own;
// a file may be in the list more than once.
func otherInputs(cases []briefCase) []string {
	var files []string
	for i := range cases {
		files = append(files, cases[i].inputs...)
	}
	return files
}
