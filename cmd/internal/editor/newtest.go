package editor

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// NewTestPath is the page that leads to the form of a new test.
const NewTestPath = TestsPath + "/new"

// A newFormat is a format of the page with its use.
type newFormat struct {
	Name, Use string
	On        bool
}

// newFormats lists the formats of new tests, the simplest first.
var newFormats = []newFormat{
	{Name: schema.DialectEvalcase, Use: "a message and what the answer has to be: checks, rubrics, a judge"},
	{Name: schema.DialectDomain, Use: "a prompt in a domain and level, with the evaluator of the domain"},
	{Name: schema.DialectTestcase, Use: "a conversation in which a model plays the user"},
	{Name: schema.DialectPromptval, Use: "a prompt under test, with iterations and an editor that proposes a better one"},
	{Name: schema.DialectMatrix, Use: "prompts × targets × rows, the format of promptfoo, as a text"},
	{Name: schema.DialectSkill, Use: "the evals of a skill next to its SKILL.md, as a text"},
}

// A newTestView asks for the format, the name and the place of a new test.
type newTestView struct {
	Formats []newFormat
	Name    string
	// Format is the chosen one.
	Format string
	// File is the typed path, Files are the existing ones, and Home is where a path begins
	// that names no folder.
	File, Home string
	Files      []string
	// Domain and Level are the place of a test of the domain format.
	Domain, Level string
	Domains       []string
	// AddDomain is the page that makes a domain.
	AddDomain string
	Problem   string
}

// newTest asks for what a new test needs before its form, and leads to the form.
func (s *Store) newTest(w http.ResponseWriter, r *http.Request) (page, error) {
	s, end, err := s.begin(r.Context())
	if err != nil {
		return page{}, err
	}
	defer end()
	settings, found, err := s.definitions(r.Context())
	if err != nil {
		return page{}, err
	}
	q := r.URL.Query()
	v := &newTestView{
		Formats: slices.Clone(newFormats), Format: cmp.Or(q.Get("format"), schema.DialectEvalcase), Name: strings.TrimSpace(q.Get("name")), File: strings.TrimSpace(q.Get("file")),
		Home: homeOf(settings.Definitions, q.Get("folder")), Domain: q.Get("domain"), Level: cmp.Or(q.Get("level"), "1"), AddDomain: s.address("/settings/edit", "kind", kindDomain),
	}
	for i := range v.Formats {
		v.Formats[i].On = v.Formats[i].Name == v.Format
	}
	for _, f := range found.Files {
		if f.Format != "" && f.Format != schema.DialectDomain && len(v.Files) < mostItems {
			v.Files = append(v.Files, f.File)
		}
	}
	entries, err := s.list(r.Context(), wish{kind: kindDomain})
	if err != nil {
		return page{}, err
	}
	for _, e := range entriesOf(entries, kindDomain) {
		v.Domains = append(v.Domains, e.ID)
	}
	status := http.StatusOK
	if q.Has("file") {
		to, problem, err := s.formOfNew(r.Context(), v, found, settings.Definitions)
		if err != nil {
			return page{}, err
		}
		if problem == "" {
			http.Redirect(w, r, to, http.StatusSeeOther)
			return page{}, nil
		}
		v.Problem, status = problem, http.StatusBadRequest
	}
	return page{Template: "new-test", Title: "Add a test", Status: status, Body: v}, nil
}

// homeOf returns the folder of a new file: the wanted one if definitions are read from it, or
// else the first folder of definitions.
func homeOf(folders []string, wanted string) string {
	if definition.CheckPath(wanted+"/x.yaml", folders) == nil {
		return wanted
	}
	return path.Clean(folders[0])
}

// formOfNew returns the page with the form of a new test, or what is wrong with the answers.
func (s *Store) formOfNew(ctx context.Context, v *newTestView, found *catalog, folders []string) (to, problem string, err error) {
	switch v.Format {
	case schema.DialectDomain:
		if len(v.Domains) == 0 {
			return "", "the domain format needs a domain, and there is none yet; add one first", nil
		}
		return s.address("/settings/edit", "kind", kindTest, "domain", v.Domain, "level", v.Level, "name", v.Name), "", nil
	case schema.DialectSkill:
		return s.evalsOfSkill(v, found)
	}
	file := fileOfNew(v)
	if wrong := definition.CheckPath(file, folders); wrong != nil {
		return "", wrong.Error(), nil
	}
	v.File = file
	at := slices.IndexFunc(found.Files, func(f formatFile) bool { return f.File == file })
	switch {
	case v.Format == schema.DialectMatrix:
		return s.address("/settings/file", "path", file, "format", v.Format), "", nil
	case at < 0:
		return s.address("/settings/form", "path", file, "format", v.Format, "name", v.Name), "", nil
	case found.Files[at].Format != v.Format:
		return "", file + " is already there, and its format is " + cmp.Or(found.Files[at].Format, "not known") + "; name another file", nil
	}
	data, err := schema.ReadFile(s.files, file, maxText)
	if err != nil {
		return "", "", err
	}
	if doc, ok := definition.Open(file, v.Format, data); !ok || len(doc.Rows("", "")) == 0 {
		return "", file + " is already there, and has one test alone; name another file", nil
	}
	return s.address("/settings/form", "path", file, "format", v.Format, "item", definition.NewItem, "name", v.Name), "", nil
}

// evalsOfSkill returns the page with the text of a file of evals of a skill.
func (s *Store) evalsOfSkill(v *newTestView, found *catalog) (to, problem string, err error) {
	var files []string
	for _, f := range found.Files {
		if f.Format == schema.DialectSkill {
			files = append(files, f.File)
		}
	}
	switch {
	case slices.Contains(files, v.File):
		return s.address("/settings/file", "path", v.File), "", nil
	case len(files) == 1 && v.File == "":
		return s.address("/settings/file", "path", files[0]), "", nil
	case len(files) == 0:
		return "", "no skill here has evals; make the file evals/evals.json next to a SKILL.md, and its evals are listed", nil
	}
	return "", "name the file of evals: " + strings.Join(files[:min(len(files), 5)], ", "), nil
}

// fileOfNew returns the path of the file of a new test: the typed one, with the folder of
// definitions if it names none, or one made from the name.
func fileOfNew(v *newTestView) string {
	file := v.File
	made := cmp.Or(fileName(v.Name), "test") + ".yaml"
	if v.Format == schema.DialectMatrix {
		made = cmp.Or(fileName(v.Name), "promptfooconfig") + ".yaml"
	}
	switch {
	case file == "":
		file = made
	case strings.HasSuffix(file, "/"):
		file += made
	case path.Ext(file) == "":
		file += ".yaml"
	}
	if !strings.Contains(file, "/") {
		file = path.Join(v.Home, file)
	}
	return file
}

// fileName returns a name as the name of a file.
func fileName(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	text := []rune(strings.Join(words, "_"))
	return string(text[:min(len(text), 60)])
}

// named writes the name of a new definition into the field that has it.
func (v *sheet) named(q url.Values) {
	name := q.Get("name")
	if name == "" {
		return
	}
	for _, field := range []string{"name", "id"} {
		if at := slices.IndexFunc(v.Fields, func(f *formField) bool { return f.Name == field }); at >= 0 {
			v.Fields[at].Value = cmp.Or(v.Fields[at].Value, name)
			return
		}
	}
}

// startOfMatrix is the text of a new file of promptfoo's format.
const startOfMatrix = `prompts: ["{{question}}"]
tests:
  - description: Opening hours
    vars: {question: When do you open?}
    assert:
      - {type: icontains, value: "9"}
`

// wrongFile shows the list of files with what is wrong with a typed path, which it keeps.
func (s *Store) wrongFile(ctx context.Context, v *sheet, wrong error) (page, error) {
	v.Errors, v.Typed, v.Path = []string{ended(textfmt.Sentence(wrong.Error()))}, v.Path, ""
	out, err := s.filePage(ctx, v)
	out.Status = http.StatusBadRequest
	return out, err
}
