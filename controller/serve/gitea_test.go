package serve_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestGitea gets the comment and the statuses that GitHub gets, all pages of a
// list at once, and is asked for nothing that it does not have.
func TestGitea(t *testing.T) {
	w := newFixture(t)
	w.forge.URL += "/api/v1"
	for range 120 { // more than a page
		w.forge.AddComment(1, "somebody", "a remark")
	}
	first := len(w.forge.Comments(1))
	w.push("one")
	w.start()
	w.idle()
	w.push("two")
	w.hint()
	w.idle()
	comments := w.forge.Comments(1)
	if len(comments) != first+1 || !strings.Contains(comments[first].Body, w.commits["two"][:7]) || w.states("two") != "success failure" {
		t.Errorf("%d comments, states %q", len(comments)-first, w.states("two"))
	}
	w.writesNothing(func() { w.end(); w.start(); w.hint(); w.idle() })
	for _, r := range w.forge.Requests() {
		if strings.Contains(r.Path, "check-runs") {
			t.Errorf("request %s, want none for check runs", r)
		}
	}
}

// TestGiteaWithoutAnAdministrator trusts nobody, because it cannot ask.
func TestGiteaWithoutAnAdministrator(t *testing.T) {
	w := newFixture(t)
	w.forge.URL += "/api/v1"
	w.forge.SetPermission("maintainer", "write")
	w.pull("one", forgetest.Pull{Author: "mona"})
	w.start()
	w.idle()
	if comments := w.forge.Comments(1); len(comments) != 1 || !strings.Contains(comments[0].Body, "what mona may do here could not be read") {
		t.Errorf("comments %+v", comments)
	}
	if len(w.agent.asked) != 1 { // by main
		t.Errorf("asked %q", w.agent.asked)
	}
}

// TestGiteaListsACommandAgain: a listing since the time of the newest comment has that
// comment each time, and its pull request is looked at once.
func TestGiteaListsACommandAgain(t *testing.T) {
	w := newFixture(t)
	w.forge.URL += "/api/v1"
	w.push("one")
	w.start()
	w.idle()
	w.forge.AddPull(forgetest.Pull{Number: 2, HeadSHA: w.commits["two"], BaseSHA: w.commits["main"], Closed: true})
	looks := func() (n int) {
		for _, r := range w.forge.Requests() {
			if strings.HasSuffix(r.Path, "/pulls/2") {
				n++
			}
		}
		return n
	}
	id := w.forge.AddComment(2, "mona", "/gavel run")
	w.forge.EditComment(id, "/gavel run all") // from then on it is the newest
	for _, step := range []struct {
		does func()
		want int
	}{{func() {}, 1}, {func() {}, 1}, {func() {}, 1}, {func() { w.forge.EditComment(id, "/gavel run all of it") }, 2}, {func() {}, 2}} {
		step.does()
		w.poll()
		w.idle()
		if n := looks(); n != step.want {
			t.Errorf("the pull request was looked at %d times, want %d", n, step.want)
		}
	}
}
