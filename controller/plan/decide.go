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
	// Invalid are the definition files that did not load, with what that is called.
	Invalid map[string]string
	// Strays are files among the definitions that are neither definitions nor
	// referenced.
	Strays map[string]bool
	// Ignored reports whether .gavelignore names a file; nil without one.
	Ignored func(file string) bool
	// DefaultTarget serves the cases that name none.
	DefaultTarget string
}

// The messages about a definition that did not load.
const (
	IsInvalid = "the definition is invalid"
	Waits     = "the definition waits for approval"
)

// An Entry is a case on one side of a plan.
type Entry struct {
	*schema.CaseInfo
	Digests Digests
	// Samples is the number of samples of the case, ≥ 1.
	Samples int
	// Steered means that the judgement of the case affects its next request.
	Steered bool
	// Case is nil if it has not been loaded.
	Case *schema.Case
	// Noted is the caller's note about a case that has not been loaded.
	Noted string
}

// NewEntry digests a case in its environment.
func NewEntry(c *schema.Case, env *Environment) *Entry {
	return &Entry{CaseInfo: &c.CaseInfo, Digests: Digest(c, env), Samples: c.Samples(), Steered: c.Policy.Steered(), Case: c}
}

// NewSide returns a side with valid entries.
func NewSide(commit, defaultTarget string, entries []*Entry) Side {
	s := Side{Commit: commit, Cases: make(map[string]*Entry, len(entries)), Invalid: map[string]string{}, DefaultTarget: defaultTarget}
	for _, e := range entries {
		s.Cases[e.ID()] = e
	}
	return s
}

// Options decide which cases count as affected.
type Options struct {
	// Changed reports whether a file differs between base and head; nil if unknown.
	Changed func(file string) bool
	// Always makes a case count as affected whatever its base: --all, and the cases
	// that the gate requires. It returns the reason, or none.
	Always func(key string) (Reason, bool)
}

// Compare compares head with base and determines the action of every case, ignoring
// stored results. base may be nil. [Settle] then applies the ledger's results.
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
		row.Action = Reuse
		row.Edited = edited(row.Base, row.Head)
	}
	return row
}

// edited names the fields that differ between two cases and are in no digest.
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

// NoDefinition is the message of a reason for a case whose file exists and is no longer
// a definition.
const NoDefinition = "the file is not a definition any more; remove it, if its cases are to go"

// GateAsks is the part of the reason for a case that is judged only for the gate.
const GateAsks = "gate"

const ignoreFile = ".gavelignore"

// missing returns a row for every case that only base has: removed, or skipped if its
// definition exists but no longer loads.
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

// invalidAt returns the reason why a case of base does not load at head although its
// files exist. A file that is no longer a definition counts: the cause may be a typo,
// and a removed file would be unambiguous.
func invalidAt(head Side, c *Entry) (Reason, bool) {
	for _, in := range c.Inputs {
		if is := head.Invalid[in.File]; is != "" {
			return Reason{Part: "invalid", File: in.File, Message: is}, true
		}
	}
	for _, in := range c.Inputs {
		if in.Role == "definition" && head.Strays[in.File] {
			return Reason{Part: "invalid", File: in.File, Message: NoDefinition}, true
		}
	}
	return Reason{}, false
}

// pairMoved joins a removed and a new case with the same decision digest to one moved
// case. If several rows match, none is joined.
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

// Settle applies the ledger's results of each row's head: a case is reused, re-decided
// or re-judged instead of run if that is enough. known is parallel to the rows.
func Settle(p *Plan, known []Stored) {
	for i := range p.Rows {
		p.Rows[i].Settle(known[i])
	}
}

// Settle applies the ledger's results of one row. A case that was decided before must
// be loaded, unless its decision is valid.
func (r *Row) Settle(known Stored) {
	r.Known = known
	if r.Action != Run {
		return
	}
	switch {
	case known.Decided != nil:
		r.Action = Reuse
	case r.Steered && known.Executed >= r.Samples:
		// More attempts may be needed: only a decision rules that out.
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

// lacks returns the reasons why a row's stored results are not enough: the changes
// since the case's last decision, if there was one.
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
