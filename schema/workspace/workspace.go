// Package workspace has what the folder is made of that the agent of a case works in,
// and what became of it.
package workspace

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema/program"
)

// A Workspace is the folder that the agent of a case works in. Every sample of the
// case has one of its own.
type Workspace struct {
	// Template is the folder of the repository that it begins as a copy of, relative
	// to the root; empty for an empty folder. Only Files count.
	Template string `json:"-"`
	// Files are those of Template, sorted by path.
	Files []File `json:"files,omitempty"`
	// Staged are further files of the repository that are in it.
	Staged []Staged `json:"staged,omitempty"`
	// Before are the programs that prepare it, After those that run when the sample is
	// over, in order.
	Before []Hook `json:"before,omitempty"`
	After  []Hook `json:"after,omitempty"`
	// Test and Metadata are the id of the test and its metadata, which hooks are told. They
	// are empty where there are no hooks.
	Test     string          `json:"test,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// A File is known by what it holds.
type File struct {
	// Path is relative to the folder that the file is of, with slashes.
	Path string `json:"path"`
	// Hash is the hex SHA-256 of its bytes.
	Hash string `json:"sha256"`
	// Executable says that it may be run.
	Executable bool `json:"executable,omitempty"`
}

// A Staged file is copied from another place of the repository than the template.
type Staged struct {
	File
	// From is relative to the repository root.
	From string `json:"-"`
}

// Add adds a program: after the others of its kind.
func (w *Workspace) Add(h Hook) {
	if strings.HasPrefix(h.Event, "after") {
		w.After = append(w.After, h)
		return
	}
	w.Before = append(w.Before, h)
}

// A Hook is a program of the repository that prepares a workspace or clears up
// after it.
type Hook struct {
	// Event is when it runs, as the definition calls it: before_all …
	Event string `json:"event"`
	// Argv is the program with its arguments, as it is started in Dir. Placeholder
	// in it stands for the path of the workspace.
	Argv []string `json:"argv"`
	// Built is what it is made of and shown.
	Built *program.Build `json:"files,omitempty"`
	// Dir is relative to the repository root. InWorkspace has the program start in
	// the workspace instead.
	Dir         string `json:"-"`
	InWorkspace bool   `json:"in_workspace,omitempty"`
	// Timeout ends it.
	Timeout time.Duration `json:"timeout_ns"`
}

// Placeholder stands for the path of the workspace in the arguments of a hook.
const Placeholder = "{{workspace_path}}"

// Changes are what an agent changed in its workspace.
type Changes struct {
	// Files are the files that are not what they were when the agent began, sorted by
	// path.
	Files []Change `json:"files"`
	// Diff shows them as git does.
	Diff string `json:"diff"`
}

// A Change is a file that an agent wrote or deleted.
type Change struct {
	Path string `json:"path"`
	// Deleted says that it is not there any more; it holds nothing then.
	Deleted bool `json:"deleted,omitempty"`
	// Text is what it holds, or Data where that is not text.
	Text       string `json:"text,omitempty"`
	Data       []byte `json:"data,omitempty"`
	Executable bool   `json:"executable,omitempty"`
}

// Bytes are what the file holds.
func (c Change) Bytes() []byte {
	if c.Data != nil {
		return c.Data
	}
	return []byte(c.Text)
}

// Scrubbed are the changes without the secrets that the function takes out. A file that is
// not text and holds one becomes empty.
func (c *Changes) Scrubbed(scrub func(string) string) *Changes {
	if c == nil {
		return nil
	}
	out := &Changes{Files: slices.Clone(c.Files), Diff: scrub(c.Diff)}
	for i := range out.Files {
		f := &out.Files[i]
		f.Path, f.Text = scrub(f.Path), scrub(f.Text)
		if scrub(string(f.Data)) != string(f.Data) {
			f.Data = nil
		}
	}
	return out
}
