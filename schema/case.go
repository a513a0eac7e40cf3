package schema

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The names of the dialects.
const (
	DialectTestcase  = "testcase"
	DialectPromptval = "promptval"
	DialectDomain    = "domain"
	DialectEvalcase  = "evalcase"
	DialectMatrix    = "matrix"
	DialectSkill     = "skill"
)

// A Case is one test of one target, compiled from any dialect. Nothing after the compile step knows a
// dialect but by its [Traits]. A Case is read-only once it is compiled.
type Case struct {
	CaseInfo

	// Form is the later version of the dialect's format in which the case is written,
	// for people; empty for the documented version.
	Form string `json:",omitempty"`
	// System is the resolved system prompt; empty means none is sent.
	System string
	// Layers are the texts that System was built from, outermost first.
	Layers []Layer
	// Tools are offered to the target, sorted by name, without repetition.
	Tools []Tool
	// Mocks answer calls before the mocks of the target and of Tools do. They are
	// sorted by tool; for one tool the order counts.
	Mocks []CallMock
	Drive Drive
	// Alternative is compared with System, or with the target's own prompt if System is
	// empty; nil compares nothing.
	Alternative *Alternative

	Evaluators []Evaluator
	Policy     Policy
	// Peers are the cases whose answers are compared with this one's: the cases of the
	// same matrix test with other prompts or targets. Each has this case as a peer in
	// turn. They have the same number of evaluators, each of the same kind.
	Peers []*Case `json:"-"`
	// Kept are answers of other cases that the case has.
	Kept []Kept `json:"-"`
	// Row has the matrix row of a case in the matrix dialect; nil for all others.
	Row *Row
}

// A CaseInfo identifies a case and says how it is listed and counted. It leaves out
// everything that the case sends or measures, so 100,000 of them fit into memory even
// if the cases themselves do not.
type CaseInfo struct {
	// Key identifies the case: the path below the definitions folder without
	// extension, then #local-id unless the file is one case.
	Key     string
	Dialect string
	Origin  Position
	Labels  Labels

	// Target is the name of the target, or empty for the default target.
	Target string
	// PerTarget says that the case is there once for each of several targets.
	PerTarget bool
	// AsksNothing says that the case has no demands on the answer, so that it passes
	// with any answer.
	AsksNothing bool `json:",omitempty"`
	// Weight is the share of the case in its group's score, ≥ 0.
	Weight float64
	// Skip is the reason why the case is listed but not run; empty for an active case.
	Skip string
	// Trigger is the wanted reaction to the query of the case; empty for a case that is not
	// a query of a trigger list.
	Trigger Trigger `json:",omitempty"`
	// Inputs lists every file that the case was built from, and the missing files that
	// it would have been built from, sorted by path.
	Inputs []Input
}

// A Trigger is the wanted reaction of an agent to a query: to load the skill or not.
type Trigger string

// The triggers.
const (
	Wanted   Trigger = "wanted"
	Unwanted Trigger = "unwanted"
)

// ID identifies the case in a plan: the key alone is shared by the cases for other
// targets.
func (c *CaseInfo) ID() string {
	if c.PerTarget {
		return c.Key + "\x00" + c.Target
	}
	return c.Key
}

// Roles names the models that a case may call besides its target, without
// repetition: to play the user, to judge, and to steer.
func (c *Case) Roles() []Role {
	roles := c.Policy.Roles()
	if c.Drive.Simulation != nil {
		roles = append(roles, Simulator)
	}
	for _, ev := range c.Evaluators {
		roles = append(roles, ev.Spec.Roles()...)
	}
	if c.Alternative != nil && c.Alternative.Comparison != nil {
		roles = append(roles, c.Alternative.Comparison.Roles()...)
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// Samples is how many samples of the case are taken.
func (c *Case) Samples() int { return c.Policy.Iterations * max(1, len(c.Drive.Openings)) }

// Labels are shown and selected by, and are in no digest.
type Labels struct {
	// ID is the identity in an export of the case; most have none.
	ID          string
	Name        string
	Description string
	Tags        []string
	Difficulty  string
	// Status is draft, active or archived if the dialect has it.
	Status string
	// Conversation groups cases that are turns of the same one.
	Conversation string
	// Prompt is the name of the prompt of a matrix case, and Vars are its variables in one
	// line, which may be shortened. They are empty for other cases.
	Prompt, Vars string
	// GridColumn is the place of the prompt with its target in a table of the file's tests, as
	// the file has them, beginning with 1.
	GridColumn int
	// Groups are the names under which scores are summed up, outermost first:
	// domain then level for the domain dialect, the suite for others.
	Groups []string
	// Facts are repeated by results in AgentV's form.
	Facts Facts `json:",omitzero"`
}

// Title returns the name of the case for people: its name, its variables, or the end of its
// key.
func (c *CaseInfo) Title() string {
	return cmp.Or(c.Labels.Name, c.Labels.Vars, c.Key[strings.LastIndexAny(c.Key, "/#")+1:])
}

// Facts are statements of an AgentV suite about its tests that do not affect any
// judgement.
type Facts struct {
	Category string `json:",omitempty"`
	// Tags are the suite's by their keys; empty if it has a list of them.
	Tags map[string]string `json:",omitempty"`
	// Metadata is the test's, a JSON object.
	Metadata json.RawMessage `json:",omitempty"`
}

// A Layer is one contribution to the system prompt.
type Layer struct {
	File string
	Text string
}

// A Drive describes the course of the conversation with the target.
type Drive struct {
	// Messages are sent in order. The target answers after the last one.
	Messages []Message
	// TargetOpens makes the target speak first, without a message of the user. Messages
	// is empty then.
	TargetOpens bool
	// CallsAnswer ends the conversation with the first reply: calls of tools are an answer.
	CallsAnswer bool `json:",omitempty"`
	// Openings replace Messages if a case has several: the sample of ordinal n begins with n mod len(Openings).
	Openings [][]Message
	// Script has the user's messages after the first reply, if the case fixes all of
	// them; nil for others.
	Script *Script `json:",omitempty"`
	// Workspace is the folder in which an agent works; nil if it has none.
	Workspace *Workspace
	// Program writes System and Messages when a sample begins; nil if the case has
	// them.
	Program *PromptProgram `json:",omitempty"`
	// Row is the part of a matrix row that a target program gets, as {vars, prompt};
	// empty for targets that take none.
	Row json.RawMessage `json:",omitempty"`
	// Given is the answer, if the case itself has it; nil asks the target for it.
	Given *string `json:",omitempty"`
	// Simulation writes every further message of the user, and the first if Messages is
	// empty. nil ends the conversation with the first answer, unless there is a Script.
	Simulation *Simulation
}

// A Script is the user's side of a conversation.
type Script struct {
	// Turns are said after each reply of the target but the last.
	Turns [][]Message
	// Window is how many of the turns before the current one the target is sent; 0 sends all.
	Window int `json:",omitempty"`
}

// Turns are the user's messages after each reply of the target except the last; nil
// without a Script.
func (d *Drive) Turns() [][]Message {
	if d.Script == nil {
		return nil
	}
	return d.Script.Turns
}

// Attached are the files and images of all messages.
func (d *Drive) Attached() []string {
	paths := Attached(d.Messages)
	for _, said := range d.Turns() {
		paths = append(paths, Attached(said)...)
	}
	return paths
}

// Attached are the files and images of messages.
func Attached(messages []Message) []string {
	var paths []string
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Path != "" {
				paths = append(paths, b.Path)
			}
		}
	}
	return paths
}

// Window returns the Script's window; 0 without one.
func (d *Drive) Window() int {
	if d.Script == nil {
		return 0
	}
	return d.Script.Window
}

// A Policy controls the run of a case.
type Policy struct {
	// Iterations is how many samples are taken, ≥ 1; of each opening if there are
	// several.
	Iterations int
	// Timeout bounds one sample from its first call to its last.
	Timeout time.Duration
	// MaxToolRounds bounds how often the target may ask for tools, ≥ 1.
	MaxToolRounds int
	// MaxTurns is the number of the target's replies after which a simulated
	// conversation ends, even if one of the two wants to continue; 0 leaves the end to
	// the two.
	MaxTurns int
	// TurnCap is the number of replies after which a conversation without an end is an
	// error; 0 means never. It is 0 if there is a MaxTurns, which wins.
	TurnCap int
	// Best makes the best sample's result the result of the case; otherwise all of them
	// count.
	Best bool `json:",omitempty"`
	// Every passes the case only if each sample passes by itself, and none is an error.
	Every bool `json:",omitempty"`
	// Whole makes an attempt an error if one of its samples is an error.
	Whole bool
	// PassShare is the share of the samples that must pass, each by itself with all its
	// attempts; 0 leaves the decision to the rules above and below. It takes the place of
	// Best, Every and Whole, and of what more than half of the samples or each of them
	// have to meet. Samples that ended in an error do not count, and others take their
	// place.
	PassShare float64 `json:",omitempty"`
	// Retry runs a case that failed again; nil takes its first result.
	Retry *Retry
	// Bands decide by the score of the case, unless a required criterion fails
	// it; nil passes a case whose evaluators all pass.
	Bands *Bands
}

// Bands are the least scores of a case that pass and that are borderline.
type Bands struct {
	Pass       float64 `json:"pass"`
	Borderline float64 `json:"borderline"`
}

// An Input is a file that a case was built from.
type Input struct {
	File string
	// Role is the file's purpose for the case: definition, domain, level, evaluator,
	// tool, database, seed …
	Role string
	// Absent marks a file that was looked for and not found. If it appears,
	// the case is compiled again.
	Absent bool
}
