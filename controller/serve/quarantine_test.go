package serve_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestQuarantine: somebody who may write takes a case out of the gate of the whole
// repository, until a date, at every head.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "two", forgetest.Pull{})
	const key = "talk/level_1/hello"
	w.wantStates("two", "success failure")
	for _, tt := range []struct{ body, want string }{
		{"/gavel quarantine talk/level_1/helo 2999-01-31 slow", "-1"},
		{"/gavel quarantine " + key + " 2999-01-31", "confused"},
		{"/gavel quarantine " + key + " soon slow", "-1"},
		{"/gavel quarantine " + key + " 2999-02-31 slow", "-1"},
		{"/gavel quarantine " + key + " 2001-01-31 slow", "-1"},
	} {
		if got := w.comment("mona", tt.body); got != tt.want {
			t.Errorf("%s: reactions %q, want %q", tt.body, got, tt.want)
		}
	}
	w.report("unknown case", "is not a date; write it as 2026-04-01", "2001-01-31 is over; write a later date")
	if got := w.comment("reader", "/gavel quarantine "+key+" 2999-01-31 slow"); got != "-1" {
		t.Errorf("a reader: reactions %q", got)
	}
	w.wantStates("two", "success failure")

	if got := w.comment("mona", "/gavel quarantine "+key+" 2999-01-31 the model is slow | @everyone"); got != "+1" {
		t.Errorf("reactions %q", got)
	}
	w.wantStates("two", "success success")
	text := w.report("quarantined", "until 2999-01-31 by mona: the model is slow", "1 case quarantined", "1 quarantined case")
	if strings.Contains(text, "@everyone") {
		t.Errorf("the report mentions everyone:\n%s", text)
	}
	if w.agent.count("two") != 1 {
		t.Errorf("asked %q", w.agent.asked)
	}

	// It holds at the next head, and the last word counts.
	w.push("cheat")
	w.hint()
	w.idle()
	w.report("until 2999-01-31 by mona")
	if got := w.comment("mona", "/gavel quarantine "+key+" 2999-06-30 still"); got != "+1" {
		t.Errorf("reactions %q", got)
	}
	if text := w.report("until 2999-06-30 by mona: still"); strings.Contains(text, "2999-01-31") {
		t.Errorf("the earlier one still shows:\n%s", text)
	}
}

// TestQuarantineOfBranches: a quarantined case does not fail a commit of the merge queue
// or of a base branch.
func TestQuarantineOfBranches(t *testing.T) {
	t.Parallel()
	for name, come := range map[string]func(*fixture){
		"merge queue": func(w *fixture) { w.hintQueue(w.queue("two")) },
		"base branch": func(w *fixture) {
			w.move("refs/heads/main", "two")
			w.hintPush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTalk(t, "one", forgetest.Pull{})
			if got := w.comment("mona", "/gavel quarantine talk/level_1/hello 2999-01-31 slow"); got != "+1" {
				t.Fatalf("reactions %q", got)
			}
			come(w)
			w.idle()
			if got, says := w.states("two"), w.says("two"); got != "success success" || !strings.Contains(says, "1 quarantined case") {
				t.Errorf("it is %q and says %q, want a success with 1 quarantined case", got, says)
			}
		})
	}
}
