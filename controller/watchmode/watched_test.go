package watchmode_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/filewatch"
	"github.com/gavel-evals/gavel/controller/watchmode"
	"github.com/gavel-evals/gavel/reporters"
)

// An ear is a source of changes that a test speaks into. It notes which folders
// are watched, and how often that was begun.
type ear struct {
	*repo
	opened  int
	folders []string // of the last time
	events  chan fsnotify.Event
	errors  chan error
}

func newEar(r *repo, cfg *watchmode.Config) *ear {
	e := &ear{repo: r, events: make(chan fsnotify.Event), errors: make(chan error)}
	cfg.Watch.Source = func() (filewatch.Source, error) {
		e.opened, e.folders = e.opened+1, nil
		return e, nil
	}
	return e
}

func (e *ear) Add(folder string) error {
	name, err := filepath.Rel(e.dir, folder)
	e.folders = append(e.folders, filepath.ToSlash(name))
	return err
}

func (e *ear) Events() <-chan fsnotify.Event { return e.events }
func (e *ear) Errors() <-chan error          { return e.errors }
func (e *ear) Close() error                  { return nil }

// tell speaks of a path while the tree waits.
func (e *ear) tell(op fsnotify.Op, name string) {
	e.events <- fsnotify.Event{Name: e.path(name), Op: op}
}

// TestWhatIsWatched names the folders: those of the definitions and of a target's files
// up to the first wildcard, and of git the files that show branches.
func TestWhatIsWatched(t *testing.T) {
	r := newRepo(t)
	r.write(map[string]string{
		"agent/deep/main.py": "", "tools/search/main.py": "", "lib/prompt1.md": "", "one/two.txt": "", "other/none.txt": "",
	})
	r.write(map[string]string{"gavel.yaml": start["gavel.yaml"] + `  built: {provider: http, url: "https://agent.test", inputs: ["agent/**", "tools/*/main.py", "lib/prompt?.md", "one/two.txt"]}` + "\ndefault_target: bot\n"})
	cfg := r.config()
	e := newEar(r, &cfg)
	follow(r, cfg)
	for _, want := range []string{".", "agent/deep", "tools/search", "lib", "one", ".git", ".git/refs/heads", "test_definitions/talk/level_1"} {
		if !slices.Contains(e.folders, want) {
			t.Errorf("%s is not watched", want)
		}
	}
	for _, other := range []string{"other", ".git/objects", ".git/hooks", ".git/info"} {
		if slices.Contains(e.folders, other) {
			t.Errorf("%s is watched", other)
		}
	}
	if t.Failed() {
		t.Log(e.folders)
	}
}

// TestAHintAboveAWatchedFile tells only of the folder that a file came back in.
func TestAHintAboveAWatchedFile(t *testing.T) {
	r := newRepo(t)
	// A case that is affected is built from the file, so that it is followed.
	r.write(map[string]string{"test_definitions/suite.yaml": suite("/prompts/other.md")})
	cfg := r.config()
	e := newEar(r, &cfg)
	f := follow(r, cfg)
	r.write(map[string]string{"prompts/other.md": "Be longer.\n"})
	go e.tell(fsnotify.Create, "prompts")
	look, err := f.tree.Next(t.Context())
	r.must(err)
	defer look.Close()
	if diff := cmp.Diff([]string{"prompts/other.md"}, look.Changed); diff != "" {
		t.Error(diff)
	}
}

// TestWatchingBeginsAgainAfterLostEvents counts how often: once more after
// events were lost, and not after those that came.
func TestWatchingBeginsAgainAfterLostEvents(t *testing.T) {
	r := newRepo(t)
	cfg := r.config()
	e := newEar(r, &cfg)
	f := follow(r, cfg)
	before := e.opened
	look := func(tell func()) {
		t.Helper()
		go tell()
		look, err := f.tree.Next(t.Context())
		r.must(err)
		r.must(look.Close())
	}
	r.write(map[string]string{hello: greeting("hi")})
	look(func() { e.tell(fsnotify.Write, hello) })
	if e.opened != before {
		t.Errorf("watching began %d times more after a change", e.opened-before)
	}
	r.write(map[string]string{hello: greeting("hi again")})
	look(func() { e.errors <- fsnotify.ErrEventOverflow })
	if e.opened != before+1 {
		t.Errorf("watching began %d times more after events were lost, want once", e.opened-before)
	}
}

// TestRowsWhileCasesAreJudged holds what a row says before, while and after its
// case is judged, and that a case without a stored sample has details, too.
func TestRowsWhileCasesAreJudged(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(reporters.WatchResult, nil)
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchPause})
	s.until(reporters.WatchStateChanged, nil)
	s.write(map[string]string{hello: greeting("one")})
	s.want(states(s.until(reporters.WatchPlanned, nil).Snapshot), "talk/level_1/hello due")
	detail, err := s.session.Detail(t.Context(), "talk/level_1/hello")
	s.must(err)
	if detail.Key != "talk/level_1/hello" || detail.Transcript != nil || len(detail.Samples) != 0 {
		t.Errorf("of a case that was never judged: %+v", detail)
	}

	s.session.Do(reporters.WatchCommand{Do: reporters.WatchPause})
	u := s.until(reporters.WatchJudged, nil)
	if u.Case == nil { // base's, which is judged at the same time
		u = s.until(reporters.WatchJudged, nil)
	}
	if row := u.Case; row == nil || row.Verdict == nil || *row.Verdict != "pass" || row.Score == nil || *row.Score != 1 || row.VerdictReason == "" || row.Due {
		t.Errorf("the case that was judged: %+v", row)
	}
	s.until(reporters.WatchResult, nil)

	// The next change leaves its verdict until it is judged again.
	s.bot.answer = func(string) string { return "bye" }
	s.write(map[string]string{hello: greeting("wait")})
	u = s.until(reporters.WatchPlanned, func(b *reporters.WatchSnapshot) bool { return len(b.Rows) == 1 && b.Rows[0].Due })
	s.want(states(u.Snapshot), "talk/level_1/hello pass due")
	if row := u.Snapshot.Rows[0]; row.Score == nil || *row.Score != 1 || row.VerdictReason == "" {
		t.Errorf("while it is due: %+v", row)
	}
	s.waits(s.bot.waiting)
	close(s.bot.free)
	s.want(states(s.until(reporters.WatchResult, nil).Snapshot), "talk/level_1/hello fail broke")

	// One that was skipped has no verdict to leave.
	skipped := strings.Replace(greeting("two"), `"id"`, `"enabled": false, "id"`, 1)
	s.changed(map[string]string{hello: skipped})
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchPause})
	s.until(reporters.WatchStateChanged, nil)
	s.write(map[string]string{hello: greeting("three")})
	u = s.until(reporters.WatchPlanned, func(b *reporters.WatchSnapshot) bool { return b.Count().Due == 1 })
	s.want(states(u.Snapshot), "talk/level_1/hello due")
}
