package schema

import (
	"encoding/json"
	"slices"
	"time"
)

// The names of the dialects.
const (
	DialectTestcase  = "testcase"
	DialectPromptval = "promptval"
	DialectDomain    = "domain"
	DialectEvalcase  = "evalcase"
	DialectMatrix    = "matrix"
)

// A Case is one test of one target, compiled from any dialect. Nothing after the compile step knows a
// dialect, except to show a score in its native scale. A Case is read-only once it is compiled.
type Case struct {
	CaseInfo

	// Form is the later version of the dialect's format that the case is written in,
	// for people; empty for the format as its document has it.
	Form string `json:",omitempty"`
	// System is the resolved system prompt; empty means none is sent.
	System string
	// Layers are the texts that System was built from, outermost first.
	Layers []Layer
	// Tools are offered to the target, sorted by name, without repetition.
	Tools []Tool
	// Mocks answer calls before the mocks of the target and those of Tools do. They are sorted by tool; of one tool the order counts.
	Mocks []CallMock
	Drive Drive
	// Alternative is compared with System, or with the target's own prompt where
	// that is empty; nil compares nothing.
	Alternative *Alternative

	Evaluators []Evaluator
	Policy     Policy
	// Peers are the cases whose answers are compared with this one's: those of the same
	// test of a matrix with other prompts or targets. Each has this case as a peer in
	// turn. They have the same number of evaluators, each of the same kind.
	Peers []*Case `json:"-"`
	// Row is what a case of the matrix dialect is made of; nil for all others.
	Row *Row
}

// A CaseInfo identifies a case and says how it is listed and counted. It has nothing of what the
// case sends or measures, so that 100,000 of them fit where the cases themselves do not.
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
	// Weight is the share of the case in its group's score, ≥ 0.
	Weight float64
	// Skip says why the case is listed but not run; empty for an active case.
	Skip string
	// AsksNothing says that nothing is asked of the answer, so that the case passes
	// whatever that is.
	AsksNothing bool `json:",omitempty"`
	// Inputs lists every file that the case was built from, or would have been had it existed, sorted by path.
	Inputs []Input
}

// ID tells the case from all others of a plan: the key, which it shares with
// those that are run against other targets.
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
	// ID is the identity that an export of the case carries; most have none.
	ID          string
	Name        string
	Description string
	Tags        []string
	Difficulty  string
	// Status is draft, active or archived where the dialect knows it.
	Status string
	// Conversation groups cases that are turns of the same one.
	Conversation string
	// Groups are the names under which scores are summed up, outermost first:
	// domain then level for the domain dialect, the suite for others.
	Groups []string
	// Facts are what results in AgentV's form repeat.
	Facts Facts `json:",omitzero"`
}

// Facts are what a suite of AgentV says of its tests, and by which nothing is judged.
type Facts struct {
	Category string `json:",omitempty"`
	// Tags are the suite's by their keys; empty where it has a list of them.
	Tags map[string]string `json:",omitempty"`
	// Metadata is the test's, a JSON object.
	Metadata json.RawMessage `json:",omitempty"`
}

// A Layer is one contribution to the system prompt.
type Layer struct {
	File string
	Text string
}

// A Drive says how the conversation with the target goes.
type Drive struct {
	// Messages are sent in order. The target answers after the last one.
	Messages []Message
	// TargetOpens has the target speak first, without a message of the user. Messages
	// is empty then.
	TargetOpens bool
	// Openings replace Messages if a case has several: the sample of ordinal n begins with n mod len(Openings).
	Openings [][]Message
	// Script is what the user says after the first reply, where the case says all of it; nil for others.
	Script *Script `json:",omitempty"`
	// Workspace is the folder that an agent works in; nil where it has none.
	Workspace *Workspace
	// Program writes System and Messages when a sample begins; nil where the case has them.
	Program *PromptProgram `json:",omitempty"`
	// Row is what a program that is the target gets of a row of a matrix, as {vars, prompt};
	// empty for targets that take none.
	Row json.RawMessage `json:",omitempty"`
	// Given is the answer, where the case has it itself; nil asks the target for it.
	Given *string `json:",omitempty"`
	// CallsAnswer ends the conversation with the first reply: calls of tools are an answer.
	CallsAnswer bool `json:",omitempty"`
	// Simulation writes every further message of the user, and the first where Messages is empty.
	// nil ends the conversation with the first answer, unless there is a Script.
	Simulation *Simulation
}

// A Script is the user's side of a conversation.
type Script struct {
	// Turns are said after each reply of the target but the last.
	Turns [][]Message
	// Window is how many of the turns before the current one the target is sent; 0 sends all.
	Window int `json:",omitempty"`
}

// Turns are what the user says after each reply of the target but the last; nil without a Script.
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

// Window is that of the Script; 0 without one.
func (d *Drive) Window() int {
	if d.Script == nil {
		return 0
	}
	return d.Script.Window
}

// A Policy holds what steers the run of a case.
type Policy struct {
	// Iterations is how many samples are taken, ≥ 1; of each opening where there are several.
	Iterations int
	// Timeout bounds one sample from its first call to its last.
	Timeout time.Duration
	// MaxToolRounds bounds how often the target may ask for tools, ≥ 1.
	MaxToolRounds int
	// MaxTurns is after how many replies of the target a simulated conversation ends, even if
	// one of the two has more to say; 0 leaves the end to the two.
	MaxTurns int
	// TurnCap is after how many replies a conversation that found no end of its
	// own is an error; 0 means never. It is 0 if there is a MaxTurns, which wins.
	TurnCap int
	// Best makes the result that of the best sample; else it is that of all of them.
	Best bool `json:",omitempty"`
	// Whole makes an attempt an error that has a sample in error.
	Whole bool
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
	// Role says what the file is to the case: definition, domain, level,
	// evaluator, tool, database, seed …
	Role string
	// Absent marks a file that was looked for and not found. If it appears,
	// the case is compiled again.
	Absent bool
}
