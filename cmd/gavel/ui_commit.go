package main

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
	"github.com/gavel-evals/gavel/controller/gitrepo"
)

// A uiCommitter commits in the working tree. It implements [editor.Committer]. It opens the
// repository for each request, since git may pack its objects meanwhile.
type uiCommitter struct {
	root string
	now  func() time.Time
}

// Branch implements [editor.Committer].
func (u uiCommitter) Branch(ctx context.Context, files map[string][]byte) (editor.Branch, error) {
	repo, err := gitrepo.Open(u.root)
	if err != nil {
		return editor.Branch{}, err
	}
	defer repo.Close()
	work, err := repo.WorkFS()
	if err != nil {
		return editor.Branch{}, err
	}
	defer work.Close()
	out := editor.Branch{Name: repo.Branch(), Committed: map[string][]byte{}, Problems: map[string]string{}}
	var commit fs.FS
	if !repo.Unborn() {
		if out.Commit, err = repo.Resolve(ctx, "HEAD"); err != nil {
			return out, err
		}
		if commit, err = repo.FS(out.Commit); err != nil {
			return out, err
		}
	}
	for file, now := range files {
		if commit != nil {
			if data, err := fs.ReadFile(commit, file); err == nil {
				out.Committed[file] = append([]byte{}, data...)
			}
		}
		if err := repo.CheckFile(work, out.Commit, file, now); err != nil {
			out.Problems[file] = err.Error()
		}
	}
	tip, err := repo.Tip(ctx)
	if err == nil {
		err = tip.CheckAuthor()
	}
	if why, ok := errors.AsType[*gitrepo.UserError](err); ok {
		out.Problem, err = why.Error(), nil
	}
	out.Author = tip.Name + " <" + tip.Email + ">"
	return out, err
}

// Commit implements [editor.Committer].
func (u uiCommitter) Commit(ctx context.Context, on editor.Branch, files map[string][]byte, message string) (string, error) {
	repo, err := gitrepo.Open(u.root)
	if err != nil {
		return "", err
	}
	defer repo.Close()
	id, err := repo.CommitFiles(ctx, gitrepo.Tip{Branch: on.Name, Commit: on.Commit}, gitrepo.Commit{Files: files, Message: message, At: u.now()})
	if why, ok := errors.AsType[*gitrepo.UserError](err); ok {
		err = editor.Conflict(why.Error())
	}
	return id, err
}
