package serverstate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// namesFile is where the names of repositories were, by id.
const namesFile = "names.json"

// folders are where the rest was, in files of JSON.
const (
	schedulesFolder = "anew"       // a file for each repository: times by branch
	pendingFolder   = "unfinished" // a file for each head
	suspectsFolder  = "looking"    // a file for each head
)

// Kinds says what the server calls the kinds of heads that an earlier version kept
// in files.
type Kinds struct{ PullRequest, Branch, Scheduled, CheckRerun string }

// Adopt takes over what an earlier version kept as files in the server's folder.
// Only when the ledger has all of it are the files removed, so that a crash loses
// nothing. The error names a file that cannot be read.
func (s *State) Adopt(ctx context.Context, dir string, kinds Kinds) error {
	old, err := readFiles(dir, kinds)
	if err != nil || len(old.paths) == 0 {
		return err
	}
	err = s.store.Submit(ctx, func(t *store.Tx) error {
		for id, name := range old.names {
			if err := t.Exec(insertName, id, name); err != nil {
				return err
			}
		}
		for _, j := range old.judged {
			err := t.Exec("INSERT INTO schedules (repository, branch, judged) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", j.repository, j.branch, j.at.UnixNano())
			if err != nil {
				return err
			}
		}
		for _, h := range old.pending {
			if err := putPending(t, h); err != nil {
				return err
			}
		}
		for _, h := range old.suspects {
			if err := putSuspect(t, h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s.store.Fault("import the files of an earlier server", err)
	}
	for _, path := range old.paths {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// An earlier is what the files of an earlier version say.
type earlier struct {
	paths    []string // what is there
	names    map[int64]string
	judged   []scheduledRun
	pending  []Head
	suspects []Suspect
}

type scheduledRun struct {
	repository int64
	branch     string
	at         time.Time
}

// readFiles reads the server's folder. A file of names has to be whole, since what
// the ledger has is filed under them. Any other one that cannot be decoded was never
// written whole, and says nothing.
func readFiles(dir string, kinds Kinds) (old earlier, err error) {
	path := filepath.Join(dir, namesFile)
	data, err := os.ReadFile(path)
	switch {
	case err == nil:
		old.paths = append(old.paths, path)
		if err := json.Unmarshal(data, &old.names); err != nil {
			return old, fmt.Errorf("%s: %w; remove the file to give every repository its name of today", path, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return old, fmt.Errorf("read the names of repositories: %w", err)
	}
	for folder, decode := range map[string]func(name string, data []byte, written time.Time){
		schedulesFolder: old.schedule,
		pendingFolder:   func(_ string, data []byte, _ time.Time) { old.head(data, kinds) },
		suspectsFolder:  old.suspect,
	} {
		if err := old.each(filepath.Join(dir, folder), decode); err != nil {
			return old, err
		}
	}
	return old, nil
}

// each decodes the files of a folder, if it is there.
func (old *earlier) each(folder string, decode func(name string, data []byte, written time.Time)) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the files of an earlier server: %w", err)
	}
	old.paths = append(old.paths, folder)
	for _, e := range entries {
		name, isJSON := strings.CutSuffix(e.Name(), ".json")
		if !isJSON {
			continue // half of a file
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return fmt.Errorf("read the files of an earlier server: %w", err)
		}
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("read the files of an earlier server: %w", err)
		}
		decode(name, data, info.ModTime())
	}
	return nil
}

func (old *earlier) schedule(name string, data []byte, _ time.Time) {
	times := map[string]time.Time{}
	repository, err := strconv.ParseInt(name, 10, 64)
	if err != nil || json.Unmarshal(data, &times) != nil {
		return
	}
	for branch, at := range times {
		old.judged = append(old.judged, scheduledRun{repository, branch, at})
	}
}

func (old *earlier) head(data []byte, kinds Kinds) {
	var was struct {
		Repository  int64
		Pull        int
		Branch, SHA string
		Anew, Asked bool
		Seen        time.Time
		Groups      []string
	}
	if json.Unmarshal(data, &was) != nil || was.SHA == "" {
		return
	}
	h := Head{Repository: was.Repository, Pull: was.Pull, Ref: was.Branch, SHA: was.SHA, Seen: was.Seen, Contexts: was.Groups}
	switch {
	case was.Asked:
		h.Kind, h.Ref = kinds.CheckRerun, was.SHA
	case was.Anew:
		h.Kind = kinds.Scheduled
	case was.Pull != 0:
		h.Kind = kinds.PullRequest
	default:
		h.Kind = kinds.Branch
	}
	old.pending = append(old.pending, h)
}

func (old *earlier) suspect(_ string, data []byte, written time.Time) {
	var h Suspect
	if json.Unmarshal(data, &h) != nil || h.SHA == "" {
		return
	}
	h.Noted = written
	old.suspects = append(old.suspects, h)
}
