package editor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// An unfinished change is noted in a file until all of its files are in place, so that
// the next process can finish it.
type unfinished struct {
	// Ready reports whether every draft is written, so that the change can be finished.
	Ready bool       `json:"ready"`
	Files []fileStep `json:"files"`
}

// A fileStep is one file of a change. Was and Now are versions; empty for no file.
type fileStep struct {
	File  string `json:"file"`
	Draft string `json:"draft,omitempty"`
	Was   string `json:"was"`
	Now   string `json:"now"`
}

// save notes the change. An empty path notes nothing.
func (u unfinished) save(record string) error {
	if record == "" {
		return nil
	}
	data, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return safefile.Replace(record, 0o600, func(to *os.File) error {
		_, err := to.Write(data)
		return errors.Join(err, to.Sync())
	})
}

// forget removes the note of a change, and drafts of notes.
func forget(record string) error {
	if record == "" {
		return nil
	}
	own, err := safefile.Open(filepath.Dir(record))
	if err != nil {
		return err
	}
	defer own.Close() //nolint:errcheck // nothing is left to be written
	name := filepath.Base(record)
	if err := own.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	list, err := os.ReadDir(filepath.Dir(record))
	if err != nil {
		return err
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "."+name+"-") && strings.HasSuffix(e.Name(), safefile.DraftSuffix) {
			_ = own.Remove(e.Name()) // it disturbs nothing
		}
	}
	return nil
}

// A finishedChange is the outcome of a change whose process was killed.
type finishedChange struct {
	// Files counts the files of the change; 0 if there was no change.
	Files int
	// Undone reports whether the change was removed before it began.
	Undone bool
	// Kept are files that somebody changed in the meantime, and that stay unchanged.
	Kept []string
}

// String describes the outcome in a sentence for people; empty if there was no change.
func (f finishedChange) String() string {
	var text string
	switch {
	case f.Files == 0:
		return ""
	case f.Undone:
		text = fmt.Sprintf("a change of %s was ended before it began; it is undone", countFiles(f.Files))
	case len(f.Kept) == 0:
		text = fmt.Sprintf("a change of %s was ended in the middle; it is finished", countFiles(f.Files))
	default:
		text = fmt.Sprintf("a change of %s was ended in the middle, and %s of them changed since, the first is %s; these are as you left them, the others have the change; compare the folder with git diff",
			countFiles(f.Files), countFiles(len(f.Kept)), f.Kept[0])
	}
	return text
}

func countFiles(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// finishChange finishes a change of a folder whose process was killed, or undoes it if no
// file was changed yet. The caller keeps others from writing. A file with neither the old
// nor the new text is somebody else's work and stays.
func finishChange(dir, record string) (out finishedChange, err error) {
	u, err := readUnfinished(record)
	if err != nil || u == nil {
		return out, err
	}
	to, err := safefile.Open(dir)
	if err != nil {
		return out, err
	}
	defer to.Close() //nolint:errcheck // nothing is left to be written
	out.Files, out.Undone = len(u.Files), !u.Ready
	for _, s := range u.inOrder() {
		done := true
		if u.Ready {
			if done, err = s.finish(to); err != nil {
				return out, fmt.Errorf("finish the change of %s: %w", s.File, err)
			}
		}
		if !done {
			out.Kept = append(out.Kept, s.File)
			continue
		}
		if s.Draft != "" {
			_ = to.Remove(s.Draft) // it was mostly renamed already
		}
	}
	return out, forget(record)
}

// readUnfinished reads the note of a change; nil for none.
func readUnfinished(record string) (*unfinished, error) {
	if _, err := os.Lstat(record); record == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	own, err := safefile.Open(filepath.Dir(record))
	if err != nil {
		return nil, err
	}
	defer own.Close() //nolint:errcheck // it was only read
	data, err := own.ReadFile(filepath.Base(record))
	if err != nil {
		return nil, fmt.Errorf("read what is left of a change: %w", err)
	}
	var u unfinished
	if err := json.Unmarshal(data, &u); err != nil {
		return nil, fmt.Errorf("%s says what is left of a change, and cannot be read: %w; compare the definitions with git diff, and remove it", record, err)
	}
	for _, s := range u.Files {
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	return &u, nil
}

// check refuses a draft that does not belong to its file.
func (s fileStep) check() error {
	if err := safefile.CheckName(s.File); err != nil {
		return err
	}
	if s.Draft != "" && (filepath.Dir(s.Draft) != filepath.Dir(s.File) || !strings.HasSuffix(s.Draft, safefile.DraftSuffix)) {
		return fmt.Errorf("%s is not a draft of %s", s.Draft, s.File)
	}
	return nil
}

// inOrder returns the written files and then the removed ones.
func (u *unfinished) inOrder() []fileStep {
	out := slices.Clone(u.Files)
	slices.SortStableFunc(out, func(a, b fileStep) int { return emptyRank(a.Now) - emptyRank(b.Now) })
	return out
}

func emptyRank(version string) int {
	if version == "" {
		return 1
	}
	return 0
}

// finish puts one file of a change in place. It reports false for a file that somebody
// changed in the meantime.
func (s fileStep) finish(to *safefile.Folder) (done bool, err error) {
	is, err := versionOf(to, s.File)
	switch {
	case err != nil:
		return false, err
	case is == s.Now:
		return true, nil
	case is != s.Was:
		return false, nil
	case s.Now == "":
		return true, to.Remove(s.File)
	}
	if draft, err := versionOf(to, s.Draft); err != nil || draft != s.Now {
		return false, err
	}
	return true, to.Place(s.Draft, s.File)
}

// versionOf returns the version of a file; empty for no file.
func versionOf(of *safefile.Folder, file string) (string, error) {
	data, err := of.ReadFile(file)
	var why *safefile.Refusal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.As(err, &why):
		return "refused", nil // it is not the file that was changed
	case err != nil:
		return "", err
	}
	return contentVersion(data), nil
}

// unfinished returns the note of a change before it begins.
func (w *changeWriter) unfinished() (unfinished, error) {
	var out unfinished
	for _, file := range slices.Sorted(maps.Keys(w.files)) {
		was, err := versionOf(w.to, file)
		if err != nil {
			return out, err
		}
		s := fileStep{File: file, Was: was}
		if data := w.files[file]; data != nil {
			s.Now, s.Draft = contentVersion(data), safefile.DraftOf(file)
			w.drafts[file] = s.Draft
		}
		out.Files = append(out.Files, s)
	}
	return out, nil
}
