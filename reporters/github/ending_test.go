package github_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/reporters/github"
)

// TestStatusesThatHold: what begins leaves what is terminal, and what ends adds
// one terminal status where there is none, and leaves nothing pending.
func TestStatusesThatHold(t *testing.T) {
	at := func(context string, state github.State) github.Status {
		return github.Status{Context: context, State: state, Description: "now"}
	}
	const verdict, validate = github.ContextVerdict, github.ContextValidate
	for _, tt := range []struct {
		name       string
		before     []github.Status
		begin, end []string // what is written
		held       bool
	}{
		{"nothing", nil, []string{"gavel/verdict pending", "gavel/validate pending"}, []string{"gavel/verdict error"}, false},
		{"both are pending", []github.Status{at(verdict, github.Pending), at(validate, github.Pending)}, nil, []string{"gavel/verdict error", "gavel/validate error"}, false},
		{"green", []github.Status{at(verdict, github.Success), at(validate, github.Success)}, nil, nil, true},
		{"one is terminal", []github.Status{at(verdict, github.Failure)}, []string{"gavel/validate pending"}, nil, true},
		{"the other is", []github.Status{at(validate, github.Error)}, []string{"gavel/verdict pending"}, []string{"gavel/verdict error"}, true},
	} {
		for _, base := range []string{"", "/api/v1"} {
			written := func(do func(*github.Publisher) error) (all []string) {
				f := newForge(t)
				p := publisher(t, f.URL+base, forgetest.TokenActions, nil)
				if err := p.SetStatuses(t.Context(), sha, tt.before...); err != nil {
					t.Fatal(err)
				}
				if err := do(p); err != nil {
					t.Fatal(err)
				}
				for _, s := range f.Statuses(sha)[len(tt.before):] {
					all = append(all, s.Context+" "+s.State)
				}
				return all
			}
			begun := written(func(p *github.Publisher) error {
				held, err := p.BeginStatuses(t.Context(), sha, at(verdict, github.Pending), at(validate, github.Pending))
				if held != tt.held {
					t.Errorf("%s%s: held is %v, want %v", tt.name, base, held, tt.held)
				}
				return err
			})
			ended := written(func(p *github.Publisher) error {
				return p.EndStatuses(t.Context(), sha, at(verdict, github.Error), at(validate, github.Error))
			})
			if diff := cmp.Diff([][]string{tt.begin, tt.end}, [][]string{begun, ended}); diff != "" {
				t.Errorf("%s%s: -want +got:\n%s", tt.name, base, diff)
			}
		}
	}
}
