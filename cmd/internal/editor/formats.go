package editor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/schema"
)

// formats lists the formats whose files have a form.
var formats = []string{schema.DialectTestcase, schema.DialectPromptval, schema.DialectEvalcase}

// fileURL returns the page that changes a file: a form if its format has one.
func (s *Store) fileURL(file, format string) string {
	if !slices.Contains(formats, format) || !definition.Formed(file) {
		return s.address("/settings/file", "path", file)
	}
	return s.address("/settings/form", "path", file, "format", format)
}

// formOfCase returns the form of the definition of a case. ok is false for a case without one.
func (s *Store) formOfCase(ctx context.Context, file, key string) (form string, ok bool, err error) {
	if key == "" {
		return "", false, nil
	}
	_, found, err := s.definitions(ctx)
	if err != nil {
		return "", false, err
	}
	for _, f := range found.Files {
		if f.File != file || !slices.Contains(formats, f.Format) || !definition.Formed(file) {
			continue
		}
		at := slices.IndexFunc(f.Tests, func(c *schema.CaseInfo) bool { return c.Key == key })
		data, err := schema.ReadFile(s.files, file, maxText)
		if at < 0 || err != nil {
			return "", false, nil //nolint:nilerr // the page of the text says it
		}
		doc, ok := definition.Open(file, f.Format, data)
		if !ok {
			return "", false, nil
		}
		return s.address("/settings/form", "path", file, "format", f.Format, "item", doc.ItemAt(f.Tests[at].Origin)), true, nil
	}
	return "", false, nil
}

// formOf returns the sheet and the content of the file that parameters name. ok is false
// for a file without a form.
func (s *Store) formOf(r *http.Request, q url.Values) (v *sheet, doc *definition.Document, ok bool, err error) {
	v = &sheet{Path: q.Get("path"), File: q.Get("path"), Format: q.Get("format"), Kind: q.Get("format"), ID: q.Get("path"), Version: q.Get("version"), Item: q.Get("item"), Copy: q.Get("copy")}
	if !slices.Contains(formats, v.Format) {
		return nil, nil, false, missing("there is no form of this format; write testcase, promptval or evalcase")
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
		doc := definition.New(v.Path, v.Format)
		if v.Item == "" {
			v.Item = doc.First()
		}
		return v, doc, definition.Formed(v.Path) && v.Item == doc.First(), nil
	}
	if err == nil {
		doc, ok = definition.Open(v.Path, v.Format, data)
	}
	if !ok {
		return v, nil, false, nil
	}
	v.rows(doc, q.Get("page"), s)
	v.CopyName = doc.Name(v.Copy)
	v.duplicate(s, doc)
	if v.Version == "" && r.Method == http.MethodGet {
		v.Version = contentVersion(data)
	}
	if _, has := doc.Fields(v.Item); !has && (v.Item != "" || len(v.Rows) == 0) {
		return nil, nil, false, missing(v.Path + " does not have this definition any more; load the file again")
	}
	return v, doc, true, nil
}

// rows links to the forms of the definitions of a file, and names the one of the sheet.
func (v *sheet) rows(doc *definition.Document, page string, s *Store) {
	for _, row := range doc.Rows(v.Item, page) {
		if v.Item != "" {
			v.ID = row.Name
			continue
		}
		v.Rows = append(v.Rows, item{URL: s.address("/settings/form", "path", v.Path, "format", v.Format, "item", row.Item, "page", row.Page), Text: row.Name})
	}
}

// fieldsOf returns the fields of the sheet's definition. A new one may be a copy.
func (v *sheet) fieldsOf(doc *definition.Document) (Fields, bool) {
	if v.Item == definition.NewItem && v.Copy != "" {
		return doc.Copy(v.Copy)
	}
	v.Copy, v.CopyName = "", ""
	return doc.Fields(v.Item)
}

// openForm shows the form of a file.
func (s *Store) openForm(w http.ResponseWriter, r *http.Request) (page, error) {
	v, doc, ok, err := s.formOf(r, r.URL.Query())
	if err != nil {
		return page{}, err
	}
	if !ok {
		http.Redirect(w, r, s.address("/settings/file", "path", v.Path), http.StatusSeeOther)
		return page{}, nil
	}
	if fields, ok := v.fieldsOf(doc); ok {
		v.Token, v.Fields = access.FormToken(w, r), formFields(doc.Definition(v.Item), fields)
		if v.New || v.Item == definition.NewItem {
			v.named(r.URL.Query())
		}
	}
	v.Refused = http.StatusOK // nothing was sent
	err = s.showFormErrors(r, v, doc)
	return v.page(), err
}

// showFormErrors adds the errors of the stored file to the form of one of its definitions.
func (s *Store) showFormErrors(r *http.Request, v *sheet, doc *definition.Document) error {
	if v.New {
		return nil
	}
	return s.showErrors(r.Context(), v, func(text []byte) locator { return definition.Locate(doc, v.Item, text) })
}

// submitForm checks or saves the form of a file.
func (s *Store) submitForm(w http.ResponseWriter, r *http.Request) (page, error) {
	sent := switched(r.PostForm)
	v, doc, ok, err := s.formOf(r, sent)
	if err != nil {
		return page{}, err
	}
	var fields Fields
	if ok {
		fields, ok = v.fieldsOf(doc)
	}
	if !ok {
		return page{}, refuse("%s has no form; change its text", v.Path)
	}
	var changed Fields
	v.Token = access.FormToken(w, r)
	v.Fields, changed = readForm(doc.Definition(v.Item), fields, sent)
	if v.Copy != "" {
		changed = wholeCopy(fields, changed)
	}
	switch {
	case hasFieldProblem(v.Fields):
	case len(changed) > 0:
		if err := s.writeForm(r, v, doc, fields, changed); err != nil {
			return page{}, err
		}
	case v.New || v.Item == definition.NewItem:
		if as := sent.Get("action"); as == "save" || as == "preview" {
			v.Errors = append(v.Errors, doc.Needs(v.Item, fields))
		}
	default:
		v.Unchanged = true
		if err := s.showFormErrors(r, v, doc); err != nil {
			return page{}, err
		}
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		writeAnswer(w, http.StatusOK, v.messages())
		return page{}, nil
	}
	return v.page(), nil
}

// writeForm checks or saves the text of a form, and adds each problem to its field. before
// are the fields of the definition before the change.
func (s *Store) writeForm(r *http.Request, v *sheet, doc *definition.Document, before, changed Fields) error {
	data, err := doc.Change(v.Item, changed)
	if err != nil {
		v.Errors = append(v.Errors, err.Error())
		return nil
	}
	action := r.PostForm.Get("action")
	v.Text = string(data)
	if from, ok := doc.Fields(v.Copy); v.Copy != "" && ok {
		v.copiedID, v.copyID = definition.TextOf(from["id"]), definition.TextOf(changed["id"])
	}
	// No other check reports a file that is not a definition, or one of another format.
	checked, err := s.saveText(r.Context(), v, modeCheck)
	if format, isRead := checked.formats[v.Path]; isRead && format != v.Format && (err == nil || format != "") {
		v.Errors = append(v.Errors, doc.Needs(v.Item, wholeCopy(before, changed)))
		return nil
	}
	written, err := s.saveText(r.Context(), v, parseMode(action))
	if err := v.result(written, err, parseMode(action)); err != nil {
		return err
	}
	v.Errors = append(v.Errors, attachProblems(v.Fields, problemsOf(err), definition.Locate(doc, v.Item, data))...)
	if v.Saved != nil {
		v.Version, v.New, v.Item, v.Copy = contentVersion(data), false, doc.Number(v.Item), ""
		if after, ok := definition.Open(v.Path, v.Format, data); ok && v.Fields != nil {
			fields, _ := after.Fields(v.Item)
			v.Fields, v.ID = formFields(after.Definition(v.Item), fields), cmp.Or(after.Name(v.Item), v.ID)
		}
	}
	return nil
}
