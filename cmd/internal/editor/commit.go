package editor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

// A Committer commits files of the working tree. It is safe for concurrent use.
type Committer interface {
	// Branch returns the branch with the state of files in its last commit. A nil content
	// is a missing file.
	Branch(ctx context.Context, files map[string][]byte) (Branch, error)
	// Commit commits files on a branch that has not moved, and nothing else, and returns
	// the commit. The error is from [Conflict] if the user can do something about it.
	Commit(ctx context.Context, on Branch, files map[string][]byte, message string) (id string, err error)
}

// A Branch is the branch on which files are committed.
type Branch struct {
	Name, Commit, Author string
	// Problem is the reason why nothing can be committed, with a repair.
	Problem string
	// Committed has the files as the last commit has them; nil for none.
	Committed map[string][]byte
	// Problems are the reasons why files cannot be committed.
	Problems map[string]string
}

// Conflict is an error of [Committer] with the reason why nothing is committed.
func Conflict(why string) error { return &refusal{Status: http.StatusConflict, Text: why} }

// ChangesPath is the page of the files that were saved and are not committed.
const ChangesPath = "/changes"

// edits are the files that were saved here. They are safe for concurrent use.
type edits struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	files map[string]savedFile
	last  madeCommit
	// renamed maps kinds and ids that are gone to the new id; empty for a removed definition.
	renamed map[[2]string]string
}

// mostRenamed bounds the ids that are remembered.
const mostRenamed = 10_000

// rename notes that a definition has another id; empty for none any more.
func (e *edits) rename(kind, from, to string) {
	if from == "" || from == to {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.renamed) >= mostRenamed {
		clear(e.renamed)
	}
	delete(e.renamed, [2]string{kind, to})
	e.renamed[[2]string{kind, from}] = to
}

// renamedTo returns the id that a definition has now, after all its renames.
func (e *edits) renamedTo(kind, id string) (now string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for range len(e.renamed) {
		next, known := e.renamed[[2]string{kind, id}]
		if !known {
			break
		}
		id, ok = next, true
	}
	return id, ok
}

// A savedFile is a file that was saved here. A nil content is a missing file.
type savedFile struct{ before, after []byte }

// A madeCommit is the last commit of the page.
type madeCommit struct {
	ID, Branch, Subject string
	// First says that the commit has no parent.
	First bool
}

// note adds a saved change. A file that has changed since it was saved last goes back to
// what it was before this change.
func (e *edits) note(c Change, before map[string][]byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for file, after := range c {
		was := before[file]
		if known, ok := e.files[file]; ok && same(known.after, was) {
			was = known.before
		}
		e.files[file] = savedFile{was, after}
	}
}

// list returns the files that were saved here.
func (e *edits) list() map[string]savedFile {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.files)
}

// forget removes files that are committed or as they were.
func (e *edits) forget(files ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, file := range files {
		delete(e.files, file)
	}
}

// forgetCommitted forgets saved files that are as the last commit has them: nothing about them
// is left to commit or to undo.
func (s *Store) forgetCommitted(ctx context.Context, c Change) error {
	if s.cfg.Committer == nil {
		return nil
	}
	branch, err := s.cfg.Committer.Branch(ctx, c)
	for file, now := range c {
		if err == nil && branch.Commit != "" && same(branch.Committed[file], now) {
			s.edited.forget(file)
		}
	}
	return err
}

// same reports whether two contents are the same. A missing file has none.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// contentOf returns the content of a file, not nil if it exists.
func contentOf(files fs.FS, file string) ([]byte, error) {
	data, err := schema.ReadFile(files, file, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return append([]byte{}, data...), nil
}

// isCommitted reports whether the last commit has a file, so that git can bring it back.
// Without a [Committer], every file is in a commit.
func (s *Store) isCommitted(ctx context.Context, file string) (bool, error) {
	if s.cfg.Committer == nil {
		return true, nil
	}
	branch, err := s.cfg.Committer.Branch(ctx, map[string][]byte{file: nil})
	return branch.Committed[file] != nil, err
}

// HasChanges reports whether files were saved here that were not committed here.
func (s *Store) HasChanges() bool { return s.cfg.Committer != nil && len(s.edited.list()) > 0 }

// A changesView is the page of the files that were saved and are not committed.
type changesView struct {
	Branch
	Rows  []changedFile
	Token string
	// State is the state of all files and of the branch that the page shows.
	State   string
	Message string
	// Refused is the reason why nothing was committed.
	Refused string
	Last    madeCommit
	// Ready says that a file can be committed.
	Ready bool
}

// A changedFile is a saved file that is not as the last commit has it.
type changedFile struct {
	File, Edit, Undo, What string
	Diff                   []diffLine
	// Problem is the reason why the file cannot be committed.
	Problem string
	now     []byte
}

// mostShown is the size of a file whose changed lines are shown.
const mostShown = 256 << 10

// changedLines returns the changed lines of a file.
func changedLines(before, after []byte) []diffLine {
	if len(before) > mostShown || len(after) > mostShown {
		return []diffLine{{"file", "the file is too large for its lines to be shown here"}}
	}
	return diffLines(strings.Join(reporters.DiffLines(string(before), string(after)), "\n"))
}

// changes returns the page of the files that were saved here.
func (s *Store) changes(ctx context.Context) (*changesView, error) {
	saved, now, broken := s.edited.list(), map[string][]byte{}, map[string]string{}
	for file := range saved {
		data, err := contentOf(s.files, file)
		if err != nil {
			broken[file] = fmt.Sprintf("the file cannot be read: %v", err)
		}
		now[file] = data
	}
	branch, err := s.cfg.Committer.Branch(ctx, now)
	if err != nil {
		return nil, err
	}
	v := &changesView{Branch: branch, Last: s.edited.lastCommit()}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q\n", branch.Name, branch.Commit)
	for _, file := range slices.Sorted(maps.Keys(saved)) {
		was, is := branch.Committed[file], now[file]
		if same(was, is) && broken[file] == "" {
			s.edited.forget(file) // git has committed or restored it meanwhile
			continue
		}
		fmt.Fprintf(sum, "%q %t %s\n", file, is == nil, contentVersion(is))
		row := changedFile{
			File: file, Edit: s.address("/settings/file", "path", file), Undo: s.address(ChangesPath+"/undo", "file", file), What: "changed",
			Diff: changedLines(was, is), now: is, Problem: cmp.Or(broken[file], branch.Problems[file]),
		}
		switch {
		case was == nil:
			row.What = "new"
		case is == nil:
			row.What, row.Edit = "removed", ""
		}
		if row.Problem == "" && !same(is, saved[file].after) {
			row.Problem = "the file has changed since it was saved here: open it and save it again, or commit it with git"
		}
		v.Ready = v.Ready || row.Problem == "" && branch.Problem == ""
		v.Rows = append(v.Rows, row)
	}
	v.State, v.Message = hex.EncodeToString(sum.Sum(nil)[:8]), proposedMessage(v.Rows)
	return v, nil
}

// lastCommit returns the last commit of the page.
func (e *edits) lastCommit() madeCommit {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// committed notes a commit.
func (e *edits) committed(c madeCommit, files []string) {
	e.forget(files...)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = c
}

// proposedMessage returns a message for a commit of the files that can be committed.
func proposedMessage(rows []changedFile) string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r changedFile) bool { return r.Problem != "" })
	verb := map[string]string{"new": "Add", "changed": "Change", "removed": "Remove"}
	switch len(rows) {
	case 0:
		return ""
	case 1:
		return verb[rows[0].What] + " " + rows[0].File
	}
	one := verb[rows[0].What]
	if slices.ContainsFunc(rows, func(r changedFile) bool { return r.What != rows[0].What }) {
		one = "Change"
	}
	return fmt.Sprintf("%s %d files of tests", one, len(rows))
}

// showChanges shows the files that were saved here.
func (s *Store) showChanges(w http.ResponseWriter, r *http.Request) (page, error) {
	s, end, err := s.begin(r.Context())
	if err != nil {
		return page{}, err
	}
	defer end()
	v, err := s.changes(r.Context())
	if err != nil {
		return page{}, err
	}
	v.Token = access.FormToken(w, r)
	return page{Template: "changes", Title: "Changes", Body: v}, nil
}

// commitChanges commits the files that a form names.
func (s *Store) commitChanges(w http.ResponseWriter, r *http.Request) (page, error) {
	s, end, err := s.beginChange(r.Context(), modeSave)
	if err != nil {
		return page{}, err
	}
	defer end()
	v, err := s.changes(r.Context())
	if err != nil {
		return page{}, err
	}
	message := strings.TrimSpace(strings.ReplaceAll(r.PostForm.Get("message"), "\r\n", "\n"))
	err = s.commitChosen(r.Context(), v, r.PostForm["file"], r.PostForm.Get("state"), message)
	var why *refusal
	if errors.As(err, &why) {
		v.Refused, v.Token, v.Message = why.Text, access.FormToken(w, r), message
		return page{Template: "changes", Title: "Changes", Status: why.Status, Body: v}, nil
	}
	if err != nil {
		return page{}, err
	}
	http.Redirect(w, r, s.address(ChangesPath), http.StatusSeeOther)
	return page{}, nil
}

// maxMessage bounds the bytes of a message.
const maxMessage = 64 << 10

// commitChosen commits some files of the page as the user saw it.
func (s *Store) commitChosen(ctx context.Context, v *changesView, chosen []string, state, message string) error {
	files := map[string][]byte{}
	for _, row := range v.Rows {
		if slices.Contains(chosen, row.File) {
			if row.Problem != "" {
				return Conflict(row.File + ": " + row.Problem)
			}
			files[row.File] = row.now
		}
	}
	switch {
	case v.Problem != "":
		return Conflict(v.Problem)
	case state != v.State || len(files) != len(chosen):
		return Conflict("the files or the branch have changed since the page was loaded; look at them below, and commit again")
	case len(files) == 0:
		return refuse("choose a file")
	case message == "":
		return refuse("write a message: it says in git's log what the commit is for")
	case len(message) > maxMessage || strings.ContainsRune(message, 0):
		return refuse("the message is too long, or has a character that git does not keep")
	}
	id, err := s.cfg.Committer.Commit(ctx, v.Branch, files, message)
	if err != nil {
		return err
	}
	subject, _, _ := strings.Cut(message, "\n")
	s.edited.committed(madeCommit{ID: id, Branch: v.Name, Subject: subject, First: v.Commit == ""}, slices.Collect(maps.Keys(files)))
	return nil
}

// An undoView is the page that asks before a file goes back to what it was.
type undoView struct {
	File, Version, Token string
	// Removes says that the file did not exist before.
	Removes bool
	Diff    []diffLine
}

// askUndo shows what a file would go back to.
func (s *Store) askUndo(w http.ResponseWriter, r *http.Request) (page, error) {
	s, end, err := s.begin(r.Context())
	if err != nil {
		return page{}, err
	}
	defer end()
	file := r.URL.Query().Get("file")
	saved, err := s.undoable(file)
	if err != nil {
		return page{}, err
	}
	v := undoView{File: file, Version: undoVersion(saved), Token: access.FormToken(w, r), Removes: saved.before == nil, Diff: changedLines(saved.after, saved.before)}
	return page{Template: "undo", Title: "Undo", Body: v}, nil
}

// undoVersion is the version of both contents of a saved file.
func undoVersion(f savedFile) string {
	return contentVersion(append(append([]byte(contentVersion(f.before)), fmt.Sprint(f.before == nil)...), f.after...))
}

// undoable returns what a file was and is. It refuses a file that has changed since.
func (s *Store) undoable(file string) (savedFile, error) {
	saved, ok := s.edited.list()[file]
	if !ok {
		return saved, missing("this file was not saved here, or is already committed or undone")
	}
	now, err := contentOf(s.files, file)
	if err != nil || !same(now, saved.after) {
		return saved, Conflict(file + " has changed since it was saved here, so that undoing would lose the newer change; `git diff` shows it")
	}
	return saved, nil
}

// undo brings a file back to what it was.
func (s *Store) undo(w http.ResponseWriter, r *http.Request) (page, error) {
	s, end, err := s.beginChange(r.Context(), modeSave)
	if err != nil {
		return page{}, err
	}
	defer end()
	file := r.PostForm.Get("file")
	saved, err := s.undoable(file)
	if err != nil {
		return page{}, err
	}
	if r.PostForm.Get("version") != undoVersion(saved) {
		return page{}, Conflict(file + " was saved again since the page was loaded; load it again")
	}
	if _, err := s.cfg.Write(r.Context(), s.files, Change{file: saved.before}); err != nil {
		return page{}, err
	}
	s.edited.forget(file)
	http.Redirect(w, r, s.address(ChangesPath), http.StatusSeeOther)
	return page{}, nil
}

// commitRoutes adds the pages of changes to the answers.
func (s *Store) commitRoutes(answers map[string]answer) {
	if s.cfg.Committer == nil {
		return
	}
	answers["GET "+ChangesPath] = s.showChanges
	answers["POST "+ChangesPath] = s.commitChanges
	answers["GET "+ChangesPath+"/undo"] = s.askUndo
	answers["POST "+ChangesPath+"/undo"] = s.undo
}
