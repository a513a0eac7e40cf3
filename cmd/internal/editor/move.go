package editor

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/schema"
)

// A destination is the new place of a level, or the new id of a domain, evaluator or tool.
type destination struct {
	ID      string `json:"id"`
	Domain  string `json:"domain_id"`
	Level   int    `json:"level"`
	Version string `json:"version"`
}

// destinationOf reads a destination with only the named fields.
func destinationOf(r *http.Request, only ...string) (destination, error) {
	body, fields, err := fieldsOf(r)
	if err != nil {
		return destination{}, err
	}
	only = append(only, "version")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(only, name) {
			return destination{}, refuse("`%s`: write only %s here", name, strings.Join(only, ", "))
		}
	}
	var out destination
	if err := json.Unmarshal(body, &out); err != nil {
		return out, refuse("the destination cannot be read: %v", err)
	}
	return out, nil
}

// getLevels returns the levels with tests or settings, by domain and number.
func (s *Store) getLevels(ctx context.Context, r *http.Request) (any, error) {
	entries, err := s.list(ctx, wish{domain: r.URL.Query().Get("domain")})
	if err != nil {
		return nil, err
	}
	list := []map[string]any{}
	at := func(e Entry) map[string]any {
		for _, level := range list {
			if level["domain_id"] == e.Domain && level["level"] == e.Level {
				return level
			}
		}
		list = append(list, map[string]any{"domain_id": e.Domain, "level": e.Level, "test_count": 0, "has_system_prompt": false})
		return list[len(list)-1]
	}
	for _, e := range entries {
		switch e.Kind {
		case kindTest:
			level := at(e)
			count, _ := level["test_count"].(int)
			level["test_count"] = count + 1
		case kindLevel:
			maps.Copy(at(e), e.document())
			at(e)["has_system_prompt"] = definition.TextOf(e.Fields["system_prompt"]) != ""
		}
	}
	return map[string]any{"levels": list}, nil
}

// inLevel returns the definitions of a level: its tests, and its settings if it has some.
func (t *tree) inLevel(domain string, number int) []Entry {
	return slices.DeleteFunc(slices.Clone(t.entries), func(e Entry) bool {
		return e.Domain != domain || e.Level != number || e.Kind != kindTest && e.Kind != kindLevel
	})
}

// levelNamed reads the domain and the number of a path.
func levelNamed(r *http.Request) (domain string, number int, err error) {
	number, err = strconv.Atoi(r.PathValue("level"))
	if err != nil || number < 1 || number > 9999 {
		return "", 0, refuse("level %s: write a whole number from 1", r.PathValue("level"))
	}
	return r.PathValue("domain"), number, nil
}

// deleteLevel removes the settings of a level without tests.
func (s *Store) deleteLevel(ctx context.Context, r *http.Request) (any, error) {
	domain, number, err := levelNamed(r)
	if err != nil {
		return nil, err
	}
	s, end, err := s.beginChange(ctx, modeSave)
	if err != nil {
		return nil, err
	}
	defer end()
	settings, t, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	level, err := t.level(domain, number)
	switch {
	case err != nil:
		return nil, err
	case slices.ContainsFunc(t.inLevel(domain, number), func(e Entry) bool { return e.Kind == kindTest }):
		return nil, refuse("level %d of domain %q has tests; delete or move them first", number, domain)
	case !t.has(level.File):
		return nil, missing("level " + level.ID + " does not exist")
	}
	written, err := s.apply(ctx, settings, Change{level.File: nil}, map[string]string{level.File: r.URL.Query().Get("version")})
	return written.answer(nil), err
}

// moveLevel moves the tests and the settings of a level to another level. That level may
// have tests with other names. It may have settings only if the moved one has none.
func (s *Store) moveLevel(ctx context.Context, r *http.Request) (any, error) {
	domain, number, err := levelNamed(r)
	if err != nil {
		return nil, err
	}
	to, err := destinationOf(r, "domain_id", "level")
	if err != nil {
		return nil, err
	}
	s, end, err := s.beginChange(ctx, modeSave)
	if err != nil {
		return nil, err
	}
	defer end()
	settings, t, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	if to.Domain == "" {
		to.Domain = domain
	}
	if to.Level == 0 {
		to.Level = number
	}
	if err := t.hasPlace(to.Domain, to.Level); err != nil {
		return nil, err
	}
	old, err := t.level(domain, number)
	if err != nil {
		return nil, err
	}
	if to.Version != "" && to.Version != old.Version {
		return nil, conflict(old.File)
	}
	moved := t.inLevel(domain, number)
	if len(moved) == 0 {
		return nil, missing("level " + levelID(domain, number) + " does not exist")
	}
	target, err := t.level(to.Domain, to.Level)
	if err != nil {
		return nil, refuse("domain_id: %v", err)
	}
	change := Change{}
	for _, e := range moved {
		if e.Kind == kindLevel && t.has(target.File) && target.File != e.File {
			return nil, refuse("%s exists; delete it or the settings of the level that is moved first", target.File)
		}
		to := path.Join(path.Dir(target.File), path.Base(e.File))
		if err := s.rename(t, change, e.File, to); err != nil {
			return nil, err
		}
		if err := s.moveChecks(change, e.File, to); err != nil {
			return nil, err
		}
	}
	written, err := s.apply(ctx, settings, change, nil)
	level := map[string]any{"domain_id": to.Domain, "level": to.Level, "version": old.Version}
	return written.answer(map[string]any{kindLevel: level}), err
}

// rename adds the move of a file to a change.
func (s *Store) rename(t *tree, c Change, from, to string) error {
	if from == to {
		return nil
	}
	if _, err := t.free(to); err != nil {
		return err
	}
	if _, err := fs.Stat(s.files, to); !errors.Is(err, fs.ErrNotExist) {
		return refuse("%s exists; choose another place", to)
	}
	data, err := schema.ReadFile(s.files, from, 0)
	if err != nil {
		return refuse("%s cannot be moved: %v", from, err)
	}
	c[from], c[to] = nil, data
	return nil
}

// moveChecks adds the checks of a definition to a change that moves its file.
func (s *Store) moveChecks(c Change, from, to string) error {
	from, to = checksOf(from), checksOf(to)
	data, err := schema.ReadFile(s.files, from, 0)
	if errors.Is(err, fs.ErrNotExist) || from == to {
		return nil
	}
	if err != nil {
		return refuse("%s cannot be moved: %v", from, err)
	}
	if _, err := fs.Stat(s.files, to); !errors.Is(err, fs.ErrNotExist) {
		return refuse("%s exists; choose another place", to)
	}
	c[from], c[to] = nil, data
	return nil
}

// moveNamed gives a domain, evaluator or tool another id, and changes all references.
func (s *Store) moveNamed(ctx context.Context, kind string, r *http.Request) (any, error) {
	to, err := destinationOf(r, "id")
	if err != nil {
		return nil, err
	}
	s, end, err := s.beginChange(ctx, modeSave)
	if err != nil {
		return nil, err
	}
	defer end()
	settings, t, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	old, err := t.find(kind, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if err := t.isFree(kind, to.ID); err != nil {
		return nil, err
	}
	change, file := Change{}, ""
	if kind == kindDomain {
		file, err = s.moveDomain(t, change, old, to.ID)
	} else {
		file, err = s.moveOne(t, change, old, to.ID)
	}
	if err != nil {
		return nil, err
	}
	moved := map[string]any{"id": to.ID, "path": file, "version": contentVersion(change[file])}
	written, err := s.apply(ctx, settings, change, map[string]string{old.File: to.Version})
	return written.answer(map[string]any{kind: moved}), err
}

// isFree refuses an id that cannot be the new one of a definition.
func (t *tree) isFree(kind, id string) error {
	_, err := t.find(kind, id)
	switch {
	case !plainName.MatchString(id):
		return refuse("id %q: write letters, digits, _, - and . only, since a file is named after it", id)
	case err == nil:
		return refuse("%s %q exists; choose another id", kind, id)
	case kind == kindDomain && slices.Contains(reserved, id):
		return refuse("id %q: this folder has another meaning; choose another id", id)
	}
	return nil
}

// moveDomain moves all files of a domain, and returns the new domain.json.
func (s *Store) moveDomain(t *tree, c Change, old Entry, id string) (file string, err error) {
	from := path.Dir(old.File)
	to := path.Join(path.Dir(from), id)
	file = path.Join(to, path.Base(old.File))
	err = fs.WalkDir(s.files, from, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return refuse("%s is not a regular file; move the folder in git", name)
		}
		return s.rename(t, c, name, to+strings.TrimPrefix(name, from))
	})
	if err != nil {
		return "", err
	}
	if old.Problem != "" || old.Fields["id"] == nil {
		return file, nil
	}
	fields := maps.Clone(old.Fields)
	fields["id"] = definition.QuoteText(id)
	c[file], err = fileText(kindDomain, fields)
	return file, err
}

// moveOne moves an evaluator or a tool, changes all references, and returns the new file.
func (s *Store) moveOne(t *tree, c Change, old Entry, id string) (file string, err error) {
	if err := old.changeable(); err != nil {
		return "", err
	}
	if file, err = t.free(path.Join(path.Dir(old.File), id+".json")); err != nil {
		return "", err
	}
	fields := maps.Clone(old.Fields)
	fields["id"] = definition.QuoteText(id)
	if c[file], err = fileText(old.Kind, fields); err != nil {
		return "", err
	}
	c[old.File] = nil
	for _, e := range t.entries {
		renamed, refers := definition.RenameReference(e.Fields, reference[old.Kind], old.ID, id)
		if !refers {
			continue
		}
		if err := e.changeable(); err != nil {
			return "", err
		}
		if c[e.File], err = fileText(e.Kind, renamed); err != nil {
			return "", err
		}
	}
	return file, nil
}

// changeable refuses a definition whose file cannot be written from its fields.
func (e Entry) changeable() error {
	switch {
	case e.Several:
		return refuse("%s has several tests; change it in an editor", e.File)
	case e.Problem != "":
		return refuse("%s: %s", e.File, e.Problem)
	case path.Ext(e.File) != ".json":
		return refuse("%s is YAML, whose comments would be lost; change its text", e.File)
	}
	return nil
}

// reference has the field by which definitions refer to a kind.
var reference = map[string]string{kindEvaluator: "evaluator_id", kindTool: "tool_ids"}
