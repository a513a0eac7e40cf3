package controller

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// Snapshots remembers in a file what one commit has for definitions. What
// another commit has follows from the files that differ, so that one is enough
// for all of them.
type Snapshots struct {
	// Path is the file. One that cannot be read or written costs only time.
	Path string
	// Program names the build: what another made of the same files is not used.
	Program string
	// Changed lists the files that differ between two commits.
	Changed func(ctx context.Context, from, to string) ([]string, error)
}

// storedSnapshot is the first line of the file.
type storedSnapshot struct {
	Program  string `json:"program"`
	Settings string `json:"settings"` // hex SHA-256
	Commit   string `json:"commit"`
}

// At gives the snapshot of a commit under its settings.
func (s Snapshots) At(ctx context.Context, state State) (*load.Snapshot, error) {
	settings := state.Config.Settings()
	want, err := s.describe(settings)
	if err != nil {
		return nil, err
	}
	had, snapshot := s.read(want)
	if snapshot != nil && had.Commit == state.Commit {
		return snapshot, nil
	}
	if snapshot != nil {
		snapshot = s.move(ctx, snapshot, had.Commit, state)
	}
	if snapshot == nil {
		if snapshot, err = load.Scan(ctx, state.FS, settings); err != nil {
			return nil, fmt.Errorf("load the definitions of %s: %w", state.Commit, err)
		}
	}
	want.Commit = state.Commit
	s.write(want, snapshot)
	return snapshot, nil
}

// Worktree gives the snapshot of the working tree of a repository: what is
// remembered of HEAD, with the files that differ from it loaded again.
func (s Snapshots) Worktree(ctx context.Context, repo *gitrepo.Repository, work State) (*load.Snapshot, error) {
	settings := work.Config.Settings()
	head, err := repo.Resolve(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	files, err := repo.FS(head)
	if err != nil {
		return nil, err
	}
	var was *load.Snapshot
	var changed []string
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		was, err = s.At(inner, State{Commit: head, FS: files, Config: work.Config})
		return err
	})
	group.Go(func() (err error) {
		changed, err = repo.ChangedWork(inner, head, load.Folders(settings))
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
	change, err := was.Update(ctx, work.FS, settings, changed)
	if err != nil {
		return nil, err
	}
	return change.Snapshot(), nil
}

// ThisProgram names the build that runs: two builds of one version need not
// compile a definition to the same cases.
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

func (s Snapshots) describe(settings schema.Settings) (storedSnapshot, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return storedSnapshot{}, fmt.Errorf("describe the settings: %w", err)
	}
	sum := sha256.Sum256(text)
	return storedSnapshot{Program: s.Program, Settings: hex.EncodeToString(sum[:])}, nil
}

// read gives the stored snapshot if it was taken by this program under these
// settings.
func (s Snapshots) read(want storedSnapshot) (storedSnapshot, *load.Snapshot) {
	data, err := os.ReadFile(s.Path)
	if err != nil {
		return storedSnapshot{}, nil
	}
	line, body, _ := bytes.Cut(data, []byte("\n"))
	var had storedSnapshot
	if json.Unmarshal(line, &had) != nil || had.Program != want.Program || had.Settings != want.Settings {
		return storedSnapshot{}, nil
	}
	snapshot, err := load.Decode(body)
	if err != nil {
		return storedSnapshot{}, nil
	}
	return had, snapshot
}

// move takes a snapshot from one commit to another; nil where that cannot be
// done, such as when the first commit is gone from the repository.
func (s Snapshots) move(ctx context.Context, snapshot *load.Snapshot, from string, to State) *load.Snapshot {
	changed, err := s.Changed(ctx, from, to.Commit)
	if err != nil {
		return nil
	}
	change, err := snapshot.Update(ctx, to.FS, to.Config.Settings(), changed)
	if err != nil {
		return nil
	}
	return change.Snapshot()
}

// write replaces the file as a whole, so that nobody reads half of one.
func (s Snapshots) write(as storedSnapshot, snapshot *load.Snapshot) {
	body, err := snapshot.Encode()
	if err != nil {
		return
	}
	line, err := json.Marshal(as)
	if err != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(s.Path), filepath.Base(s.Path)+".*")
	if err != nil {
		return
	}
	_, err = f.Write(append(append(line, '\n'), body...))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), s.Path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what is left of it is of no use
	}
}
