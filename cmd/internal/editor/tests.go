package editor

import (
	"cmp"
	"context"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// TestsPath is the page that lists the cases of all formats.
const TestsPath = "/tests"

// A testsView is the page of all cases.
type testsView struct {
	Words, Folder string
	// All is the number of cases, and Matching of them match the filter.
	All, Matching  int
	Folders        []testFolder
	Previous, Next string
	Add            string
	// Runs says that the page starts runs, and Running that one is going on.
	Runs, Running bool
	// Homes are the folders of definitions, and Missing says that none of them exists. They
	// are set for a list without tests.
	Homes   []string
	Missing bool
	// Changed says that files were saved here and not committed here.
	Changed bool
	Token   string
}

// A testFolder is a folder with its files. They are left out of a long list, which has
// links to the folders instead.
type testFolder struct {
	Name, URL string
	Counts    string
	Files     []testFile
	// Single says that each file has one case, so that files need no line.
	Single bool
}

// A testFile is a file with its cases.
type testFile struct {
	File, Name, Edit string
	// Problem is the reason why the file has no cases, or not all of them.
	Problem string
	Rows    []testRow
	// Token is empty if the page starts no runs.
	Token string
	// Judged says that a run would reuse a verdict of the file.
	Judged bool
}

// A testRow is a case for one target.
type testRow struct {
	Name, Key, Target string
	// Case is the key as it is written.
	Case       string
	Kind, Icon string
	// Was is the last verdict if the case has changed since.
	Was              string
	Score, When, URL string
	Edit, Disabled   string
	// Judged says that a run would reuse the verdict.
	Judged bool
}

// tests is the page of the cases of all formats, by folder and file.
func (s *Store) tests(w http.ResponseWriter, r *http.Request) (page, error) {
	s, end, err := s.begin(r.Context())
	if err != nil {
		return page{}, err
	}
	defer end()
	settings, found, err := s.definitions(r.Context())
	if err != nil {
		return page{}, err
	}
	judged, err := s.verdicts(r.Context())
	if err != nil {
		return page{}, err
	}
	var digests map[string]string
	if s.cfg.Digests != nil && len(judged) > 0 {
		if digests, err = s.digests(r.Context()); err != nil {
			return page{}, err
		}
	}
	q := r.URL.Query()
	v := &testsView{Words: q.Get("words"), Folder: q.Get("folder"), Add: s.address(NewTestPath, "folder", q.Get("folder")), Changed: s.HasChanges()}
	if v.Runs = s.cfg.Runner != nil; v.Runs {
		v.Token, v.Running = access.FormToken(w, r), s.cfg.Runner.State().Running
	}
	list := testList{store: s, judged: judged, digests: digests, titled: map[string]int{}, usual: settings.DefaultTarget, words: strings.Fields(strings.ToLower(v.Words)), folder: v.Folder}
	list.fill(v, found, definition.PageNumber(q.Get("page"), 1, 1_000_000))
	if len(found.Files) == 0 {
		v.Homes = settings.Definitions
		v.Missing = !slices.ContainsFunc(v.Homes, func(home string) bool {
			_, err := fs.Stat(s.files, path.Clean(home))
			return err == nil
		})
	}
	return page{Template: "tests", Title: "Tests", Body: v}, nil
}

// digests returns the decision digests of the cases by their names.
func (s *Store) digests(ctx context.Context) (map[string]string, error) {
	return remember(s, "digests", func() (map[string]string, error) { return s.cfg.Digests(ctx, s.files) })
}

// verdicts returns the newest verdicts by the names of cases.
func (s *Store) verdicts(ctx context.Context) (map[string]dashboard.LastVerdict, error) {
	if s.cfg.Verdicts == nil {
		return nil, nil
	}
	return s.cfg.Verdicts(ctx)
}

// A testList chooses the cases of the page.
type testList struct {
	store  *Store
	judged map[string]dashboard.LastVerdict
	// digests are the digests of the cases as they are now; nil if they are not known.
	digests map[string]string
	// titled counts the cases with each title.
	titled map[string]int
	// usual is the target of cases that name none.
	usual  string
	words  []string
	folder string
}

// A chosenFile is a file with the cases that match the filter.
type chosenFile struct {
	formatFile
	tests []*schema.CaseInfo
}

// fill adds the matching cases to the page: all of them if they are few, a page of them
// if they are in one folder, or else the folders.
func (l testList) fill(v *testsView, found *catalog, number int) {
	var files []chosenFile
	for _, f := range found.Files {
		v.All += len(f.Tests)
		for _, c := range f.Tests {
			for _, title := range titlesOf(c) {
				l.titled[title]++
			}
		}
		if one, ok := l.choose(f); ok {
			v.Matching += len(one.tests)
			files = append(files, one)
		}
	}
	slices.SortStableFunc(files, func(a, b chosenFile) int {
		return cmp.Or(cmp.Compare(path.Dir(a.File), path.Dir(b.File)), cmp.Compare(a.File, b.File))
	})
	isOne := len(files) > 0 && path.Dir(files[0].File) == path.Dir(files[len(files)-1].File)
	shown := files
	if isOne {
		var more bool
		shown, more = pageOfFiles(files, number)
		at := func(n int) string {
			return l.store.address(TestsPath, "words", v.Words, "folder", v.Folder, "page", strconv.Itoa(n))
		}
		if number > 1 {
			v.Previous = at(number - 1)
		}
		if more {
			v.Next = at(number + 1)
		}
	}
	for _, f := range shown {
		name := path.Dir(f.File)
		if n := len(v.Folders); n == 0 || v.Folders[n-1].Name != name {
			v.Folders = append(v.Folders, testFolder{Name: name, URL: l.store.address(TestsPath, "words", v.Words, "folder", name)})
		}
		if in := &v.Folders[len(v.Folders)-1]; isOne || v.Matching <= mostItems {
			in.Files = append(in.Files, l.file(f, v.Token))
			in.Single = len(in.Files[0].Rows) == 1 && (len(in.Files) == 1 || in.Single) && len(f.tests) == 1 && f.Problem == ""
		}
	}
	l.count(v, files)
}

// pageOfFiles returns the files of a page of cases, counted from 1. A file with more cases
// than a page has is cut.
func pageOfFiles(files []chosenFile, number int) (shown []chosenFile, more bool) {
	from, to, at := (number-1)*mostItems, number*mostItems, 0
	for _, f := range files {
		size := max(len(f.tests), 1) // a file with a problem has a line, too
		if at+size > from && at < to {
			f.tests = f.tests[min(max(from-at, 0), len(f.tests)):min(max(to-at, 0), len(f.tests))]
			shown = append(shown, f)
		}
		at += size
	}
	return shown, at > to
}

// count adds the numbers of cases by verdict to the folders.
func (l testList) count(v *testsView, files []chosenFile) {
	counts := map[string]map[string]int{}
	for _, f := range files {
		folder := path.Dir(f.File)
		if counts[folder] == nil {
			counts[folder] = map[string]int{}
		}
		for _, c := range f.tests {
			counts[folder][l.kind(c)]++
		}
	}
	for i := range v.Folders {
		var said []string
		for _, kind := range []string{"fail", "error", "borderline", changed, "pass", "not run", "disabled"} {
			if n := counts[v.Folders[i].Name][kind]; n > 0 {
				said = append(said, textfmt.Int(int64(n))+" "+kind)
			}
		}
		v.Folders[i].Counts = strings.Join(said, " · ")
	}
}

// choose returns the cases of a file that match the filter. A file without cases matches by
// its problem.
func (l testList) choose(f formatFile) (chosenFile, bool) {
	out := chosenFile{formatFile: f}
	if _, within := cutFolder(f.File, cmp.Or(l.folder, ".")); !within {
		return out, false
	}
	if len(l.words) == 0 {
		out.tests = f.Tests
		return out, len(out.tests) > 0 || f.Problem != ""
	}
	for i, c := range f.Tests {
		text := strings.ToLower(strings.Join(append([]string{c.Key, f.File, c.Labels.Name, l.target(c), l.kind(c)}, c.Labels.Tags...), "\n")) + "\n" + f.Said[i]
		if !slices.ContainsFunc(l.words, func(word string) bool { return !strings.Contains(text, word) }) {
			out.tests = append(out.tests, c)
		}
	}
	broken := f.Problem != "" && !slices.ContainsFunc(l.words, func(word string) bool { return !strings.Contains(strings.ToLower(f.File+" error"), word) })
	return out, len(out.tests) > 0 || broken
}

// target returns the name of a case's target.
func (l testList) target(c *schema.CaseInfo) string { return cmp.Or(c.Target, l.usual) }

// titlesOf returns titles of a case, each with more than the one before.
func titlesOf(c *schema.CaseInfo) []string {
	out := []string{c.Title()}
	for _, more := range []string{c.Labels.Prompt, c.Labels.Vars} {
		if last := out[len(out)-1]; more != "" && more != last {
			out = append(out, last+" · "+more)
		}
	}
	return out
}

// title returns the first title of a case that no other has. If there is none, it is the end
// of the key, or for a row of a matrix, whose other prompts and targets have the same one, the
// title with the prompt.
func (l testList) title(c *schema.CaseInfo) string {
	titles := titlesOf(c)
	for _, title := range titles {
		if l.titled[title] == 1 {
			return title
		}
	}
	if len(titles) > 1 {
		return titles[1]
	}
	return c.Key[strings.LastIndexAny(c.Key, "/#")+1:]
}

// nameOf returns the name of a case in reports.
func nameOf(c *schema.CaseInfo) string {
	if c.PerTarget {
		return c.Key + " @ " + c.Target
	}
	return c.Key
}

// last returns the newest verdict of a case.
func (l testList) last(c *schema.CaseInfo) (dashboard.LastVerdict, bool) {
	out, ok := l.judged[nameOf(c)]
	return out, ok
}

// changed is the word for a case that has changed since its last verdict, by its definition
// or by what that uses.
const changed = "changed"

// kind returns the newest verdict of a case in a word, if it is of the case as it is now.
func (l testList) kind(c *schema.CaseInfo) string {
	if c.Skip != "" {
		return "disabled"
	}
	last, ok := l.last(c)
	switch {
	case !ok:
		return "not run"
	case l.digests != nil && l.digests[nameOf(c)] != last.Digest:
		return changed
	}
	return string(last.Verdict)
}

// file returns a file with its cases for the page.
func (l testList) file(f chosenFile, token string) testFile {
	out := testFile{File: f.File, Token: token, Name: path.Base(f.File), Edit: l.store.fileURL(f.File, f.Format), Problem: f.Problem}
	if len(f.Tests) == 1 && f.Format == schema.DialectDomain {
		out.Edit = l.store.testURL(f.File)
	}
	for _, c := range f.tests {
		kind := l.kind(c)
		row := testRow{
			Name: textfmt.Clip(textfmt.Line(l.title(c)), 160), Case: c.Key, Key: textfmt.Line(c.Key), Target: textfmt.Line(l.target(c)),
			Kind: kind, Icon: cmp.Or(html.Icons[kind], "·"), Disabled: textfmt.Line(c.Skip), Edit: out.Edit,
		}
		if len(f.Tests) > 1 && slices.Contains(formats, f.Format) {
			row.Edit = l.store.cfg.Root + CasePage(f.File, c.Key)
		}
		if last, ok := l.last(c); ok {
			row.Score, row.URL, row.When = textfmt.Score(last.Score, 2), last.URL, last.At.UTC().Format("2006-01-02 15:04")
			switch kind {
			case changed:
				row.Was = string(last.Verdict)
			case string(verdict.Pass), string(verdict.Borderline), string(verdict.Fail):
				row.Judged, out.Judged = true, true
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// testURL returns the page that changes the only test of a file of the domain format.
func (s *Store) testURL(file string) string {
	found, _ := remember(s, "file "+file, func() (definitionFile, error) {
		out := readDefinitionFile(s.files, file)
		return out, out.unread
	}) // which has its problem
	if len(found.IDs) != 1 || found.IDs[0] == "" || found.Several || found.Problem != "" || !strings.HasSuffix(file, ".json") {
		return s.address("/settings/file", "path", file)
	}
	return s.address("/settings/edit", "kind", kindTest, "id", found.IDs[0])
}
