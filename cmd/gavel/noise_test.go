package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// local runs a command line in the project's folder and returns its output, which
// has to end with a code.
func (p *project) local(want int, args ...string) string {
	p.t.Helper()
	stdout, stderr, code := gavel(p.t, p.folder, args...)
	if code != want {
		p.t.Errorf("gavel %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
	}
	return stdout + stderr
}

// ledger opens the ledger of the project's folder.
func (p *project) ledger() *ledger.Ledger {
	p.t.Helper()
	store, err := ledger.Open(p.t.Context(), ledger.Config{Path: filepath.Join(p.folder, filepath.FromSlash(usualLedger))})
	if err != nil {
		p.t.Fatal(err)
	}
	return store
}

// chosen counts the stored samples that were taken because of an outcome, and all.
func (p *project) chosen() (chosen, all int) {
	p.t.Helper()
	store := p.ledger()
	defer store.Close() //nolint:errcheck // it is only read
	err := store.Store().Each(p.t.Context(), func(rows *sql.Rows) error { return rows.Scan(&chosen, &all) }, "SELECT coalesce(sum(chosen), 0), count(*) FROM samples")
	if err != nil {
		p.t.Fatal(err)
	}
	return chosen, all
}

// TestWhatWasMeasuredAgainIsKept by a garbage collection, as long as somebody may
// compare with that base again.
func TestWhatWasMeasuredAgainIsKept(t *testing.T) {
	p := newProject(t)
	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong)})
	p.local(exitGate, "run", "--base", "main")
	if asked := p.calls(); len(asked) != 10 {
		t.Fatalf("asked %q", asked)
	}
	p.local(exitPass, "ledger", "gc", "--max-age", "1ns")
	if text := p.local(exitGate, "run", "--base", "main"); !strings.Contains(text, "failed in 4 of 4 reruns here") {
		t.Errorf("the regression is not confirmed any more:\n%s", text)
	}
	if asked := p.calls(); len(asked) != 0 {
		t.Errorf("asked again: %q", asked)
	}

	// Once the branch is gone, its measurements are removed, too.
	p.git("checkout", "-q", "main")
	text := p.local(exitPass, "ledger", "gc", "--max-age", "1ns")
	if !strings.Contains(text, "removed: 9 verdicts") {
		t.Errorf("what nobody needs is kept:\n%s", text)
	}
}

// TestSamplesBecauseOfAnOutcome are not history: cases that are run again since they
// failed, or by name.
func TestSamplesBecauseOfAnOutcome(t *testing.T) {
	p := newProject(t)
	p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong)})
	want := func(chosen, all int) {
		t.Helper()
		if c, n := p.chosen(); c != chosen || n != all {
			t.Errorf("%d of %d samples are chosen, want %d of %d", c, n, chosen, all)
		}
	}
	p.local(exitGate, "run")
	want(0, 2)
	p.local(exitGate, "run", "--only", "failed", "--fresh")
	want(1, 3)
	p.local(exitPass, "run", "--fresh", "talk/level_1/thanks")
	want(2, 4)
	// All of them, and so many of one, are asked for whatever they showed.
	p.local(exitGate, "run", "--fresh")
	want(2, 6)
	p.local(exitPass, "run", "--repeat", "2", "talk/level_1/thanks")
	want(2, 8)
}

// TestAHeadThatQuarantines a case is named, as one that lowers a threshold is, and its
// case still gates. Once base has the entry, the case does not.
func TestAHeadThatQuarantines(t *testing.T) {
	p := newProject(t)
	config, err := os.ReadFile(filepath.Join(p.folder, "gavel.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	with := string(config) + "quarantine: [{case: talk/level_1/hello, until: 2999-01-31, reason: slow}]\n"
	gittest.Branch(p.t, p.folder, "topic")
	head := p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong), "gavel.yaml": with})
	p.pull(forgetest.Pull{})
	if m := p.pullJob("pull_request", forgetest.Pull{}); m.failed != exitGate {
		t.Errorf("exit code %d\n%s", m.failed, &m.log)
	}
	p.report("1 regression", "weakens the gate: quarantine of talk/level_1/hello until 2999-01-31: slow")
	if state := p.verdict(head); state != "failure" {
		t.Errorf("the verdict is %q", state)
	}
	p.calls()

	p.git("checkout", "-q", "main")
	p.commit(map[string]string{"gavel.yaml": with})
	gittest.Branch(p.t, p.folder, "other")
	head = p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong)})
	p.pull(forgetest.Pull{})
	// The stored measurements are enough, and nothing is measured again.
	p.wants(p.pullJob("pull_request", forgetest.Pull{}), "a quarantined case", exitPass)
	if state := p.verdict(head); state != "success" {
		t.Errorf("the verdict is %q", state)
	}
	p.report("quarantined", "until 2999-01-31: slow")
}

// TestAQuarantineByComment: somebody who may write takes a case out of the gate, for the
// pull request of the comment and for those after it, until a date.
func TestAQuarantineByComment(t *testing.T) {
	p := newTalk(t, wrong, forgetest.Pull{})
	head := p.resolve("topic")
	p.wants(p.pullJob("pull_request_target", forgetest.Pull{}), "the pull request", exitGate, confirmed("hello, "+wrong)...)
	for _, tt := range []struct {
		by, words, reactions string
		code                 int
	}{
		{"reader", "talk/level_1/hello 2999-01-31 slow provider", "-1", exitGate},
		{"mona", "talk/level_1/hello 1999-01-31 slow provider", "-1", exitGate},
		{"mona", "talk/level_1/hello 2999-01-31 slow provider", "+1", exitPass},
	} {
		m, id := p.comment(tt.by, "/gavel quarantine "+tt.words)
		p.wants(m, tt.words, tt.code)
		if got := p.reactions(id); got != tt.reactions {
			t.Errorf("%s by %s: reactions %q, want %q", tt.words, tt.by, got, tt.reactions)
		}
	}
	p.report("until 2999-01-31 by mona: slow provider")
	if state := p.verdict(head); state != "success" {
		t.Errorf("the verdict is %q", state)
	}
	// The next head of the pull request is judged under it, too.
	pushed := p.commit(map[string]string{casePath("hello"): caseOf("hello", "more "+wrong)})
	p.pull(forgetest.Pull{})
	if m := p.pullJob("pull_request_target", forgetest.Pull{}); m.failed != exitPass {
		t.Errorf("exit code %d\n%s", m.failed, &m.log)
	}
	if state := p.verdict(pushed); state != "success" {
		t.Errorf("the verdict on the next head is %q", state)
	}
	p.report("until 2999-01-31 by mona: slow provider")
}

// TestHistoryBeginsAgain if base turns out to differ from its stored outcomes: the
// report says so, and the next comparisons measure base once more and rely on that.
func TestHistoryBeginsAgain(t *testing.T) {
	const said = "base differs from its stored results, so its history begins again here"
	const cases = 12
	p := newProject(t)
	write := func(way string) {
		files := map[string]string{}
		for i := range cases {
			id := fmt.Sprintf("case%02d", i)
			files[casePath(id)] = caseOf(id, way)
		}
		p.commit(files)
	}
	write("kindly")
	for range 5 {
		p.local(exitPass, "run", "--fresh")
	}
	p.mu.Lock()
	p.drifted = true
	p.mu.Unlock()
	p.calls()
	asked := func() (base, head int) {
		for _, question := range p.calls() {
			if strings.Contains(question, "kindly") {
				base++
			} else {
				head++
			}
		}
		return base, head
	}
	compare := func(way string) string {
		p.git("checkout", "-q", "-B", way, "main")
		write(way)
		stdout, stderr, _ := gavel(t, p.folder, "run", "--base", "main")
		return strings.Join(strings.Fields(stdout+stderr), " ")
	}
	text := compare("nicely")
	base, _ := asked()
	if !strings.Contains(text, said) || strings.Contains(text, "regression talk") || base < cases {
		t.Errorf("base was asked %d times:\n%s", base, text)
	}
	// The same comparison is made again without a call, and says the same.
	stdout, _, _ := gavel(t, p.folder, "run", "--base", "main")
	if again := strings.Join(strings.Fields(stdout), " "); !strings.Contains(again, said) {
		t.Errorf("the second time it says\n%s", again)
	}
	if base, head := asked(); base+head != 0 {
		t.Errorf("the second time it asked %d times", base+head)
	}
	for _, tt := range []struct {
		way  string
		base int
	}{{"gladly", cases}, {"warmly", 0}} {
		text := compare(tt.way)
		if base, head := asked(); base != tt.base || head != cases || strings.Contains(text, said) {
			t.Errorf("%s: base was asked %d times and head %d, want %d and %d:\n%s", tt.way, base, head, tt.base, cases, text)
		}
	}
}

// confirmed are the calls of a run that finds hello worse than at base, and measures
// it again four times on each side.
func confirmed(first ...string) []string {
	again := slices.Repeat([]string{"hello, kindly", "hello, " + wrong}, 4)
	return slices.Sorted(slices.Values(append(again, first...)))
}

// TestWhatAnEarlierHeadTaught counts at later heads of the pull request as long as the
// digest of the case is the same: it is not measured again, and stays confirmed.
func TestWhatAnEarlierHeadTaught(t *testing.T) {
	p := newProject(t)
	p.local(exitPass, "run")
	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong)})
	p.local(exitGate, "run", "--base", "main")
	p.calls()
	p.commit(map[string]string{casePath("thanks"): caseOf("thanks", "nicely")})
	text := strings.Join(strings.Fields(p.local(exitGate, "run", "--base", "main")), " ")
	if !strings.Contains(text, "failed in 4 of 4 reruns here, passed 4 of 4 at base") || !strings.Contains(text, "1 regression (confirmed)") {
		t.Errorf("the second head reports\n%s", text)
	}
	if asked := p.calls(); len(asked) != 1 || asked[0] != "thanks, nicely" {
		t.Errorf("the second head asked %q", asked)
	}
	// Another digest is another case, without a history.
	p.commit(map[string]string{casePath("hello"): caseOf("hello", "very "+wrong)})
	p.local(exitGate, "run", "--base", "main")
	if asked := p.calls(); len(asked) != 9 {
		t.Errorf("the third head asked %q", asked)
	}
}
