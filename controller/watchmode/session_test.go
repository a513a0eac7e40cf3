package watchmode_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/controller/watchmode"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

// A bot gives the prepared answers, and holds back the answers to questions with the
// word wait until it is released.
type bot struct {
	mu     sync.Mutex
	asked  []string // guarded by mu
	answer func(question string) string

	waiting, givenUp chan string
	free             chan struct{}
}

func newBot() *bot {
	return &bot{waiting: make(chan string, 16), givenUp: make(chan string, 16), free: make(chan struct{}), answer: func(string) string { return "hello there" }}
}

func (b *bot) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	question := req.Messages[len(req.Messages)-1].Content
	b.mu.Lock()
	b.asked = append(b.asked, question)
	b.mu.Unlock()
	if strings.Contains(question, "wait") {
		b.waiting <- question
		select {
		case <-b.free:
		case <-ctx.Done():
			b.givenUp <- question
			return target.Reply{}, ctx.Err()
		}
	}
	if strings.Contains(question, "down") {
		return target.Reply{}, &target.Error{Target: "bot", Message: "out of order"}
	}
	return target.Reply{
		Messages: []schema.Message{{Role: schema.RoleAssistant, Content: b.answer(question)}},
		Traced:   true, Usage: verdict.Usage{Calls: 1},
	}, nil
}

// calls are the questions so far, sorted.
func (b *bot) calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.Clone(b.asked)
	b.asked = nil
	slices.Sort(out)
	return out
}

// A fixture is a session under test.
type fixture struct {
	*repo
	bot     *bot
	session *watchmode.Session
	updates chan reporters.WatchUpdate
	runs    int
	// executed is called when a run has ended; nil for nothing.
	executed func(*controller.Prepared)
	// gone makes base unreadable, and stuck fails every run.
	gone, stuck atomic.Bool
	// planned counts how often the environment was asked for WORD, which is once for
	// each side of a plan where a target declares it.
	planned atomic.Int64
}

// newFixture watches a repository in which the files are committed, too.
func newFixture(t *testing.T, opts watchmode.Options, files ...map[string]string) *fixture {
	t.Helper()
	s := &fixture{repo: newRepo(t), bot: newBot(), updates: make(chan reporters.WatchUpdate, 1000)}
	for _, f := range files {
		s.write(f)
		s.git("add", "-A")
		s.git("commit", "-qm", "files")
	}
	cfg := s.following(&source{repo: s.repo, open: s.judged, beforeBase: func() error {
		if s.gone.Load() {
			return errors.New("the branch is gone")
		}
		return nil
	}})
	cfg.LookupEnv = func(name string) (string, bool) {
		if name == "WORD" {
			s.planned.Add(1)
		}
		return "", false
	}
	tree, err := watchmode.Open(t.Context(), cfg)
	s.must(err)
	opts.Notify = func(u reporters.WatchUpdate) { s.updates <- u }
	opts.Ref = "HEAD"
	if opts.MaxCases == 0 {
		opts.MaxCases = 100
	}
	opts.Execute = func(ctx context.Context, p *controller.Prepared, o controller.RunOptions) (*report.Report, error) {
		s.runs++
		if s.stuck.Load() {
			return nil, errors.New("the run is stuck")
		}
		o.ID = fmt.Sprint("run", s.runs)
		host := controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return s.bot, nil })
		report, err := p.Execute(ctx, host, o)
		if s.executed != nil {
			s.executed(p)
		}
		return report, err
	}
	s.session = watchmode.New(tree, opts)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.session.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, tree.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// until takes updates up to the first of a kind that meets a condition.
func (s *fixture) until(kind reporters.WatchKind, wanted func(b *reporters.WatchSnapshot) bool) reporters.WatchUpdate {
	s.t.Helper()
	deadline := time.After(30 * time.Second)
	var seen []string
	for {
		select {
		case u := <-s.updates:
			if u.Kind == kind && (wanted == nil || wanted(&u.Snapshot)) {
				return u
			}
			seen = append(seen, fmt.Sprintf("%s %s %v", u.Kind, u.Snapshot.Error, states(u.Snapshot)))
		case <-deadline:
			s.t.Fatalf("no update %q; there were\n%s", kind, strings.Join(seen, "\n"))
		}
	}
}

// waits returns once a call is held back, or given up.
func (s *fixture) waits(calls <-chan string) string {
	s.t.Helper()
	select {
	case question := <-calls:
		return question
	case <-time.After(30 * time.Second):
		s.t.Fatal("no call waits")
		return ""
	}
}

// changed waits for the result after a change of these files.
func (s *fixture) changed(files map[string]string) []string {
	s.t.Helper()
	s.write(files)
	want := 0
	u := s.until(reporters.WatchResult, func(b *reporters.WatchSnapshot) bool {
		want = 0
		for _, name := range b.Changed {
			if _, ok := files[name]; ok {
				want++
			}
		}
		return want == len(files)
	})
	return states(u.Snapshot)
}

// states are the rows in one line each.
func states(b reporters.WatchSnapshot) []string {
	out := []string{}
	for i := range b.Rows {
		r := &b.Rows[i]
		text := r.Key
		if r.Verdict != nil {
			text += " " + string(*r.Verdict)
		}
		if change := r.Change(); change != "" {
			text += " " + change
		}
		if r.Due {
			text += " due"
		}
		if r.Kept {
			text += " kept"
		}
		out = append(out, text)
	}
	return out
}

func (s *fixture) want(got []string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
		s.t.Errorf("(-want +got):\n%s", diff)
	}
}

// invalid holds that the only row counts as invalid because of a file.
func (s *fixture) invalid(b reporters.WatchSnapshot, file string) {
	s.t.Helper()
	if got := b.Rows[0].ProblemText(); !strings.HasPrefix(got, file+":") || b.Count() != (reporters.WatchCounts{Invalid: 1}) {
		s.t.Errorf("the row says %q, the counts are %+v", got, b.Count())
	}
}

// TestSession goes through an hour of somebody's day.
func TestSession(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.want(states(s.until(reporters.WatchResult, nil).Snapshot))
	s.want(s.bot.calls())

	// Affected cases are run, and base next to them, once.
	s.want(s.changed(map[string]string{hello: greeting("hi")}), "talk/level_1/hello pass first")
	s.want(s.bot.calls(), "hello", "hi")

	// It breaks, is broken while it is saved, and stays on the screen.
	s.bot.answer = func(string) string { return "bye" }
	s.want(s.changed(map[string]string{hello: greeting("hi again")}), "talk/level_1/hello fail broke")
	s.want(s.bot.calls(), "hi again")
	s.write(map[string]string{hello: `{"id": "hello",`})
	u := s.until(reporters.WatchPlanned, func(b *reporters.WatchSnapshot) bool { return len(b.Problems) > 0 })
	s.want(states(u.Snapshot), "talk/level_1/hello fail kept")
	s.invalid(u.Snapshot, hello)
	s.write(map[string]string{hello: `{"id": "hello", "name": "Hello", "prompt": "hi again", "expectd": {"keywords": ["hello"]}}`})
	u = s.until(reporters.WatchPlanned, func(b *reporters.WatchSnapshot) bool { return strings.Contains(fmt.Sprint(b.Problems), "expectd") })
	s.want(states(u.Snapshot), "talk/level_1/hello fail kept")
	s.invalid(u.Snapshot, hello)
	s.write(map[string]string{"gavel.yaml": "version: x"})
	u = s.until(reporters.WatchPlanned, func(b *reporters.WatchSnapshot) bool { return b.Problems[0].File == "gavel.yaml" })
	s.want(states(u.Snapshot), "talk/level_1/hello fail kept")
	s.invalid(u.Snapshot, "gavel.yaml")
	s.write(map[string]string{"gavel.yaml": start["gavel.yaml"], hello: greeting("hi again")})
	u = s.until(reporters.WatchResult, func(b *reporters.WatchSnapshot) bool { return len(b.Problems) == 0 })
	s.want(states(u.Snapshot), "talk/level_1/hello fail")
	s.want(s.bot.calls())

	// A case that base does not have stays while its domain is half saved.
	const domain = "test_definitions/new/domain.json"
	whole := map[string]string{
		domain:                                  `{"id": "new", "name": "New", "evaluator_id": "keyword"}`,
		"test_definitions/new/level_1/one.json": `{"id": "one", "name": "One", "prompt": "one", "expected": {"keywords": ["bye"]}}`,
	}
	s.want(s.changed(whole), "talk/level_1/hello fail", "new/level_1/one pass first")
	s.write(map[string]string{domain: "{"})
	u = s.until(reporters.WatchPlanned, func(b *reporters.WatchSnapshot) bool { return len(b.Problems) > 0 })
	s.want(states(u.Snapshot), "talk/level_1/hello fail", "new/level_1/one pass kept")
	s.must(os.RemoveAll(s.path("test_definitions/new")))
	u = s.until(reporters.WatchResult, func(b *reporters.WatchSnapshot) bool { return len(b.Problems) == 0 })
	s.want(states(u.Snapshot), "talk/level_1/hello fail")
	s.want(s.bot.calls(), "one")

	// Committed it is unaffected, but it still fails.
	s.git("commit", "-q", "-a", "-m", "broken")
	u = s.until(reporters.WatchResult, func(b *reporters.WatchSnapshot) bool { return b.Differing == 0 })
	s.want(states(u.Snapshot), "talk/level_1/hello fail")

	// The earlier good prompt has stored verdicts, and costs nothing.
	s.want(s.changed(map[string]string{hello: greeting("hi")}), "talk/level_1/hello pass fixed")
	s.want(s.bot.calls())

	detail, err := s.session.Detail(t.Context(), "talk/level_1/hello")
	s.must(err)
	if detail.Transcript == nil || detail.Transcript.Final() != "hello there" || len(detail.Samples) != 1 || len(detail.Base) != 1 {
		t.Errorf("detail %+v", detail)
	}
}

// TestAnOutageFixesNothing holds that verdicts are compared across an error, with the
// last verdict before it.
func TestAnOutageFixesNothing(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.bot.answer = func(question string) string { return map[bool]string{true: "bye", false: "hello"}[question == "bad"] }
	s.want(s.changed(map[string]string{hello: greeting("down 1")}), "talk/level_1/hello error first")
	s.want(s.changed(map[string]string{hello: greeting("good")}), "talk/level_1/hello pass first")
	s.want(s.changed(map[string]string{hello: greeting("down 2")}), "talk/level_1/hello error error")
	s.want(s.changed(map[string]string{hello: greeting("good")}), "talk/level_1/hello pass")
	s.want(s.changed(map[string]string{hello: greeting("down 3")}), "talk/level_1/hello error error")
	s.want(s.changed(map[string]string{hello: greeting("bad")}), "talk/level_1/hello fail broke")
	s.want(s.changed(map[string]string{hello: greeting("down 4")}), "talk/level_1/hello error error")
	s.want(s.changed(map[string]string{hello: greeting("good")}), "talk/level_1/hello pass fixed")
}

// TestAccept holds that an accepted state stays the base of comparisons.
func TestAccept(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.bot.answer = func(question string) string { return map[bool]string{true: "hello", false: "bye"}[question == "good"] }
	s.want(s.changed(map[string]string{hello: greeting("bad")}), "talk/level_1/hello fail first")
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchAccept})
	s.until(reporters.WatchStateChanged, func(b *reporters.WatchSnapshot) bool { return b.Accepted })
	s.want(s.changed(map[string]string{hello: greeting("good")}), "talk/level_1/hello pass fixed")
	s.want(s.changed(map[string]string{hello: greeting("good ")}), "talk/level_1/hello fail")
	s.want(s.changed(map[string]string{hello: greeting("good")}), "talk/level_1/hello pass fixed")
}

// TestAcceptAgain holds that a later accepted state replaces the earlier one.
func TestAcceptAgain(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.bot.answer = func(question string) string { return map[bool]string{true: "hello", false: "bye"}[question == "good"] }
	accept := func(rows ...string) {
		t.Helper()
		s.session.Do(reporters.WatchCommand{Do: reporters.WatchAccept})
		s.want(states(s.until(reporters.WatchStateChanged, nil).Snapshot), rows...)
	}
	s.want(s.changed(map[string]string{hello: greeting("bad")}), "talk/level_1/hello fail first")
	accept("talk/level_1/hello fail")
	s.want(s.changed(map[string]string{hello: greeting("good")}), "talk/level_1/hello pass fixed")
	accept("talk/level_1/hello pass")
	s.want(s.changed(map[string]string{hello: greeting("bad")}), "talk/level_1/hello fail broke")
}

// TestSuperseded holds that a change during a run gives up what it made stale
// and keeps the rest.
func TestSuperseded(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(reporters.WatchResult, nil)
	bye := strings.Replace(start["test_definitions/talk/level_1/bye.json"], `"prompt": "bye"`, `"prompt": "wait for bye"`, 1)
	s.write(map[string]string{hello: greeting("wait for hello"), "test_definitions/talk/level_1/bye.json": bye})
	s.until(reporters.WatchStarted, nil)
	s.waits(s.bot.waiting)
	s.waits(s.bot.waiting)
	s.write(map[string]string{hello: greeting("hi")})
	s.until(reporters.WatchPlanned, func(b *reporters.WatchSnapshot) bool { return slices.Contains(b.Changed, hello) })
	if got := s.waits(s.bot.givenUp); got != "wait for hello" {
		t.Errorf("the call of %q is given up", got)
	}
	close(s.bot.free)
	u := s.until(reporters.WatchResult, nil)
	s.want(states(u.Snapshot), "talk/level_1/bye fail first", "talk/level_1/hello pass first")
	// Base's bye and hello, and nothing that waited again.
	s.want(s.bot.calls(), "bye", "hello", "hi", "wait for bye", "wait for hello")
}

// TestGuard holds that what costs much is asked about, and only that.
func TestGuard(t *testing.T) {
	s := newFixture(t, watchmode.Options{MaxCases: 1, MaxUSD: 1})
	s.until(reporters.WatchResult, nil)
	s.want(s.changed(map[string]string{hello: greeting("one")}), "talk/level_1/hello pass first")
	s.bot.calls()
	many := func(prompt string) {
		s.write(map[string]string{"test_definitions/talk/domain.json": strings.Replace(start["test_definitions/talk/domain.json"], `"Talk"`, `"Talk", "system_prompt": "`+prompt+`"`, 1)})
	}
	many("Be brief.")
	u := s.until(reporters.WatchQuestion, nil)
	if want := "judge 3 cases in about 5 calls?"; u.Snapshot.Question != want || u.Snapshot.State != reporters.WatchAsking {
		t.Errorf("question %q in state %s, want %q", u.Snapshot.Question, u.Snapshot.State, want)
	}
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchDecline})
	s.until(reporters.WatchStateChanged, nil)
	s.want(s.bot.calls())
	many("Be kind.")
	s.until(reporters.WatchQuestion, nil)
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchAnswer})
	s.until(reporters.WatchResult, nil)
	if got := s.bot.calls(); len(got) != 5 {
		t.Errorf("asked %v", got)
	}
}

// TestTheQuestionHasAPrice that is below a dollar, too.
func TestTheQuestionHasAPrice(t *testing.T) {
	s := newFixture(t, watchmode.Options{MaxUSD: 1e-6})
	s.until(reporters.WatchResult, nil)
	s.write(map[string]string{"gavel.yaml": "version: 1\ntargets: {bot: {provider: openai, model: m, price: {input: 1, output: 2}}}\n"})
	u := s.until(reporters.WatchQuestion, nil)
	if !regexp.MustCompile(`^judge \d cases in about \d calls for about \$0\.00\d+ \(`).MatchString(u.Snapshot.Question) {
		t.Errorf("question %q", u.Snapshot.Question)
	}
}

// TestWhatIsPlannedIsNotPlannedAgain until a run or a save makes that necessary.
func TestWhatIsPlannedIsNotPlannedAgain(t *testing.T) {
	s := newFixture(t, watchmode.Options{MaxCases: 1})
	s.until(reporters.WatchResult, nil)
	s.stuck.Store(true)
	s.write(map[string]string{"gavel.yaml": start["gavel.yaml"] + "  tool: {provider: command, argv: [tool], env: [WORD]}\ndefault_target: bot\n",
		"test_definitions/talk/domain.json": `{"id": "talk", "name": "Talk", "evaluator_id": "keyword", "system_prompt": "Be brief."}`})
	s.until(reporters.WatchQuestion, nil)
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchAnswer})
	s.until(reporters.WatchError, nil) // the run is over, so more may be stored
	pause := func() (plans int64) {
		t.Helper()
		before := s.planned.Load()
		for range 2 {
			s.session.Do(reporters.WatchCommand{Do: reporters.WatchPause})
			s.until(reporters.WatchStateChanged, nil)
		}
		s.until(reporters.WatchQuestion, nil)
		return s.planned.Load() - before
	}
	if first, second := pause(), pause(); first == 0 || second != 0 {
		t.Errorf("after a run the environment is asked %d times for a plan, and then %d times; want some and none", first, second)
	}
}

// TestNothingDueIsNotStarted: a run that judges nothing is not announced, and leaves the
// board without a case to be judged.
func TestNothingDueIsNotStarted(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(reporters.WatchResult, nil)
	s.want(s.changed(map[string]string{hello: greeting("hi")}), "talk/level_1/hello pass first")
	s.write(map[string]string{hello: start[hello]})
	for {
		switch u := <-s.updates; {
		case u.Kind == reporters.WatchStarted || u.Kind == reporters.WatchJudged || u.Snapshot.Due != 0 && u.Kind == reporters.WatchResult:
			t.Fatalf("%s of %d cases, of which none is to be judged", u.Kind, u.Snapshot.Due)
		case u.Kind == reporters.WatchResult:
			return
		}
	}
}

// TestUnpriced holds that an unknown price is asked about where the most that may be
// spent was announced, including further measurements.
func TestUnpriced(t *testing.T) {
	s := newFixture(t, watchmode.Options{MaxUSD: 1, AskUnpriced: true})
	s.until(reporters.WatchResult, nil)
	s.write(map[string]string{"gavel.yaml": "version: 1\ntargets: {bot: {provider: openai, model: m}}\n"})
	u := s.until(reporters.WatchQuestion, nil)
	if !strings.HasSuffix(u.Snapshot.Question, " at an unknown price (usually 2 more calls to tell regressions from noise, at most 104)?") {
		t.Errorf("question %q", u.Snapshot.Question)
	}
}

// TestUndisturbed holds that a save which changes no plan leaves the run under
// way as it is.
func TestUndisturbed(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(reporters.WatchResult, nil)
	s.write(map[string]string{hello: greeting("wait")})
	s.until(reporters.WatchStarted, nil)
	s.waits(s.bot.waiting)
	s.write(map[string]string{"test_definitions/notes.md": "x"})
	s.until(reporters.WatchPlanned, func(b *reporters.WatchSnapshot) bool { return slices.Contains(b.Changed, "test_definitions/notes.md") })
	close(s.bot.free)
	if u := s.until(reporters.WatchResult, nil); u.Report.Run != "run2" {
		t.Errorf("the result is that of %s, want the second run's", u.Report.Run)
	}
}

// TestPauseStopRerun holds what the other commands do.
func TestPauseStopRerun(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(reporters.WatchResult, nil)
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchPause})
	s.until(reporters.WatchStateChanged, nil)
	s.write(map[string]string{hello: greeting("wait")})
	u := s.until(reporters.WatchPlanned, nil)
	s.want(states(u.Snapshot), "talk/level_1/hello due")
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchPause})
	s.waits(s.bot.waiting)
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchStop})
	u = s.until(reporters.WatchResult, nil)
	s.want(states(u.Snapshot), "talk/level_1/hello due")
	if !u.Snapshot.Stopped || u.Snapshot.State != reporters.WatchWaiting {
		t.Errorf("stopped %v, state %s", u.Snapshot.Stopped, u.Snapshot.State)
	}
	close(s.bot.free)
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchPause}) // continues the stopped run
	s.want(states(s.until(reporters.WatchResult, nil).Snapshot), "talk/level_1/hello pass first")
	s.bot.calls()

	s.bot.answer = func(string) string { return "bye" }
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchRerun, Keys: []string{"talk/level_1/hello"}})
	s.want(states(s.until(reporters.WatchResult, nil).Snapshot), "talk/level_1/hello fail broke")
	s.want(s.bot.calls(), "wait")

	s.session.Do(reporters.WatchCommand{Do: reporters.WatchAll})
	all := states(s.until(reporters.WatchResult, nil).Snapshot)
	s.want(slices.DeleteFunc(all, func(row string) bool { return strings.HasPrefix(row, "suite") }),
		"talk/level_1/hello fail", "talk/level_2/more fail first", "talk/level_1/bye pass first")
	detail, err := s.session.Detail(t.Context(), "talk/level_1/bye")
	if err != nil || detail.Transcript == nil || len(detail.Samples) != 1 {
		t.Errorf("of a case that nothing affected before: %+v, %v", detail, err)
	}
}

// TestAPanicIsShown has a worker panic: the watch reports it and goes on.
func TestAPanicIsShown(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(reporters.WatchResult, nil)
	answer := s.bot.answer
	s.bot.answer = func(string) string { panic("a fault of ours") }
	s.write(map[string]string{hello: greeting("one")})
	if u := s.until(reporters.WatchError, nil); !strings.Contains(u.Snapshot.Error, "panic: a fault of ours") {
		t.Errorf("fault %q", u.Snapshot.Error)
	}
	s.bot.answer = answer
	s.want(s.changed(map[string]string{hello: greeting("two")}), "talk/level_1/hello pass first")
}

// gate writes the gate of a board.
func gate(b reporters.WatchSnapshot) string { return b.Gate.Result + ": " + b.Gate.Reason }

// TestTheGateOfWhatIsNotJudged declines a question, and then renames and
// deletes definitions: while cases are to be judged the gate is undetermined.
func TestTheGateOfWhatIsNotJudged(t *testing.T) {
	s := newFixture(t, watchmode.Options{MaxCases: 1})
	passes := func(u reporters.WatchUpdate) {
		t.Helper()
		if u.Snapshot.Gate.Result != report.GatePass {
			t.Errorf("%s: the gate is %q", u.Kind, gate(u.Snapshot))
		}
	}
	waits := func(u reporters.WatchUpdate, n int) {
		t.Helper()
		if want := fmt.Sprintf("undetermined: %d cases are not judged yet", n); gate(u.Snapshot) != want || u.Snapshot.Count().Due != n {
			t.Errorf("%s: the gate is %q, %d cases are due", u.Kind, gate(u.Snapshot), u.Snapshot.Count().Due)
		}
	}
	decline := func(n int) {
		t.Helper()
		waits(s.until(reporters.WatchQuestion, nil), n)
		s.session.Do(reporters.WatchCommand{Do: reporters.WatchDecline})
		u := s.until(reporters.WatchStateChanged, nil)
		waits(u, n)
		if u.Snapshot.State != reporters.WatchWaiting {
			t.Errorf("it is %s", u.Snapshot.State)
		}
	}
	passes(s.until(reporters.WatchResult, nil))
	const bye, more = "test_definitions/talk/level_1/bye.json", "test_definitions/talk/level_2/more.json"
	s.write(map[string]string{"test_definitions/talk/domain.json": strings.Replace(start["test_definitions/talk/domain.json"], `"Talk"`, `"Talk", "system_prompt": "Be brief."`, 1)})
	decline(3)
	s.must(os.Rename(s.path(bye), s.path("test_definitions/talk/level_2/bye.json")))
	decline(3)
	s.must(os.Remove(s.path(more)))
	decline(2)
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchPause}) // continues the declined run
	waits(s.until(reporters.WatchQuestion, nil), 2)
	s.bot.answer = func(q string) string { return "hello, " + q }
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchAnswer})
	u := s.until(reporters.WatchResult, nil)
	if u.Snapshot.Gate.Result == report.GateUndetermined || u.Snapshot.Count().Due != 0 {
		t.Errorf("after the run the gate is %q", gate(u.Snapshot))
	}
}

// TestTheGateOfAllCases asks for all cases of a watch in which nothing differs from base:
// the gate speaks of them, and does so after they were judged again.
func TestTheGateOfAllCases(t *testing.T) {
	s := newFixture(t, watchmode.Options{}, map[string]string{"test_definitions/suite.yaml": "evalcases: [{id: brief, input: hi, checks: [{contains: bye}]}]\n"})
	s.bot.answer = func(string) string { return "bye" } // what hello must not get
	if u := s.until(reporters.WatchResult, nil); gate(u.Snapshot) != "pass: no affected cases" || u.Snapshot.All {
		t.Errorf("before it the gate is %q, all: %v", gate(u.Snapshot), u.Snapshot.All)
	}
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchAll})
	const want = "pass: no case regressed (fail_on: regression)"
	u := s.until(reporters.WatchResult, nil)
	if gate(u.Snapshot) != want || !u.Snapshot.All || u.Snapshot.FailedBefore() == 0 {
		t.Errorf("the gate is %q, all: %v, %v", gate(u.Snapshot), u.Snapshot.All, states(u.Snapshot))
	}
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchRerun, Keys: []string{"talk/level_1/hello"}})
	if u := s.until(reporters.WatchResult, nil); gate(u.Snapshot) != want || !u.Snapshot.All {
		t.Errorf("after a rerun the gate is %q, all: %v", gate(u.Snapshot), u.Snapshot.All)
	}
	s.write(map[string]string{hello: greeting("hi")})
	if u := s.until(reporters.WatchResult, nil); u.Snapshot.All {
		t.Error("all cases were asked for with a save")
	}
}

// TestTheGateAfterARerun judges a case again by name, which fails now: so does
// the gate.
func TestTheGateAfterARerun(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(reporters.WatchResult, nil)
	s.want(s.changed(map[string]string{hello: greeting("hi")}), "talk/level_1/hello pass first")
	s.bot.answer = func(string) string { return "bye" }
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchRerun, Keys: []string{"talk/level_1/hello"}})
	if u := s.until(reporters.WatchResult, nil); u.Snapshot.Gate.Result != report.GateFail {
		t.Errorf("the gate is %q", gate(u.Snapshot))
	}
	// Somebody named it because of what it showed, so it is not history.
	store, err := ledger.Open(t.Context(), ledger.Config{Path: s.path(".gavel/ledger.db")})
	s.must(err)
	defer store.Close() //nolint:errcheck // it is only read
	var chosen int
	s.must(store.Store().Each(t.Context(), func(rows *sql.Rows) error { return rows.Scan(&chosen) }, "SELECT coalesce(sum(chosen), 0) FROM samples"))
	if chosen != 1 {
		t.Errorf("%d samples are stored as chosen, want that of the rerun", chosen)
	}
}

// TestWhatIsGivenUpIsCounted stops a run, some of whose calls are waiting.
func TestWhatIsGivenUpIsCounted(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(reporters.WatchResult, nil)
	bye := strings.Replace(start["test_definitions/talk/level_1/bye.json"], `"prompt": "bye"`, `"prompt": "wait for bye"`, 1)
	more := strings.Replace(start["test_definitions/talk/level_2/more.json"], `"prompt": "more"`, `"prompt": "more!"`, 1)
	s.write(map[string]string{hello: greeting("wait for hello"), "test_definitions/talk/level_1/bye.json": bye, "test_definitions/talk/level_2/more.json": more})
	s.waits(s.bot.waiting)
	s.waits(s.bot.waiting)
	s.until(reporters.WatchJudged, func(b *reporters.WatchSnapshot) bool { return b.Done == 4 }) // one of head, three of base
	s.session.Do(reporters.WatchCommand{Do: reporters.WatchStop})
	u := s.until(reporters.WatchResult, nil)
	if u.Snapshot.Spent.Calls != 4 || u.Snapshot.GivenUp != 2 {
		t.Errorf("%d calls, %d given up", u.Snapshot.Spent.Calls, u.Snapshot.GivenUp)
	}
	if want := "undetermined: 2 cases are not judged yet"; gate(u.Snapshot) != want {
		t.Errorf("the gate is %q, want %q", gate(u.Snapshot), want)
	}
	event := u.Event()
	if event.Spent == nil || event.Spent.CancelledCalls != 2 {
		t.Errorf("programs are told %+v", event.Spent)
	}
	close(s.bot.free)
}

// TestSecretsAreNotShown: secrets that an agent leaks are on no board and in no
// details, and the case is judged by the real text.
func TestSecretsAreNotShown(t *testing.T) {
	s := newFixture(t, watchmode.Options{})
	s.until(reporters.WatchResult, nil)
	key := "sk-proj-" + strings.Repeat("aB3x", 12)
	s.bot.answer = func(string) string { return "hello, my key is " + key }
	s.write(map[string]string{hello: greeting("tell me, " + key)})
	u := s.until(reporters.WatchResult, func(b *reporters.WatchSnapshot) bool { return slices.Contains(b.Changed, hello) })
	s.want(states(u.Snapshot), "talk/level_1/hello pass first")
	detail, err := s.session.Detail(t.Context(), "talk/level_1/hello")
	s.must(err)
	shown, err := json.Marshal([]any{u, detail})
	s.must(err)
	if strings.Contains(string(shown), key) || !strings.Contains(string(shown), "my key is [redacted]") {
		t.Errorf("shown is %s, want the key redacted", shown)
	}
}
