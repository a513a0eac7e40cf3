// Package plan works out which cases have to be done again, and why.
//
// [Digest] condenses everything that bears on a case into three nested
// digests; [Compare] sets those of head against base, and [Settle] takes into
// account what the ledger knows. All of them are pure.
package plan

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// Layer says which digest a part enters first; it is in the later ones too.
type Layer string

const (
	Execution Layer = "execution" // E: what is sent to the target
	Judgement Layer = "judgement" // J: E and what measures it
	Decision  Layer = "decision"  // D: J and what decides
)

// A Part is one named input of a digest.
type Part struct {
	Layer Layer `json:"layer"`
	// Name says what the part is, as a reason would: "system prompt", "tool
	// get_weather", "threshold".
	Name string `json:"name"`
	// Of is the owner of the part: an evaluator by its name, or a role such
	// as target. Empty for parts of the case itself.
	Of string `json:"of,omitempty"`
	// Number is that of the evaluator among those of the case, from 1; 0 for
	// parts of none.
	Number int `json:"number,omitempty"`
	// Files are the files that the part comes from; empty for gavel.yaml's
	// defaults and the built-in versions.
	Files []string `json:"files,omitempty"`
	// Digest is the hex SHA-256 of the part's canonical form.
	Digest string `json:"digest"`
	// Show is a short readable form of the value; empty for long texts.
	Show string `json:"show,omitempty"`
}

// A Fact is one property of a target that bears on what it answers.
type Fact struct {
	// Name says what the property is: model, parameter temperature, argv.
	Name  string
	Value string
	// File is the repository file that the value comes from; empty for
	// gavel.yaml.
	File string
	// Tool limits the fact to cases that are offered the tool of this name.
	Tool string
}

// A Target is what the digests need to know of a configured target. Its name
// is not among it: a renamed target is the same target.
type Target struct {
	// Agent is true when the target runs its own tools, so that those of a
	// case are not sent to it.
	Agent bool
	// Workspace is true when it works in the workspace of a case.
	Workspace bool
	// Images is true where it is shown the images of the cases that it judges.
	Images bool
	Facts  []Fact
	// Price is that of its tokens; empty where it is not known. It counts for
	// cases that measure what a sample costs.
	Price string
	// Ends are the tools whose call ends a simulated conversation, sorted.
	Ends []string
	// Recorded holds, for a target that replays a recording, the digest of the
	// lines that a case can be answered from, by the digest of its first
	// request; those under the empty key serve every case. RecordedFile is
	// the recording.
	Recorded     map[string]string
	RecordedFile string
}

// An Environment is what cases run in besides their own files.
type Environment struct {
	// Config is the path of gavel.yaml, named in reasons.
	Config string
	// DefaultTarget serves the cases that name none.
	DefaultTarget string
	Targets       map[string]Target
	// Roles name the target of each role.
	Roles map[schema.Role]string
	// Roots returns the digests of the first requests that a case sends to its
	// target, one for each opening; nil where no target is a recording.
	Roots func(c *schema.Case, agent bool) []string `json:"-"`
	// Unconfined says that programs see files that count for no digest.
	Unconfined bool `json:",omitempty"`
}

// Digests are the three nested digests of a case, hex SHA-256.
type Digests struct {
	E, J, D string

	// of and env are what was digested: the parts take ten times the memory of
	// the digests, and few cases are ever asked for theirs.
	of  *schema.Case
	env *Environment
}

// Bare returns the digests without what they were made from.
func (d Digests) Bare() Digests { return Digests{E: d.E, J: d.J, D: d.D} }

// Parts returns the named inputs of the digests, sorted by layer and name. It is
// nil for digests that were not made by [Digest].
func (d Digests) Parts() []Part {
	if d.of == nil {
		return nil
	}
	return parts(d.of, d.env)
}

// Stored is what the ledger has for a case.
type Stored struct {
	// Executed and Judged count the stored samples of E and of J.
	Executed, Judged int
	// Decided is the stored result of D; nil if there is none.
	Decided *verdict.Result
	// Last are the parts of the case when it was decided last, in whatever state;
	// nil where it never was. They name no files, and their digests have no more
	// than OutlineDigits.
	Last []Part
	// Unread says why nothing that is stored may serve the case; nil where it
	// may.
	Unread *Reason
	// Passed says why samples that are stored do not serve the case, which would
	// have no need of more otherwise; nil where there are none.
	Passed *Reason
}

// OutlineDigits is how many hex digits of a part's digest are kept to notice later
// that it changed.
const OutlineDigits = 16

// Action says what is done with a case.
type Action string

const (
	Run      Action = "run"      // call the target
	Rejudge  Action = "rejudge"  // judge the stored transcript again
	Redecide Action = "redecide" // apply the new rule to what is stored
	Reuse    Action = "reuse"    // the verdict is known or cannot have changed
	Skip     Action = "skip"     // not active, or its definition is invalid
	Removed  Action = "removed"  // at base only
)

// Text is the action as people read it: re-judge for rejudge.
func (a Action) Text() string {
	switch a {
	case Rejudge:
		return "re-judge"
	case Redecide:
		return "re-decide"
	}
	return string(a)
}

// A Reason says why a case has its action.
type Reason struct {
	// Part is the name of the part that changed, or a word such as new.
	Part string `json:"part"`
	// File contains the change, or the case if the reason is not in a file; empty
	// if the code changed, or if one of several files may have.
	File string `json:"file"`
	// Message is one line for people.
	Message string `json:"message"`
	// Files are all files that the part comes from and that changed, File among them,
	// where there are several.
	Files []string `json:"files,omitempty"`
}

// A Row is the plan for one case.
type Row struct {
	Key     string
	Dialect string
	Target  string
	Action  Action
	Reasons []Reason
	// Head and Base are the case on each side; nil where it is not there.
	Head, Base *schema.CaseInfo
	// HeadCase and BaseCase are what it sends and measures. They are nil where
	// that has not been loaded, which only a case that is not judged can do
	// without.
	HeadCase, BaseCase *schema.Case
	// Noted is what the caller remembers of Head where HeadCase is nil.
	Noted string
	// HeadDigests and BaseDigests go with them.
	HeadDigests, BaseDigests Digests
	// Samples is how many samples of Head are taken, ≥ 1.
	Samples int
	// Steered says that what is judged of Head decides what it sends next.
	Steered bool
	// MovedFrom is the case's key at base when only its key changed.
	MovedFrom string
	// Known is what the ledger has for the head's digests.
	Known Stored
	// Asked says that the case is judged for the gate alone: nothing that the change
	// affects, but a rule about all cases has no verdict of it.
	Asked bool
	// Unversioned says that nobody knows which version of the agent answers: what
	// is stored of the case may be the answer of another one.
	Unversioned bool
	// Repeated says that head is executed again although what is stored of it could serve, as
	// that of an agent of unknown version is. Then a difference to base may be chance
	// although both sides execute the same.
	Repeated bool
	// Edited are the fields in which the case differs from base although
	// nothing that bears on its verdict does: name, description, tags,
	// difficulty, weight. Empty for a case that anything else is done with.
	Edited []string
}

// A Plan says what has to be done, one row per case of head or base, sorted
// by key and target.
type Plan struct {
	// Base and Head are 40 hex digits or worktree; Base is empty without one.
	Base, Head string
	Rows       []Row
	// Again says that Base is Head at an earlier time: nothing is changed, and every case
	// is judged again.
	Again bool
	// Targets are those that every case is run against, in the order in which
	// they were asked for; empty where each has its own.
	Targets []string
	// Rest counts the cases without a row, which are on both sides and which
	// nothing that changed can affect.
	Rest Rest
}

// A Rest is how many cases nothing affects.
type Rest struct {
	Cases int
	// Skipped are those of the Cases that are not active.
	Skipped int
}

// Changed reports whether the case is not the same on both sides: it is new, removed,
// moved, active on one side alone, or decided under another digest. It does not depend
// on what is stored. Without a base every active case is new.
func (r *Row) Changed() bool {
	switch {
	case r.Head == nil:
		return true
	case r.Base == nil:
		return r.Head.Skip == ""
	case r.Head.Skip != "" || r.Base.Skip != "":
		return (r.Head.Skip == "") != (r.Base.Skip == "")
	}
	return r.MovedFrom != "" || r.HeadDigests.D != r.BaseDigests.D
}

// ChangedUnrun reports whether the change adds a case that is not run here, or changes one
// that neither side runs.
func (r *Row) ChangedUnrun() bool {
	if r.Head == nil || r.Head.Skip == "" {
		return false
	}
	return r.Base == nil || r.Base.Skip != "" && (r.MovedFrom != "" || r.HeadDigests.D != r.BaseDigests.D)
}

// Ask has the case judged although nothing affects it, since the gate asks for its
// verdict. The ledger has to have been asked before.
func (r *Row) Ask(why Reason) {
	r.Asked, r.Action = true, Run
	r.Reasons = append(slices.Clip(r.Reasons), why)
}

// Unask undoes [Row.Ask].
func (r *Row) Unask() {
	r.Asked, r.Action = false, Reuse
	r.Reasons = slices.DeleteFunc(slices.Clone(r.Reasons), func(why Reason) bool { return why.Part != "moved" })
}

// Unaffected reports whether the row is one of a case that is on both sides
// and that nothing affects, or that is not active on either.
func (r *Row) Unaffected() bool {
	switch r.Action {
	case Reuse:
		return len(r.Reasons) == 0
	case Skip:
		return r.Base != nil && r.Base.Skip != "" && r.Head != nil
	}
	return false
}
