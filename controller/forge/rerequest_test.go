package forge_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// complete writes a check run that is over, or writes the one with an id again.
func complete(t *testing.T, c *forge.Client, sha, name, externalID string, id int64) int64 {
	t.Helper()
	status, conclusion := "completed", "success"
	var run *github.CheckRun
	var err error
	if id != 0 {
		_, _, err = c.REST().Checks.UpdateCheckRun(t.Context(), demo.Owner, demo.Name, id, github.UpdateCheckRunOptions{Name: name, Status: &status, Conclusion: &conclusion})
	} else {
		run, _, err = c.REST().Checks.CreateCheckRun(t.Context(), demo.Owner, demo.Name, github.CreateCheckRunOptions{
			Name: name, HeadSHA: sha, ExternalID: &externalID, Status: &status, Conclusion: &conclusion,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return run.GetID()
}

func TestRerequests(t *testing.T) {
	w := newAppWorld(t, nil)
	w.forge.AddApp(t, forgetest.App{ID: 6, Slug: "another"}) // its suite stays queued forever
	sha := fmt.Sprintf("%040x", 9)
	w.forge.AddPull(forgetest.Pull{Number: 9, HeadSHA: sha, HeadRef: "topic", BaseSHA: fmt.Sprintf("%040x", 1)})
	want := func(when string, want ...forge.Rerequest) {
		t.Helper()
		got, err := w.client.Rerequests(t.Context(), demo, sha, "gavel/report")
		if err != nil {
			t.Fatalf("%s: error %v", when, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	want("pushed")
	id := complete(t, w.client, sha, "gavel/report", "a", 0)
	complete(t, w.client, sha, "another", "b", 0)
	want("judged")
	w.forge.Rerequest(sha)
	want("asked for", forge.Rerequest{ExternalID: "a", Branch: "topic"})
	before, unchanged := len(w.forge.Requests()), w.forge.Unchanged()
	want("asked for", forge.Rerequest{ExternalID: "a", Branch: "topic"})
	if asked, free := len(w.forge.Requests())-before, w.forge.Unchanged()-unchanged; asked != 2 || free != asked {
		t.Errorf("%d requests for no change, of which %d cost nothing", asked, free)
	}
	complete(t, w.client, sha, "gavel/report", "", id)
	want("written once more", forge.Rerequest{ExternalID: "a", Branch: "topic"})
	complete(t, w.client, sha, "gavel/report", "c", 0)
	want("made again")
	for n := range 100 {
		complete(t, w.client, sha, "gavel/report", fmt.Sprint("c", n), 0)
	}
	w.forge.Rerequest(sha)
	if got, err := w.client.Rerequests(t.Context(), demo, sha, "gavel/report"); err != nil || len(got) != 102 || !slices.Contains(got, forge.Rerequest{ExternalID: "a", Branch: "topic"}) {
		t.Errorf("of 102 check runs %d are wanted, %v", len(got), err)
	}
}

// TestRerequestsOfAJob is asked with a token that does not tell its App.
func TestRerequestsOfAJob(t *testing.T) {
	w := newAppWorld(t, nil) // an App that writes check runs of the same name
	fake := new(forgetest.Clock)
	job, err := forge.New(forge.Config{BaseURL: w.forge.URL, Token: forgetest.TokenActions, Clock: fake})
	if err != nil {
		t.Fatal(err)
	}
	sha := fmt.Sprintf("%040x", 9)
	w.forge.AddPull(forgetest.Pull{Number: 9, HeadSHA: sha, HeadRepo: "stranger/demo", HeadRef: "topic"})
	want := func(when string, want ...forge.Rerequest) {
		t.Helper()
		if got, err := job.Rerequests(t.Context(), demo, sha, "gavel/report"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want the wishes of now", when, got, err)
		}
	}
	complete(t, job, sha, "gavel/report", "a", 0)
	want("judged")
	w.forge.Rerequest(sha)
	want("asked for", forge.Rerequest{ExternalID: "a"})
	complete(t, w.client, sha, "gavel/report", "b", 0)
	want("asked for, in addition to a run of another App", forge.Rerequest{ExternalID: "a"})
	options := github.CreateCheckRunOptions{Name: "gavel/report", HeadSHA: sha, Status: github.String("in_progress")}
	if _, _, err := job.REST().Checks.CreateCheckRun(t.Context(), demo.Owner, demo.Name, options); err != nil {
		t.Fatal(err)
	}
	want("in progress")
	w.forge.Rerequest(sha)
	want("asked for while it is in progress", forge.Rerequest{ExternalID: "b"}, forge.Rerequest{ExternalID: "a"})
}

func TestRerequestsRefused(t *testing.T) {
	sha := fmt.Sprintf("%040x", 9)
	for _, tt := range []struct {
		name  string
		fault forgetest.Fault
	}{
		{"403", forgetest.Fault{Status: http.StatusForbidden}}, {"404", forgetest.Fault{Status: http.StatusNotFound}}, {"500", forgetest.Fault{Status: http.StatusInternalServerError, Times: -1}},
		{"odd", forgetest.Fault{Status: http.StatusOK, Body: `{"check_suites": [{"status": 7}]}`}}, {"nothing", forgetest.Fault{Status: http.StatusOK, Body: `null`}},
		{"no such commit", forgetest.Fault{Status: http.StatusUnprocessableEntity, Body: `{"message": "No commit found for SHA"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newAppWorld(t, nil)
			tt.fault.Path = "/check-suites"
			w.forge.Inject(tt.fault)
			got, err := w.client.Rerequests(t.Context(), demo, sha, "gavel/report")
			denied, refused := errors.AsType[*forge.DeniedError](err)
			if got != nil || (err == nil) != strings.HasPrefix(tt.name, "no") || refused != (tt.fault.Status == http.StatusForbidden || tt.fault.Status == http.StatusNotFound) {
				t.Errorf("got %v, %v; want no wishes, an error only of a fault, and a refusal only for 403 and 404", got, err)
			}
			if refused && denied.Permission != "checks: read" {
				t.Errorf("it takes %s", denied.Permission)
			}
		})
	}
	if _, err := newAppWorld(t, nil).client.Rerequests(t.Context(), demo, "main", "gavel/report"); err == nil {
		t.Error("a branch was taken for a commit")
	}
}
