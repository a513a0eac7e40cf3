// Package setup is gavel init: it looks around in a repository, hears what is
// missing, and writes the first files.
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

	"github.com/gavel-evals/gavel/cmd/internal/interview"
	"github.com/gavel-evals/gavel/cmd/internal/scaffold"
	"github.com/gavel-evals/gavel/cmd/internal/survey"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
)

// A Setup says where gavel init works and what it was told.
type Setup struct {
	// Dir is in the repository, or becomes one.
	Dir string
	// Console asks a person; nil where there is none.
	Console *interview.Console
	// Out is where people read what happens; io.Discard for nobody.
	Out       io.Writer
	LookupEnv func(string) (string, bool)

	interview.Flags
	// Definitions is the folder for definitions.
	Definitions string
	// Git makes a repository where there is none.
	Git bool
	// NoWorkflow and NoEditor leave files out.
	NoWorkflow, NoEditor bool
	// NoForks says that no pull request comes from a fork.
	NoForks bool
	// Ports are asked on loopback.
	Ports []int
}

// A Result is what was done.
type Result struct {
	scaffold.Written
	// Root is the repository's.
	Root string `json:"-"`
	// Notes are facts that the person should know, Next the commands that follow.
	Notes []string `json:"notes"`
	Next  []Step   `json:"next"`
}

// A Step is a command with what it does.
type Step struct {
	Command string `json:"command"`
	About   string `json:"about"`
}

// Run does all of it. The error is an [*interview.Mistake] where something was said
// that means nothing or not said at all, or wraps [gitrepo.ErrNoRepository].
func (s Setup) Run(ctx context.Context) (*Result, error) {
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
	look := survey.Options{Definitions: []string{s.Definitions}, Ports: s.Ports}
	if s.Definitions == config.DefaultDefinitions {
		look.RootFiles = config.RootFiles()
	}
	found, err := survey.Explore(ctx, files, look)
	if folder := elsewhere(found); err == nil && s.Definitions == config.DefaultDefinitions && folder != "" {
		s.Definitions, look.Definitions = folder, []string{folder}
		found, err = survey.Explore(ctx, files, look)
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
	answers.Providers, answers.Editor = found.Providers, !s.NoEditor
	out := &Result{Root: repo.Root(), Notes: []string{}}
	if err := s.workflow(ctx, repo, &answers, out); err != nil {
		return nil, err
	}
	texts, err := scaffold.Files(answers)
	if err != nil {
		return nil, err
	}
	if out.Written, err = scaffold.Write(repo.Root(), texts); err != nil {
		return nil, err
	}
	out.Notes = append(out.Notes, absent(files, answers.Agent)...)
	s.conclude(found, answers, out)
	return out, nil
}

// elsewhere is the one folder of the root that has all suites of AgentV, in a repository without
// gavel.yaml and other definitions; empty for any other repository.
func elsewhere(found *survey.Survey) string {
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

// A NearMissError is a configuration under a name that is not read.
type NearMissError struct{ file string }

// Error says how to rename it.
func (e *NearMissError) Error() string {
	return fmt.Sprintf("%s is not read, since the configuration is gavel.yaml; rename it: git mv %[1]s gavel.yaml", e.file)
}

// repository opens the one that the folder is in, or makes it.
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

// ErrConfigured says that an agent was named although gavel.yaml names one.
var ErrConfigured = errors.New("gavel.yaml exists and is not changed: add the agent there under targets, or leave its flags out")

// askAnswers asks only about the files that will be written.
func (s Setup) askAnswers(ctx context.Context, found *survey.Survey) (scaffold.Answers, error) {
	if found.Config == "" {
		return interview.Hear(ctx, s.Flags, found, s.Console)
	}
	if s.Flags.Agent() {
		return scaffold.Answers{}, ErrConfigured
	}
	format, err := interview.Format(s.Format)
	return scaffold.Answers{Format: format}, err
}

// foreigners are forges whose pull requests gavel cannot comment on.
var foreigners = []string{"gitlab", "bitbucket", "azure", "visualstudio", "sr.ht", "codecommit"}

// workflow decides about the workflow by the forge of the remote.
func (s Setup) workflow(ctx context.Context, repo *gitrepo.Repository, answers *scaffold.Answers, out *Result) error {
	host := repo.Host()
	_, missing := os.Stat(filepath.Join(repo.Root(), scaffold.WorkflowFile))
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

// absent returns which parts of an agent that is a program are not there: the program
// itself on this machine, and the files of the repository that its command names.
func absent(files fs.FS, agent scaffold.Agent) []string {
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

// conclude adds what the person should know, and the next commands.
func (s Setup) conclude(found *survey.Survey, a scaffold.Answers, out *Result) {
	if a.Agent.Provider == config.HTTP {
		if len(a.Agent.Inputs) == 0 {
			out.Notes = append(out.Notes, "a change of a prompt in this repository reruns nothing until gavel.yaml names it under inputs")
		} else if s.Console == nil && len(s.Inputs) == 0 {
			out.Notes = append(out.Notes, "the agent is taken to be made of "+strings.Join(a.Agent.Inputs, ", ")+": correct inputs in gavel.yaml, or give --inputs")
		}
		if a.Workflow && onLoopback(a.Agent.URL) {
			out.Notes = append(out.Notes, "a CI job does not reach "+a.Agent.URL+": write the URL of a deployed agent into gavel.yaml before you push")
		}
		for _, api := range found.Described() {
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
