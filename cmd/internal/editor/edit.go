package editor

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/domain"
)

// reserved lists folders of definitions that are not domains.
var reserved = []string{"evaluators", "tools", "seed"}

// settings returns the settings for definitions.
func (s *Store) settings(ctx context.Context) (schema.Settings, error) {
	return remember(s, "settings", func() (schema.Settings, error) { return s.cfg.Settings(ctx, s.files) })
}

// state returns the settings and the definitions before an edit.
func (s *Store) state(ctx context.Context) (schema.Settings, *tree, error) {
	settings, err := s.settings(ctx)
	if err != nil {
		return settings, nil, err
	}
	t, err := s.read(ctx, settings.Definitions, wish{})
	return settings, t, err
}

// home returns the folder for new definitions: the first configured one that is not a
// file.
func (s *Store) home(settings schema.Settings) string {
	for _, folder := range settings.Definitions {
		if found, err := fs.Stat(s.files, path.Clean(folder)); err != nil || found.IsDir() {
			return path.Clean(folder)
		}
	}
	return "test_definitions"
}

// list returns the requested entries.
func (s *Store) list(ctx context.Context, w wish) ([]Entry, error) {
	s, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	settings, err := s.settings(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.read(ctx, settings.Definitions, w)
	if err != nil {
		return nil, err
	}
	return t.entries, nil
}

// get returns one entry.
func (s *Store) get(ctx context.Context, kind, id string) (Entry, error) {
	s, end, err := s.begin(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer end()
	_, t, err := s.state(ctx)
	if err != nil {
		return Entry{}, err
	}
	return t.find(kind, id)
}

// level returns the settings of a level; without fields if it has no file.
func (s *Store) level(ctx context.Context, domain string, number int) (Entry, error) {
	s, end, err := s.begin(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer end()
	_, t, err := s.state(ctx)
	if err != nil {
		return Entry{}, err
	}
	return t.level(domain, number)
}

func (t *tree) level(domain string, number int) (Entry, error) {
	home, err := t.find(kindDomain, domain)
	if err != nil {
		return Entry{}, err
	}
	folder := path.Join(path.Dir(home.File), "level_"+strconv.Itoa(number))
	for _, e := range t.entriesOf(kindLevel) {
		if path.Dir(e.File) == folder {
			return e, nil
		}
	}
	return Entry{
		Kind: kindLevel, ID: levelID(domain, number), Domain: domain, Level: number, File: folder + "/level.json", Fields: Fields{},
		Version: contentVersion(nil), // two who both write the first settings conflict
	}, nil
}

// levelID names a level.
func levelID(domain string, number int) string { return domain + "/" + strconv.Itoa(number) }

// An edit is a definition to write.
type edit struct {
	kind string
	// id is the id of the changed definition; empty for a new one.
	id     string
	fields Fields
	// only lists the allowed fields; nil for all.
	only []string
	// mode decides whether the change is saved. Defaults to saving it.
	mode saveMode
	// copy is the id of the definition that a new one is a copy of; empty for none.
	copy string
}

// save writes a new definition or changes one: given fields replace fields of the file,
// and the others stay.
func (s *Store) save(ctx context.Context, e edit) (Entry, Written, error) {
	s, end, err := s.beginChange(ctx, e.mode)
	if err != nil {
		return Entry{}, Written{}, err
	}
	defer end()
	settings, t, err := s.state(ctx)
	if err != nil {
		return Entry{}, Written{}, err
	}
	entry, old, err := t.edited(s.home(settings), e)
	if err != nil {
		return Entry{}, Written{}, err
	}
	if err := e.filled(entry); err != nil {
		return entry, Written{}, err
	}
	data, err := s.textOf(e.kind, entry, old)
	if err != nil {
		return Entry{}, Written{}, err
	}
	entry.text = data
	version, err := versionIn(e.fields)
	if err != nil {
		return Entry{}, Written{}, err
	}
	change, versions := Change{entry.File: data}, map[string]string{entry.File: version}
	if e.copy != "" && old == nil {
		from, err := t.find(e.kind, e.copy)
		if err != nil {
			return Entry{}, Written{}, err
		}
		if err := s.copyChecks(from.File, entry.File, change, versions); err != nil {
			return Entry{}, Written{}, err
		}
	}
	if old != nil && old.File != entry.File {
		change[old.File], versions = nil, map[string]string{old.File: version}
		if err := s.moveChecks(change, old.File, entry.File); err != nil {
			return Entry{}, Written{}, err
		}
	}
	out, err := s.carry(ctx, e.mode, settings, change, versions)
	entry.Version = contentVersion(data)
	return entry, out, err
}

// versionIn returns the version that a request changes; empty for any.
func versionIn(fields Fields) (string, error) {
	var out string
	if value := fields["version"]; len(value) > 0 && json.Unmarshal(value, &out) != nil {
		return "", refuse("version: write the text that an answer has as version, or leave it out")
	}
	return out, nil
}

// filled refuses a definition with a blank text that people or the target need. A change of
// other fields keeps the texts of a file.
func (e edit) filled(entry Entry) error {
	why := &refusal{Status: http.StatusBadRequest}
	for _, name := range []string{"name", "prompt"} {
		if (e.id == "" || e.fields[name] != nil) && definition.IsBlankText(entry.Fields[name]) {
			why.Problems = append(why.Problems, schema.Problem{
				Position: schema.Position{File: entry.File, Line: 1, Column: 1}, Severity: schema.Error, Rule: "blank-field",
				Message: "`" + name + "` is blank", Hint: "write a text",
			})
		}
	}
	if why.Text = problemText(why.Problems...); len(why.Problems) > 0 {
		return why
	}
	return nil
}

// edited returns a definition after an edit and before it; nil for a new one.
func (t *tree) edited(folder string, e edit) (entry Entry, old *Entry, err error) {
	entry = Entry{Kind: e.kind, Fields: Fields{}}
	if e.id != "" {
		found, err := t.named(e)
		if err != nil {
			return entry, nil, err
		}
		if err := found.changeable(); err != nil {
			return entry, nil, err
		}
		old, entry = &found, found
		entry.Fields = maps.Clone(found.Fields)
	}
	for name, value := range e.fields {
		switch {
		case slices.Contains(notKept, name):
		case len(value) == 0:
			delete(entry.Fields, name)
		default:
			entry.Fields[name] = value
		}
	}
	if e.kind == kindLevel {
		delete(entry.Fields, "id")
		return entry, old, t.hasPlace(entry.Domain, entry.Level)
	}
	if err := t.name(&entry, e, old); err != nil {
		return entry, nil, err
	}
	entry.File, err = t.fileOf(folder, entry, old, e.fields)
	return entry, old, err
}

// named returns the definition that an edit changes.
func (t *tree) named(e edit) (Entry, error) {
	if e.kind != kindLevel {
		return t.find(e.kind, e.id)
	}
	domain, level, _ := strings.Cut(e.id, "/")
	number, err := strconv.Atoi(level)
	if err != nil {
		return Entry{}, refuse("level %q: write a whole number from 1", level)
	}
	return t.level(domain, number)
}

// name gives a definition its id and refuses one that is taken.
func (t *tree) name(entry *Entry, e edit, old *Entry) error {
	isTaken := func(id string) bool {
		return slices.ContainsFunc(t.entries, func(other Entry) bool {
			return other.Kind == e.kind && other.ID == id && (old == nil || other.File != old.File)
		})
	}
	id := definition.TextOf(entry.Fields["id"])
	if id == "" && old != nil {
		id = old.ID
	}
	if id == "" {
		prefix := ""
		if domain := definition.TextOf(e.fields["domain_id"]); e.kind == kindTest && plainName.MatchString(domain) {
			prefix = domain
		}
		id = definition.NewID(prefix, definition.TextOf(entry.Fields["name"]), isTaken)
	}
	switch {
	case !plainName.MatchString(id):
		return refuse("id %q: write letters, digits, _, - and . only, since a file is named after it", id)
	case isTaken(id):
		return refuse("%s %q exists; choose another id", e.kind, id)
	case e.kind == kindDomain && old != nil && id != old.ID:
		return refuse("the id of domain %q is the name of its folder; move the domain", old.ID)
	case e.kind == kindDomain && slices.Contains(reserved, id):
		return refuse("id %q: this folder has another meaning; choose another id", id)
	}
	entry.ID, entry.Fields["id"] = id, definition.QuoteText(id)
	return nil
}

// fileOf returns the file of a definition.
func (t *tree) fileOf(folder string, entry Entry, old *Entry, fields Fields) (string, error) {
	switch entry.Kind {
	case kindDomain:
		if old != nil {
			return old.File, nil
		}
		return path.Join(folder, entry.ID, "domain.json"), nil
	case kindTest:
		return t.fileOfTest(entry, old, fields)
	}
	if old != nil && old.ID == entry.ID {
		return old.File, nil
	}
	return t.free(path.Join(folder, entry.Kind+"s", entry.ID+".json"))
}

// fileOfTest returns the file of a test, in the domain and level that the fields name or,
// by default, in its present ones.
func (t *tree) fileOfTest(entry Entry, old *Entry, fields Fields) (string, error) {
	domain, level := entry.Domain, max(entry.Level, 1)
	if value, ok := fields["domain_id"]; ok {
		domain = definition.TextOf(value)
	}
	if value, ok := fields["level"]; ok {
		var err error
		if level, err = strconv.Atoi(strings.Trim(string(value), `"`)); err != nil {
			return "", refuse("level %s: write a whole number from 1 to %d", value, levelCount)
		}
	}
	if domain == "" {
		return "", refuse("a test needs `domain_id`, such as \"math\", and may have `level`, which is 1 by default")
	}
	home, err := t.find(kindDomain, domain)
	if err != nil {
		return "", refuse("domain_id: %v", err)
	}
	if old != nil && domain == old.Domain && level == old.Level && old.ID == entry.ID {
		return old.File, nil
	}
	if err := t.hasPlace(domain, level); err != nil {
		return "", err
	}
	return t.free(path.Join(path.Dir(home.File), "level_"+strconv.Itoa(level), entry.ID+".json"))
}

// levelCount is the number of levels of a domain.
const levelCount = 5

// hasPlace refuses a level outside the format, unless the domain has it.
func (t *tree) hasPlace(domain string, level int) error {
	if level >= 1 && level <= levelCount || len(t.inLevel(domain, level)) > 0 {
		return nil
	}
	return refuse("level %d: write a whole number from 1 to %d", level, levelCount)
}

// has reports whether a definition has a file.
func (t *tree) has(file string) bool {
	return slices.ContainsFunc(t.entries, func(e Entry) bool { return e.File == file })
}

// free refuses a file that exists.
func (t *tree) free(file string) (string, error) {
	if t.has(file) {
		return "", refuse("%s exists; choose another id", file)
	}
	return file, nil
}

// remove removes a definition, or checks whether it can be removed; a domain has to be empty.
func (s *Store) remove(ctx context.Context, kind, id, version string, as saveMode) (Written, error) {
	s, end, err := s.beginChange(ctx, as)
	if err != nil {
		return Written{}, err
	}
	defer end()
	settings, t, err := s.state(ctx)
	if err != nil {
		return Written{}, err
	}
	found, err := t.find(kind, id)
	switch {
	case err != nil:
		return Written{}, err
	case found.Several:
		return Written{}, refuse("%s has several tests; change it in an editor", found.File)
	case kind == kindDomain && slices.ContainsFunc(t.entries, func(e Entry) bool { return e.Domain == id && e.Kind != kindDomain }):
		return Written{}, refuse("domain %q has tests; delete or move them first", id)
	}
	for _, e := range t.entries {
		if kind == kindEvaluator && domain.IsBuiltin(id) {
			break // it is there without its file, too
		}
		if _, refers := definition.RenameReference(e.Fields, reference[kind], id, ""); refers {
			return Written{}, refuse("%s %q is used by %s; change that first", kind, id, e.File)
		}
	}
	change := Change{found.File: nil}
	if _, err := fs.Stat(s.files, checksOf(found.File)); err == nil && kind == kindTest {
		change[checksOf(found.File)] = nil // without the test they would be invalid
	}
	return s.carry(ctx, as, settings, change, map[string]string{found.File: version})
}
