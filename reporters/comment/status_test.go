package comment_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/reporters/comment"
)

func TestSetStatus(t *testing.T) {
	pending := comment.Status{Context: comment.ContextVerdict, State: comment.StatePending, Description: "running"}
	done := comment.Status{Context: comment.ContextVerdict, State: comment.StateSuccess, Description: "no affected cases", TargetURL: "https://gavel.example/r/1"}
	other := comment.Status{Context: comment.ContextValidate, State: comment.StateSuccess}
	for _, base := range []string{"", "/api/v3", "/api/v1"} {
		t.Run(base, func(t *testing.T) {
			f := newForge(t)
			p := publisher(t, f.URL+base, forgetest.TokenActions, nil)
			for _, s := range []comment.Status{pending, pending, other, done, done, other} {
				if err := p.SetStatuses(t.Context(), sha, s); err != nil {
					t.Fatal(err)
				}
			}
			want := []forgetest.Status{
				{SHA: sha, Context: "gavel/verdict", State: "pending", Description: "running"},
				{SHA: sha, Context: "gavel/validate", State: "success"},
				{SHA: sha, Context: "gavel/verdict", State: "success", Description: "no affected cases", TargetURL: "https://gavel.example/r/1"},
			}
			if diff := cmp.Diff(want, f.Statuses(sha), cmpopts.IgnoreFields(forgetest.Status{}, "Created"), cmpopts.IgnoreUnexported(forgetest.Status{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestStatusOnALaterPage: many other contexts do not hide ours.
func TestStatusOnALaterPage(t *testing.T) {
	f := newForge(t)
	p := publisher(t, f.URL, forgetest.TokenUser, nil)
	ours := comment.Status{Context: comment.ContextVerdict, State: comment.StateSuccess}
	if err := p.SetStatuses(t.Context(), sha, ours); err != nil {
		t.Fatal(err)
	}
	for i := range 120 {
		if err := p.SetStatuses(t.Context(), sha, comment.Status{Context: fmt.Sprint("ci/", i), State: comment.StateSuccess}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.SetStatuses(t.Context(), sha, ours); err != nil {
		t.Fatal(err)
	}
	if n := len(f.Statuses(sha)); n != 121 {
		t.Errorf("%d statuses, want 121", n)
	}
}

func TestStatusAfterALostReply(t *testing.T) {
	for _, fault := range []forgetest.Fault{forgetest.LostReply("POST"), {Method: "POST", Status: 500}} {
		f := newForge(t)
		f.Inject(fault)
		s := comment.Status{Context: comment.ContextVerdict, State: comment.StateFailure}
		if err := publisher(t, f.URL, forgetest.TokenUser, nil).SetStatuses(t.Context(), sha, s); err != nil {
			t.Fatal(err)
		}
		if n := len(f.Statuses(sha)); n != 1 {
			t.Errorf("%+v: %d statuses, want 1", fault, n)
		}
	}
}

func TestStatusLimits(t *testing.T) {
	f := newForge(t)
	p := publisher(t, f.URL, forgetest.TokenUser, nil)
	s := comment.Status{Context: comment.ContextVerdict, State: comment.StateError, Description: strings.Repeat("→", 200)}
	if err := p.SetStatuses(t.Context(), sha, s); err != nil {
		t.Fatal(err)
	}
	got := f.Statuses(sha)[0].Description
	if utf8.RuneCountInString(got) != 140 || !utf8.ValidString(got) || !strings.HasSuffix(got, "→…") {
		t.Errorf("got %q", got)
	}
	for _, tt := range []struct {
		name string
		s    comment.Status
	}{
		{"no state", comment.Status{Context: "x"}},
		{"unknown state", comment.Status{Context: "x", State: "green"}},
		{"no context", comment.Status{State: comment.StateSuccess}},
		{"long context", comment.Status{Context: strings.Repeat("x", 256), State: comment.StateSuccess}},
		{"script as URL", comment.Status{Context: "x", State: comment.StateSuccess, TargetURL: "javascript:alert(1)"}},
		{"no host", comment.Status{Context: "x", State: comment.StateSuccess, TargetURL: "https:///x"}},
	} {
		if err := p.SetStatuses(t.Context(), sha, tt.s); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
	}
}
