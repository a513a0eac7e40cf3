package editor

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

//go:embed pages/*.tmpl
var pageFiles embed.FS

// newTemplates returns the templates of the pages.
func (s *Store) newTemplates() *template.Template {
	cfg := s.cfg
	return template.Must(template.New("").Funcs(template.FuncMap{
		"sentence": textfmt.Sentence, "count": textfmt.Count,
		"root":     func() string { return cfg.Root },
		"runs":     func() bool { return cfg.Runner != nil },
		"commits":  s.HasChanges,
		"isChecks": func(file string) bool { return strings.HasSuffix(file, checksSuffix) },
	}).ParseFS(pageFiles, "pages/*.tmpl"))
}

// A Forecast lists the cases that a change would judge, and their cost.
type Forecast struct {
	// Cases are the cases that would be judged differently, each with the reason.
	Cases []string
	// Estimate is the cost, such as "about 12 calls, $0.04".
	Estimate string
}

// A frame puts the navigation around a page.
type frame func(http.ResponseWriter, *http.Request, dashboard.Page)

// An answer makes the page of a request. A page without a template means that it has
// answered the request itself.
type answer func(http.ResponseWriter, *http.Request) (page, error)

// Pages adds the pages at /settings and [TestsPath] to a mux. The caller guards it.
func (s *Store) Pages(mux *http.ServeMux, around func(http.ResponseWriter, *http.Request, dashboard.Page)) {
	answers := map[string]answer{
		"GET " + TestsPath:    s.tests,
		"GET " + NewTestPath:  s.newTest,
		"GET /settings":       s.overview,
		"GET /settings/edit":  s.open,
		"POST /settings/edit": s.submit,
		"GET /settings/file":  s.openFile,
		"POST /settings/file": s.submitFile,
		"GET /settings/form":  s.openForm,
		"POST /settings/form": s.submitForm,
	}
	s.runRoutes(answers)
	s.commitRoutes(answers)
	for pattern, answer := range answers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			p, err := answer(w, r)
			var why *refusal
			switch {
			case errors.As(err, &why):
				p = page{Template: "settings-error", Title: "Settings", Status: why.Status, Body: ended(why.Text)}
			case err != nil:
				p = page{Template: "settings-error", Title: "Settings", Status: http.StatusInternalServerError, Body: ended(err.Error())}
			case p.Template == "":
				return // it was answered
			}
			s.writePage(w, r, p, around)
		})
	}
}

// ended ends a sentence with a period, unless it has an end.
func ended(text string) string {
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// A page is the data of a template.
type page struct {
	Template, Title string
	Status          int
	Body            any
	// Live says that the page follows a run.
	Live bool
}

func (s *Store) writePage(w http.ResponseWriter, r *http.Request, p page, around frame) {
	var body bytes.Buffer
	if err := s.templates.ExecuteTemplate(&body, p.Template, p.Body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	framed := dashboard.Page{Status: max(p.Status, http.StatusOK), Title: p.Title, Body: template.HTML(body.String())} //nolint:gosec // the template escaped it
	if p.Live {
		framed.Live, framed.Refresh = s.cfg.Root+"/api/events", 2
	}
	around(w, r, framed)
}

// CasePage returns the address of the page that edits a case of a file, below the root of the
// pages.
func CasePage(file, key string) string {
	return definition.PathWithQuery("/settings/file", "path", file, "case", key)
}

// address returns the path of a page with its parameters.
func (s *Store) address(path string, pairs ...string) string {
	return s.cfg.Root + definition.PathWithQuery(path, pairs...)
}

// An item is a link of a list.
type item struct {
	URL, Text, Note string
	On              bool
}

// A shelf is a domain of the sidebar with its levels.
type shelf struct {
	item
	Levels []item
}

// mostItems is how many definitions a page lists.
const mostItems = 200

// overview is the page of all definitions, or of the definitions of a domain and level.
func (s *Store) overview(_ http.ResponseWriter, r *http.Request) (page, error) {
	q := r.URL.Query()
	domain, level := q.Get("domain"), definition.PageNumber(q.Get("level"), 0, 9999)
	entries, err := s.list(r.Context(), wish{})
	if err != nil {
		return page{}, err
	}
	problems, err := s.Problems(r.Context())
	if err != nil {
		return page{}, err
	}
	view := struct {
		Problems                       []schema.Problem
		Domains                        []shelf
		Title, Edit, EditLevel, AddURL string
		Tests                          []item
		Evaluators, Tools              []item
		More                           int
		AddDomain, AddEvaluator        string
		AddTool, File                  string
	}{
		Problems: problems, Title: "Settings", AddDomain: s.address("/settings/edit", "kind", kindDomain), AddEvaluator: s.address("/settings/edit", "kind", kindEvaluator),
		AddTool: s.address("/settings/edit", "kind", kindTool), File: s.cfg.Root + "/settings/file",
	}
	view.Domains = s.sidebar(entries, domain, level)
	for _, e := range entries {
		one := item{URL: s.url(e), Text: e.label(), Note: e.Problem}
		switch {
		case e.Kind == kindEvaluator:
			view.Evaluators = append(view.Evaluators, one)
		case e.Kind == kindTool:
			view.Tools = append(view.Tools, one)
		case e.Kind == kindDomain && e.ID == domain:
			view.Title, view.Edit = e.label(), s.url(e)
		case e.Kind == kindTest && e.Domain == domain && (level == 0 || e.Level == level):
			if view.More++; len(view.Tests) < mostItems {
				one.Note = e.note()
				view.Tests = append(view.Tests, one)
			}
		}
	}
	if view.More -= len(view.Tests); domain != "" {
		view.AddURL = s.address("/settings/edit", "kind", kindTest, "domain", domain, "level", definition.LevelText(max(level, 1)))
	}
	if domain != "" && level > 0 {
		view.Title += ", level " + strconv.Itoa(level)
		view.EditLevel = s.address("/settings/edit", "kind", kindLevel, "id", levelID(domain, level))
	}
	return page{Template: "settings", Title: view.Title, Body: view}, nil
}

// Problems returns the errors of gavel.yaml.
func (s *Store) Problems(ctx context.Context) ([]schema.Problem, error) {
	if s.cfg.Problems == nil {
		return nil, nil
	}
	s, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return remember(s, "problems", func() ([]schema.Problem, error) { return s.cfg.Problems(ctx, s.files) })
}

// sidebar returns the domains with their levels.
func (s *Store) sidebar(entries []Entry, domain string, level int) []shelf {
	var out []shelf
	for _, e := range entriesOf(entries, kindDomain) {
		one := shelf{item: item{URL: s.address("/settings", "domain", e.ID), Text: e.label(), On: e.ID == domain && level == 0}}
		counts, total := map[int]int{}, 0
		for _, t := range entries {
			if t.Kind == kindTest && t.Domain == e.ID {
				counts[t.Level]++
				total++
			}
		}
		one.Note = strconv.Itoa(total)
		for n := 1; e.ID == domain && (n <= levelCount || counts[n] > 0); n++ {
			one.Levels = append(one.Levels, item{
				URL: s.address("/settings", "domain", e.ID, "level", strconv.Itoa(n)), Text: "Level " + strconv.Itoa(n),
				Note: strconv.Itoa(counts[n]), On: e.ID == domain && n == level,
			})
		}
		out = append(out, one)
	}
	return out
}

// label returns the name of a definition for people.
func (e Entry) label() string {
	if name := textfmt.Line(definition.TextOf(e.Fields["name"])); name != "" {
		return textfmt.Clip(name, 120)
	}
	return e.ID
}

// note returns the level, the id and the state of a test.
func (e Entry) note() string {
	note := strings.TrimSpace("level " + strconv.Itoa(e.Level) + " · " + e.ID + " " + e.Problem)
	if string(e.Fields["enabled"]) == "false" {
		note += " · disabled"
	}
	return note
}

// url returns the page that changes a definition.
func (s *Store) url(e Entry) string {
	if e.Several || e.Problem != "" || !strings.HasSuffix(e.File, ".json") {
		return s.address("/settings/file", "path", e.File)
	}
	return s.address("/settings/edit", "kind", e.Kind, "id", e.ID)
}

// A sheet is the form of a definition.
type sheet struct {
	Kind, ID, Version string
	// Domain and Level are the place of a test.
	Domain, Level string
	Domains       []string
	Fields        []*formField
	// Text and Path are a file that is changed as a text, or by the fields of its Format.
	Text, Path, Format string
	// Typed is a path that is not a file of definitions.
	Typed string
	// TextFormat is the format as which a text is read now; empty for none.
	TextFormat string
	// isTyped says that the text was typed on the page of a text.
	isTyped bool
	// Item is the one of the definitions of the file, and Rows are links to all.
	Item string
	Rows []item
	// Known are suggested words for fields, by field.
	Known map[string][]string
	Token string
	// Errors are about no field, and Conflict is another one's change. Refused is the
	// status of the reason for which nothing was written; 0 for what was typed.
	Errors   []string
	Conflict string
	Refused  int
	// Diff and Forecast are the result of saving, or of a check.
	Diff     []diffLine
	Forecast *Forecast
	Saved    *Written
	// Gone says that the last commit does not have the file that is removed.
	Gone bool
	// Unchanged says that saving or a preview has found nothing to change.
	Unchanged bool
	File      string
	Warnings  []string
	New       bool
	// Copy is the definition that a new one is a copy of, and Duplicate the page that
	// makes a copy of this one.
	Copy, Duplicate string
	// CopyName is the name of the copied one for people. Defaults to Copy.
	CopyName string
	// copiedID and copyID are the ids of the definition that is copied and of its copy in the
	// same file.
	copiedID, copyID string
}

// sheetOf returns the form of the definition that parameters name.
func (s *Store) sheetOf(ctx context.Context, q url.Values) (*sheet, Entry, error) {
	v := &sheet{Kind: q.Get("kind"), ID: q.Get("id"), Version: q.Get("version"), Domain: q.Get("domain"), Level: q.Get("level"), Known: map[string][]string{}, Copy: q.Get("copy")}
	if definitionOf[v.Kind] == "" {
		return nil, Entry{}, missing("there is no such kind of definition")
	}
	s, end, err := s.begin(ctx)
	if err != nil {
		return nil, Entry{}, err
	}
	defer end()
	_, t, err := s.state(ctx)
	if err != nil {
		return nil, Entry{}, err
	}
	entry := Entry{Kind: v.Kind, Fields: Fields{}}
	if v.New = v.ID == ""; !v.New {
		if entry, err = t.named(edit{kind: v.Kind, id: v.ID}); err != nil {
			return nil, Entry{}, err
		}
		if v.File = entry.File; v.Domain == "" {
			v.Domain, v.Level = entry.Domain, definition.LevelText(entry.Level)
		}
		if v.Version == "" {
			v.Version = entry.Version
		}
		v.Copy = ""
	}
	if err := v.copied(t, &entry); err != nil {
		return nil, Entry{}, err
	}
	for _, e := range t.entries {
		switch e.Kind {
		case kindDomain:
			v.Domains = append(v.Domains, e.ID)
		case kindEvaluator:
			v.Known["evaluator_id"] = append(v.Known["evaluator_id"], e.ID)
		}
	}
	for _, builtin := range []string{"keyword", "sql_executor", "tool_call", "two_pass"} {
		if !slices.Contains(v.Known["evaluator_id"], builtin) {
			v.Known["evaluator_id"] = append(v.Known["evaluator_id"], builtin)
		}
	}
	return v, entry, nil
}

// open shows the form of a definition, or of a new one.
func (s *Store) open(w http.ResponseWriter, r *http.Request) (page, error) {
	v, entry, err := s.sheetOf(r.Context(), r.URL.Query())
	if id, ok := s.edited.renamedTo(r.URL.Query().Get("kind"), r.URL.Query().Get("id")); ok && err != nil {
		return s.afterRename(w, r, id)
	}
	if err != nil {
		return page{}, err
	}
	v.Token, v.Fields = access.FormToken(w, r), formFields(definitionOf[v.Kind], entry.Fields)
	if v.New {
		v.named(r.URL.Query())
	} else {
		v.Duplicate, v.Refused = s.copyOf(v.Kind, v.ID), http.StatusOK // nothing was sent
		err = s.showErrors(r.Context(), v, locateWhole)
	}
	return v.page(), err
}

// afterRename leads from the page of an id that is gone to the page of the new id, or says that
// the definition was removed.
func (s *Store) afterRename(w http.ResponseWriter, r *http.Request, id string) (page, error) {
	q := r.URL.Query()
	if id != "" {
		http.Redirect(w, r, s.address("/settings/edit", "kind", q.Get("kind"), "id", id), http.StatusSeeOther)
		return page{}, nil
	}
	kind := q.Get("kind")
	return page{Template: "settings-removed", Title: "Removed " + kind + " " + q.Get("id"), Status: http.StatusNotFound, Body: struct{ Kind, ID string }{kind, q.Get("id")}}, nil
}

// locateWhole is the locator of a file with one definition of the domain format.
func locateWhole(text []byte) locator { return definition.Locate(nil, "", text) }

// Address returns the page of the sheet below the root of the pages. Forms are sent to it, so
// that a reader who loads the page again gets the form.
func (v *sheet) Address() string {
	switch {
	case v.Format != "":
		return definition.PathWithQuery("/settings/form", "path", v.Path, "format", v.Format, "item", v.Item, "copy", v.Copy)
	case v.Path != "":
		return definition.PathWithQuery("/settings/file", "path", v.Path, "copy", v.Copy)
	case v.New:
		return definition.PathWithQuery("/settings/edit", "kind", v.Kind, "domain", v.Domain, "level", v.Level, "copy", v.Copy)
	}
	return definition.PathWithQuery("/settings/edit", "kind", v.Kind, "id", v.ID)
}

// page shows the form.
func (v *sheet) page() page {
	title := "Change " + v.Kind + " " + v.ID
	switch {
	case v.New && v.Saved != nil:
		title = "Removed " + v.Kind + " " + v.ID
	case v.New:
		title = "New " + v.Kind
	}
	status := http.StatusOK
	switch {
	case v.Conflict != "":
		status = http.StatusConflict
	case len(v.Errors) > 0 || hasFieldProblem(v.Fields):
		status = cmp.Or(v.Refused, http.StatusBadRequest)
	}
	return page{Template: "settings-edit", Title: title, Status: status, Body: struct {
		*sheet
		Title string
	}{v, title}}
}

// submit checks, saves or removes the definition in a form.
func (s *Store) submit(w http.ResponseWriter, r *http.Request) (page, error) {
	sent := switched(r.PostForm)
	v, old, err := s.sheetOf(r.Context(), sent)
	if err != nil {
		return page{}, err
	}
	isDry := sent.Get("action") != "save"
	e := edit{kind: v.Kind, id: v.ID, mode: parseMode(sent.Get("action")), copy: v.Copy}
	v.Token = access.FormToken(w, r)
	v.Fields, e.fields = readForm(definitionOf[v.Kind], old.Fields, sent)
	if !v.New {
		v.Duplicate = s.copyOf(v.Kind, v.ID)
	}
	if sent.Get("action") == "remove" && !v.New {
		return s.removed(r.Context(), v, sent.Has("sure"))
	}
	if v.Copy != "" {
		e.fields = wholeCopy(old.Fields, e.fields)
	}
	if !v.New {
		e.fields["version"] = definition.QuoteText(v.Version)
	}
	if v.Kind == kindTest {
		e.fields["domain_id"], e.fields["level"] = definition.QuoteText(v.Domain), definition.QuoteText(v.Level)
	}
	if !hasFieldProblem(v.Fields) {
		entry, written, err := s.save(r.Context(), e)
		if err := v.result(written, err, e.mode); err != nil {
			return page{}, err
		}
		if v.File == "" || !isDry {
			v.File = entry.File
		}
		if why := problemsOf(err); why != nil {
			v.Errors = append(v.Errors, attachProblems(v.Fields, why, locateWhole(entry.text))...)
		}
		if err == nil && !isDry {
			s.edited.rename(v.Kind, v.ID, entry.ID)
			v.ID, v.Version, v.New, v.Copy = entry.ID, entry.Version, false, ""
			if v.Fields != nil {
				v.Fields = formFields(definitionOf[v.Kind], entry.Fields) // an id was made
			}
			v.Duplicate = s.copyOf(v.Kind, v.ID)
		}
		if err == nil && len(written.Files) == 0 {
			if err := s.showErrors(r.Context(), v, locateWhole); err != nil {
				return page{}, err
			}
		}
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		writeAnswer(w, http.StatusOK, v.messages())
		return page{}, nil
	}
	return v.page(), nil
}

// messages are the texts that a script shows at the fields.
func (v *sheet) messages() any {
	errors := slices.Clone(v.Errors)
	if v.Conflict != "" {
		errors = append(errors, v.Conflict)
	}
	return formMessages(v.Fields, errors)
}

// result takes the result of a change. It returns errors that do not concern the input.
func (v *sheet) result(written Written, err error, as saveMode) error {
	isDry := as != modeSave
	var why *refusal
	switch {
	case err == nil:
	case !errors.As(err, &why):
		return err
	case why.Status == http.StatusConflict:
		v.Conflict = why.Text
		return nil
	case why.Problems == nil:
		v.Errors, v.Refused = append(v.Errors, why.Text), why.Status
		return nil
	default:
		return nil // each is shown at its field
	}
	v.Diff, v.Forecast = diffLines(written.Diff), written.forecast
	for _, p := range written.Warnings {
		v.Warnings = append(v.Warnings, p.Message+" "+p.Hint)
	}
	if !isDry {
		v.Saved = &written
	}
	v.Unchanged = (as == modeSave || as == modeForecast) && len(written.Files) == 0
	if v.Saved != nil && written.PullRequest != "" {
		v.Fields = nil // the definition exists only after the merge
	}
	return nil
}

// removed removes the definition of a form, or asks whether to remove it.
func (s *Store) removed(ctx context.Context, v *sheet, isSure bool) (page, error) {
	as := modeForecast
	if isSure {
		as = modeSave
	}
	stored, err := s.isCommitted(ctx, v.File)
	if err != nil {
		return page{}, err
	}
	written, err := s.remove(ctx, v.Kind, v.ID, v.Version, as)
	if err := v.result(written, err, as); err != nil {
		return page{}, err
	}
	if err != nil {
		return v.page(), nil
	}
	if v.Gone = !stored; !isSure {
		return page{Template: "settings-remove", Title: "Remove " + v.Kind + " " + v.ID, Body: v}, nil
	}
	if v.Gone {
		s.edited.forget(v.File)
	}
	s.edited.rename(v.Kind, v.ID, "")
	v.Fields, v.New = nil, true
	return v.page(), nil
}

// openFile shows the text of a file of definitions, in any format.
func (s *Store) openFile(w http.ResponseWriter, r *http.Request) (page, error) {
	v := &sheet{Path: r.URL.Query().Get("path"), File: r.URL.Query().Get("path"), Token: access.FormToken(w, r), New: true}
	format := r.URL.Query().Get("format")
	switch {
	case v.Path == "":
		return s.filePage(r.Context(), v)
	case slices.Contains(formats, format):
		http.Redirect(w, r, s.fileURL(v.Path, format), http.StatusSeeOther)
		return page{}, nil
	}
	s, end, err := s.begin(r.Context())
	if err != nil {
		return page{}, err
	}
	defer end()
	if err := s.isDefinition(r.Context(), v.Path); err != nil {
		if _, refused := errors.AsType[*refusal](err); refused {
			return s.wrongFile(r.Context(), v, err)
		}
		return page{}, err
	}
	if form, ok, err := s.formOfCase(r.Context(), v.Path, r.URL.Query().Get("case")); err != nil || ok {
		if ok {
			http.Redirect(w, r, form, http.StatusSeeOther)
		}
		return page{}, err
	}
	data, err := fs.ReadFile(s.files, v.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.URL.Query().Has("copy"):
		if err := s.copiedText(r.Context(), v, r.URL.Query().Get("copy"), r.URL.Query().Get("of")); err != nil {
			return page{}, err
		}
	case errors.Is(err, fs.ErrNotExist):
		if format == schema.DialectMatrix {
			v.Text, v.TextFormat = startOfMatrix, format
		}
	case err != nil:
		return page{}, err
	case len(data) > maxText:
		return page{}, refuse("%s is too large for a form; change it in an editor", v.Path)
	default:
		v.Text, v.Version, v.New, v.Refused = string(data), contentVersion(data), false, http.StatusOK // nothing was sent
		err = s.showErrors(r.Context(), v, nil)
		return v.textPage(), err
	}
	return v.textPage(), nil
}

// maxText is how large a file may be that a form shows.
const maxText = 1 << 20

// A fileView is the page of a file, or of all files.
type fileView struct {
	*sheet
	Title    string
	Files    []item
	Computed bool
	// Named is the field that differs between two tests of the format, and Disabling is what
	// disables one; empty if the format has none.
	Named, Disabling string
}

// disabling has what disables a test, by format.
var disabling = map[string]string{schema.DialectDomain: "enabled: false", schema.DialectTestcase: "status: archived"}

// named has the field by which two tests of a file differ, by format. Without a format it is
// the usual one.
var named = map[string]string{"": "id", schema.DialectDomain: "id", schema.DialectTestcase: "name", schema.DialectEvalcase: "id"}

func (v *sheet) textPage() page {
	title := "Change " + v.Path
	return page{Template: "settings-file", Title: title, Status: v.page().Status, Body: fileView{v, title, nil, definition.Computed(v.Path), named[v.TextFormat], disabling[v.TextFormat]}}
}

// isDefinition refuses files that are not below the folders of definitions, unless they are
// read as definitions elsewhere, as the evals of skills are.
func (s *Store) isDefinition(ctx context.Context, file string) error {
	settings, err := s.settings(ctx)
	if err != nil {
		return err
	}
	wrong := definition.CheckPath(file, settings.Definitions)
	if wrong == nil {
		return nil
	}
	found, err := s.catalog(ctx, settings)
	if err != nil {
		return err
	}
	isRead := slices.ContainsFunc(found.Files, func(f formatFile) bool { return f.File == file && f.Format != "" })
	if !isRead || !definition.Formed(file) {
		return refuse("%v", wrong)
	}
	return nil
}

// submitFile checks or saves the text of a file.
func (s *Store) submitFile(w http.ResponseWriter, r *http.Request) (page, error) {
	v := &sheet{Path: r.PostForm.Get("path"), File: r.PostForm.Get("path"), Version: r.PostForm.Get("version"), Copy: r.PostForm.Get("copy"), Token: access.FormToken(w, r)}
	v.Text, v.isTyped = strings.ReplaceAll(r.PostForm.Get("text"), "\r\n", "\n"), true
	action := r.PostForm.Get("action")
	written, err := s.saveText(r.Context(), v, parseMode(action))
	if err := v.result(written, err, parseMode(action)); err != nil {
		return page{}, err
	}
	v.Errors = append(v.Errors, attachProblems(nil, problemsOf(err), nil)...)
	if err == nil && len(written.Files) == 0 {
		if err := s.showErrors(r.Context(), v, nil); err != nil {
			return page{}, err
		}
	}
	v.TextFormat = cmp.Or(v.TextFormat, written.formats[v.Path])
	if v.Saved != nil {
		v.Version, v.Copy = contentVersion([]byte(v.Text)), ""
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		writeAnswer(w, http.StatusOK, v.messages())
		return page{}, nil
	}
	return v.textPage(), nil
}

// saveText writes a file, or shows what that would change.
func (s *Store) saveText(ctx context.Context, v *sheet, as saveMode) (Written, error) {
	s, end, err := s.beginChange(ctx, as)
	if err != nil {
		return Written{}, err
	}
	defer end()
	if err := s.isDefinition(ctx, v.Path); err != nil {
		return Written{}, err
	}
	settings, err := s.settings(ctx)
	if err != nil {
		return Written{}, err
	}
	version := v.Version
	if version == "" {
		version = contentVersion(nil) // it must be a new file
	}
	if was, err := schema.ReadFile(s.files, v.Path, maxText); err == nil && v.isTyped {
		v.Text = lineEnds(string(was), v.Text)
	}
	change, versions := Change{v.Path: []byte(v.Text)}, map[string]string{v.Path: version}
	if v.Copy != "" {
		if err := s.copyChecksOf(ctx, v, change, versions); err != nil {
			return Written{}, err
		}
	}
	return s.carry(ctx, as, settings, change, versions)
}

// lineEnds gives a typed text the line ends of the file, if all of them are Windows line
// ends. Browsers send the same ones for every file.
func lineEnds(file, typed string) string {
	if n := strings.Count(file, "\r\n"); n == 0 || n != strings.Count(file, "\n") {
		return typed
	}
	return strings.ReplaceAll(typed, "\n", "\r\n")
}

// filePage lists the files of definitions of all formats.
func (s *Store) filePage(ctx context.Context, v *sheet) (page, error) {
	s, end, err := s.begin(ctx)
	if err != nil {
		return page{}, err
	}
	defer end()
	_, found, err := s.definitions(ctx)
	if err != nil {
		return page{}, err
	}
	var list []item
	for _, d := range found.Files {
		if len(list) == mostItems {
			break
		}
		list = append(list, item{URL: s.fileURL(d.File, d.Format), Text: d.File, Note: cmp.Or(d.Format, "not a definition")})
	}
	return page{Template: "settings-file", Title: "Files", Body: fileView{v, "Files of definitions", list, false, "", ""}}, nil
}
