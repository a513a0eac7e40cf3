// Package scaffold makes the first files of a repository: gavel.yaml, cases, the
// workflow and the settings of editors.
//
// [Files] and [Case.Files] return texts; [Write] writes those that do not exist yet.
package scaffold

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target/preset"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/load"
)

// WorkflowFile is the path of the workflow.
const WorkflowFile = ".github/workflows/gavel.yml"

// A File is written unless it exists.
type File struct {
	// Path is relative to the repository root, with slashes.
	Path string `json:"path"`
	Text string `json:"-"`
	// About says in a few words what the file is.
	About string `json:"about"`
}

// An Agent is how a target is reached: what a target of gavel.yaml says.
type Agent struct {
	Provider string
	// URL is that of an http agent. Ask is the field of its request with the user's
	// message, and Answer the path of the one of its reply with the text. Both are empty
	// where it speaks Gavel's contract, and Answer where it is not known.
	URL, Ask, Answer string
	// Argv starts a command.
	Argv []string
	// Inputs are globs of the files that the agent is made of; none where that is not
	// known.
	Inputs []string
	// Model and BaseURL are those of a model, KeyEnv names the variable with its
	// key; empty where none is needed.
	Model, BaseURL, KeyEnv string
}

// IsModel reports whether a provider's model is asked, which can judge, too.
func (a Agent) IsModel() bool {
	_, isServer := preset.Named(a.Provider)
	return isServer || slices.Contains([]string{config.OpenAI, config.Anthropic, config.Gemini}, a.Provider)
}

// Answers say what the files are to hold.
type Answers struct {
	// Agent is the one under test; that of the provider mock means that there is
	// none yet.
	Agent Agent
	// Judge is a model that judges; nil for the agent itself where it is a model,
	// else for none.
	Judge *Agent
	// Format is that of the first case for the agent.
	Format string
	// Definitions is the folder with definitions, relative to the root.
	Definitions string
	// Existing are the definitions that there are; no cases are added to them.
	Existing []load.FileSummary
	// Providers are the names by which those of the matrix format call their targets.
	Providers []string
	// Configured says that gavel.yaml exists.
	Configured bool
	// Workflow asks for the workflow, which judges pushes to Branch.
	Workflow bool
	Branch   string
	// NoForks asks for the workflow of teams that take no pull requests from forks.
	NoForks bool
	// Editor asks for settings of Visual Studio Code.
	Editor bool
}

// Files returns the files in the order in which they are read.
func Files(a Answers) ([]File, error) {
	var out []File
	if !a.Configured {
		out = append(out, File{"gavel.yaml", configText(a), "how your agent is reached"})
	}
	if len(a.Existing) == 0 {
		out = append(out, firstCases(a)...)
	}
	if a.Workflow {
		out = append(out, File{WorkflowFile, workflowText(a), "judges pull requests in GitHub Actions"})
	}
	if a.Editor {
		files, err := editorFiles(a)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// firstCases are one for the mock and one for the agent.
func firstCases(a Answers) []File {
	var out []File
	if !a.Configured {
		out = append(out, mockCase(a)...)
	}
	if a.Agent.Provider == config.Mock {
		return out
	}
	first := Case{Format: a.Format, Key: "first", Input: "Hello! What can you help me with?", Editor: a.Editor, Agent: agentName}
	if a.Format == schema.DialectDomain {
		first.Key = "support/level_1/first"
	}
	return append(out, first.Files(a.Definitions)...)
}

// KeyVariables are the environment variables that the answers name, each once.
func (a Answers) KeyVariables() []string {
	names := []string{a.Agent.KeyEnv}
	if a.Judge != nil {
		names = append(names, a.Judge.KeyEnv)
	}
	return slices.Compact(slices.DeleteFunc(names, func(s string) bool { return s == "" }))
}

// plain is a text that YAML reads as itself.
var plain = lazyregexp.New(`^[A-Za-z/][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$`)

// reserved are words that YAML, or an older version of it, reads as something
// other than a text.
var reserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// quoted writes a text as a YAML scalar on one line.
func quoted(text string) string {
	if plain.MatchString(text) && !slices.Contains(reserved, strings.ToLower(text)) {
		return text
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return `""` // a text can always be encoded
	}
	return string(raw)
}

// list writes texts as a YAML list on one line.
func list(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = quoted(t)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
