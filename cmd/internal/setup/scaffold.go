package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/safefile"
	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/load"
)

// workflowFile is the path of the workflow.
const workflowFile = ".github/workflows/gavel.yml"

// A File is written unless it exists.
type File struct {
	// Path is relative to the repository root, with slashes.
	Path string `json:"path"`
	Text string `json:"-"`
	// About describes the file in a few words.
	About string `json:"about"`
}

// An Agent is a target of gavel.yaml, and how to reach it.
type Agent struct {
	Provider string
	// URL is the address of an http agent. Ask is its request field with the user's
	// message, and Answer the path of its reply field with the text. Both are empty if it
	// speaks Gavel's contract, and Answer is empty if it is unknown.
	URL, Ask, Answer string
	// Argv starts a command.
	Argv []string
	// Inputs are globs of the files that the agent is built from; none if they are
	// unknown.
	Inputs []string
	// Model and BaseURL identify a model. KeyEnv names the variable with its key; empty
	// if it needs none.
	Model, BaseURL, KeyEnv string
}

// IsModel reports whether the agent is a model of a provider, which can judge, too.
func (a Agent) IsModel() bool {
	_, isServer := config.LookupPreset(a.Provider)
	return isServer || slices.Contains([]string{config.OpenAI, config.Anthropic, config.Gemini}, a.Provider)
}

// isCoder reports whether the agent is a coding agent that Gavel knows how to start.
func (a Agent) isCoder() bool {
	_, ok := codingagent.Lookup(a.Provider)
	return ok
}

// Answers determine the content of the first files.
type Answers struct {
	// Agent is the target under test. The provider mock means that there is none yet.
	Agent Agent
	// Judge is the model that judges. If it is nil, an agent that is a model judges
	// itself, and nothing judges any other agent.
	Judge *Agent
	// Format is the format of the first case for the agent.
	Format string
	// Definitions is the folder with definitions, relative to the root.
	Definitions string
	// Existing are the definitions in the repository. If there are some, no cases are
	// added.
	Existing []load.FileSummary
	// Providers are the names of targets in definitions of the matrix format.
	Providers []string
	// Models are the ones that may judge.
	Models []Model
	// Configured reports whether gavel.yaml exists.
	Configured bool
	// Workflow asks for the workflow, which judges pushes to Branch.
	Workflow bool
	Branch   string
	// NoForks asks for the workflow of teams that take no pull requests from forks.
	NoForks bool
	// Editor asks for settings of Visual Studio Code.
	Editor bool
}

// FirstFiles returns the first files of a repository in reading order.
func FirstFiles(a Answers) ([]File, error) {
	var out []File
	if !a.Configured {
		about := "how your agent is reached"
		if a.Agent.Provider == "" {
			about = "the judge"
		}
		out = append(out, File{"gavel.yaml", configText(a), about})
	}
	if len(a.Existing) == 0 && (a.Configured || a.Agent.Provider != "") {
		out = append(out, firstCases(a)...)
	}
	if a.Workflow {
		out = append(out, File{workflowFile, workflowText(a), "judges pull requests in GitHub Actions"})
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

// firstCases returns a case for the mock and one for the agent.
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

// KeyVariables returns the environment variables that the answers name, each once.
func (a Answers) KeyVariables() []string {
	names := []string{a.Agent.KeyEnv}
	if a.Agent.Provider == "" {
		for _, m := range a.Models {
			names = append(names, m.KeyEnv)
		}
	}
	if a.Judge != nil {
		names = append(names, a.Judge.KeyEnv)
	}
	slices.Sort(names)
	return slices.Compact(slices.DeleteFunc(names, func(s string) bool { return s == "" }))
}

// plain matches a text that YAML reads as itself.
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

// A Written lists the files that were written and the ones that existed.
type Written struct {
	// Written are new. Kept existed and are unchanged.
	Written []File `json:"written"`
	Kept    []File `json:"kept"`
}

// WriteFiles writes the files that do not exist yet below a folder. It changes no file
// and follows no link. A path that leads out of the folder or through a link is an error
// before anything is written. Another error names the file that could not be written; the
// files before it are written.
func WriteFiles(dir string, files []File) (out Written, err error) {
	out = Written{Written: []File{}, Kept: []File{}}
	folder, err := safefile.Open(dir)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	for _, f := range files {
		if !fs.ValidPath(f.Path) {
			return out, fmt.Errorf("write %s: the path is not below the repository's root, and nothing is written", f.Path)
		}
		for parent := path.Dir(f.Path); parent != "."; parent = path.Dir(parent) {
			info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(parent)))
			switch {
			case err != nil || info.IsDir():
			case info.Mode()&fs.ModeSymlink != 0:
				return out, fmt.Errorf("write %s: %s is a link, and nothing is written", f.Path, parent)
			default:
				return out, fmt.Errorf("write %s: %s is not a folder, and nothing is written", f.Path, parent)
			}
		}
	}
	for _, f := range files {
		switch err := folder.Create(f.Path, []byte(f.Text), 0o644); {
		case errors.Is(err, fs.ErrExist):
			out.Kept = append(out.Kept, f)
		case err != nil:
			return out, fmt.Errorf("write %s: %w", f.Path, err)
		default:
			out.Written = append(out.Written, f)
		}
	}
	return out, nil
}
