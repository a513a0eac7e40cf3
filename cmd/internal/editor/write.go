package editor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/safefile"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/load"
)

// A Config describes the definitions and their store.
type Config struct {
	// Open opens the files of the repository for one look; close ends it.
	Open func(context.Context) (files fs.FS, close func() error, err error)
	// OpenNewest is Open before a change is written, if Open may return a state from
	// some seconds ago. Defaults to Open.
	OpenNewest func(context.Context) (files fs.FS, close func() error, err error)
	// Version returns a number that changes before a file that was read through Open may have
	// another state. known is false if nobody knows that. Defaults to not knowing, so that the
	// pages look at the state of each file.
	Version func() (version uint64, known bool)
	// Write keeps a change that was checked of files that Open returned. Defaults to
	// refusing all changes.
	Write func(ctx context.Context, files fs.FS, c Change) (Kept, error)
	// Lock keeps other processes from writing until release. Defaults to none.
	Lock func(context.Context) (release func() error, err error)
	// Settings reads the settings for definitions from gavel.yaml.
	Settings func(context.Context, fs.FS) (schema.Settings, error)
	// Problems returns the errors of gavel.yaml. Defaults to none.
	Problems func(context.Context, fs.FS) ([]schema.Problem, error)
	// Repository is the name of the repository, such as acme/shop; empty for none.
	Repository string
	// Root is the path before all addresses on the pages, such as /r/acme/shop. A caller
	// that sets it strips it from the requests. Defaults to none.
	Root string
	// Identity finds the id of a case and when it was made and changed. Defaults to the
	// id alone.
	Identity func(ctx context.Context, files fs.FS, c *schema.Case) (*explain.Identity, error)
	// Forecast returns which cases files would judge that others have not judged.
	// Without it there is no forecast.
	Forecast func(ctx context.Context, before, after fs.FS) (*Forecast, error)
	// Verdicts returns the newest verdict of each case by its name, "key" or
	// "key @ target". Defaults to none.
	Verdicts func(context.Context) (map[string]dashboard.LastVerdict, error)
	// Digests returns the decision digest of each case of files by its name. A verdict with
	// another digest is of an earlier state of the case. Defaults to taking each verdict as
	// current.
	Digests func(ctx context.Context, files fs.FS) (map[string]string, error)
	// Runner runs cases from the page of the tests. Defaults to none.
	Runner Runner
	// Committer commits the files that were saved in the working tree. Defaults to none.
	Committer Committer
	// Now defaults to the real clock.
	Now func() time.Time
}

// A Kept is the place of a saved change. Both fields are empty for files of the working
// tree.
type Kept struct {
	Branch string `json:"branch,omitempty"`
	// PullRequest is the address of the one that was opened.
	PullRequest string `json:"pull_request,omitempty"`
}

// A Store reads and writes definitions. It is safe for concurrent use.
type Store struct {
	cfg       Config
	templates *template.Template
	known     *memory
	catalogs  *catalogCache
	values    *remembered
	saving    *sync.Mutex // held while files are checked and written
	edited    *edits
	// files are the files of the current request, opened at a version of them; nil in the
	// store that callers have.
	files   fs.FS
	version uint64
}

// New returns a store of the definitions of a repository.
func New(cfg Config) *Store {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Store{cfg: cfg, known: newMemory(cfg.Now), catalogs: new(catalogCache), values: new(remembered), saving: new(sync.Mutex), edited: &edits{files: map[string]savedFile{}, renamed: map[[2]string]string{}}}
	s.templates = s.newTemplates()
	return s
}

// begin opens the files, and returns the store with them. The caller calls end.
func (s *Store) begin(ctx context.Context) (look *Store, end func(), err error) {
	out := *s
	if s.cfg.Version != nil {
		out.version, _ = s.cfg.Version()
	}
	files, shut, err := s.cfg.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	out.files = files
	return &out, func() { _ = shut() }, nil // the files were only read
}

// beginChange is begin for a change. When it is saved nobody else writes until end, and
// the files are current.
func (s *Store) beginChange(ctx context.Context, as saveMode) (look *Store, end func(), err error) {
	if as != modeSave {
		return s.begin(ctx)
	}
	s.saving.Lock()
	release := func() error { return nil }
	if s.cfg.Lock != nil {
		if release, err = s.cfg.Lock(ctx); err != nil {
			s.saving.Unlock()
			return nil, nil, err
		}
	}
	fresh := *s
	if s.cfg.OpenNewest != nil {
		fresh.cfg.Open = s.cfg.OpenNewest
	}
	look, shut, err := fresh.begin(ctx)
	done := func() {
		_ = release() // the system releases it at the latest with the process
		s.saving.Unlock()
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return look, func() { shut(); done() }, nil
}

// Forbidden is an error of [Config.Write] with the reason why nothing may be written.
func Forbidden(why string) error { return &refusal{Status: http.StatusForbidden, Text: why} }

// Away is an error of [Config.Write] and of the ones that open files, with the reason why
// the same may succeed later.
func Away(why string) error { return &refusal{Status: http.StatusServiceUnavailable, Text: why} }

// Folder writes changes to the files of a folder: all of one or nothing.
func Folder(dir string) func(context.Context, fs.FS, Change) (Kept, error) {
	return WorkTree{Dir: dir}.Write
}

// A WorkTree is a folder that several processes write. A change whose process was killed
// is finished or undone before the next one.
type WorkTree struct {
	Dir string
	// Own makes the folder in which Gavel keeps its own files. Defaults to none: then a
	// change whose process is killed stays unfinished.
	Own func(context.Context) (string, error)
}

// recordName is the file that has a change until it is done.
const recordName = "settings-change.json"

// Write implements [Config.Write].
func (w WorkTree) Write(ctx context.Context, _ fs.FS, c Change) (Kept, error) {
	record := ""
	if w.Own != nil {
		own, err := w.Own(ctx)
		if err != nil {
			return Kept{}, err
		}
		record = filepath.Join(own, recordName)
	}
	err := commitChange(w.Dir, record, c)
	if err == nil {
		err = removeEmpty(w.Dir, c)
	}
	var why *safefile.Refusal
	if errors.As(err, &why) {
		err = refuse("%v", why)
	}
	return Kept{}, err
}

// removeEmpty removes the folders that a change has left without files, as git does.
func removeEmpty(dir string, c Change) error {
	to, err := safefile.Open(dir)
	if err != nil {
		return err
	}
	defer to.Close() //nolint:errcheck // nothing is left to be written
	for file, data := range c {
		if data == nil {
			to.RemoveEmpty(file)
		}
	}
	return nil
}

// Lock implements [Config.Lock]. It refuses once if an unfinished change could not be
// finished, since the files differ from those that the person has read.
func (w WorkTree) Lock(ctx context.Context) (release func() error, err error) {
	release, found, err := w.lock(ctx)
	if err == nil && len(found.Kept) > 0 {
		err = errors.Join(&refusal{Status: http.StatusConflict, Text: found.String()}, release())
	}
	return release, err
}

// lock keeps other processes from writing, and finishes the change that one of them has
// left.
func (w WorkTree) lock(ctx context.Context) (release func() error, found finishedChange, err error) {
	own, err := w.Own(ctx)
	if err != nil {
		return nil, found, err
	}
	if release, err = safefile.Lock(ctx, filepath.Join(own, "settings-lock")); err != nil {
		return nil, found, err
	}
	found, err = finishChange(w.Dir, filepath.Join(own, recordName))
	if err != nil {
		return nil, found, errors.Join(err, release())
	}
	return release, found, nil
}

// Finish finishes or undoes a change whose process was killed, and describes it in a
// sentence; empty for none. own is Gavel's folder, which is not made for this.
func (w WorkTree) Finish(ctx context.Context, own string) (string, error) {
	if _, err := os.Lstat(filepath.Join(own, recordName)); err != nil {
		return "", nil //nolint:nilerr // nothing is left
	}
	release, found, err := w.lock(ctx)
	if err != nil {
		return "", err
	}
	return found.String(), release()
}

// A Written is a change that was made.
type Written struct {
	Files []string `json:"files"`
	// Versions are the versions of the written files.
	Versions map[string]string `json:"versions"`
	// Diff has the changed lines of each file.
	Diff string `json:"diff"`
	Kept
	// Warnings are problems that do not keep a definition from being used.
	Warnings []schema.Problem `json:"warnings"`
	// forecast is nil unless one was requested.
	forecast *Forecast
	// formats are the formats as which the files would be read; empty for none.
	formats map[string]string
}

// carry checks, saves or forecasts a change, depending on the mode.
func (s *Store) carry(ctx context.Context, as saveMode, settings schema.Settings, c Change, versions map[string]string) (Written, error) {
	switch as {
	case modeCheck:
		return s.check(ctx, settings, c, versions)
	case modeForecast:
		return s.foreseen(ctx, settings, c, versions)
	default:
		return s.apply(ctx, settings, c, versions)
	}
}

// apply checks a change and writes it. versions are the versions of files that the
// caller has read: another one is a conflict.
func (s *Store) apply(ctx context.Context, settings schema.Settings, c Change, versions map[string]string) (Written, error) {
	out, err := s.check(ctx, settings, c, versions)
	if err != nil {
		return out, err
	}
	out.Kept, err = s.write(ctx, c)
	return out, err
}

// write writes a change that was checked.
func (s *Store) write(ctx context.Context, c Change) (Kept, error) {
	switch {
	case s.cfg.Write == nil:
		return Kept{}, &refusal{Status: http.StatusForbidden, Text: "definitions are only shown here; change them by a pull request"}
	case len(c) == 0:
		return Kept{}, nil
	}
	if s.cfg.Committer == nil {
		return s.cfg.Write(ctx, s.files, c)
	}
	before := map[string][]byte{}
	for file := range c {
		was, err := contentOf(s.files, file)
		if err != nil {
			return Kept{}, err
		}
		before[file] = was
	}
	kept, err := s.cfg.Write(ctx, s.files, c)
	if err == nil {
		s.edited.note(c, before)
		err = s.forgetCommitted(ctx, c)
	}
	return kept, err
}

// check refuses a change that has errors or conflicts, and returns its result.
func (s *Store) check(ctx context.Context, settings schema.Settings, c Change, versions map[string]string) (Written, error) {
	out := Written{Files: []string{}, Versions: map[string]string{}, Warnings: []schema.Problem{}}
	var diff strings.Builder
	for _, file := range slices.Sorted(maps.Keys(c)) {
		if err := s.hasFolder(file); err != nil {
			return out, err
		}
		was, err := schema.ReadFile(s.files, file, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return out, refuse("%s cannot be replaced: %v", file, err)
		}
		if want, asked := versions[file]; asked && want != "" && want != contentVersion(was) {
			return out, conflict(file)
		}
		if bytes.Equal(was, c[file]) && (err == nil) == (c[file] != nil) {
			delete(c, file)
			continue
		}
		out.Files = append(out.Files, file)
		if c[file] != nil {
			out.Versions[file] = contentVersion(c[file])
		}
		fmt.Fprintf(&diff, "%s\n", file)
		for _, line := range reporters.DiffLines(string(was), string(c[file])) {
			diff.WriteString(line + "\n")
		}
	}
	out.Diff = diff.String()
	found, err := load.Load(ctx, newOverlay(s.files, c), load.Options{Settings: settings, Files: out.Files, Brief: true})
	if err != nil {
		return out, err
	}
	out.formats = formatsOf(found)
	var bad []schema.Problem
	for _, p := range found.Snapshot().Problems() {
		switch {
		case !slices.Contains(out.Files, p.File):
		case p.Severity == schema.Error:
			bad = append(bad, p)
		default:
			out.Warnings = append(out.Warnings, p)
		}
	}
	if len(bad) > 0 {
		return out, &refusal{Status: http.StatusBadRequest, Text: problemText(bad...), Problems: bad}
	}
	return out, nil
}

// conflict refuses a change of a file that is not as it was read.
func conflict(file string) error {
	return &refusal{Status: http.StatusConflict, Text: file + " was changed since it was read; load it again"}
}

// hasFolder refuses a file with an invalid path, or one that belongs to git or leads
// through a file.
func (s *Store) hasFolder(file string) error {
	if err := safefile.CheckName(file); err != nil {
		return refuse("%v", err)
	}
	for folder := path.Dir(file); folder != "."; folder = path.Dir(folder) {
		if found, err := fs.Stat(s.files, folder); err == nil && !found.IsDir() {
			return refuse("%s cannot be written: %s is a file, not a folder", file, folder)
		}
	}
	return nil
}

// foreseen is check with the cases that the change would judge.
func (s *Store) foreseen(ctx context.Context, settings schema.Settings, c Change, versions map[string]string) (Written, error) {
	out, err := s.check(ctx, settings, c, versions)
	if err != nil || s.cfg.Forecast == nil || len(c) == 0 {
		return out, err
	}
	out.forecast, err = s.cfg.Forecast(ctx, s.files, newOverlay(s.files, c))
	return out, err
}

// problemsOf returns the problems of a refused definition.
func problemsOf(err error) []schema.Problem {
	var why *refusal
	if errors.As(err, &why) {
		return why.Problems
	}
	return nil
}

// notKept are fields of requests that follow from the place of a file, or that only
// requests have.
var notKept = []string{"domain_id", "level", "path", "version", "tests", "tools", "error"}

var plainName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)

// textOf returns the file of a definition. A JSON file that stays keeps every byte that is not
// part of a changed field. A level without settings has no file.
func (s *Store) textOf(kind string, entry Entry, old *Entry) ([]byte, error) {
	if kind == kindLevel && len(storedFields(entry.Fields)) == 0 {
		return nil, nil
	}
	whole, err := fileText(kind, entry.Fields)
	if err != nil || old == nil || old.File != entry.File || !strings.HasSuffix(old.File, ".json") {
		return whole, err
	}
	was, err := schema.ReadFile(s.files, old.File, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return whole, nil // it is written as a new one
	}
	if err != nil {
		return nil, refuse("%s cannot be read, and a new text would lose what the form does not show: %v", old.File, err)
	}
	doc, ok := definition.Open(old.File, schema.DialectDomain, was)
	if !ok {
		return whole, nil
	}
	fields, ok := doc.Fields("")
	changed, stored := Fields{}, storedFields(entry.Fields)
	for name := range fields {
		if stored[name] == nil {
			changed[name] = nil
		}
	}
	for name, value := range stored {
		if before := fields[name]; before == nil || !definition.EqualJSON(before, value) {
			changed[name] = value
		}
	}
	if text, err := doc.Change("", changed); ok && err == nil {
		return text, nil
	}
	return whole, nil
}

// fileText returns a definition of a kind as a file, its fields in the order of the
// schema.
func fileText(kind string, fields Fields) ([]byte, error) {
	out, err := definition.EncodeObject(document.Fields(definitionOf[kind]), storedFields(fields))
	if err != nil {
		return nil, refuse("%v", err)
	}
	return out, nil
}

// storedFields returns the fields that a file keeps.
func storedFields(fields Fields) Fields { return definition.WithoutFields(fields, notKept) }
