// Package codingagent knows the coding agents that Gavel starts: their command lines and
// the events that they print.
//
// It starts nothing. Most callers want [Lookup], then [Agent.Argv] and [Agent.Read].
package codingagent

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/gavel-evals/gavel/schema"
)

// An Agent is a coding agent that works in a folder without asking anyone.
type Agent struct {
	// Name is the provider in gavel.yaml, Program what is looked up on the path, and Package
	// the package of npm that has it.
	Name, Program, Package string
	// Version is what the events were read from: the version of the program, or the
	// documentation where that names none.
	Version string
	// Keys are the variables from which it takes its key. The first one is the default of
	// api_key_env; nil if the variable depends on the model.
	Keys []string
	// env is added to its environment, as NAME=value; addressed, too, where it is given an
	// address.
	env       []string
	addressed func(address string) []string
	// Bounds says which of its own bounds it has.
	Bounds Bounds
	// Priced says that it reports the tokens of its input, without which a price means
	// nothing.
	Priced bool

	// api returns the API by which it asks a model; nil if it cannot be given an address.
	api    func(model string) *API
	argv   func(Settings) []string
	argues bool // the prompt is an argument
	read   func(lines [][]byte) (Turn, error)
}

// Bounds says which bounds an agent keeps by itself, besides Gavel's own on time and budget.
type Bounds struct{ Turns, USD bool }

// Settings are the parts of a command line that an operator sets.
type Settings struct {
	// Model is the agent's name for the model; empty for its default.
	Model string
	// Address is where it finds the [API]; empty for its own.
	Address string
	// Turns and USD bound its work; 0 for no bound. USD is checked after each turn.
	Turns int
	USD   float64
}

// A Turn is what an agent did between a prompt and its end.
type Turn struct {
	// Messages are its texts, its tool calls and their results, in order. The last one is
	// its answer.
	Messages []schema.Message
	// Model is the one that it names; empty if it names none.
	Model string
	// InputTokens include cached ones. Both are 0 if the agent does not report them.
	InputTokens, OutputTokens int64
	// CostUSD is what it says that the turn cost; nil if it does not say.
	CostUSD *float64
}

var agents = []Agent{claudeCode, codex, copilot, openCode}

// DriverVersion is a part of the digest of what an agent did. It is raised when a command
// line, or what is read from events, changes.
const DriverVersion = 2

// Lookup returns the agent with a name.
func Lookup(name string) (Agent, bool) {
	i := slices.IndexFunc(agents, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return agents[i], true
}

// Names returns the names of all agents.
func Names() []string {
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.Name
	}
	return names
}

// DefaultKey returns the variable from which an agent takes its key by default; empty for
// none.
func (a Agent) DefaultKey() string {
	if len(a.Keys) == 0 {
		return ""
	}
	return a.Keys[0]
}

// KeyVariable returns the variable in which an agent gets the key that the operator has in
// the variable from.
func (a Agent) KeyVariable(from string) string {
	if len(a.Keys) == 0 || slices.Contains(a.Keys, from) {
		return from
	}
	return a.Keys[0]
}

// Argv returns the command line for a prompt. The prompt is never read as a flag: it is on
// stdin, or the value of one, or behind the end of all flags.
func (a Agent) Argv(s Settings, prompt string) (argv []string, stdin string) {
	argv = append([]string{a.Program}, a.argv(s)...)
	if !a.argues {
		return argv, prompt
	}
	last := len(argv) - 1
	argv[last] += prompt
	return argv, ""
}

// Read reads the lines that an agent printed. It passes over events of unknown types, which
// newer versions add, and over lines that are not JSON objects. The error says why the work
// did not come to its end; the turn then has what was used up to there.
func (a Agent) Read(printed []byte) (Turn, error) { return a.read(lines(printed)) }

// flag returns a flag with its value in one word, so that no value is read as a flag of its
// own; none for an empty value.
func flag(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{name + "=" + value}
}

// number returns a number as a flag's value; empty for 0.
func number(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// answer returns the messages with a final text, unless they end with it.
func answer(messages []schema.Message, text string) []schema.Message {
	if text == "" {
		return messages
	}
	if n := len(messages); n > 0 && messages[n-1].Role == schema.RoleAssistant && len(messages[n-1].ToolCalls) == 0 && messages[n-1].Content == text {
		return messages
	}
	return append(messages, schema.Message{Role: schema.RoleAssistant, Content: text})
}

// call returns a message with one tool call.
func call(id, name string, arguments []byte) schema.Message {
	return schema.Message{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{toolCall(id, name, arguments)}}
}

func toolCall(id, name string, arguments []byte) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: cmp.Or(string(arguments), "{}")}}
}

// result returns the message with the result of a tool call.
func result(id, name, text string) schema.Message {
	return schema.Message{Role: schema.RoleTool, ToolCallID: id, Name: name, Content: text}
}
