package settings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/reporters/attempts"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// A Config says where the definitions are.
type Config struct {
	// Open opens the files of the repository for one look; close ends it.
	Open func(context.Context) (files fs.FS, close func() error, err error)
	// Write keeps a change that was checked. Defaults to refusing all changes.
	Write func(context.Context, Change) (Kept, error)
	// Settings reads what gavel.yaml says about definitions.
	Settings func(fs.FS) (schema.Settings, error)
	// Repository is the name of the repository, such as acme/shop; empty for none.
	Repository string
	// Identity finds the id of a case and when it was made and changed. Defaults to the
	// id alone.
	Identity func(context.Context, *schema.Case) (*explain.Identity, error)
	// Forecast says what files would have judged that others have not. Defaults to
	// saying nothing.
	Forecast func(ctx context.Context, before, after fs.FS) (*Forecast, error)
	// Now defaults to the real clock.
	Now func() time.Time
}

// A Kept is where a change is. Both fields are empty for files of the working tree.
type Kept struct {
	Branch string `json:"branch,omitempty"`
	// PullRequest is the address of the one that was opened.
	PullRequest string `json:"pull_request,omitempty"`
}

// A Store reads and writes definitions.
type Store struct {
	cfg   Config
	mu    sync.Mutex // held while files are read or written: requests are few
	files fs.FS      // those of the look at hand; guarded by mu
}

// New is a store of the definitions of a repository.
func New(cfg Config) *Store {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Store{cfg: cfg}
}

// begin opens the files. The caller calls end.
func (s *Store) begin(ctx context.Context) (end func(), err error) {
	s.mu.Lock()
	files, shut, err := s.cfg.Open(ctx)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.files = files
	return func() {
		s.files = nil
		_ = shut() // the files were only read
		s.mu.Unlock()
	}, nil
}

// A refusal is why a request is not done, with its status.
type refusal struct {
	status int
	text   string
	// problems are what is wrong with a definition.
	problems []schema.Problem
}

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error {
	return &refusal{status: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

// A Change is what is written, by file: nil removes a file.
type Change map[string][]byte

// A Written is a change that was made.
type Written struct {
	Files []string `json:"files"`
	// Diff has the changed lines of each file.
	Diff string `json:"diff"`
	Kept
	// Warnings are problems that do not keep a definition from being used.
	Warnings []schema.Problem `json:"warnings"`
	// forecast is nil unless it was asked for.
	forecast *Forecast
}

// apply checks a change and writes it. versions are those that the caller has read of
// files: another one is a conflict.
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
		return Kept{}, &refusal{status: http.StatusForbidden, text: "definitions are only shown here; change them by a pull request"}
	case len(c) == 0:
		return Kept{}, nil
	}
	return s.cfg.Write(ctx, c)
}

// Folder writes changes to the files of a folder.
func Folder(dir string) func(context.Context, Change) (Kept, error) {
	return func(_ context.Context, c Change) (Kept, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return Kept{}, err
		}
		defer func() { _ = root.Close() }() // nothing is left to be written
		for _, file := range slices.Sorted(maps.Keys(c)) {
			if err := put(root, file, c[file]); err != nil {
				return Kept{}, fmt.Errorf("write %s: %w", file, err)
			}
		}
		return Kept{}, nil
	}
}

// check refuses a change that has errors or conflicts, and says what it would write.
func (s *Store) check(ctx context.Context, settings schema.Settings, c Change, versions map[string]string) (Written, error) {
	out := Written{Files: []string{}, Warnings: []schema.Problem{}}
	var diff strings.Builder
	for _, file := range slices.Sorted(maps.Keys(c)) {
		was, err := schema.ReadFile(s.files, file, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return out, refuse("%s cannot be replaced: %v", file, err)
		}
		if want, asked := versions[file]; asked && want != "" && want != versionOf(was) {
			return out, &refusal{status: http.StatusConflict, text: file + " was changed since it was read; load it again"}
		}
		if bytes.Equal(was, c[file]) && (err == nil) == (c[file] != nil) {
			delete(c, file)
			continue
		}
		out.Files = append(out.Files, file)
		fmt.Fprintf(&diff, "%s\n", file)
		for _, line := range attempts.Diff(string(was), string(c[file])) {
			diff.WriteString(line + "\n")
		}
	}
	out.Diff = diff.String()
	found, err := load.Load(ctx, overlay{s.files, c}, load.Options{Settings: settings, Files: out.Files, Brief: true})
	if err != nil {
		return out, err
	}
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
		return out, &refusal{status: http.StatusBadRequest, text: sentence(bad), problems: bad}
	}
	return out, nil
}

// foreseen is check with what the change would have judged.
func (s *Store) foreseen(ctx context.Context, settings schema.Settings, c Change, versions map[string]string) (Written, error) {
	out, err := s.check(ctx, settings, c, versions)
	if err != nil || s.cfg.Forecast == nil || len(c) == 0 {
		return out, err
	}
	out.forecast, err = s.cfg.Forecast(ctx, s.files, overlay{s.files, c})
	return out, err
}

// problemsOf are the problems of a refused definition.
func problemsOf(err error) []schema.Problem {
	var why *refusal
	if errors.As(err, &why) {
		return why.problems
	}
	return nil
}

// sentence has the problems in one text.
func sentence(problems []schema.Problem) string {
	var said []string
	for _, p := range problems {
		line := p.Message
		if p.Hint != "" {
			line += "; " + p.Hint
		}
		said = append(said, line)
	}
	return strings.Join(said, "\n")
}

// put writes a file, or removes it. No link leads it out of the folder, and a reader
// sees the old text or the new one.
func put(root *os.Root, file string, data []byte) error {
	if data == nil {
		return root.Remove(file)
	}
	if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return err
	}
	draft := path.Join(path.Dir(file), "."+path.Base(file)+".gavel-draft")
	if err := root.WriteFile(draft, data, 0o644); err != nil {
		return err
	}
	return root.Rename(draft, file)
}

// notKept are fields of requests that the place of a file says, or that only requests
// have.
var notKept = []string{"domain_id", "level", "path", "version", "tests", "tools", "error"}

// fileText is an object as a file, its fields in the order of the schema.
func fileText(kind string, fields Fields) ([]byte, error) {
	names := schema.Fields(definitionOf[kind])
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var b bytes.Buffer
	b.WriteString("{")
	first := true
	for _, name := range names {
		value, ok := fields[name]
		if !ok || slices.Contains(notKept, name) {
			continue
		}
		if !first {
			b.WriteString(",")
		}
		first = false
		fmt.Fprintf(&b, "%s:%s", strconv.Quote(name), value)
	}
	b.WriteString("}")
	var out bytes.Buffer
	if err := json.Indent(&out, b.Bytes(), "", "  "); err != nil {
		return nil, refuse("the definition is not JSON: %v", err)
	}
	out.WriteString("\n")
	return out.Bytes(), nil
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
	between   = regexp.MustCompile(`[^A-Za-z0-9]+`)
)

// madeID is an id for a new definition, from its name.
func madeID(prefix, name string, isTaken func(string) bool) string {
	slug := strings.Trim(strings.ToLower(between.ReplaceAllString(name, "_")), "_")
	if slug == "" {
		slug = "new"
	}
	id := strings.Trim(prefix+"_"+slug[:min(len(slug), 60)], "_")
	for n := 2; isTaken(id); n++ {
		id = fmt.Sprintf("%s_%s_%d", prefix, slug[:min(len(slug), 60)], n)
		id = strings.Trim(id, "_")
	}
	return id
}

// quoted is a text as JSON.
func quoted(text string) json.RawMessage {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string is always encoded
	}
	return out
}
