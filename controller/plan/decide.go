package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// A Side is one state of the repository: its cases with their digests.
type Side struct {
	// Commit is 40 hex digits or worktree.
	Commit string
	// Cases by ID.
	Cases map[string]*Entry
	// Invalid are the files of definitions that did not load.
	Invalid map[string]bool
	// Strays are files among the definitions that are none, and that none refers to.
	Strays map[string]bool
	// Ignored reports whether .gavelignore names a file; nil where there is none.
	Ignored func(file string) bool
	// DefaultTarget serves the cases that name none.
	DefaultTarget string
}

// An Entry is a case on one side of a plan.
type Entry struct {
	*schema.CaseInfo
	Digests Digests
	// Samples is how many samples of the case are taken, ≥ 1.
	Samples int
	// Steered says that what is judged of the case decides what it sends next.
	Steered bool
	// Case is nil where it has not been loaded.
	Case *schema.Case
	// Noted is what the caller remembers of a case that has not been loaded.
	Noted string
}

// NewEntry digests a case in its environment.
func NewEntry(c *schema.Case, env *Environment) *Entry {
	return &Entry{CaseInfo: &c.CaseInfo, Digests: Digest(c, env), Samples: c.Samples(), Steered: c.Policy.Steered(), Case: c}
}

// NewSide returns a side with the entries, none of them invalid.
func NewSide(commit, defaultTarget string, entries []*Entry) Side {
	s := Side{Commit: commit, Cases: make(map[string]*Entry, len(entries)), Invalid: map[string]bool{}, DefaultTarget: defaultTarget}
	for _, e := range entries {
		s.Cases[e.ID()] = e
	}
	return s
}

// Options steer what counts as affected.
type Options struct {
	// Changed reports whether a file differs between base and head; nil when
	// that is not known.
	Changed func(file string) bool
	// Always makes a case count as affected whatever its base: --all, and the
	// cases that the gate requires. It gives the reason, or none.
	Always func(key string) (Reason, bool)
	// Complete also judges the cases that nothing affects, as far as nothing is
	// stored of them.
	Complete bool
}

// Compare sets head against base and says for every case what it would take
// to judge it, as long as nothing is stored. base is nil when there is none.
// [Settle] then takes what the ledger knows into account.
func Compare(base *Side, head Side, opts Options) *Plan {
	p := &Plan{Head: head.Commit, Rows: make([]Row, 0, len(head.Cases))}
	if base != nil {
		p.Base = base.Commit
	}
	for _, id := range slices.Sorted(maps.Keys(head.Cases)) {
		p.Rows = append(p.Rows, compareCase(base, head, id, opts))
	}
	if base != nil {
		p.Rows = append(p.Rows, missing(*base, head)...)
		p.Rows = pairMoved(p.Rows)
	}
	slices.SortFunc(p.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Target, b.Target))
	})
	return p
}

func compareCase(base *Side, head Side, id string, opts Options) Row {
	c := head.Cases[id]
	row := Row{
		Key: c.Key, Dialect: c.Dialect, Target: cmp.Or(c.Target, head.DefaultTarget),
		Action: Run, Head: c.CaseInfo, HeadCase: c.Case, HeadDigests: c.Digests, Samples: c.Samples, Steered: c.Steered, Noted: c.Noted,
	}
	if c.Skip != "" {
		row.Action = Skip
		row.Reasons = []Reason{{Part: "status", File: c.Origin.File, Message: c.Skip}}
	}
	if base == nil {
		return row
	}
	if was := base.Cases[id]; was != nil {
		row.Base, row.BaseCase, row.BaseDigests = was.CaseInfo, was.Case, was.Digests
	}
	switch {
	case row.Action == Skip:
	case row.Base == nil:
		row.Reasons = []Reason{{Part: "new", File: c.Origin.File, Message: "the case is new"}}
	case row.Base.Skip != "":
		row.Reasons = []Reason{{Part: "status", File: c.Origin.File, Message: "active again: at base it was skipped (" + row.Base.Skip + ")"}}
	case row.BaseDigests.D != row.HeadDigests.D:
		row.Reasons = comparison{row.BaseDigests.Parts(), row.HeadDigests.Parts(), row.BaseCase, c.Case, opts.Changed}.reasons()
	default:
		if opts.Always != nil {
			if reason, ok := opts.Always(c.Key); ok {
				reason.File = cmp.Or(reason.File, c.Origin.File)
				row.Reasons = []Reason{reason}
				return row
			}
		}
		row.Edited = edited(row.Base, row.Head)
		if !opts.Complete {
			row.Action = Reuse
		}
	}
	return row
}

// edited names the fields of two cases that differ and that no digest has.
func edited(base, head *schema.CaseInfo) []string {
	was, is := base.Labels, head.Labels
	var names []string
	for _, field := range []struct {
		name string
		same bool
	}{
		{"name", was.Name == is.Name},
		{"description", was.Description == is.Description},
		{"tags", slices.Equal(was.Tags, is.Tags)},
		{"difficulty", was.Difficulty == is.Difficulty},
		{"weight", base.Weight == head.Weight},
	} {
		if !field.same {
			names = append(names, field.name)
		}
	}
	return names
}

// Ignored is the part of the reason for a removed case whose file is named in
// .gavelignore.
const Ignored = "ignored"

// NoDefinition is the message of a reason for a case whose file is there and is not a
// definition any more.
const NoDefinition = "the file is not a definition any more; remove it, if its cases are to go"

// GateAsks is the part of the reason for a case that is judged for the gate alone.
const GateAsks = "gate"

const ignoreFile = ".gavelignore"

// missing returns a row for every case that only base has: removed, or skipped
// where its definition is there but no longer loads.
func missing(base, head Side) []Row {
	var rows []Row
	for id, c := range base.Cases {
		if _, there := head.Cases[id]; there {
			continue
		}
		row := Row{
			Key: c.Key, Dialect: c.Dialect, Target: cmp.Or(c.Target, base.DefaultTarget), Action: Removed,
			Reasons: []Reason{{Part: "removed", File: c.Origin.File, Message: "the case is gone"}},
			Base:    c.CaseInfo, BaseCase: c.Case, BaseDigests: c.Digests,
		}
		if head.Ignored != nil && head.Ignored(c.Origin.File) {
			row.Reasons = []Reason{{Part: Ignored, File: ignoreFile, Message: "the case is gone: its file is ignored"}}
		}
		if reason, is := invalidAt(head, c); is {
			row.Action, row.Reasons = Skip, []Reason{reason}
		}
		rows = append(rows, row)
	}
	return rows
}

// invalidAt returns why a case of base does not load at head although its files are there.
// One whose file is not a definition any more counts: a typing error may be why, and a
// file that is removed says so.
func invalidAt(head Side, c *Entry) (Reason, bool) {
	for _, in := range c.Inputs {
		if head.Invalid[in.File] {
			return Reason{Part: "invalid", File: in.File, Message: "the definition is invalid"}, true
		}
	}
	for _, in := range c.Inputs {
		if in.Role == "definition" && head.Strays[in.File] {
			return Reason{Part: "invalid", File: in.File, Message: NoDefinition}, true
		}
	}
	return Reason{}, false
}

// pairMoved joins a removed and a new case of the same decision digest to one
// moved case. If several rows match, none is joined.
func pairMoved(rows []Row) []Row {
	removed, added := map[string][]int{}, map[string][]int{}
	for i, r := range rows {
		switch {
		case r.Action == Removed:
			removed[r.BaseDigests.D] = append(removed[r.BaseDigests.D], i)
		case r.Base == nil && r.Action == Run:
			added[r.HeadDigests.D] = append(added[r.HeadDigests.D], i)
		}
	}
	drop := map[int]bool{}
	for d, to := range added {
		from := removed[d]
		if len(from) != 1 || len(to) != 1 {
			continue
		}
		old, row := rows[from[0]], &rows[to[0]]
		row.Action = Reuse
		row.Base, row.BaseCase, row.BaseDigests, row.MovedFrom = old.Base, old.BaseCase, old.BaseDigests, old.Key
		row.Reasons = []Reason{{Part: "moved", File: row.Head.Origin.File, Message: "moved from " + old.Key}}
		drop[from[0]] = true
	}
	kept := rows[:0]
	for i, r := range rows {
		if !drop[i] {
			kept = append(kept, r)
		}
	}
	return kept
}

// Settle takes what the ledger knows of each row's head into account: a case
// that has to be judged is reused, re-decided or re-judged where that is enough.
// known is parallel to the rows.
func Settle(p *Plan, known []Stored) {
	for i := range p.Rows {
		p.Rows[i].Settle(known[i])
	}
}

// Settle takes what the ledger knows of one row into account. A case that was
// decided before has to be loaded, unless its decision serves.
func (r *Row) Settle(known Stored) {
	r.Known = known
	if r.Action != Run {
		return
	}
	switch {
	case known.Decided != nil:
		r.Action = Reuse
	case r.Steered && known.Executed >= r.Samples:
		// There may be more attempts to make: only a decision says that not.
		r.Reasons = append(r.Reasons, Reason{Part: "samples", File: r.Head.Origin.File, Message: "the first attempt is stored"})
	case known.Judged >= r.Samples:
		r.Action = Redecide
	case known.Executed >= r.Samples:
		r.Action = Rejudge
	case known.Executed > 0:
		r.Reasons = append(r.Reasons, Reason{Part: "samples", File: r.Head.Origin.File, Message: fmt.Sprintf("%d of %d samples are stored", known.Executed, r.Samples)})
	}
	if why := known.Passed; why != nil && r.Action == Run {
		r.Reasons = append(r.Reasons, *why)
	}
	if len(r.Reasons) == 0 && r.Action != Reuse {
		r.Reasons = r.lacks()
	}
}

// lacks returns why what the ledger has of a row is not enough: by what changed
// since the case was decided last, where it was.
func (r *Row) lacks() []Reason {
	reason := Reason{Part: "ledger", File: r.Head.Origin.File, Message: "not judged before"}
	layer := Execution
	switch {
	case r.Known.Unread != nil:
		return []Reason{*r.Known.Unread}
	case r.Action == Redecide:
		reason.Message, layer = "judged before under another rule", Decision
	case r.Action == Rejudge:
		reason.Message, layer = "run before, but judged by other evaluators or models", Judgement
	case r.Known.Last != nil:
		reason.Message = "its verdict is too old"
	}
	if r.Known.Last != nil {
		c := comparison{was: partsFrom(layer, r.Known.Last), is: partsFrom(layer, r.HeadDigests.Parts())}
		if found := c.reasons(); len(found) > 0 {
			return found
		}
	}
	return []Reason{reason}
}
