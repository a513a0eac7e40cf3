package ledger_test

import (
	"bytes"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
)

const forgeRepo = "api.github.com/1"

func command(comment int64, verb, argument string) ledger.Command {
	return ledger.Command{
		Repository: forgeRepo, PullRequest: 7, Comment: comment, Login: "mona", Account: 42, Verb: verb, Argument: argument,
		Cases: []string{"a/b"}, Head: "9f31c2e", Written: epoch.Add(-time.Minute),
	}
}

// testCommands takes each comment once, even if others try, and keeps all that
// is known of it.
func testCommands(t *testing.T, b backend) {
	k := newFixture(t, b)
	var first atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			isFirst, err := k.TakeCommand(t.Context(), command(12, "approve", "9f31c2e"))
			if err != nil {
				t.Error(err)
			}
			if isFirst {
				first.Add(1)
			}
		})
	}
	group.Wait()
	if first.Load() != 1 {
		t.Errorf("%d took it first", first.Load())
	}
	k.now = epoch.Add(time.Hour)
	earlier := command(11, "accept", "a/b it is meant")
	earlier.Refused = "there is no case"
	changed := command(12, "approve", "another")
	elsewhere, other := command(13, "run", ""), command(12, "run", "")
	elsewhere.PullRequest, other.Repository = 8, "git.example/1"
	for _, c := range []ledger.Command{earlier, changed, elsewhere, other} {
		if isFirst, err := k.TakeCommand(t.Context(), c); err != nil || isFirst == (c.Comment == 12 && c.Repository == forgeRepo) {
			t.Errorf("%+v: first %v, error %v; want each command to be taken once", c, isFirst, err)
		}
	}
	if err := k.AnswerCommand(t.Context(), forgeRepo, 12); err != nil {
		t.Fatal(err)
	}
	got, err := k.Commands(t.Context(), forgeRepo, 7)
	if err != nil {
		t.Fatal(err)
	}
	kept := command(12, "approve", "9f31c2e")
	kept.Taken, kept.Answered, earlier.Taken = epoch, true, epoch.Add(time.Hour)
	if diff := cmp.Diff([]ledger.Command{earlier, kept}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var exported []string
	err = k.Export(t.Context(), func(line json.RawMessage) error {
		if bytes.Contains(line, []byte(`"approve"`)) {
			exported = append(exported, string(line))
		}
		return nil
	})
	if err != nil || len(exported) != 1 {
		t.Errorf("%d exported, %v", len(exported), err)
	}
}

// testHeads keeps when each was first seen, and returns those before.
func testHeads(t *testing.T, b backend) {
	k := newFixture(t, b)
	want := map[string]time.Time{}
	for i, head := range []string{"aaa", "bbb", "aaa", "ccc"} {
		k.now = epoch.Add(time.Duration(i) * time.Minute)
		got, err := k.SeeHead(t.Context(), forgeRepo, 7, head)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("before %s, -want +got:\n%s", head, diff)
		}
		if want[head].IsZero() {
			want[head] = k.now
		}
	}
	if got, err := k.FirstSeen(t.Context(), forgeRepo, 7, "aaa"); err != nil || !got.Equal(epoch) {
		t.Errorf("aaa was first seen %v, %v", got, err)
	}
	// A note that somebody else made since stays.
	for _, at := range []time.Time{k.now, epoch} {
		if err := k.ForgetHead(t.Context(), forgeRepo, 7, "aaa", at); err != nil {
			t.Fatal(err)
		}
		got, err := k.Heads(t.Context(), forgeRepo, 7)
		if _, known := got["aaa"]; err != nil || known != at.Equal(k.now) || len(got) < 2 {
			t.Errorf("after aaa of %v was forgotten: %v, %v", at, got, err)
		}
	}
	if got, err := k.FirstSeen(t.Context(), forgeRepo, 7, "aaa"); err != nil || !got.Equal(k.now) {
		t.Errorf("aaa was seen again %v, %v", got, err)
	}
	if got, err := k.SeeHead(t.Context(), forgeRepo, 8, "ddd"); err != nil || len(got) != 0 {
		t.Errorf("another pull request has %v, %v", got, err)
	}
}
