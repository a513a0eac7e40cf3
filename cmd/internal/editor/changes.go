package editor

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// A Set is what is written, by file: nil removes a file.
type Change map[string][]byte

// WriteChange writes a change to the files of a folder: all of it or nothing. Where a file
// cannot be written those before it are put back. No link leads it anywhere, and files
// are removed last, so that no moment has fewer definitions. record is a file that has
// the change until it is done, for [finishChange]; empty for none.
func WriteChange(dir, record string, c Change) error { return writeChange(dir, record, c, func() {}) }

// write is WriteChange. after is called after each step: a test ends the process there.
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

// noting stages and places the files. A note has the change meanwhile.
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

// inOrder names the files: those that are written, and then those that are removed, so
// that a process that is ended between two of them leaves every definition.
func (c Change) inOrder() []string {
	names := slices.Sorted(maps.Keys(c))
	slices.SortStableFunc(names, func(a, b string) int { return removedRank(c[a]) - removedRank(c[b]) })
	return names
}

// removed is 1 for what removes a file.
func removedRank(data []byte) int {
	if data == nil {
		return 1
	}
	return 0
}

// A writing is a change that is being written.
type changeWriter struct {
	to    *safefile.Folder
	files Change
	// drafts are the names of files that have not taken their places, by file.
	drafts map[string]string
	// was is what was there of the files that are written; nil for nothing.
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

// text writes a text.
func writeText(data []byte) func(*os.File) error {
	return func(to *os.File) error {
		_, err := to.Write(data)
		return err
	}
}

// put gives a staged file its place, or removes one.
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
		_ = w.to.Remove(draft) // it is in nobody's way
	}
}

// restore puts files back as they were, and removes what is staged of the others.
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
