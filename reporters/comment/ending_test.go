package comment_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// TestStatusesThatHold: a beginning leaves terminal statuses unchanged, and an end adds
// one terminal status where there is none, and leaves nothing pending.
func TestStatusesThatHold(t *testing.T) {
	at := func(context string, state comment.State) comment.Status {
		return comment.Status{Context: context, State: state, Description: "now"}
	}
	const verdict, validate = comment.ContextVerdict, comment.ContextValidate
	for _, tt := range []struct {
		name       string
		before     []comment.Status
		begin, end []string // the written ones
		held       bool
	}{
		{"nothing", nil, []string{"gavel/verdict pending", "gavel/validate pending"}, []string{"gavel/verdict error"}, false},
		{"both are pending", []comment.Status{at(verdict, comment.StatePending), at(validate, comment.StatePending)}, nil, []string{"gavel/verdict error", "gavel/validate error"}, false},
		{"green", []comment.Status{at(verdict, comment.StateSuccess), at(validate, comment.StateSuccess)}, nil, nil, true},
		{"one is terminal", []comment.Status{at(verdict, comment.StateFailure)}, []string{"gavel/validate pending"}, nil, true},
		{"the other is", []comment.Status{at(validate, comment.StateError)}, []string{"gavel/verdict pending"}, []string{"gavel/verdict error"}, true},
	} {
		for _, base := range []string{"", "/api/v1"} {
			written := func(do func(*comment.Publisher) error) (all []string) {
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
			begun := written(func(p *comment.Publisher) error {
				held, err := p.BeginStatuses(t.Context(), sha, at(verdict, comment.StatePending), at(validate, comment.StatePending))
				if held != tt.held {
					t.Errorf("%s%s: held is %v, want %v", tt.name, base, held, tt.held)
				}
				return err
			})
			ended := written(func(p *comment.Publisher) error {
				return p.EndStatuses(t.Context(), sha, at(verdict, comment.StateError), at(validate, comment.StateError))
			})
			if diff := cmp.Diff([][]string{tt.begin, tt.end}, [][]string{begun, ended}); diff != "" {
				t.Errorf("%s%s: -want +got:\n%s", tt.name, base, diff)
			}
		}
	}
}
