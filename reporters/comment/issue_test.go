package comment_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/reporters/comment"
)

const driftMarker = "<!-- gavel:drift-issue -->\n"

// twinOf is an issue with the text and author of another one, and a number after all.
func twinOf(f *forgetest.Forge, number int) forgetest.Issue {
	all := f.Issues()
	i := slices.IndexFunc(all, func(i forgetest.Issue) bool { return i.Number == number })
	twin := all[i]
	twin.Number = all[len(all)-1].Number + 1
	return twin
}

// openIssues are the numbers of the open issues with our marker.
func openIssues(f *forgetest.Forge) (open []int) {
	for _, i := range f.Issues() {
		if !i.Closed && strings.HasPrefix(i.Body, driftMarker) {
			open = append(open, i.Number)
		}
	}
	return open
}

// TestDriftIssue finds the open issue, or opens one: never a second one, and never in
// somebody else's.
func TestDriftIssue(t *testing.T) {
	ours := func(number int, author string) forgetest.Issue {
		return forgetest.Issue{Number: number, Author: author, Title: "Drift", Body: driftMarker + "text"}
	}
	closed := ours(20, "maintainer")
	closed.Closed = true
	unmarked := forgetest.Issue{Number: 20, Title: "Drift", Body: "see\n" + driftMarker}
	for _, tt := range []struct {
		name   string
		issues []forgetest.Issue
		known  int
		edits  bool // and opens none
		faults []forgetest.Fault
		want   int
		open   []int
		writes []string
	}{
		{name: "none", want: 9, open: []int{9}, writes: []string{"POST"}},
		{name: "none to edit", edits: true},
		{name: "an open one", issues: []forgetest.Issue{ours(20, "maintainer")}, want: 20, open: []int{20}},
		{name: "an open one to edit", issues: []forgetest.Issue{ours(20, "maintainer")}, edits: true, want: 20, open: []int{20}},
		{name: "the known one", issues: []forgetest.Issue{ours(20, "maintainer"), ours(21, "maintainer")}, known: 21, want: 21, open: []int{20, 21}},
		{name: "the known one is closed", issues: []forgetest.Issue{closed}, known: 20, want: 21, open: []int{21}, writes: []string{"POST"}},
		{name: "the known one is gone", known: 20, want: 9, open: []int{9}, writes: []string{"POST"}},
		{name: "the known one is a pull request", known: 8, want: 9, open: []int{9}, writes: []string{"POST"}},
		{name: "the known one was moved", known: 20, faults: []forgetest.Fault{{Method: "GET", Path: "/issues/20", Status: 200, Body: `{"number": 3, "state": "open", "body": "<!-- gavel:drift-issue -->", "user": {"id": ID}}`}}, want: 9, open: []int{9}, writes: []string{"POST"}},
		{name: "somebody else's", issues: []forgetest.Issue{ours(20, "mona")}, known: 20, want: 21, open: []int{20, 21}, writes: []string{"POST"}},
		{name: "without a marker in its first line", issues: []forgetest.Issue{unmarked}, want: 21, open: []int{21}, writes: []string{"POST"}},
		{name: "twins", issues: []forgetest.Issue{ours(20, "maintainer"), ours(22, "maintainer"), ours(23, "mona")}, want: 20, open: []int{20, 23}, writes: []string{"PATCH"}},
		{name: "a lost reply", faults: []forgetest.Fault{forgetest.LostReply("POST")}, want: 9, open: []int{9}, writes: []string{"POST"}},
		{name: "a lost request", faults: []forgetest.Fault{{Method: "POST", Status: 502}}, want: 9, open: []int{9}, writes: []string{"POST", "POST"}},
	} {
		for _, base := range []string{"", "/api/v1"} {
			t.Run(tt.name+base, func(t *testing.T) {
				f := newForge(t)
				f.AddPull(forgetest.Pull{Number: 6, Author: "maintainer", Body: driftMarker})
				for _, i := range tt.issues {
					f.PutIssue(i)
				}
				for _, fault := range tt.faults {
					fault.Body = strings.ReplaceAll(fault.Body, "ID", fmt.Sprint(f.UserID("maintainer")))
					f.Inject(fault)
				}
				got, err := publisher(t, f.URL+base, forgetest.TokenUser, nil).DriftIssue(t.Context(), tt.known, !tt.edits)
				if err != nil || got != tt.want {
					t.Errorf("issue %d, %v; want %d", got, err, tt.want)
				}
				if diff := cmp.Diff(tt.open, openIssues(f)); diff != "" {
					t.Errorf("open issues -want +got:\n%s", diff)
				}
				if diff := cmp.Diff(tt.writes, methods(f)); diff != "" {
					t.Errorf("writes -want +got:\n%s", diff)
				}
			})
		}
	}
}

// TestDriftIssueOnALaterPage is found among many issues and pull requests.
func TestDriftIssueOnALaterPage(t *testing.T) {
	for _, base := range []string{"", "/api/v1"} {
		f := newForge(t)
		f.PutIssue(forgetest.Issue{Number: 20, Body: driftMarker})
		for n := range 250 {
			f.PutIssue(forgetest.Issue{Number: 100 + n, Author: "mona", Title: fmt.Sprint("problem ", n)})
		}
		if got, err := publisher(t, f.URL+base, forgetest.TokenUser, nil).DriftIssue(t.Context(), 0, true); err != nil || got != 20 {
			t.Errorf("%s: issue %d, %v; want 20", base, got, err)
		}
	}
}

// TestDriftIssueOfAJob is found by the name of the job's account, which its token cannot
// look up; without that name the account is learned from the issue that is opened.
func TestDriftIssueOfAJob(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config func(*comment.PublisherConfig)
		known  int
		writes []string
	}{
		{"with its name", asBot, 0, nil},
		{"without its name", nil, 0, []string{"POST", "PATCH"}},
		{"without its name and with the number", nil, 20, nil},
	} {
		f := newForge(t)
		f.PutIssue(forgetest.Issue{Number: 20, Author: bot, Body: driftMarker})
		got, err := publisher(t, f.URL, forgetest.TokenActions, tt.config).DriftIssue(t.Context(), tt.known, true)
		if err != nil || got != 20 {
			t.Errorf("%s: issue %d, %v; want 20", tt.name, got, err)
		}
		if diff := cmp.Diff(tt.writes, methods(f)); diff != "" {
			t.Errorf("%s: writes -want +got:\n%s", tt.name, diff)
		}
	}
}

// TestTwoDriftIssuesAtOnce leaves one open issue, which both return.
func TestTwoDriftIssuesAtOnce(t *testing.T) {
	f := newForge(t)
	f.Inject(forgetest.Fault{Method: "GET", Path: "/issues", Gather: 2})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if got, err := publisher(t, f.URL, forgetest.TokenUser, nil).DriftIssue(t.Context(), 0, true); err != nil || got != 9 {
				t.Errorf("issue %d, %v; want 9", got, err)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff([]int{9}, openIssues(f)); diff != "" {
		t.Errorf("open issues -want +got:\n%s", diff)
	}
}

// TestDriftIssueDenied says what to do.
func TestDriftIssueDenied(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault forgetest.Fault
		off   bool
		want  string
	}{
		{"no permission", forgetest.Fault{Method: "POST", Path: "/issues", Status: http.StatusForbidden, Body: `{"message": "Resource not accessible by integration"}`}, false,
			"open an issue for drift in octo/demo: 403 Resource not accessible by integration: not found, or the credential lacks the permission; gavel serve --check says what it lacks, in a workflow add\n  permissions:\n    issues: write"},
		{"turned off", forgetest.Fault{Method: "TRACE"}, true, "open an issue for drift in octo/demo: 410 Issues has been disabled in this repository: turn issues on in the settings of the repository"},
	} {
		f := newForge(t)
		f.Inject(tt.fault)
		if tt.off {
			f.TurnIssuesOff()
		}
		issues := func(cfg *comment.PublisherConfig) { cfg.Permission = "issues: write" }
		_, err := publisher(t, f.URL, forgetest.TokenUser, issues).DriftIssue(t.Context(), 0, true)
		var denied *forge.DeniedError
		if !errors.As(err, &denied) || err.Error() != tt.want || !forge.Refused(err) || forge.Transient(err) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
