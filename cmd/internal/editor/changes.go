package editor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// A Change maps files to their new content; nil removes a file.
type Change map[string][]byte

// commitChange writes a change to the files of a folder: all of it or nothing. If a file
// cannot be written, the files before it are restored. It follows no link, and removes
// files last, so that definitions are never missing. record is the file that notes the
// change until it is done, for [finishChange]; empty for none.
func commitChange(dir, record string, c Change) error { return writeChange(dir, record, c, func() {}) }

// writeChange is [commitChange] with a call of after in each step, where tests end the
// process.
func writeChange(dir, record string, c Change, after func()) error {
	to, err := safefile.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }() // nothing is left to be written
	w := &changeWriter{to: to, files: c, drafts: map[string]string{}, was: Change{}, after: after}
	note, err := w.unfinished()
	if err == nil && len(c) > 0 {
		err = w.noting(record, note)
	}
	return err
}

// noting stages and places the files. A note of the change exists meanwhile.
func (w *changeWriter) noting(record string, note unfinished) error {
	if err := note.save(record); err != nil {
		return fmt.Errorf("note the change: %w", err)
	}
	w.after()
	for _, s := range note.Files {
		if err := w.stage(s.File); err != nil {
			w.discard()
			return errors.Join(fmt.Errorf("write %s: %w", s.File, err), forget(record))
		}
		w.after()
	}
	note.Ready = true
	if err := note.save(record); err != nil {
		w.discard()
		return errors.Join(fmt.Errorf("note the change: %w", err), forget(record))
	}
	w.after()
	for _, file := range w.files.inOrder() {
		if err := w.put(file); err != nil {
			return errors.Join(fmt.Errorf("write %s: %w", file, err), w.restore(), forget(record))
		}
		w.after()
	}
	return forget(record)
}

// inOrder returns the written files and then the removed ones, so that a process that
// ends between two of them leaves every definition.
func (c Change) inOrder() []string {
	names := slices.Sorted(maps.Keys(c))
	slices.SortStableFunc(names, func(a, b string) int { return removedRank(c[a]) - removedRank(c[b]) })
	return names
}

// removedRank sorts removed files last.
func removedRank(data []byte) int {
	if data == nil {
		return 1
	}
	return 0
}

// A changeWriter writes one change.
type changeWriter struct {
	to    *safefile.Folder
	files Change
	// drafts maps files to the drafts that are not in place yet.
	drafts map[string]string
	// was has the former content of the written files; nil for a new file.
	was Change
	// after is called after each step.
	after func()
}

// stage writes a file next to its place.
func (w *changeWriter) stage(file string) error {
	data := w.files[file]
	if data == nil {
		_, err := w.to.ReadFile(file)
		return err
	}
	return w.to.Draft(file, w.drafts[file], 0o644, writeText(data))
}

// writeText returns a function that writes a text to a file.
func writeText(data []byte) func(*os.File) error {
	return func(to *os.File) error {
		_, err := to.Write(data)
		return err
	}
}

// put moves a staged file into place, or removes a file.
func (w *changeWriter) put(file string) error {
	before, err := w.to.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = nil
	case err != nil:
		return err
	case before == nil:
		before = []byte{}
	}
	if w.files[file] == nil {
		err = w.to.Remove(file)
	} else if err = w.to.Place(w.drafts[file], file); err == nil {
		delete(w.drafts, file)
	}
	if err == nil {
		w.was[file] = before
	}
	return err
}

// discard removes the drafts.
func (w *changeWriter) discard() {
	for _, draft := range w.drafts {
		_ = w.to.Remove(draft) // it disturbs nothing
	}
}

// restore restores the former files, and removes the drafts of the others.
func (w *changeWriter) restore() error {
	w.discard()
	var errs []error
	for file, before := range w.was {
		if before == nil {
			errs = append(errs, w.to.Remove(file))
		} else {
			errs = append(errs, w.to.Replace(file, 0o644, writeText(before)))
		}
	}
	return errors.Join(errs...)
}

// contentVersion returns a short hash of the content of a file.
func contentVersion(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// A saveMode says whether a change is saved, checked or forecast.
type saveMode int

// The modes. Saving is the default.
const (
	modeSave saveMode = iota
	modeCheck
	modeForecast
)

// parseMode returns the mode for the action of a form.
func parseMode(action string) saveMode {
	switch action {
	case "save":
		return modeSave
	case "preview":
		return modeForecast
	default:
		return modeCheck
	}
}

// A diffLine is one line of a diff. Its kind is come, gone, same, or file for a file name.
type diffLine struct{ Kind, Text string }

// diffLines splits a diff into its lines.
func diffLines(diff string) []diffLine {
	var out []diffLine
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		kind := "same"
		switch {
		case strings.HasPrefix(line, "+"):
			kind = "come"
		case strings.HasPrefix(line, "-"):
			kind = "gone"
		case !strings.HasPrefix(line, " "):
			kind = "file"
		}
		out = append(out, diffLine{kind, line})
	}
	return out
}
