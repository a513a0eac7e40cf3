// Package workspaces makes the folders that agents work in, runs the programs that
// prepare them, and finds out what agents changed.
//
// Most callers want [New]. The changes of a sample are stored, so that it can be judged
// again: the folder is then made as it was and changed in the same way.
package workspaces

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/schema"
)

// A Checkout is the place in which the programs of a commit run: Tree has its files.
type Checkout struct {
	Box  *sandbox.Box
	Tree string
}

// A Session is the workspace of one sample. It must not be used by several goroutines
// at once. A nil Session means a case without a workspace.
type Session struct {
	definition *schema.Workspace
	input      []schema.Message
	kept       *schema.WorkspaceChanges

	place  Checkout
	folder *sandbox.Folder // nil until it is opened
	began  state
}

// New prepares the workspace of a sample, which is made when it is opened. input is the
// case's text for its hooks. It returns nil if the case has none.
func New(definition *schema.Workspace, input []schema.Message) *Session {
	if definition == nil {
		return nil
	}
	return &Session{definition: definition, input: input}
}

// Digest is the hex SHA-256 of the workspace's sources; empty for none.
func (s *Session) Digest() string {
	if s == nil {
		return ""
	}
	raw, _ := json.Marshal(s.definition) // texts, numbers and JSON always encode
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Keep has the workspace be as an agent left it, where it is not open yet.
func (s *Session) Keep(changes *schema.WorkspaceChanges) {
	if s != nil && changes != nil {
		s.kept = changes
	}
}

// Open returns the path of the workspace, which it makes first where it is not open
// yet: the template is copied, the hooks before are run, and what was kept is written.
func (s *Session) Open(ctx context.Context, place Checkout) (string, error) {
	if s.folder != nil {
		return s.dir(), nil
	}
	folder, err := place.Box.NewWorkspace()
	if err != nil {
		return "", fmt.Errorf("make a workspace: %w", err)
	}
	s.folder, s.place = folder, place
	if err := s.prepare(ctx); err != nil {
		return "", errors.Join(err, s.Discard())
	}
	return s.dir(), nil
}

// dir is the workspace itself, whose parent nobody else may look into.
func (s *Session) dir() string { return filepath.Join(s.folder.Path, "workspace") }

func (s *Session) prepare(ctx context.Context) error {
	err := os.Mkdir(s.dir(), 0o755)
	if err == nil {
		err = s.copyTemplate()
	}
	if err != nil {
		return fmt.Errorf("make a workspace: %w", err)
	}
	for _, h := range s.definition.Before {
		if err := s.run(ctx, h); err != nil {
			return err
		}
	}
	if s.began, err = readState(ctx, s.dir()); err == nil && s.kept != nil {
		err = write(s.dir(), s.kept.Files)
	}
	if err != nil {
		return fmt.Errorf("make a workspace: %w", err)
	}
	return nil
}

// copyTemplate copies the files that the definition lists, and demands that they are
// those that were planned with.
func (s *Session) copyTemplate() error {
	all, choice := s.sources(), s.definition.Choice
	if len(all) == 0 && choice == nil {
		return nil
	}
	from, err := os.OpenRoot(s.place.Tree)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	to, err := os.OpenRoot(s.dir())
	if err != nil {
		return err
	}
	defer to.Close() //nolint:errcheck // the files in it are closed
	for _, f := range all {
		data, err := from.ReadFile(filepath.FromSlash(f.From))
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.Hash {
			return fmt.Errorf("%s was changed during the run; run again", f.From)
		}
		if err := writeFile(to, f.Path, data, f.Executable); err != nil {
			return err
		}
	}
	return layOut(to, choice)
}

// layOut writes the heads of the skills that an agent chooses from.
func layOut(to *os.Root, choice *schema.SkillChoice) error {
	if choice == nil {
		return nil
	}
	for _, folder := range schema.SkillFolders() {
		for _, s := range choice.Skills {
			if err := writeFile(to, path.Join(folder, s.Name, "SKILL.md"), []byte(s.Text), false); err != nil {
				return err
			}
		}
	}
	return nil
}

// Choice returns the skills that the agent chooses from; nil for none.
func (s *Session) Choice() *schema.SkillChoice {
	if s == nil {
		return nil
	}
	return s.definition.Choice
}

// sources lists the files that are copied into the workspace.
func (s *Session) sources() []schema.StagedFile {
	all := slices.Clone(s.definition.Staged)
	for _, f := range s.definition.Files {
		all = append(all, schema.StagedFile{WorkspaceFile: f, From: path.Join(s.definition.Template, f.Path)})
	}
	skill := s.definition.Skill
	if skill == nil {
		return all
	}
	for _, folder := range schema.SkillFolders() {
		for _, f := range skill.Files {
			copied := schema.StagedFile{WorkspaceFile: f, From: path.Join(skill.Dir, f.Path)}
			copied.Path = path.Join(folder, skill.Name, f.Path)
			all = append(all, copied)
		}
	}
	return all
}

// hookInput is the JSON that a hook reads.
type hookInput struct {
	Path     string           `json:"workspace_path"`
	Test     string           `json:"test_id"`
	Input    []schema.Message `json:"case_input"`
	Metadata json.RawMessage  `json:"case_metadata"`
}

// run runs a hook in the sandbox, where it may write the workspace.
func (s *Session) run(ctx context.Context, h schema.WorkspaceHook) error {
	metadata := s.definition.Metadata
	if len(metadata) == 0 {
		metadata = json.RawMessage("null")
	}
	stdin, err := json.Marshal(hookInput{s.dir(), s.definition.Test, s.input, metadata})
	if err != nil {
		return fmt.Errorf("encode the input of the hook %s: %w", h.Event, err)
	}
	dir := filepath.Join(s.place.Tree, filepath.FromSlash(h.Dir))
	argv := make([]string, len(h.Argv))
	for i, word := range h.Argv {
		argv[i] = placeholders.Replace(word, s.dir())
	}
	if h.InWorkspace {
		argv = FromFolder(argv, dir)
		dir = s.dir()
	}
	box := s.place.Box
	if h.Built != nil {
		if box, err = box.Showing(sandbox.View{Files: h.Built.Paths(), Folders: []string{path.Clean(h.Dir)}}); err != nil {
			return fmt.Errorf("the hook %s: %w", h.Event, err)
		}
	}
	_, err = box.Run(ctx, sandbox.Program{
		Argv: argv, Tree: s.place.Tree, Dir: dir, Workspace: s.dir(), Stdin: stdin, Env: Variables(s.dir(), s.place.Tree),
		Limits: sandbox.Limits{Time: h.Timeout},
	})
	if failure, ok := errors.AsType[*sandbox.Failure](err); ok && failure.TimedOut {
		failure.Hint = "timeout_ms of the hook bounds it"
	}
	if err != nil {
		return fmt.Errorf("the hook %s: %w", h.Event, err)
	}
	return nil
}

// A placeholder is the path of the workspace in the ways in which people write it.
type placeholder []string

var placeholders = placeholder{schema.WorkspacePlaceholder, "{{ workspace_path }}"}

func (p placeholder) Replace(word, path string) string {
	for _, name := range p {
		word = strings.ReplaceAll(word, name, path)
	}
	return word
}

// Variables are the environment variables by which a program that starts in a workspace
// knows where it and the files of the repository are.
func Variables(workspace, tree string) []string {
	return []string{"GAVEL_WORKSPACE=" + workspace, "GAVEL_REPOSITORY=" + tree}
}

// FromFolder is a command that is written for a folder as it is started from another:
// words that name a file of the folder get their full path.
func FromFolder(argv []string, dir string) []string {
	out := make([]string, len(argv))
	for i, word := range argv {
		out[i] = word
		if word == "" || strings.HasPrefix(word, "-") || filepath.IsAbs(word) || i == 0 && !strings.Contains(word, "/") {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(word))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			out[i] = path
		}
	}
	return out
}

// Changes are the changes since the agent began; nil for a workspace that is not open.
func (s *Session) Changes(ctx context.Context) (*schema.WorkspaceChanges, error) {
	if s == nil || s.folder == nil {
		return nil, nil
	}
	is, err := readState(ctx, s.dir())
	if err != nil {
		return nil, fmt.Errorf("find the changes in the workspace: %w", err)
	}
	return compare(s.began, is, s.dir())
}

// Discard removes the workspace without running hooks. It is made again when it is opened
// again.
func (s *Session) Discard() error {
	if s == nil || s.folder == nil {
		return nil
	}
	folder := s.folder
	s.folder = nil
	return folder.Remove()
}

// Close runs the hooks after and removes the workspace. It returns the errors, which
// are independent of the agent's work.
func (s *Session) Close(ctx context.Context) (notes []string) {
	if s == nil || s.folder == nil {
		return nil
	}
	for _, h := range s.definition.After {
		if err := s.run(ctx, h); err != nil {
			notes = append(notes, err.Error())
		}
	}
	if err := s.Discard(); err != nil {
		notes = append(notes, err.Error())
	}
	return notes
}
