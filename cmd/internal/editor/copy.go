package editor

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/schema"
)

// copyable are the kinds of definitions that are copied by a form.
var copyable = []string{kindTest, kindEvaluator, kindTool}

// copyOf returns the page of a copy of a definition; empty for a kind without copies.
func (s *Store) copyOf(kind, id string) string {
	if !slices.Contains(copyable, kind) {
		return ""
	}
	return s.address("/settings/edit", "kind", kind, "copy", id)
}

// copied makes a new definition a copy of the one that the sheet names.
func (v *sheet) copied(t *tree, entry *Entry) error {
	if v.Copy == "" {
		return nil
	}
	if !slices.Contains(copyable, v.Kind) {
		return refuse("a %s has no copies", v.Kind)
	}
	from, err := t.find(v.Kind, v.Copy)
	if err != nil {
		return err
	}
	entry.Fields = definition.Copied(from.Fields, func(id string) bool {
		return slices.ContainsFunc(t.entries, func(e Entry) bool { return e.Kind == v.Kind && e.ID == id })
	})
	if v.Domain == "" {
		v.Domain, v.Level = from.Domain, definition.LevelText(from.Level)
	}
	return nil
}

// wholeCopy returns the fields of a copy with the changed ones among them.
func wholeCopy(fields, changed Fields) Fields {
	out := maps.Clone(fields)
	maps.Copy(out, changed)
	return out
}

// duplicate sets the page of a copy of the definition of a file with a form.
func (v *sheet) duplicate(s *Store, doc *definition.Document) {
	switch {
	case v.New:
	case v.Item != "" && v.Item != definition.NewItem:
		v.Duplicate = s.address("/settings/form", "path", v.Path, "format", v.Format, "item", definition.NewItem, "copy", v.Item)
	case v.Item == "":
		if _, ok := doc.CopyText(); ok {
			v.Duplicate = s.address("/settings/file", "path", s.freeFile(v.Path), "copy", v.Path, "of", v.Format)
		}
	}
}

// freeFile returns a path next to a file that does not exist.
func (s *Store) freeFile(file string) string {
	ext := path.Ext(file)
	for n := 2; ; n++ {
		out := strings.TrimSuffix(file, ext) + "_" + strconv.Itoa(n) + ext
		if _, err := fs.Stat(s.files, out); errors.Is(err, fs.ErrNotExist) || n > 999 {
			return out
		}
	}
}

// copiedText fills the sheet of a new file with a copy of another one.
func (s *Store) copiedText(ctx context.Context, v *sheet, from, format string) error {
	if err := s.isDefinition(ctx, from); err != nil {
		return err
	}
	data, err := schema.ReadFile(s.files, from, maxText)
	if err != nil {
		return missing(from + " cannot be read")
	}
	if doc, ok := definition.Open(from, format, data); ok {
		if text, ok := doc.CopyText(); ok {
			data = text
		}
	}
	v.Text, v.Copy = string(data), from
	return nil
}

// checksSuffix replaces the extension of a definition in the name of the file with its checks.
const checksSuffix = ".checks.yaml"

// checksOf returns the file with the checks of a definition.
func checksOf(file string) string { return strings.TrimSuffix(file, path.Ext(file)) + checksSuffix }

// copyChecks adds the checks next to a definition to a change that copies it, unless the copy
// has some.
func (s *Store) copyChecks(from, to string, c Change, versions map[string]string) error {
	data, err := s.checks(checksOf(from))
	if data == nil || err != nil {
		return err
	}
	if _, taken := fs.Stat(s.files, checksOf(to)); errors.Is(taken, fs.ErrNotExist) {
		c[checksOf(to)], versions[checksOf(to)] = data, contentVersion(nil)
	}
	return nil
}

// checks reads a file of checks; nil if it does not exist.
func (s *Store) checks(file string) ([]byte, error) {
	data, err := schema.ReadFile(s.files, file, maxText)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, refuse("the checks in %s cannot be copied: %v", file, err)
	}
	return data, nil
}

// copyChecksOf adds the checks of the definition that a sheet copies to its change. The checks
// of a file get a file next to the new one; the checks of one of several definitions get the
// new id.
func (s *Store) copyChecksOf(ctx context.Context, v *sheet, c Change, versions map[string]string) error {
	if v.Item != definition.NewItem {
		if err := s.isDefinition(ctx, v.Copy); err != nil {
			return err
		}
		if v.Version == "" {
			return s.copyChecks(v.Copy, v.Path, c, versions)
		}
		return nil
	}
	file := checksOf(v.Path)
	if v.copiedID == "" || v.copyID == "" {
		return nil
	}
	data, err := s.checks(file)
	if data == nil || err != nil {
		return err
	}
	doc, ok := definition.Open(file, "", data)
	if !ok {
		return nil
	}
	checks, _ := doc.Fields("")
	if checks[v.copiedID] == nil || checks[v.copyID] != nil {
		return nil
	}
	text, err := doc.Change("", Fields{v.copyID: checks[v.copiedID]})
	if err != nil {
		return refuse("the checks of the copy: %v", err)
	}
	c[file], versions[file] = text, contentVersion(data)
	return nil
}

// The fields that disable a test, and their values for a test that is disabled or not.
var switches = map[string][2]string{"enabled": {"false", "true"}, "status": {"archived", "active"}}

// Switch returns the action that a button disables or enables the definition with; empty
// for a format in which a definition cannot be disabled.
func (v *sheet) Switch() string {
	if v.Kind != kindTest && v.Kind != kindTestcase {
		return ""
	}
	for _, f := range v.Fields {
		if values, ok := switches[f.Name]; ok && (f.Value == "" || f.Value == values[1]) {
			return "disable"
		} else if ok {
			return "enable"
		}
	}
	return ""
}

// Unswitched says why the definition has no button that disables it; empty if it has one.
func (v *sheet) Unswitched() string {
	if v.Format == "" || v.Format == kindTestcase || v.New {
		return ""
	}
	return "The format " + v.Format + " has no field that disables a definition. quarantine in gavel.yaml takes a case out of the gate until a date."
}

// switched turns the action of a button into the value of its field, which is saved.
func switched(sent url.Values) url.Values {
	at := slices.Index([]string{"disable", "enable"}, sent.Get("action"))
	if at < 0 {
		return sent
	}
	sent.Set("action", "save")
	for name, values := range switches {
		if sent.Has("f." + name) {
			sent.Set("f."+name, values[at])
		}
	}
	return sent
}
