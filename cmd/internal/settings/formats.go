package settings

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/settings/changes"
	"github.com/gavel-evals/gavel/cmd/internal/settings/form"
	"github.com/gavel-evals/gavel/cmd/internal/settings/object"
	"github.com/gavel-evals/gavel/controller/dashboard/guard"
	"github.com/gavel-evals/gavel/schema"
)

// formats name the CUE definitions of the files of formats that are changed by fields.
var formats = map[string]string{
	schema.DialectTestcase: "#Testcase", schema.DialectPromptval: "#Promptval", schema.DialectEvalcase: "#EvalcaseSuite",
}

// fileURL is the page that changes a file: a form where its format has one.
func (s *Store) fileURL(file, format string) string {
	if formats[format] == "" || !strings.HasSuffix(file, ".json") {
		return s.address("/settings/file", "path", file)
	}
	return s.address("/settings/form", "path", file, "format", format)
}

// formOf is the sheet of the file that parameters name, with the fields of the file. ok is
// false for a file that is not one JSON object, whose text has to be changed.
func (s *Store) formOf(r *http.Request, q url.Values) (v *sheet, fields Fields, ok bool, err error) {
	v = &sheet{Path: q.Get("path"), File: q.Get("path"), Format: q.Get("format"), Kind: q.Get("format"), ID: q.Get("path"), Version: q.Get("version")}
	if formats[v.Format] == "" {
		return nil, nil, false, &refusal{status: http.StatusNotFound, text: "there is no form of this format; write testcase, promptval or evalcase"}
	}
	s, end, err := s.begin(r.Context())
	if err != nil {
		return nil, nil, false, err
	}
	defer end()
	if err := s.isDefinition(r.Context(), v.Path); err != nil {
		return nil, nil, false, err
	}
	data, err := schema.ReadFile(s.files, v.Path, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		v.New = true
		return v, Fields{}, strings.HasSuffix(v.Path, ".json"), nil
	}
	if err != nil || !strings.HasSuffix(v.Path, ".json") || json.Unmarshal(data, &fields) != nil {
		return v, nil, false, nil
	}
	if v.Version == "" && r.Method == http.MethodGet {
		v.Version = changes.Version(data)
	}
	return v, fields, true, nil
}

// openForm is the form of a file that has one definition of a format.
func (s *Store) openForm(w http.ResponseWriter, r *http.Request) (page, error) {
	v, fields, ok, err := s.formOf(r, r.URL.Query())
	if err != nil {
		return page{}, err
	}
	if !ok {
		http.Redirect(w, r, s.address("/settings/file", "path", v.Path), http.StatusSeeOther)
		return page{}, nil
	}
	v.Token, v.Fields = guard.Token(w, r), form.Fields(formats[v.Format], fields)
	return v.page(), nil
}

// submitForm checks or saves what the form of a file has.
func (s *Store) submitForm(w http.ResponseWriter, r *http.Request) (page, error) {
	sent := r.PostForm
	v, fields, ok, err := s.formOf(r, sent)
	if err != nil {
		return page{}, err
	}
	if !ok {
		return page{}, refuse("%s has no form; change its text", v.Path)
	}
	var changed Fields
	v.Token = guard.Token(w, r)
	v.Fields, changed = form.Typed(formats[v.Format], fields, sent)
	data, err := object.File(schema.Fields(formats[v.Format]), object.Merged(fields, changed))
	if err != nil {
		return page{}, refuse("%v", err)
	}
	if len(changed) > 0 && !form.Wrong(v.Fields) {
		if err := s.writeForm(r, v, data); err != nil {
			return page{}, err
		}
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		answer(w, http.StatusOK, v.messages())
		return page{}, nil
	}
	return v.page(), nil
}

// writeForm checks or saves the text that a form makes, and puts each problem to its field.
func (s *Store) writeForm(r *http.Request, v *sheet, data []byte) error {
	action := r.PostForm.Get("action")
	v.Text = string(data)
	written, err := s.saveText(r.Context(), v, changes.ModeOf(action))
	if err := v.result(written, err, action != "save"); err != nil {
		return err
	}
	v.Errors = append(v.Errors, form.Place(v.Fields, problemsOf(err), data)...)
	if v.Saved != nil {
		v.Version, v.New = changes.Version(data), false
	}
	return nil
}
