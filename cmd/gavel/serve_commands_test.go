package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestServeRunsAnApprovedProgram: a stranger's program runs once somebody approves its
// commit, in the sandbox and with the files of its commit. The next commit's program
// does not. The verdict of the other case is stored already.
func TestServeRunsAnApprovedProgram(t *testing.T) {
	needsIsolation(t)
	stranger := forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"}
	j := newJob(t, stranger, forgetest.TokenUser)
	j.forge.SetPermission("mona", "write")
	j.replace(t, withPrograms(), map[string]string{
		"agent/words.sh": "words=\"agent of head, $(env | grep -c TOKEN) tokens, ${HOME##*/}\"\n",
	})
	stranger.Number, stranger.HeadSHA, stranger.HeadRef, stranger.BaseSHA = 1, j.head, "topic", j.base
	j.forge.AddPull(stranger)
	base, log, end := j.serving(t, operatorsFile(t, j, ""))
	defer end()
	log.await(t, `"repo":"octo/demo#1","duration"`)
	report := func() string { return j.forge.Comments(1)[0].Body }
	if !strings.Contains(report(), "2 cases would run") {
		t.Errorf("before the approval\n%s", report())
	}
	j.forge.AddComment(1, "mona", "/gavel approve "+j.head)
	if status := deliver(t, base+"/hooks", hookSecret); status != http.StatusAccepted {
		t.Fatalf("a delivery = %d", status)
	}
	log.await(t, `"repo":"octo/demo#1","duration"`)
	for _, want := range []string{"mona approved " + j.head[:7], "1 regression (confirmed)", "agent of head, 0 tokens, gavel-scratch-"} {
		if !strings.Contains(report(), want) {
			t.Errorf("after the approval there is no %q\n%s", want, report())
		}
	}
	j.replace(t, withPrograms(), map[string]string{"agent/words.sh": "words='agent of base'; : again\n"})
	stranger.HeadSHA, stranger.BaseSHA = j.head, j.base
	j.forge.AddPull(stranger)
	deliver(t, base+"/hooks", hookSecret)
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if !strings.Contains(report(), "1 case would run") || strings.Contains(report(), "approved "+j.head[:7]) {
		t.Errorf("after a push\n%s", report())
	}
}
