// Package snapshot remembers a repository's definitions, so that a process only reads
// the files that changed since the last one.
//
// Most callers want [Store.Worktree].
package snapshot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/safefile"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// A Store remembers the definitions of one commit in a file. Another commit's
// definitions follow from the files that differ, so one is enough for all.
type Store struct {
	// Path is the file. If it is unreadable or unwritable, only time is lost.
	Path string
	// Program identifies the build: the results of another build are not used.
	Program string
	// Changed lists the files that differ between two commits.
	Changed func(ctx context.Context, from, to string) ([]string, error)
}

// header is the first line of the file.
type header struct {
	Program  string `json:"program"`
	Settings string `json:"settings"` // hex SHA-256
	Commit   string `json:"commit"`
	// Environment is the environment of the notes; empty without notes.
	Environment string `json:"environment,omitempty"`
}

// A State is the source of definitions.
type State struct {
	// Commit is 40 hex digits; it does not matter for a working tree.
	Commit   string
	FS       fs.FS
	Settings schema.Settings
	// Maker makes parts of the definitions; nil leaves them out.
	Maker schema.Maker
}

// Notes are taken on every case of a snapshot. The zero Notes takes none and keeps
// existing ones.
type Notes struct {
	// Environment identifies the notes' inputs besides the case. Notes of another
	// environment are taken again.
	Environment string
	// Take returns the note of a case, which is not empty.
	Take func(*schema.Case) string
}

// Commit returns the snapshot of a commit under its settings.
func (s Store) Commit(ctx context.Context, state State, notes Notes) (*load.Snapshot, error) {
	want, err := s.describe(state.Settings)
	if err != nil {
		return nil, err
	}
	had, snapshot := s.read(want)
	if notes.Take != nil && had.Environment != notes.Environment {
		snapshot = nil
	}
	opts := load.Options{Settings: state.Settings, Maker: state.Maker, Note: notes.Take}
	stale := snapshot == nil || had.Commit != state.Commit
	if snapshot != nil && stale {
		snapshot = s.move(ctx, snapshot, had.Commit, state, opts)
	}
	if snapshot == nil {
		had = header{}
		if snapshot, err = load.Scan(ctx, state.FS, opts); err != nil {
			return nil, fmt.Errorf("load the definitions of %s: %w", state.Commit, err)
		}
		if files, ok := state.FS.(interface{ Forget() }); ok {
			files.Forget() // few are read again
		}
	}
	if lacking := snapshot.Unnoted(); notes.Take != nil && len(lacking) > 0 {
		change, err := snapshot.Update(ctx, state.FS, opts, lacking)
		if err != nil {
			return nil, fmt.Errorf("load the definitions of %s: %w", state.Commit, err)
		}
		snapshot, stale = change.Snapshot(), true
	}
	if stale && !snapshot.Unmade() {
		want.Commit, want.Environment = state.Commit, cmp.Or(notes.Environment, had.Environment)
		s.write(want, snapshot)
	}
	return snapshot, nil
}

// Worktree returns the snapshot of a repository's working tree: HEAD's, with the files
// that differ from it loaded again. It is nil before the first commit.
func (s Store) Worktree(ctx context.Context, repo *gitrepo.Repository, work State, notes Notes) (*load.Snapshot, error) {
	settings := work.Settings
	head, err := repo.Resolve(ctx, "HEAD")
	if err != nil {
		return nil, nil //nolint:nilerr // a repository without a commit remembers nothing
	}
	files, err := repo.FS(head)
	if err != nil {
		return nil, err
	}
	var was *load.Snapshot
	var changed []string
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		was, err = s.Commit(inner, State{Commit: head, FS: files, Settings: work.Settings, Maker: work.Maker}, notes)
		return err
	})
	group.Go(func() error {
		skills, err := load.SkillFolders(inner, work.FS, settings)
		if err != nil {
			return err
		}
		changed, err = repo.ChangedWork(inner, head, slices.Concat(load.Folders(settings), skills))
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if outside := was.Outside(settings); len(outside) > 0 {
		more, err := repo.ChangedWork(ctx, head, outside)
		if err != nil {
			return nil, err
		}
		changed = slices.Compact(slices.Sorted(slices.Values(append(changed, more...))))
	}
	if len(changed) == 0 {
		return was, nil
	}
	change, err := was.Update(ctx, work.FS, load.Options{Settings: settings, Maker: work.Maker, Note: notes.Take}, changed)
	if err != nil {
		return nil, err
	}
	return change.Snapshot(), nil
}

// ThisProgram identifies the running build: two builds of one version may compile a
// definition to different cases.
func ThisProgram() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", name, info.Size(), info.ModTime().UnixNano())
}

func (s Store) describe(settings schema.Settings) (header, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return header{}, fmt.Errorf("describe the settings: %w", err)
	}
	sum := sha256.Sum256(text)
	return header{Program: s.Program, Settings: hex.EncodeToString(sum[:])}, nil
}

// read returns the stored snapshot if it was taken by this program under these
// settings.
func (s Store) read(want header) (header, *load.Snapshot) {
	text, err := readText(s.Path)
	if err != nil {
		return header{}, nil
	}
	line, body, _ := strings.Cut(text, "\n")
	var had header
	if json.Unmarshal([]byte(line), &had) != nil || had.Program != want.Program || had.Settings != want.Settings {
		return header{}, nil
	}
	snapshot, err := load.Decode(body)
	if err != nil {
		return header{}, nil
	}
	return had, snapshot
}

// readText reads a file without a second copy of it.
func readText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var text strings.Builder
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		text.Grow(int(info.Size()))
	}
	_, err = io.Copy(&text, f)
	return text.String(), err
}

// move updates a snapshot from one commit to another; nil if that is impossible, for
// example because the first commit is missing from the repository.
func (s Store) move(ctx context.Context, snapshot *load.Snapshot, from string, to State, opts load.Options) *load.Snapshot {
	changed, err := s.Changed(ctx, from, to.Commit)
	if err != nil {
		return nil
	}
	change, err := snapshot.Update(ctx, to.FS, opts, changed)
	if err != nil {
		return nil
	}
	return change.Snapshot()
}

// write replaces the file as a whole, so that nobody reads half of one.
func (s Store) write(as header, snapshot *load.Snapshot) {
	line, err := json.Marshal(as)
	if err != nil {
		return
	}
	_ = safefile.Replace(s.Path, 0o600, func(f *os.File) error { // without it the next process compiles again
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
		return snapshot.Encode(f)
	})
}
