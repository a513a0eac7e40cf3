package editor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/testcase"
)

// generated are fields of an answer that come from the place and the history of a file.
var generated = []string{"created_at", "updated_at", "key", "path", "line", "version"}

// postTestCase writes a new case of the testcase format, next to the others.
func (s *Store) postTestCase(ctx context.Context, r *http.Request) (any, error) {
	fields, version, err := sentTestCase(r)
	if err != nil {
		return nil, err
	}
	s, end, err := s.beginChange(ctx, modeSave)
	if err != nil {
		return nil, err
	}
	defer end()
	settings, found, err := s.definitions(ctx)
	if err != nil {
		return nil, err
	}
	cases := found.Cases
	if id := definition.TextOf(fields["id"]); id != "" {
		if _, err := s.caseNamed(ctx, cases, id); err == nil {
			return nil, refuse("test case %q exists; choose another id", id)
		}
	}
	folder := s.home(settings)
	if len(cases) > 0 {
		folder = path.Dir(cases[0].Origin.File)
	}
	name := definition.NewID("", definition.TextOf(fields["name"]), func(id string) bool {
		_, err := fs.Stat(s.files, path.Join(folder, id+".json"))
		return !errors.Is(err, fs.ErrNotExist)
	})
	return s.writeTestCase(ctx, settings, path.Join(folder, name+".json"), fields, version)
}

// putTestCase changes a case: given fields replace the fields of its file.
func (s *Store) putTestCase(ctx context.Context, r *http.Request) (any, error) {
	sent, version, err := sentTestCase(r)
	if err != nil {
		return nil, err
	}
	s, end, err := s.beginChange(ctx, modeSave)
	if err != nil {
		return nil, err
	}
	defer end()
	settings, found, err := s.definitions(ctx)
	if err != nil {
		return nil, err
	}
	cases := found.Cases
	id := r.PathValue("id")
	old, err := s.alone(ctx, cases, id)
	if err != nil {
		return nil, err
	}
	if other := definition.TextOf(sent["id"]); other != "" && other != id {
		return nil, refuse("id %q: the path names test case %q, whose id stays", other, id)
	}
	delete(sent, "id")
	fields := testcase.Definition(s.files, old)
	maps.Copy(fields, sent)
	return s.writeTestCase(ctx, settings, old.Origin.File, fields, version)
}

// deleteTestCase removes the file of a case.
func (s *Store) deleteTestCase(ctx context.Context, r *http.Request) (any, error) {
	s, end, err := s.beginChange(ctx, modeSave)
	if err != nil {
		return nil, err
	}
	defer end()
	settings, found, err := s.definitions(ctx)
	if err != nil {
		return nil, err
	}
	cases := found.Cases
	old, err := s.alone(ctx, cases, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	written, err := s.apply(ctx, settings, Change{old.Origin.File: nil}, map[string]string{old.Origin.File: r.URL.Query().Get("version")})
	return written.answer(nil), err
}

// sentTestCase reads the fields of a case, without the generated ones, and the version
// that the caller has read.
func sentTestCase(r *http.Request) (fields Fields, version string, err error) {
	if _, fields, err = fieldsOf(r); err == nil {
		version, err = versionIn(fields)
	}
	for _, name := range generated {
		delete(fields, name)
	}
	return fields, version, err
}

// writeTestCase writes a case, and answers with its new state in the file. Fields that
// make another definition than a test case are refused before anything is written.
func (s *Store) writeTestCase(ctx context.Context, settings schema.Settings, file string, fields Fields, version string) (any, error) {
	data, err := fileText(kindTestcase, fields)
	if err != nil {
		return nil, err
	}
	if definition.IsBlankText(fields["initial_message"]) {
		return nil, refuse("initial_message is blank; write what the user says first, or null where the simulator writes it")
	}
	change := Change{file: data}
	written, err := s.check(ctx, settings, change, map[string]string{file: version})
	if err != nil {
		return nil, err
	}
	after := *s
	after.files, after.cfg.Identity = newOverlay(s.files, Change{file: data}), nil
	found, err := load.Load(ctx, after.files, load.Options{Settings: settings, Files: []string{file}})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(found.Cases, func(c *schema.Case) bool { return c.Origin.File == file && c.Dialect == schema.DialectTestcase })
	if at < 0 {
		return nil, refuse("%s would not be a test case; write an initial_message or a persona", file)
	}
	made, err := after.testCaseOf(ctx, testcase.NewReader(after.files), &found.Cases[at].CaseInfo)
	if err != nil {
		return nil, err
	}
	written.Kept, err = s.write(ctx, change)
	return written.answer(map[string]any{"test_case": made}), err
}

// caseNamed returns the case with an id.
func (s *Store) caseNamed(ctx context.Context, cases []*schema.CaseInfo, name string) (*schema.CaseInfo, error) {
	for _, c := range cases {
		id, err := explain.Identify(ctx, c, explain.History{Repository: s.cfg.Repository}) // reads no history
		if err != nil {
			return nil, err
		}
		if id.ID == name {
			return c, nil
		}
	}
	return nil, missing(fmt.Sprintf("test case %q does not exist", name))
}

// alone returns the case with an id, whose file has no other and can be written.
func (s *Store) alone(ctx context.Context, cases []*schema.CaseInfo, name string) (*schema.CaseInfo, error) {
	found, err := s.caseNamed(ctx, cases, name)
	if err != nil {
		return nil, err
	}
	doc, _ := document.Open(s.files, found.Origin.File)
	several := doc == nil || doc.IsList()
	if !several {
		var fields Fields
		several = json.Unmarshal(doc.JSON(), &fields) != nil || fields["name"] == nil
	}
	switch {
	case several:
		return nil, refuse("%s has several test cases; change it in an editor", found.Origin.File)
	case path.Ext(found.Origin.File) != ".json":
		return nil, refuse("%s is YAML, whose comments would be lost; change its text", found.Origin.File)
	}
	return found, nil
}
