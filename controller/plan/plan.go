// Package plan determines which cases must be repeated, and why.
//
// [Digest] condenses everything that affects a case into three nested digests;
// [Compare] compares head's with base's, and [Settle] applies the ledger's results. All
// of them are pure.
package plan

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// Layer is the first digest that a part enters; it is in the later ones too.
type Layer string

const (
	Execution Layer = "execution" // E: the requests to the target
	Judgement Layer = "judgement" // J: E and the measurements
	Decision  Layer = "decision"  // D: J and the decision
)

// A Part is one named input of a digest.
type Part struct {
	Layer Layer `json:"layer"`
	// Name describes the part as in a reason: "system prompt", "tool get_weather",
	// "threshold".
	Name string `json:"name"`
	// Of is the owner of the part: an evaluator by its name, or a role such
	// as target. Empty for parts of the case itself.
	Of string `json:"of,omitempty"`
	// Number is the evaluator's number in the case, from 1; 0 for parts without an
	// evaluator.
	Number int `json:"number,omitempty"`
	// Files are the part's source files; empty for gavel.yaml's defaults and the
	// built-in versions.
	Files []string `json:"files,omitempty"`
	// Digest is the hex SHA-256 of the part's canonical form.
	Digest string `json:"digest"`
	// Show is a short readable form of the value; empty for long texts.
	Show string `json:"show,omitempty"`
}

// A Fact is a property of a target that affects its answers.
type Fact struct {
	// Name is the name of the property: model, parameter temperature, argv.
	Name  string
	Value string
	// File is the repository file with the value; empty for gavel.yaml.
	File string
	// Tool limits the fact to cases that are offered the tool of this name.
	Tool string
}

// A Target has the digested facts about a configured target. Its name is not included:
// a renamed target is the same target.
type Target struct {
	// Agent is true if the target runs its own tools, so that a case's tools are not
	// sent to it.
	Agent bool
	// Workspace is true if it works in a case's workspace.
	Workspace bool
	// Images is true if it sees the images of the cases that it judges.
	Images bool
	Facts  []Fact
	// Price is the price of its tokens; empty if unknown. It matters for cases that
	// measure the cost of a sample.
	Price string
	// Ends are the tools whose call ends a simulated conversation, sorted.
	Ends []string
	// Recorded, for a target that replays a recording, maps the digest of a case's
	// first request to the digest of the lines that can answer it; lines under the
	// empty key serve every case. RecordedFile is the recording.
	Recorded     map[string]string
	RecordedFile string
}

// An Environment is the context of cases besides their own files.
type Environment struct {
	// Config is the path of gavel.yaml, named in reasons.
	Config string
	// DefaultTarget serves the cases that name none.
	DefaultTarget string
	Targets       map[string]Target
	// Roles name the target of each role.
	Roles map[schema.Role]string
	// Roots returns the digests of a case's first requests to its target, one for each
	// opening; nil if no target is a recording.
	Roots func(c *schema.Case, agent bool) []string `json:"-"`
	// Unconfined means that programs see files that are in no digest.
	Unconfined bool `json:",omitempty"`
}

// Digests are the three nested digests of a case, hex SHA-256.
type Digests struct {
	E, J, D string

	// of and env are the digested inputs: the parts take ten times the memory of the
	// digests, and few cases are ever asked for theirs.
	of  *schema.Case
	env *Environment
}

// Bare returns the digests without their inputs.
func (d Digests) Bare() Digests { return Digests{E: d.E, J: d.J, D: d.D} }

// Sharing returns the digests with the texts of equal other ones, which then keep no memory
// of their own.
func (d Digests) Sharing(other Digests) Digests {
	if d.Bare() == other.Bare() {
		d.E, d.J, d.D = other.E, other.J, other.D
	}
	return d
}

// Parts returns the named inputs of the digests, sorted by layer and name. It is nil
// for digests that [Digest] did not create.
func (d Digests) Parts() []Part {
	if d.of == nil {
		return nil
	}
	return parts(d.of, d.env)
}

// Stored has the ledger's results of a case.
type Stored struct {
	// Executed and Judged count the stored samples of E and of J.
	Executed, Judged int
	// Decided is the stored result of D; nil if there is none.
	Decided *verdict.Result
	// Last are the parts of the case at its last decision, in any state; nil without
	// one. They name no files, and their digests have no more than OutlineDigits.
	Last []Part
	// Unread is the reason why no stored result may be used, or nil.
	Unread *Reason
	// Passed is the reason why otherwise sufficient stored samples are not used; nil
	// without such samples.
	Passed *Reason
}

// OutlineDigits is the number of hex digits of a part's digest that are kept to detect
// a change later.
const OutlineDigits = 16

// Action is the action for a case.
type Action string

const (
	Run      Action = "run"      // call the target
	Rejudge  Action = "rejudge"  // judge the stored transcript again
	Redecide Action = "redecide" // apply the new rule to stored results
	Reuse    Action = "reuse"    // the verdict is known or cannot have changed
	Skip     Action = "skip"     // not active, or its definition is invalid
	Removed  Action = "removed"  // only at base
)

// Text returns the action for people: re-judge for rejudge.
func (a Action) Text() string {
	switch a {
	case Rejudge:
		return "re-judge"
	case Redecide:
		return "re-decide"
	}
	return string(a)
}

// A Reason explains the action of a case.
type Reason struct {
	// Part is the name of the part that changed, or a word such as new.
	Part string `json:"part"`
	// File contains the change, or the case if the reason is not in a file; empty if
	// the code changed, or if one of several files may have.
	File string `json:"file"`
	// Message is one line for people.
	Message string `json:"message"`
	// Files are all changed source files of the part, including File, if there are
	// several.
	Files []string `json:"files,omitempty"`
}

// A Row is the plan for one case.
type Row struct {
	Key     string
	Dialect string
	Target  string
	Action  Action
	Reasons []Reason
	// Head and Base are the case on each side; nil if it is missing there.
	Head, Base *schema.CaseInfo
	// HeadCase and BaseCase have its requests and measurements. They are nil if they
	// have not been loaded, which only a case that is not judged can do without.
	HeadCase, BaseCase *schema.Case
	// Noted is the caller's note about Head if HeadCase is nil.
	Noted string
	// HeadDigests and BaseDigests are their digests.
	HeadDigests, BaseDigests Digests
	// Samples is the number of samples of Head, ≥ 1.
	Samples int
	// Steered means that the judgement of Head affects its next request.
	Steered bool
	// MovedFrom is the case's key at base if only its key changed.
	MovedFrom string
	// ControlOf is the key of the case that the row runs without its skill; empty for a
	// case itself. A control decides nothing.
	ControlOf string
	// Known has the ledger's results for the head's digests.
	Known Stored
	// Asked means that the case is judged although the change does not affect it: as a
	// part of the whole, for a rule of the gate about all cases, or as a control.
	Asked bool
	// Unversioned means that the agent's version is unknown: a stored result of the
	// case may come from another version.
	Unversioned bool
	// Named means that the agent's replies name its version, although it is not a commit.
	Named bool
	// Repeated means that head is executed again although a stored result could be
	// used, for example because the agent's version is unknown. Then a difference to
	// base may be chance although both sides execute the same.
	Repeated bool
	// Edited are the fields in which the case differs from base without an effect on
	// its verdict: name, description, tags, difficulty, weight. Empty for a case with
	// another action.
	Edited []string
}

// A Plan lists the actions, one row per case of head or base, sorted by key and target.
type Plan struct {
	// Base and Head are 40 hex digits or worktree; Base is empty without one.
	Base, Head string
	Rows       []Row
	// Again means that Base is Head at an earlier time: nothing has changed, and every
	// case is judged again.
	Again bool
	// Targets are the targets that every case runs against, in the requested order;
	// empty if each has its own.
	Targets []string
	// Rest counts the cases without a row, which exist on both sides and which no
	// change can affect.
	Rest Rest
}

// A Rest counts unaffected cases.
type Rest struct {
	Cases int
	// Skipped counts the inactive Cases.
	Skipped int
}

// CaseID returns the ID of the case of a control at head.
func (r *Row) CaseID() string {
	info := *r.Head
	info.Key = r.ControlOf
	return info.ID()
}

// Cases returns the plan without its controls.
func (p *Plan) Cases() *Plan {
	isControl := func(r Row) bool { return r.ControlOf != "" }
	if !slices.ContainsFunc(p.Rows, isControl) {
		return p
	}
	out := *p
	out.Rows = slices.DeleteFunc(slices.Clone(p.Rows), isControl)
	return &out
}

// Changed reports whether the case differs between the sides: it is new, removed,
// moved, active on one side only, or decided under another digest. It does not depend
// on stored results. Without a base every active case is new.
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

// Ask makes an unaffected case be judged for reasons; without one, [Row.Settle] adds what
// its stored results lack. The ledger's results must be known before.
func (r *Row) Ask(why ...Reason) {
	r.Asked, r.Action = true, Run
	r.Reasons = slices.Concat(r.Reasons, why)
}

// Unask undoes [Row.Ask].
func (r *Row) Unask() {
	r.Asked, r.Action = false, Reuse
	r.Reasons = slices.DeleteFunc(slices.Clone(r.Reasons), func(why Reason) bool { return why.Part != "moved" })
}

// AllAsked is the part of the reason of cases that are judged because people asked for all.
const AllAsked = "all"

// Unaffected reports whether the row's case exists on both sides and nothing affects
// it, or is inactive on both.
func (r *Row) Unaffected() bool {
	switch r.Action {
	case Reuse:
		return len(r.Reasons) == 0
	case Skip:
		return r.Base != nil && r.Base.Skip != "" && r.Head != nil
	}
	return false
}
