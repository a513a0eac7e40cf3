package review

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
)

var errDisk = errors.New("the disk is away")

// An unreadable tree has files that cannot be read.
type unreadable struct{}

func (unreadable) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errDisk}
}

// TestAConfigurationThatCannotBeRead is an error, and not a repository without one.
func TestAConfigurationThatCannotBeRead(t *testing.T) {
	r := &Review{Config: Config{ConfigFile: "gavel.yaml"}, level: ledger.LevelBase}
	if _, err := r.decisionIn(unreadable{}, "this commit"); !errors.Is(err, errDisk) {
		t.Errorf("decision = %v, want %v", err, errDisk)
	}
}

// TestACommitThatIsMissingFromTheClone is an error that names it, and not a commit
// without a configuration.
func TestACommitThatIsMissingFromTheClone(t *testing.T) {
	dir := t.TempDir()
	if err := gitrepo.Create(t.Context(), dir, []gitrepo.NewCommit{{Message: "first", Write: map[string][]byte{"README.md": []byte("hello\n")}}}); err != nil {
		t.Fatal(err)
	}
	repo, err := gitrepo.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	missing := strings.Repeat("1", 40)
	r := &Review{Config: Config{ConfigFile: "gavel.yaml"}, level: ledger.LevelBase, head: missing}
	if _, err := r.fetched(t.Context(), repo, nil); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("fetched = %v, want an error that names %s", err, missing)
	}
}

// TestAReceiptThatCannotBeRead does not say that the comment is still there.
func TestAReceiptThatCannotBeRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := New(Config{Ledger: ledgertest.Open(t, ledger.Config{})})
	if _, err := r.HasComment(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("HasComment = %v, want %v", err, context.Canceled)
	}
}
