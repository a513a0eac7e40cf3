package main

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestTheCommentLinksToThePage holds that a job uploads the report as one page, also
// when the gate fails, and that the comment's full report is among the artifacts of
// that job. Where no page is asked for, none is uploaded and the link is to the job.
func TestTheCommentLinksToThePage(t *testing.T) {
	p := newProject(t)
	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong)})
	p.pull(forgetest.Pull{})
	m := p.pullJob("pull_request", forgetest.Pull{})
	page := m.artifacts["gavel-judge.html"]
	for _, want := range []string{"<!doctype html>", "talk/level_1/hello", "1 regression"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q; uploaded is %q\n%s", want, page, &m.log)
		}
	}
	run := p.server + "/octo/demo/actions/runs/"
	if comments := p.forge.Comments(1); len(comments) != 1 || !strings.Contains(comments[0].Body, "[full report]("+run+"101#artifacts)") {
		t.Errorf("the comment does not link to the artifacts of the job: %+v", comments)
	}
	p.inputs = map[string]string{"report": "false"}
	m = p.pullJob("pull_request", forgetest.Pull{})
	if comments := p.forge.Comments(1); len(m.artifacts) != 0 || len(comments) != 1 || !strings.Contains(comments[0].Body, "[full report]("+run+"102)") {
		t.Errorf("without a page: uploaded %v, the comment is %+v", m.artifacts, comments)
	}
}

// TestAStrangersHeadHasAPageOfItsPlan holds that the page of a head that nobody approved
// says what would run, and costs no call.
func TestAStrangersHeadHasAPageOfItsPlan(t *testing.T) {
	p := newProject(t)
	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong)})
	fork := forgetest.Pull{Author: "stranger", HeadRepo: "stranger/demo"}
	p.pull(fork)
	m := p.pullJob("pull_request_target", fork)
	if page := m.artifacts["gavel-judge.html"]; !strings.Contains(page, "1 case would run") {
		t.Errorf("the page is %q\n%s", page, &m.log)
	}
	if calls := p.calls(); len(calls) != 0 {
		t.Errorf("calls %q", calls)
	}
}
