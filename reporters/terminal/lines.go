package terminal

import (
	"encoding/json"
	"io"
	"io/fs"
	"slices"

	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

// Lines write the events of a watch in order. They are not safe for concurrent use.
type Lines struct {
	W         io.Writer
	LookupEnv func(string) (string, bool)
	// Open returns the files whose lines are shown with problems, and closes them.
	Open func() (files fs.FS, closeFiles func() error, err error)

	problems []schema.Problem // shown last
	notice   string
}

// JSON writes an update as one object.
func (l *Lines) JSON(u reporters.WatchUpdate) error { return json.NewEncoder(l.W).Encode(u.Event()) }

// Text writes an update for people. Unchanged facts are not repeated.
func (l *Lines) Text(u reporters.WatchUpdate) error {
	opts := OptionsFor(l.W, l.LookupEnv) // a window may have been resized
	if notice := u.Snapshot.Notice; notice != l.notice {
		l.notice = notice
		u := reporters.WatchUpdate{Kind: reporters.WatchError, Snapshot: reporters.WatchSnapshot{Error: notice}}
		if err := Watch(l.W, u, opts); err != nil {
			return err
		}
	}
	if err := Watch(l.W, u, opts); err != nil {
		return err
	}
	if u.Kind != reporters.WatchPlanned || slices.Equal(l.problems, u.Snapshot.Problems) {
		return nil
	}
	l.problems = u.Snapshot.Problems
	files, closeFiles, err := l.Open()
	if err != nil {
		return err
	}
	defer closeFiles() // they were only read
	return Problems(l.W, l.problems, Source(files), opts)
}
