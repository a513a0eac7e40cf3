package comment_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A crowd are the pull requests, the branch and the merge group that have one commit.
type crowd struct {
	t     *testing.T
	forge *forgetest.Forge
	base  string
	open  map[int]bool
	// expected are the pull requests that a server knows of; complete says that it is one.
	expected []int
	complete bool
}

func (c *crowd) Heads(_ context.Context, number int, sum string) (bool, error) {
	return c.open[number] && sum == sha, nil
}

func (c *crowd) Expected(string) ([]int, bool) { return c.expected, c.complete }

// publisher is the publisher of #N, of "group N", or of the branch.
func (c *crowd) publisher(who string) *comment.Publisher {
	return publisher(c.t, c.forge.URL+c.base, forgetest.TokenActions, func(cfg *comment.PublisherConfig) {
		cfg.Sharers, cfg.Number = c, 0
		if _, err := fmt.Sscanf(who, "group %d", &cfg.Number); err == nil {
			cfg.Queued = true
		} else if _, err := fmt.Sscanf(who, "#%d", &cfg.Number); err != nil && who != "branch" {
			c.t.Fatal(who)
		}
	})
}

// says has somebody publish a verdict, such as "failure: 1 regression". A state of waits
// or refused is an error with that hold.
func (c *crowd) says(who, said string) {
	c.t.Helper()
	state, words, _ := strings.Cut(said, ": ")
	s := comment.Status{Context: comment.ContextVerdict, State: comment.State(state), Description: words, TargetURL: "https://forge.example/run?job=5#top"}
	if state == "waits" || state == "refused" {
		s.State, s.Hold = comment.StateError, comment.Hold(state)
	}
	if err := c.publisher(who).SetStatuses(c.t.Context(), sha, s); err != nil {
		c.t.Fatal(err)
	}
}

// leaves closes a pull request, or has it move on.
func (c *crowd) leaves(number int) {
	c.t.Helper()
	c.open[number] = false
	if _, err := c.publisher(fmt.Sprint("#", number)).Leave(c.t.Context(), sha); err != nil {
		c.t.Fatal(err)
	}
}

// shows is the last status.
func (c *crowd) shows() string {
	all := c.forge.Statuses(sha)
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	return last.State + ": " + last.Description
}

// TestTheWorstOfACommit: a status belongs to a commit, so that each says the worst of
// those that have it as their head, in whatever order they publish.
func TestTheWorstOfACommit(t *testing.T) {
	const regressed, fine = "failure: 1 regression", "success: no regressions"
	for _, tt := range []struct {
		name string
		// said is an author and a text, or "#1 leaves" and "#1 returns"; then comes the
		// visible text, and nothing if that stays.
		said [][2]string
	}{
		{"one pull request", [][2]string{
			{"#1 pending: judging 3 cases", "pending: judging 3 cases"}, {"#1 " + regressed, regressed}, {"#1 " + regressed, ""}, {"#1 " + fine, fine}, {"#1 leaves", ""},
		}},
		{"the one that fails is first", [][2]string{
			{"#1 " + regressed, regressed}, {"#2 pending: judging 1 case", ""}, {"#2 " + fine, "failure: fails in #1 · 1 regression"},
			{"#1 " + regressed, ""}, {"#2 " + fine, ""},
		}},
		{"the one that fails is last", [][2]string{
			{"#2 " + fine, fine}, {"#1 pending: judging 1 case", "pending: pending in #1 · judging 1 case"}, {"#1 " + regressed, "failure: fails in #1 · 1 regression"}, {"#2 " + fine, ""},
		}},
		{"the one that fails is closed and opened again", [][2]string{
			{"#1 " + regressed, regressed}, {"#2 " + fine, "failure: fails in #1 · 1 regression"}, {"#1 leaves", "success: passes in #2"},
			{"#2 " + fine, fine}, {"#1 returns", ""}, {"#1 " + regressed, "failure: fails in #1 · 1 regression"},
		}},
		{"its words are known", [][2]string{
			{"#2 " + fine, fine}, {"#1 " + regressed, "failure: fails in #1 · 1 regression"}, {"#1 leaves", fine},
		}},
		{"the one that passes is closed", [][2]string{
			{"#1 " + regressed, regressed}, {"#2 " + fine, "failure: fails in #1 · 1 regression"}, {"#2 leaves", regressed}, {"#1 " + regressed, ""},
		}},
		{"a run that ends after its pull request was closed", [][2]string{
			{"#2 " + fine, fine}, {"#1 pending: judging 1 case", "pending: pending in #1 · judging 1 case"}, {"#1 leaves", fine}, {"#1 " + regressed, ""},
		}},
		{"both pass", [][2]string{{"#2 success: of two", "success: of two"}, {"#1 success: of one", "success: passes in #1 and #2 · of one"}}},
		{"both fail", [][2]string{{"#2 failure: of two", "failure: of two"}, {"#1 failure: of one", "failure: fails in #1 and #2 · of one"}, {"#1 leaves", "failure: of two"}}},
		{"the order", [][2]string{
			{"#1 success: a", "success: a"}, {"#2 pending: b", "pending: pending in #2 · b"}, {"#3 error: c", "error: undetermined in #3 · c"},
			{"#4 waits: d", "error: waits in #4: close #4 or approve it · d"}, {"#5 failure: e", "failure: fails in #5 · e"},
			{"#5 leaves", "error: waits in #4: close #4 or approve it · d"}, {"#4 leaves", "error: undetermined in #3 · c"},
			{"#3 leaves", "pending: pending in #2 · b"}, {"#2 leaves", "success: a"},
		}},
		{"a stranger's that nobody may approve", [][2]string{
			{"#1 success: a", "success: a"}, {"#9 refused: the head comes from a fork", "error: not run in #9: close #9 · the head comes from a fork"}, {"#9 leaves", "success: a"},
		}},
		{"a stranger's that is approved", [][2]string{
			{"#1 success: a", "success: a"}, {"#9 waits: a fork", "error: waits in #9: close #9 or approve it · a fork"}, {"#1 success: a", ""},
			{"#9 success: b", "success: passes in #1 and #9 · a"},
		}},
		{"a pull request outweighs a branch", [][2]string{
			{"branch " + fine, fine}, {"#9 " + regressed, "failure: fails in #9 · 1 regression"}, {"branch " + fine, ""}, {"branch pending: judging", ""}, {"#9 leaves", fine},
		}},
		{"and is as green as it says", [][2]string{
			{"branch " + regressed, regressed}, {"#9 success: b", "success: b"}, {"branch " + regressed, ""}, {"#9 leaves", regressed},
		}},
		{"a branch that comes later", [][2]string{{"#9 " + regressed, regressed}, {"branch " + fine, "failure: fails in #9 · 1 regression"}, {"#9 leaves", "success: passes on the branch"}}},
		{"a merge group counts as a pull request does", [][2]string{
			{"group 3 " + regressed, regressed}, {"#4 " + fine, "failure: fails in the merge group of #3 · 1 regression"}, {"#3 leaves", ""},
		}},
	} {
		for _, base := range []string{"", "/api/v1"} {
			t.Run(tt.name+base, func(t *testing.T) {
				c := &crowd{t: t, forge: newForge(t), base: base, open: map[int]bool{}}
				for n := range 10 {
					c.open[n] = true
				}
				for _, step := range tt.said {
					before := c.shows()
					number := 0
					who, said, _ := strings.Cut(step[0], " ")
					if who == "group" {
						rest, after, _ := strings.Cut(said, " ")
						who, said = who+" "+rest, after
					}
					fmt.Sscanf(who, "#%d", &number)
					writes := len(c.forge.Statuses(sha))
					switch said {
					case "leaves":
						c.leaves(number)
					case "returns":
						c.open[number] = true
					default:
						c.says(who, said)
					}
					if n := len(c.forge.Statuses(sha)) - writes; n > 1 {
						t.Errorf("%s: %d writes", step[0], n)
					}
					want := step[1]
					if want == "" {
						want = before
					}
					if got := c.shows(); got != want {
						t.Fatalf("after %s the commit shows %q, want %q", step[0], got, want)
					}
				}
			})
		}
	}
}

// TestTwoJobsAtOnce: neither has read what the other writes. The last one finds both when
// it reads again.
func TestTwoJobsAtOnce(t *testing.T) {
	c := &crowd{t: t, forge: newForge(t), open: map[int]bool{1: true, 2: true}}
	for _, first := range []string{"#1 failure: 1 regression", "#2 success: no regressions"} {
		f := newForge(t)
		c.forge = f
		second := map[string]string{"#1 failure: 1 regression": "#2 success: no regressions", "#2 success: no regressions": "#1 failure: 1 regression"}[first]
		f.Inject(forgetest.Fault{Method: "POST", Path: "/statuses/", Hold: func() {
			who, said, _ := strings.Cut(second, " ")
			c.says(who, said)
		}})
		who, said, _ := strings.Cut(first, " ")
		c.says(who, said)
		if got := c.shows(); got != "failure: fails in #1 · 1 regression" {
			t.Errorf("the commit shows %q after %s was written within %s", got, second, first)
		}
	}
}

// TestAPullRequestThatAServerWillJudge is pending until then, so that nothing is green
// before all have a verdict.
func TestAPullRequestThatAServerWillJudge(t *testing.T) {
	c := &crowd{t: t, forge: newForge(t), open: map[int]bool{1: true, 2: true}, expected: []int{1, 2}, complete: true}
	c.says("#2", "success: no regressions")
	if got := c.shows(); got != "pending: pending in #1" {
		t.Errorf("the commit shows %q", got)
	}
	c.open[1] = false // and the server does not know yet
	c.says("#2", "success: no regressions")
	if got := c.shows(); got != "success: no regressions" {
		t.Errorf("the commit shows %q after #1 was closed", got)
	}
}

// TestTheRecord is in the address of a status, which leads where it led.
func TestTheRecord(t *testing.T) {
	c := &crowd{t: t, forge: newForge(t), open: map[int]bool{1: true, 2: true, 9: true}}
	c.says("#1", "failure: a")
	c.says("#2", "success: b")
	c.says("#9", "waits: c")
	c.says("group 3", "success: d")
	var got []string
	for _, s := range c.forge.Statuses(sha) {
		got = append(got, strings.TrimPrefix(s.TargetURL, "https://forge.example/run?"))
	}
	want := []string{"job=5&pr=1#top", "elsewhere=1&job=5&own=success&pr=2#top", "elsewhere=1&job=5&own=waits&pr=9#top", "elsewhere=1&job=5&own=success&queue=3#top"}
	if !slices.Equal(got, want) {
		t.Errorf("addresses %q, want %q", got, want)
	}
}

// TestOddRecords: whatever an address has, it is read as a record or as none.
func TestOddRecords(t *testing.T) {
	for _, address := range []string{
		"https://x.example/?pr=-1", "https://x.example/?pr=1e3", "https://x.example/?pr=99999999999999999999", "https://x.example/?queue=0", "https://x.example/?pr=8&own=green",
		"://", "", "https://x.example/?pr=8;own=success",
	} {
		c := &crowd{t: t, forge: newForge(t), open: map[int]bool{7: true, 8: true}}
		c.forge.AddStatus(forgetest.Status{SHA: sha, Context: comment.ContextVerdict, State: "failure", Description: "odd", TargetURL: address})
		c.says("#7", "success: fine")
		if got := c.shows(); got != "success: fine" {
			t.Errorf("%s: the commit shows %q", address, got)
		}
	}
}

// TestWhatIsWrittenWithoutARecord stays where it says the same: an earlier version had no
// records, and its statuses are not all written again.
func TestWhatIsWrittenWithoutARecord(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) // all within a second, which Gitea does not order
	for _, base := range []string{"", "/api/v1"} {
		c := &crowd{t: t, forge: newForge(t), base: base, open: map[int]bool{7: true}}
		c.forge.Now = func() time.Time { return at }
		c.forge.AddStatus(forgetest.Status{SHA: sha, Context: comment.ContextVerdict, State: "failure", Description: "not yet"})
		c.forge.AddStatus(forgetest.Status{SHA: sha, Context: comment.ContextVerdict, State: "success", Description: "fine"})
		c.says("#7", "success: fine")
		if n := len(c.forge.Statuses(sha)); n != 2 {
			t.Errorf("%s: %d statuses", base, n)
		}
		c.says("#7", "failure: not any more")
		if got := c.shows(); got != "failure: not any more" {
			t.Errorf("%s: the commit shows %q", base, got)
		}
	}
}
