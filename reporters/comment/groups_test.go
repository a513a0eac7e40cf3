package comment_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// TestGroupContext: branch protection names contexts, so that none of these may
// ever change.
func TestGroupContext(t *testing.T) {
	long := strings.Repeat("returns-and-", 30)
	contexts := map[string]string{}
	for _, tt := range []struct{ name, want string }{
		{"support", "gavel/verdict/support"},
		{"Support", "gavel/verdict/Support"},
		{"talk/level 1", "gavel/verdict/talk/level 1"},
		{"a,b=c@d#1 <i>`x`</i>", "gavel/verdict/a,b=c@d#1 <i>`x`</i>"},
		{long[:241], "gavel/verdict/" + long[:241]},
		{long[:242], "gavel/verdict/" + long[:224] + "~30000fb4f341ddaf"},
		{strings.Repeat("é", 200), "gavel/verdict/" + strings.Repeat("é", 112) + "~df20b2aa6262e99e"},
		{"", "gavel/verdict/~e3b0c44298fc1c14"},
		{" support", "gavel/verdict/support~32a88b3876e84034"},
		{"sup  port", "gavel/verdict/sup port~"},
		{"support\n", "gavel/verdict/support~"},
		{"sup\x1b[31mport", "gavel/verdict/sup␛[31mport~"},
		{"sup\u202eport", "gavel/verdict/support~"},
		{"sup\u200bport", "gavel/verdict/support~"},
		{"\u0455upport", "gavel/verdict/\u0455upport~"},
		{"suppört", "gavel/verdict/suppört~"},
		{"SUPPÖRT", "gavel/verdict/SUPPÖRT~"},
		{"bad \xff", "gavel/verdict/bad \uFFFD~"},
		{"support~32a88b3876e84034", "gavel/verdict/support~32a88b3876e84034~"},
		{"support~32A88B3876E84034", "gavel/verdict/support~32A88B3876E84034~"},
	} {
		got := comment.GroupContext(tt.name)
		if got != tt.want && !(strings.HasSuffix(tt.want, "~") && strings.HasPrefix(got, tt.want) && regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(got[len(tt.want):])) {
			t.Errorf("%q has the context\n%q, want\n%q", tt.name, got, tt.want)
		}
		if len(got) > 255 || !utf8.ValidString(got) {
			t.Errorf("%q has a context of %d bytes", tt.name, len(got))
		}
		same := strings.ToLower(got)
		if other, ok := contexts[same]; ok && !strings.EqualFold(other, tt.name) {
			t.Errorf("%q and %q share the context %q", tt.name, other, got)
		}
		contexts[same] = tt.name
	}
	if len(contexts) != 17 { // two and two and two differ in capitals alone
		t.Errorf("%d contexts", len(contexts))
	}
}

// TestGroupStatuses says a report in a status for each group.
func TestGroupStatuses(t *testing.T) {
	hostile := strings.Repeat("x", 300) + "\u202e"
	s := reporttest.New()
	s.Same("math/1", 2, 1)
	s.Add("support/1/a", reporttest.Pass(1), reporttest.Fail(0.25, ""), reporttest.Definition())
	s.Same("support/1", 1, 1)
	s.Add("talk/1/a", reporttest.Fail(0, ""), reporttest.Pass(1), reporttest.Definition())
	s.Add("waits/1/a", reporttest.Pass(1), &reporttest.Side{}, reporttest.Definition())
	s.Add(hostile+"/1/a", reporttest.Pass(1), reporttest.Fail(0, ""), reporttest.Definition())
	s.Add("broken/1/a", reporttest.Pass(1), nil, reporttest.Definition()).Action = "skip"
	s.In.Problems = append(s.In.Problems, problem(reporttest.File("broken/1/a"), "error"))
	s.In.GroupGates = true
	report := report.Compare(s.In)
	want := []comment.Status{
		{Context: "gavel/verdict/broken", State: "failure", Description: "1 invalid definition · no regressions"},
		{Context: "gavel/verdict/math", State: "success", Description: "no affected cases · score 1.000, unchanged"},
		{Context: "gavel/verdict/support", State: "failure", Description: "1 regression · 1 case regressed (fail_on: regression) · 1 of 2 cases rerun · score 1.000 → 0.625"},
		{Context: "gavel/verdict/talk", State: "success", Description: "1 improvement · 1 of 1 case rerun · score 0.000 → 1.000"},
		{Context: "gavel/verdict/waits", State: "error", Description: "1 case was not run · 0 of 1 case rerun, 1 not run"},
		{Context: comment.GroupContext(hostile), State: "failure", Description: "1 regression · 1 case regressed (fail_on: regression) · 1 of 1 case rerun · score 1.000 → 0.000"},
	}
	if diff := cmp.Diff(want, comment.GroupStatuses(report)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	report.GroupGates = nil
	if got := comment.GroupStatuses(report); got != nil {
		t.Errorf("nobody asked for %v", got)
	}
}

// TestStatusesAtOnce are written in their order after one request for the present ones,
// and one that is refused keeps no other from being written.
func TestStatusesAtOnce(t *testing.T) {
	f := newForge(t)
	var all []comment.Status
	for i := range 4 {
		all = append(all, comment.Status{Context: fmt.Sprint("gavel/verdict/", i), State: comment.StateSuccess})
	}
	p := publisher(t, f.URL, forgetest.TokenUser, nil)
	if err := p.SetStatuses(t.Context(), sha, all[1]); err != nil {
		t.Fatal(err)
	}
	before := len(f.Requests())
	all[2].State = "green"
	if err := p.SetStatuses(t.Context(), sha, all...); err == nil || !strings.Contains(err.Error(), `gavel/verdict/2 of octo/demo`) {
		t.Errorf("a state that no forge knows: %v", err)
	}
	var got []string
	for _, s := range f.Statuses(sha) {
		got = append(got, s.Context)
	}
	if diff := cmp.Diff([]string{"gavel/verdict/1", "gavel/verdict/0", "gavel/verdict/3"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := len(f.Requests()) - before; n != 3 {
		t.Errorf("%d requests, want a look and two writes", n)
	}
	for _, tt := range []struct{ status, want int }{{422, 3}, {403, 1}} { // one status is refused, or the credential
		f.Inject(forgetest.Fault{Method: "POST", Status: tt.status})
		before := len(f.Writes())
		for i := range all {
			all[i].State, all[i].Description = comment.StateError, fmt.Sprint(tt.status)
		}
		err := p.SetStatuses(t.Context(), sha, all[:3]...)
		f.Heal()
		if n := len(f.Writes()) - before; err == nil || n != tt.want {
			t.Errorf("%d: %d writes, want %d: %v", tt.status, n, tt.want, err)
		}
	}
}
