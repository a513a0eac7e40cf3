package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// A Workspace is the folder that the agent of a case works in. Every sample of the
// case has one of its own.
type Workspace struct {
	// Template is the folder of the repository that it is copied from, relative to the root. If it is
	// empty, so is the workspace. Only Files count.
	Template string `json:"-"`
	// Files are the files of Template, sorted by path.
	Files []WorkspaceFile `json:"files,omitempty"`
	// Staged are copied from other places of the repository.
	Staged []StagedFile `json:"staged,omitempty"`
	// Skill is copied to the folders in which agents look for skills; nil for none.
	Skill *WorkspaceSkill `json:"skill,omitempty"`
	// Choice has an agent choose between skills; nil for none.
	Choice *SkillChoice `json:"choice,omitempty"`
	// Before are the programs that prepare it, and After the programs that run when the sample is over,
	// in order.
	Before []WorkspaceHook `json:"before,omitempty"`
	After  []WorkspaceHook `json:"after,omitempty"`
	// Test and Metadata are the id of the test and its metadata, which hooks read. They are empty
	// without hooks.
	Test     string          `json:"test,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// A WorkspaceFile identifies a file by its content.
type WorkspaceFile struct {
	// Path is relative to the folder, with slashes.
	Path string `json:"path"`
	// Hash is the hex SHA-256 of its bytes.
	Hash string `json:"sha256"`
	// Executable says that it may be run.
	Executable bool `json:"executable,omitempty"`
}

// A WorkspaceSkill is the skill under test: the folder of a SKILL.md.
type WorkspaceSkill struct {
	// Name is the name of the folder in which agents find it.
	Name string `json:"name"`
	// Dir is the folder that it is copied from, relative to the repository root. Only Files count.
	Dir string `json:"-"`
	// Files are the files of Dir, sorted by path.
	Files []WorkspaceFile `json:"files"`
}

// A SkillChoice shows whether an agent loads a skill. All skills of a repository are laid
// out by what agents choose them by, without their bodies, and the agent is ended once it
// has decided.
type SkillChoice struct {
	// Skill is the skill that is asked about.
	Skill string `json:"skill"`
	// Sum is the hex SHA-256 of Skills, so that few bytes stand for many skills.
	Sum string `json:"sum,omitempty"`
	// Skills are sorted by name.
	Skills []SkillHead `json:"-"`
}

// A SkillHead is a skill as agents list it.
type SkillHead struct {
	Name string `json:"name"`
	// Text is its SKILL.md without the body.
	Text string `json:"text"`
	// Dir is its folder, relative to the repository root.
	Dir string `json:"-"`
}

// NewSkillChoice returns the choice of one skill from all.
func NewSkillChoice(skill string, from []SkillHead) *SkillChoice {
	raw, _ := json.Marshal(from) // texts always encode
	sum := sha256.Sum256(raw)
	return &SkillChoice{Skill: skill, Sum: hex.EncodeToString(sum[:]), Skills: from}
}

// SkillFolders are the folders of a workspace in which agents look for skills.
func SkillFolders() []string { return []string{".agents/skills", ".claude/skills"} }

// A StagedFile is copied from a place of the repository outside of the template.
type StagedFile struct {
	WorkspaceFile
	// From is relative to the repository root.
	From string `json:"-"`
}

// Add appends a program to Before or After, by its event.
func (w *Workspace) Add(h WorkspaceHook) {
	if strings.HasPrefix(h.Event, "after") {
		w.After = append(w.After, h)
		return
	}
	w.Before = append(w.Before, h)
}

// A WorkspaceHook is a program of the repository that prepares or cleans up a workspace.
type WorkspaceHook struct {
	// Event says when it runs, in the words of the definition: before_all …
	Event string `json:"event"`
	// Argv is the program with its arguments, as it is started in Dir. [WorkspacePlaceholder] in it
	// stands for the path of the workspace.
	Argv []string `json:"argv"`
	// Built are the files that it consists of and is shown.
	Built *ProgramFiles `json:"files,omitempty"`
	// Dir is relative to the repository root. With InWorkspace the program starts in the workspace
	// instead.
	Dir         string `json:"-"`
	InWorkspace bool   `json:"in_workspace,omitempty"`
	// Timeout ends it.
	Timeout time.Duration `json:"timeout_ns"`
}

// WorkspacePlaceholder stands for the path of the workspace in the arguments of a hook.
const WorkspacePlaceholder = "{{workspace_path}}"

// WorkspaceChanges are the changes of an agent in its workspace.
type WorkspaceChanges struct {
	// Files are the files that the agent changed, sorted by path.
	Files []ChangedFile `json:"files"`
	// Diff shows them as git does.
	Diff string `json:"diff"`
}

// A ChangedFile is a file that an agent wrote or deleted.
type ChangedFile struct {
	Path string `json:"path"`
	// Deleted means that the file is gone; then it has no content.
	Deleted bool `json:"deleted,omitempty"`
	// Text is the content, or Data if the content is not text.
	Text       string `json:"text,omitempty"`
	Data       []byte `json:"data,omitempty"`
	Executable bool   `json:"executable,omitempty"`
}

// Bytes returns the content of the file.
func (c ChangedFile) Bytes() []byte {
	if c.Data != nil {
		return c.Data
	}
	return []byte(c.Text)
}

// Scrubbed returns the changes without the secrets that the function removes. A file that is not text
// and has a secret becomes empty.
func (c *WorkspaceChanges) Scrubbed(scrub func(string) string) *WorkspaceChanges {
	if c == nil {
		return nil
	}
	out := &WorkspaceChanges{Files: slices.Clone(c.Files), Diff: scrub(c.Diff)}
	for i := range out.Files {
		f := &out.Files[i]
		f.Path, f.Text = scrub(f.Path), scrub(f.Text)
		if scrub(string(f.Data)) != string(f.Data) {
			f.Data = nil
		}
	}
	return out
}
