// Package setup prepares a repository for gavel init and gavel new. [Setup.Run] surveys
// the repository and servers on loopback ([Explore]), asks a person for the rest, and
// writes gavel.yaml, first cases, the workflow and the settings of editors ([FirstFiles],
// [WriteFiles]).
//
// A survey runs nothing, treats all that it reads as data, and asks only loopback.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
)

// A Setup is one gavel init: its folder, its answers and its console.
type Setup struct {
	// Dir is a folder in the repository, or becomes one.
	Dir string
	// Console asks a person; nil if there is none.
	Console *Console
	// Out takes messages for people.
	Out       io.Writer
	LookupEnv func(string) (string, bool)

	Flags
	// Definitions is the folder for definitions.
	Definitions string
	// Git makes a repository if there is none.
	Git bool
	// NoWorkflow and NoEditor leave files out.
	NoWorkflow, NoEditor bool
	// NoForks promises that no pull request comes from a fork.
	NoForks bool
	// Ports are the ports to ask on loopback.
	Ports []int
}

// A Result lists the written files, notes and next steps.
type Result struct {
	Written
	// Root is the root of the repository.
	Root string `json:"-"`
	// Notes are facts that the person should know. Next lists the commands to run next.
	Notes []string `json:"notes"`
	Next  []Step   `json:"next"`
}

// A Step is a command with its purpose.
type Step struct {
	Command string `json:"command"`
	About   string `json:"about"`
}

// Run surveys, asks and writes. The error is a [*Mistake] for a wrong or missing answer,
// or wraps [gitrepo.ErrNoRepository].
func (s Setup) Run(ctx context.Context) (*Result, error) {
	if !fs.ValidPath(path.Clean(s.Definitions)) {
		return nil, mistake("--definitions %s: name a folder of the repository, relative to its root", s.Definitions)
	}
	repo, err := s.repository(ctx)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	files, err := repo.WorkFS()
	if err != nil {
		return nil, err
	}
	defer files.Close()
	look := SurveyOptions{Definitions: []string{s.Definitions}, Ports: s.Ports}
	if s.Definitions == config.DefaultDefinitions {
		look.RootFiles = config.RootFiles()
	}
	found, err := Explore(ctx, files, look)
	if folder := elsewhere(found); err == nil && s.Definitions == config.DefaultDefinitions && folder != "" {
		s.Definitions, look.Definitions = folder, []string{folder}
		found, err = Explore(ctx, files, look)
	}
	if err != nil {
		return nil, err
	}
	if found.Prompts, err = source.PromptFolders(ctx, files); err != nil {
		return nil, err
	}
	fmt.Fprint(s.Out, observed(found))
	if found.Misspelt != "" && found.Config == "" {
		return nil, &NearMissError{found.Misspelt}
	}
	answers, err := s.askAnswers(ctx, found)
	if err != nil {
		return nil, err
	}
	answers.Definitions, answers.Existing, answers.Configured = s.Definitions, found.Definitions, found.Config != ""
	answers.Providers, answers.Models = found.Providers, found.Models
	// Definitions of another tool that name what they test need a judge, and nothing else.
	answers.Editor = !s.NoEditor && (answers.Configured || answers.Agent.Provider != "")
	answers.Agent.Argv = asInstalled(answers.Agent.Argv)
	out := &Result{Root: repo.Root(), Notes: []string{}}
	if err := s.workflow(ctx, repo, &answers, out); err != nil {
		return nil, err
	}
	texts, err := FirstFiles(answers)
	if err != nil {
		return nil, err
	}
	if out.Written, err = WriteFiles(repo.Root(), texts); err != nil {
		return nil, err
	}
	out.Notes = append(out.Notes, absent(files, answers.Agent)...)
	s.conclude(found, answers, out)
	return out, nil
}

// elsewhere returns the one top-level folder that has all suites of AgentV. It is empty in
// a repository with gavel.yaml or other definitions.
func elsewhere(found *Survey) string {
	if found.Config != "" || len(found.Definitions) > 0 {
		return ""
	}
	folder := ""
	for _, f := range found.Foreign {
		if f.Dialect != schema.DialectEvalcase {
			continue
		}
		top, _, isBelow := strings.Cut(f.File, "/")
		if !isBelow || folder != "" && folder != top {
			return ""
		}
		folder = top
	}
	return folder
}

// A NearMissError means that the configuration has a name that Gavel does not read.
type NearMissError struct{ file string }

// Error names the file and the command that renames it.
func (e *NearMissError) Error() string {
	return fmt.Sprintf("%s is not read, since the configuration is gavel.yaml; rename it: git mv %[1]s gavel.yaml", e.file)
}

// repository opens the repository of the folder, or makes one.
func (s Setup) repository(ctx context.Context) (*gitrepo.Repository, error) {
	repo, err := gitrepo.Open(s.Dir)
	if !errors.Is(err, gitrepo.ErrNoRepository) {
		return repo, err
	}
	create := s.Git
	if !create && s.Console != nil {
		if create, err = s.Console.Agree(ctx, s.Dir+" is not in a git repository. Make it one?"); err != nil {
			return nil, err
		}
		fmt.Fprintln(s.Out)
	}
	if !create {
		return nil, fmt.Errorf("%w; run git init there, or add --git", gitrepo.ErrNoRepository)
	}
	if err := gitrepo.Init(s.Dir); err != nil {
		return nil, err
	}
	return gitrepo.Open(s.Dir)
}

// ErrConfigured means that flags name an agent although gavel.yaml has one.
var ErrConfigured = errors.New("gavel.yaml exists and is not changed: add the agent there under targets, or leave its flags out")

// askAnswers asks for the content of the files that will be written.
func (s Setup) askAnswers(ctx context.Context, found *Survey) (Answers, error) {
	if found.Config == "" {
		return interview(ctx, s.Flags, found, s.Console)
	}
	if s.Flags.Agent() {
		return Answers{}, ErrConfigured
	}
	format, err := ParseFormat(s.Format)
	return Answers{Format: format}, err
}

// foreigners lists forges whose pull requests gavel cannot comment on.
var foreigners = []string{"gitlab", "bitbucket", "azure", "visualstudio", "sr.ht", "codecommit"}

// workflow decides whether to write the workflow, from the forge of the remote.
func (s Setup) workflow(ctx context.Context, repo *gitrepo.Repository, answers *Answers, out *Result) error {
	host := repo.Host()
	_, missing := os.Stat(filepath.Join(repo.Root(), workflowFile))
	answers.NoForks = s.NoForks
	if branch := repo.Branch(); branch != "" {
		answers.Branch = branch
	} else {
		answers.Branch = "main"
	}
	isForeign := slices.ContainsFunc(foreigners, func(name string) bool { return strings.Contains(strings.ToLower(host), name) })
	switch {
	case s.NoWorkflow:
	case isForeign:
		out.Notes = append(out.Notes, fmt.Sprintf("the remote is on %s, where gavel does not comment: in CI, run gavel run --base %s --junit report.xml", host, answers.Branch))
	case s.Console == nil || missing == nil:
		answers.Workflow = true
	default:
		var err error
		answers.Workflow, err = s.Console.Agree(ctx, "Add a workflow for GitHub Actions, which comments on pull requests?")
		return err
	}
	return nil
}

// asInstalled returns a command with the interpreter of Python that this machine has.
func asInstalled(argv []string) []string {
	if len(argv) == 0 || argv[0] != "python" {
		return argv
	}
	if _, err := exec.LookPath("python"); err == nil {
		return argv
	}
	if _, err := exec.LookPath("python3"); err != nil {
		return argv
	}
	return append([]string{"python3"}, argv[1:]...)
}

// absent returns a note for each missing part of an agent that is a program: the program
// itself on this machine, and files of the repository that its command names.
func absent(files fs.FS, agent Agent) []string {
	if agent.Provider != config.Command {
		return nil
	}
	var notes []string
	name := agent.Argv[0]
	if _, err := exec.LookPath(name); err != nil && path.Base(name) == name {
		notes = append(notes, name+" is not found on this machine: install it, or correct the command in gavel.yaml")
	}
	reader := command.Reader{Source: document.Source{FS: files}}
	line := command.Line{Argv: agent.Argv, Dir: ".", At: func(int) schema.Position { return schema.Position{} }}
	for _, p := range reader.Program(line).Problems {
		notes = append(notes, p.Message+": write it, or correct the command in gavel.yaml")
	}
	return notes
}

// conclude adds notes and the next commands.
func (s Setup) conclude(found *Survey, a Answers, out *Result) {
	if a.Agent.Provider == config.HTTP {
		if len(a.Agent.Inputs) == 0 {
			out.Notes = append(out.Notes, "a change of a prompt in this repository reruns nothing until gavel.yaml names it under inputs")
		} else if s.Console == nil && len(s.Inputs) == 0 {
			out.Notes = append(out.Notes, "the agent is taken to be made of "+strings.Join(a.Agent.Inputs, ", ")+": correct inputs in gavel.yaml, or give --inputs")
		}
		if a.Workflow && onLoopback(a.Agent.URL) {
			out.Notes = append(out.Notes, "a CI job does not reach "+a.Agent.URL+": let Gavel start the agent, by start in gavel.yaml, or write the URL of a deployed one before you push")
		}
		for _, api := range found.AllAPIs() {
			if api.URL == a.Agent.URL && len(api.Fields) > 0 && !api.Speaks() && a.Agent.Ask == "" {
				out.Notes = append(out.Notes, fmt.Sprintf("%s takes %s, not messages: write body and reply into gavel.yaml, see the comments there", api.URL, strings.Join(api.Fields, ", ")))
			}
		}
	}
	for _, name := range a.KeyVariables() {
		if value, _ := s.LookupEnv(name); value == "" {
			out.Next = append(out.Next, Step{"export " + name + "=…", "the key, which is in no file"})
		}
	}
	if s.Dir != out.Root {
		out.Notes = append(out.Notes, "the files are in the root of the repository, "+out.Root)
	}
	if a.Agent.Provider != "" && a.Agent.Provider != config.Mock {
		out.Next = append(out.Next, Step{`gavel try agent "Hello"`, "send your agent one message"})
	}
	out.Next = append(out.Next, Step{"gavel run", "judge the tests"},
		Step{"gavel watch", "judge them again whenever a file is saved"}, Step{"gavel new NAME", "write another test"})
}

func onLoopback(address string) bool {
	return strings.Contains(address, "://127.") || strings.Contains(address, "://localhost") || strings.Contains(address, "://[::1]")
}
