// Package config reads gavel.yaml into values.
//
// Most callers want [Parse], which checks the bytes of a gavel.yaml against
// the schema in schema/gavel.cue and gives every problem with its place. It
// reads no file and no environment variable: an api_key_env is only a name
// here, and its value is looked up where a target is opened.
package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/controller/target/httpagent"
	"github.com/gavel-evals/gavel/schema"
)

// The providers of a Target.
const (
	OpenAI    = "openai"    // any endpoint that speaks OpenAI's protocol
	Anthropic = "anthropic" // any endpoint that speaks Anthropic's Messages API
	Gemini    = "gemini"    // Google's endpoint that speaks OpenAI's protocol
	HTTP      = "http"      // an agent behind a URL
	Command   = "command"   // a program that is started for every turn
	Replay    = "replay"    // recorded replies
	Mock      = "mock"      // replies from gavel.yaml
)

// The kinds of a Target.
const (
	Model          = "model"
	Agent          = "agent"
	Workflow       = "workflow"
	CustomWorkflow = "custom_workflow"
)

// Ways to learn the revision that a deployed agent runs.
const (
	RevisionNone     = "none"         // nothing
	RevisionReply    = "reply"        // it says so in its replies
	RevisionTemplate = "url_template" // the URL names it
	RevisionAny      = "any"          // its replies name a version that is not a commit
)

// A Config is a checked gavel.yaml with its defaults filled in. Fields for times and
// numbers that the file may leave out are 0 if it does.
type Config struct {
	// Definitions are the definition folders; never empty. Listed says that they
	// are written as a list.
	Definitions   []string
	Listed        bool
	DefaultTarget string
	// Implied says that gavel.yaml does not name the DefaultTarget: it is its only
	// target that has no role.
	Implied bool `json:"-"`
	// Targets by name, each with its Name set.
	Targets map[string]Target
	Roles   Roles
	// Judges name the targets that judge instead of others, which are under test with
	// changes of head. Roles already name them.
	Judges map[string]string `json:",omitempty"`
	// Aliases map names that definitions use to targets.
	Aliases  map[string]string
	Defaults Defaults
	// Thresholds are the passing scores by dialect that the file sets.
	Thresholds map[string]float64
	// PassShares are the shares of samples that must pass, by globs of keys.
	PassShares map[string]schema.PassShare `json:",omitempty"`
	// PassSharesAt are their places in the file.
	PassSharesAt map[string]schema.Position `json:"-"`
	Reuse        Reuse
	Gate         Gate
	Noise        Noise `json:",omitzero"`
	// Quarantine are the cases that are out of the gate until a date.
	Quarantine []Quarantine `json:",omitempty"`
	// Environment are the variables that the targets of other files may take values of.
	Environment []string `json:",omitempty"`
	Budget      Budget
	// RootFiles are definitions that are read if they exist; nil if Definitions are
	// configured.
	RootFiles []string
	// Dialects pin files to a dialect by glob, sorted by glob.
	Dialects []Pin
	// Tools are further folders with tool definitions.
	Tools []string
	// ProgramInputs are globs of files that programs see and whose content counts for
	// each program, in addition to the files around it.
	ProgramInputs []string `json:",omitempty"`
	// Skills say how the evals of agent skills are run.
	Skills Skills `json:",omitzero"`
	// Comment is edit or new.
	Comment string
	// QuietComment means that a pull request without an affected case gets no comment.
	QuietComment bool `json:",omitempty"`
	// Notify are the addresses that are notified of results.
	Notify []Notify `json:",omitempty"`
	// GroupStatuses says that the groups of cases also have commit statuses.
	GroupStatuses bool `json:",omitempty"`
	// Constraints are the team's demands on its definitions. They are in files of
	// their own, which Constrain adds.
	Constraints []schema.ConstraintFile `json:",omitempty"`
	// Unusable are targets that are written outside of gavel.yaml and cannot be used,
	// with the reason. TargetsFiles are the files that were read. AddTargets sets both.
	Unusable     map[string]schema.Problem `json:",omitempty"`
	TargetsFiles []TargetsFile             `json:",omitempty"`
	// Digest is the hex SHA-256 of the canonical form of all of this.
	Digest string
	// OwnDigest is the Digest of gavel.yaml alone.
	OwnDigest string `json:"-"`
}

// ChangedFiles returns the files whose targets differ from head's, after file, which is
// gavel.yaml, if that differs too.
func (c *Config) ChangedFiles(head *Config, file string) []string {
	var out []string
	for _, f := range slices.Concat(c.TargetsFiles, head.TargetsFiles) {
		if !slices.Contains(c.TargetsFiles, f) || !slices.Contains(head.TargetsFiles, f) {
			out = append(out, f.File)
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); c.OwnDigest != head.OwnDigest {
		out = slices.Insert(out, 0, file)
	}
	return out
}

// Constrain sets the Constraints, which then count for the Digest too.
func (c *Config) Constrain(files []schema.ConstraintFile) {
	c.Constraints = files
	c.Digest = c.digest()
}

// A Notify is an address that is notified of results, in an environment variable.
type Notify struct {
	Variable string `json:"url_env"`
	// On are the events; empty means all.
	On []string `json:"on"`
	// Form is slack, teams or json, which is the default.
	Form string `json:"form"`
}

// A TargetsFile is a file with targets besides gavel.yaml, with the hex SHA-256 of its
// bytes.
type TargetsFile struct{ File, Sum string }

// AddTargets adds the targets of other files than gavel.yaml. If gavel.yaml names no
// default target, the default is the one that those files call default; empty for none.
// It may be unusable: no other target may be asked in its place.
func (c *Config) AddTargets(targets map[string]Target, unusable map[string]schema.Problem, files []TargetsFile, byDefault string) {
	maps.Copy(c.Targets, targets)
	c.Unusable, c.TargetsFiles = unusable, files
	if byDefault != "" && (c.DefaultTarget == "" || c.Implied) {
		c.DefaultTarget, c.Implied = byDefault, false
	}
	c.Digest = c.digest()
}

// A Target is one thing under test, or a model that has a role.
type Target struct {
	Name string
	// File is where it is written; empty for gavel.yaml.
	File string `json:"-"`
	// Provider is openai, anthropic, gemini, http, command, replay or mock.
	Provider string
	// Kind is model, agent, workflow or custom_workflow. Defaults to agent for
	// http and command, else to model. Declared says that the file sets it.
	Kind     string
	Declared bool `json:",omitempty"`

	// URL is the endpoint of an http target.
	URL string
	// AddressAt is the place of its url, url_template or base_url; zero if gavel.yaml has
	// none.
	AddressAt schema.Position `json:"-"`
	// Model and BaseURL are of a model provider, API (chat or responses) of
	// openai.
	Model   string
	BaseURL string
	API     string
	// APIKeyEnv names the environment variable with the credential, and KeyHeader the
	// header that has it as its value; empty for a bearer token.
	APIKeyEnv string
	KeyHeader string `json:",omitempty"`
	// preset is the server whose name was written as the provider, which is openai.
	Preset string `json:",omitempty"`
	// HTTP describes the requests and replies of an http target.
	HTTP httpagent.Format `json:",omitzero"`
	// Parameters are the sampling parameters that are sent: temperature,
	// top_p, seed, max_tokens and the free-form parameters map, by wire name.
	// One that is null keeps the field from being sent.
	Parameters map[string]json.RawMessage

	// Argv and Env (names of variables to pass on) are of a command target, and of an http
	// target whose agent Gavel starts.
	Argv []string
	Env  []string
	// Ready is the URL that such an http agent answers once it is ready; empty if it is
	// ready when it listens. StartTime bounds the time until then; 0 for the default.
	Ready     string        `json:",omitempty"`
	StartTime time.Duration `json:",omitempty"`
	// PromptArgument says that a command gets the text of the last message as its last
	// argument.
	PromptArgument bool `json:",omitempty"`
	// TakesRow says that a command gets the row of a matrix.
	TakesRow bool `json:",omitempty"`
	// CodingAgent is the coding agent that a command target starts, by its name in
	// [codingagent.Lookup]; empty for other programs. Bounds are its own.
	CodingAgent string `json:",omitempty"`
	Bounds      Bounds `json:",omitzero"`
	// OutputVersion is the version of how the output of a program of AgentV is read; 0 for
	// other targets.
	OutputVersion int `json:",omitempty"`
	// Path is the recording of a replay target, relative to the root.
	Path string
	// Replies are of a mock target; the first that matches answers.
	Replies []MockReply

	// Timeout bounds one call and the case; 0 if the file does not set it.
	Timeout time.Duration
	// Concurrency is how many calls may be in flight at once; 0 = default 8.
	Concurrency int
	// RequestsPerMinute and TokensPerMinute are 0 if unlimited.
	RequestsPerMinute int
	TokensPerMinute   int
	// Price is nil if it is not known.
	Price *Price
	// Ceiling is the price that a budget in money counts, if it differs from Price: the
	// price of a model that a head changes is only stated by head.
	Ceiling *Price `json:",omitempty"`
	// Refused says that the target is never asked: it is new at a head that may not
	// choose its address.
	Refused bool `json:",omitempty"`
	// Inputs are globs of the repository's files that the agent is built from. The
	// Inputs of a command target include the files that its arguments name.
	Inputs []string
	// Implied says that a command target names no inputs. If its command line names no
	// file either, it is built from the whole repository.
	Implied bool `json:",omitempty"`
	// Revision is none, reply, url_template or any.
	Revision    string
	URLTemplate string
	WaitFor     time.Duration
	// SystemPrompt is the model's instruction before each conversation. The zero value
	// is none.
	SystemPrompt schema.TargetPrompt `json:",omitzero"`
	// Tools are ids of tools that every case of the target is offered; nil if the file
	// does not set them.
	Tools []string
	// ToolsAt is the place of their list.
	ToolsAt schema.Position `json:"-"`
	// Mocks answer the calls that the mocks of a case leave open, before the tools'
	// own mocks do, by tool name.
	Mocks            map[string][]ToolMock
	EndsConversation []string
	// JudgeTarget judges the replies if neither case nor evaluator names a judge; empty
	// for the role's target.
	JudgeTarget string `json:",omitempty"`
	// MaxTurns ends conversations whose cases leave max_turns out; 0 if not set.
	MaxTurns int `json:",omitempty"`
	// AcceptsPrompt is nil if the file does not set it.
	AcceptsPrompt *bool
	// AcceptsImages is nil if the file does not set it.
	AcceptsImages *bool
	// Reuse is nil if the file does not set it for the target.
	Reuse *Reuse
}

// PassesOn reports whether a target is a coding agent that asks its model through Gavel.
func (t Target) PassesOn() bool {
	agent, ok := codingagent.Lookup(t.CodingAgent)
	return ok && agent.API(t.Model) != nil
}

// RunsTools reports whether Gavel runs the target's tools, from mocks: it does for
// every model, whatever its use. All other targets run their own tools.
func (t Target) RunsTools() bool {
	return t.Kind == Model || slices.Contains([]string{OpenAI, Anthropic, Gemini}, t.Provider)
}

// HasWorkspace reports whether the target works in the workspace of a case: a program
// does, and a recording answers as one did.
func (t Target) HasWorkspace() bool {
	return t.Kind != Model && (t.Provider == Command || t.Provider == Replay)
}

// Started reports whether Gavel starts the HTTP agent of the target, once for each side.
func (t Target) Started() bool { return t.Provider == HTTP && len(t.Argv) > 0 }

// RunsProgram reports whether a program is started for the target: for each turn, or once for
// each side.
func (t Target) RunsProgram() bool { return t.Provider == Command || t.Started() }

// Port is the place of the port in the settings of an agent that Gavel starts.
const Port = "{port}"

// Unversioned reports whether no commit is known that answers: the agent runs whatever is
// deployed, and reports no version or one that is not a commit.
func (t Target) Unversioned() bool {
	return t.Provider == HTTP && (t.Revision == RevisionNone || t.Revision == RevisionAny)
}

// Deployed reports whether the target answers as it is deployed now, whatever commit is
// judged: an agent of unknown version, or one behind the protocol of a model.
func (t Target) Deployed() bool {
	return t.Unversioned() || t.Kind == Agent && slices.Contains([]string{OpenAI, Anthropic, Gemini}, t.Provider)
}

// TakesImages reports whether the file says that the target takes images.
func (t Target) TakesImages() bool { return t.AcceptsImages != nil && *t.AcceptsImages }

// Bounds are the bounds that a coding agent keeps by itself; 0 for none.
type Bounds struct {
	Turns int     `json:"turns"`
	USD   float64 `json:"usd"`
}

// A MockReply is one line of a mock target.
type MockReply struct {
	// Match is RE2, searched in the last message; empty matches everything.
	Match string
	Reply string
	// Echo makes the last message the reply, in the place of Reply.
	Echo bool `json:",omitempty"`
	// EchoChat makes Echo reply with the whole chat as JSON, if it has more than one
	// message.
	EchoChat bool `json:",omitempty"`
	// ToolCalls are requested together with the reply.
	ToolCalls []MockCall
	// Again are the replies in the place of Reply when a case is measured again, in
	// turn.
	Again []string `json:",omitempty"`
}

// A MockCall is a tool call that a mock target makes.
type MockCall struct {
	Name      string
	Arguments json.RawMessage
}

// A ToolMock answers a tool call whose listed params equal the call's.
type ToolMock struct {
	Params   map[string]json.RawMessage
	Response json.RawMessage
}

// A Price is in USD per million tokens.
type Price struct{ Input, Output float64 }

// Roles name the targets that have a role other than being tested; empty if the file
// does not set one and the judge takes it.
type Roles struct {
	Judge, Simulator, Extractor string
	// Embedder has no other target in its place.
	Embedder string `json:",omitempty"`
	// Classifier and Moderator have none, either.
	Classifier string `json:",omitempty"`
	Moderator  string `json:",omitempty"`
	// Editors by editor_model.
	Editors map[string]string
}

// Has reports whether a target has a role.
func (r Roles) Has(target string) bool {
	own := []string{r.Judge, r.Simulator, r.Extractor, r.Embedder, r.Classifier, r.Moderator}
	return slices.Contains(slices.AppendSeq(own, maps.Values(r.Editors)), target)
}

// Targets returns the target of each role: the judge takes the roles that are
// not set.
func (r Roles) Targets() map[schema.Role]string {
	return map[schema.Role]string{
		schema.Judge:     r.Judge,
		schema.Simulator: cmp.Or(r.Simulator, r.Judge),
		schema.Extractor: cmp.Or(r.Extractor, r.Judge),
		schema.Embedder:  r.Embedder,

		schema.Classifier: r.Classifier,
		schema.Moderator:  r.Moderator,

		schema.GeminiEditor: cmp.Or(r.Editors["gemini"], r.Judge),
		schema.ClaudeEditor: cmp.Or(r.Editors["claude"], r.Judge),
	}
}

// Defaults apply if a case has no value of its own; 0 if not set.
type Defaults struct {
	Iterations   int
	Timeout      time.Duration
	MaxTurns     int `json:",omitempty"`
	MaxTurnsCap  *int
	Difficulties map[string]float64
}

// Reuse reports whether stored verdicts are used.
type Reuse struct {
	On bool
	// MaxAge is 0 if stored verdicts never grow too old.
	MaxAge time.Duration
}

// Gate says when a run fails.
type Gate struct {
	// FailOn is regression, threshold, any_failure or never; empty if the file does not
	// set it: regression with a base, any_failure without.
	FailOn string
	// MinScore and MaxDrop are nil if not set.
	MinScore, MaxDrop *float64
	// MaxCostRise, MaxTimeRise and MaxTokensRise are shares of base's, such as 0.5 for
	// 50%; nil if not set.
	MaxCostRise, MaxTimeRise, MaxTokensRise *float64
	// MinPower has the least chances to see a change for the worse.
	MinPower MinPower
	// Required are key globs of cases that must be there and pass.
	Required []string
	// Removed is allow or fail, for a change that leaves out a case which base judges;
	// empty if the file does not set it, which means allow.
	Removed string `json:",omitzero"`
	// Scores is notice or fail, for a change with a certain fall of the scores; empty
	// if the file does not set it, which means notice.
	Scores string `json:",omitzero"`
	// Unsure is notice or undetermined, for a score that may be on either side of MinScore
	// or MaxDrop; empty if the file does not set it, which means undetermined.
	Unsure string `json:",omitzero"`
}

// MinPower are the least chances, from 0 to 1, that a comparison sees a change for the worse;
// nil if not set.
type MinPower struct {
	// Broken is about one case that always fails, Halved about one that passes half as
	// often, and Fall about all cases that pass less often by 0.10.
	Broken *float64 `json:"broken"`
	Halved *float64 `json:"halved"`
	Fall   *float64 `json:"fall"`
}

// BoundsCosts reports whether a limit on the costs of answers is set.
func (g Gate) BoundsCosts() bool {
	return g.MaxCostRise != nil || g.MaxTimeRise != nil || g.MaxTokensRise != nil
}

// UnsureNotice is the value of Gate.Unsure under which such a score passes.
const UnsureNotice = "notice"

// ScoresFail is the value of Gate.Scores under which a fall fails.
const ScoresFail = "fail"

// Budget limits the spending of runs.
type Budget struct {
	// Limits bound one run.
	Limits
	// PullRequest bounds all runs for one pull request together, and Day all runs of a
	// day in UTC, if they share a ledger.
	PullRequest Limits `json:",omitzero"`
	Day         Limits `json:",omitzero"`
}

// Limits bound spending; a field is nil if it has no limit.
type Limits struct {
	Calls, Tokens *int64
	USD           *float64
}

// A Pin assigns the files that a glob matches to a dialect.
type Pin struct{ Glob, Dialect string }
