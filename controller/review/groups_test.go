package review_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
)

// groupFixture has a pull request with cases of n groups, all new.
func groupFixture(t *testing.T, statuses string, n int) *fixture {
	t.Helper()
	files := map[string][]byte{}
	for i := range n {
		folder := fmt.Sprintf("test_definitions/talk_%d/", i+1)
		files[folder+"domain.json"] = fmt.Appendf(nil, `{"id": "talk_%d", "name": "Talk", "evaluator_id": "keyword"}`, i+1)
		files[folder+"level_1/hello.json"] = fmt.Appendf(nil, `{"id": "hello_%d", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["hello"]}}`, i+1)
	}
	d := newFixture(t, gitrepo.NewCommit{Write: map[string][]byte{
		"gavel.yaml": []byte("version: 1\nstatuses: " + statuses + "\ntargets:\n  bot: {provider: mock, replies: [{reply: hello}]}\n"),
	}}, gitrepo.NewCommit{Branch: "topic", Write: files})
	d.pull(1)
	return d
}

// states are the last states of the head.
func (d *fixture) states() map[string]string {
	out := map[string]string{}
	for _, s := range d.forge.Statuses(d.head) {
		out[s.Context] = s.State + ": " + s.Description
	}
	return out
}

// TestAReviewThatBreaks says so of every group that it came to know, where they
// have statuses.
func TestAReviewThatBreaks(t *testing.T) {
	const broken = "error: not judged: gavel failed at this head; see the log of its run"
	for _, tt := range []struct {
		statuses string
		groups   []string
	}{{"groups", []string{"gavel/verdict/talk_1", "gavel/verdict/talk_2"}}, {"total", nil}} {
		d := groupFixture(t, tt.statuses, 2)
		d.cfg.Execute = func(context.Context, *controller.Prepared, controller.RunOptions) (*report.Report, error) {
			return nil, errors.New("the disk is full")
		}
		r, err := review.New(d.cfg).Pull(t.Context(), 1, "")
		if err != nil {
			t.Fatal(err)
		}
		var noted []string
		r.Planned(func(groups []string) error { noted = groups; return nil })
		if _, _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("Run = %v", err)
		}
		want := map[string]string{"gavel/validate": "success: all definitions are valid", "gavel/verdict": broken}
		for _, group := range tt.groups {
			want[group] = broken
		}
		if diff := cmp.Diff(want, d.states()); diff != "" || !slices.Equal(noted, tt.groups) {
			t.Errorf("%s: noted are %q; -want +got:\n%s", tt.statuses, noted, diff)
		}
	}
}

// TestMoreGroupsThanStatuses: the other groups are in the comment and in the log.
func TestMoreGroupsThanStatuses(t *testing.T) {
	d := groupFixture(t, "groups", 52)
	var told []string
	d.cfg.Log = func(line string) { told = append(told, line) }
	if err := d.review(1); err != nil {
		t.Fatal(err)
	}
	const words = "2 groups have none, from talk_51 on"
	if n := len(d.states()); n != 52 || !strings.Contains(strings.Join(told, "\n"), words) {
		t.Errorf("%d statuses, told %q", n, told)
	}
	if text := strings.ReplaceAll(d.forge.Comments(1)[0].Body, "&#8203;", ""); !strings.Contains(text, words) {
		t.Errorf("the comment is\n%s", text)
	}
}
