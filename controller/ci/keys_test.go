package ci_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ci"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

const sha = "9f31c2e000000000000000000000000000000001"

// TestKeysOf has no job that serves base find what a head was judged under,
// and no pull request what another one was (abuse 20).
func TestKeysOf(t *testing.T) {
	f := forgetest.New(t)
	f.AddPull(forgetest.Pull{Number: 7, HeadSHA: sha, HeadRef: "main", BaseSHA: sha})
	client, err := forge.New(forge.Config{BaseURL: f.URL, Token: forgetest.TokenActions})
	if err != nil {
		t.Fatal(err)
	}
	keys := func(e forge.Event) ci.Keys {
		t.Helper()
		k, err := ci.KeysOf(t.Context(), client, e, "5-1")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	pull := func(number int) forge.Event {
		return forge.Event{Name: forge.EventPullRequest, BaseRef: "main", HeadRef: "main", Number: number}
	}
	command := func(body string) forge.Event {
		return forge.Event{Name: forge.EventIssueComment, Action: "created", Repo: forge.Repo{Owner: "octo", Name: "demo"}, Number: 7, Comment: body}
	}
	const base = "gavel-base-"
	main := keys(forge.Event{Name: forge.EventPush, BaseRef: "main", HeadRef: "main"}).Base
	for _, tt := range []struct {
		name  string
		event forge.Event
		want  ci.Keys
	}{
		{"a pull request", pull(7), ci.Keys{Base: main, Own: "gavel-pull-7-", Save: "gavel-pull-7-5-1", Folder: "own"}},
		{"another", pull(70), ci.Keys{Base: main, Own: "gavel-pull-70-", Save: "gavel-pull-70-5-1", Folder: "own"}},
		{"a command", command("/gavel run"), ci.Keys{Base: main, Own: "gavel-pull-7-", Save: "gavel-pull-7-5-1", Folder: "own"}},
		{"talk", command("nice"), ci.Keys{Folder: "own"}},
		{"the base branch", forge.Event{Name: forge.EventPush, BaseRef: "main", HeadRef: "main"}, ci.Keys{Base: main, Save: main + "5-1", Folder: "base"}},
		{"another branch", forge.Event{Name: forge.EventPush, BaseRef: "main", HeadRef: "topic"}, ci.Keys{Base: main, Folder: "own"}},
		{"a merge queue", forge.Event{Name: forge.EventMergeGroup, BaseRef: "main", HeadRef: "main"}, ci.Keys{Base: main, Folder: "own"}},
	} {
		if diff := cmp.Diff(tt.want, keys(tt.event)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, ref := range []string{"main-", "main-2", "a,b", "\nown=x", strings.Repeat("x", 600)} {
		k := keys(forge.Event{Name: forge.EventPush, BaseRef: ref, HeadRef: ref})
		if !strings.HasPrefix(k.Base, base) || strings.HasPrefix(k.Base, main) || strings.HasPrefix(main, k.Base) || strings.Count(k.Env(), "\n") != 4 {
			t.Errorf("%.20q: %+v, want keys of this base alone and 4 lines", ref, k)
		}
	}
	if got := keys(pull(7)).Env(); got != "base="+main+"\nown=gavel-pull-7-\nsave=gavel-pull-7-5-1\nfolder=own\n" {
		t.Errorf("the lines are %q", got)
	}
}
