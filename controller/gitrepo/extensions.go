package gitrepo

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// readable are the extensions of git's configuration that change neither objects nor refs,
// or only which of them are there. go-git refuses all that it does not know, see
// https://github.com/go-git/go-git/issues/1982.
var readable = []string{"worktreeconfig", "partialclone", "preciousobjects", "relativeworktrees"}

// A reading is a store whose configuration leaves out the readable extensions.
type reading struct{ *filesystem.Storage }

// Config returns the configuration.
func (s reading) Config() (*config.Config, error) {
	cfg, err := s.Storage.Config()
	if err != nil || !cfg.Raw.HasSection("extensions") {
		return cfg, err
	}
	section := cfg.Raw.Section("extensions")
	for _, o := range slices.Clone(section.Options) {
		if slices.Contains(readable, strings.ToLower(o.Key)) {
			section.RemoveOption(o.Key)
		}
	}
	return cfg, nil
}

// unsupported adds a repair to go-git's error about an extension.
func unsupported(err error) error {
	if !errors.Is(err, git.ErrUnknownExtension) && !errors.Is(err, git.ErrUnsupportedExtensionRepositoryFormatVersion) && !errors.Is(err, git.ErrUnsupportedRepositoryFormatVersion) {
		return err
	}
	return fmt.Errorf("%w: gavel reads repositories in the format that git makes by default, with SHA-1 and refs in files; make such a clone, or name the repository's own one", err)
}

// LeftOut returns the files below folders that a sparse checkout leaves out of the working
// tree, in the order of git's index. Folders are relative to the root; "." means
// everything.
func (r *Repository) LeftOut(folders []string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := os.Stat(filepath.Join(r.gitIn, "info", "sparse-checkout")); err != nil {
		return nil, nil // it leaves nothing out
	}
	idx, err := r.store.Index()
	if err != nil {
		return nil, fmt.Errorf("the index of the sparse checkout cannot be read (%w): run git sparse-checkout reapply --no-sparse-index", err)
	}
	var out []string
	for _, e := range idx.Entries {
		below := slices.ContainsFunc(folders, func(folder string) bool { return Covers(path.Clean(folder), e.Name) })
		if e.SkipWorktree && below {
			out = append(out, e.Name)
		}
	}
	return out, nil
}
