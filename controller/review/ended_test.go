package review_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/review"
)

// TestAnEndedLookKeepsTheVerdict: a server that ends within a look at a judged head leaves
// its statuses, and ends pending ones; somebody who cancels replaces them.
func TestAnEndedLookKeepsTheVerdict(t *testing.T) {
	green := []string{"verdict success", "validate success"}
	for _, tt := range []struct {
		name   string
		why    review.Cancelled
		judged bool
		begun  bool // the statuses are pending when it ends
		want   []string
	}{
		{"judged", review.Cancelled{Reason: "gavel was stopped", Resumes: true}, true, false, green},
		{"pending again", review.Cancelled{Reason: "gavel was stopped", Resumes: true}, true, true, append(slices.Clone(green), "verdict pending", "verdict error")},
		{"not judged", review.Cancelled{Reason: "gavel was stopped", Resumes: true}, false, false, []string{"verdict error", "validate error"}},
		{"cancelled", review.Cancelled{Reason: "cancelled by mona"}, true, false, append(slices.Clone(green), "verdict error", "validate error")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newTalk(t)
			d.recalls()
			if tt.judged {
				if err := d.review(1); err != nil {
					t.Fatal(err)
				}
			}
			ctx, end := context.WithCancelCause(t.Context())
			d.cfg.Turn = func(ctx context.Context, _ review.QueuedHead) (review.Turn, error) {
				if tt.begun {
					d.forge.AddStatus(forgetest.Status{SHA: d.head, Context: "gavel/verdict", State: "pending"})
				}
				end(&tt.why)
				return review.Turn{}, ctx.Err()
			}
			r, err := review.New(d.cfg).Pull(ctx, 1, "")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := r.Run(ctx); !errors.As(err, new(*review.Cancelled)) {
				t.Errorf("the error is %v, want a Cancelled", err)
			}
			if got := d.history(); !slices.Equal(got, tt.want) {
				t.Errorf("the statuses are %q, want %q", got, tt.want)
			}
		})
	}
}
