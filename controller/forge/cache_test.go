package forge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge"
)

// TestCacheKeys has no job that serves base find what a head was judged under,
// and no pull request what another one was (abuse 20).
func TestCacheKeys(t *testing.T) {
	pull := func(number int, fork bool) forge.Event {
		return forge.Event{Name: forge.EventPullRequest, BaseRef: "main", HeadRef: "main", Pull: &forge.Pull{Number: number, Fork: fork}}
	}
	const base = "gavel-base-"
	main := forge.Event{Name: forge.EventPush, BaseRef: "main", HeadRef: "main"}.CacheKeys("5-1").Base
	for _, tt := range []struct {
		name  string
		event forge.Event
		want  forge.CacheKeys
	}{
		{"a pull request", pull(7, false), forge.CacheKeys{Base: main, Own: "gavel-pull-7-", Save: "gavel-pull-7-5-1", Folder: "own"}},
		{"another", pull(70, false), forge.CacheKeys{Base: main, Own: "gavel-pull-70-", Save: "gavel-pull-70-5-1", Folder: "own"}},
		{"a fork", pull(8, true), forge.CacheKeys{Base: main, Own: "gavel-pull-8-", Folder: "own"}},
		{"the base branch", forge.Event{Name: forge.EventPush, BaseRef: "main", HeadRef: "main"}, forge.CacheKeys{Base: main, Save: main + "5-1", Folder: "base"}},
		{"another branch", forge.Event{Name: forge.EventPush, BaseRef: "main", HeadRef: "topic"}, forge.CacheKeys{Base: main, Folder: "own"}},
		{"a merge queue", forge.Event{Name: forge.EventMergeGroup, BaseRef: "main", HeadRef: "main"}, forge.CacheKeys{Base: main, Folder: "own"}},
	} {
		if diff := cmp.Diff(tt.want, tt.event.CacheKeys("5-1")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, ref := range []string{"main-", "main-2", "a,b", "\nown=x", strings.Repeat("x", 600)} {
		k := forge.Event{Name: forge.EventPush, BaseRef: ref, HeadRef: ref}.CacheKeys("5-1")
		if !strings.HasPrefix(k.Base, base) || strings.HasPrefix(k.Base, main) || strings.HasPrefix(main, k.Base) || strings.Count(k.Env(), "\n") != 4 {
			t.Errorf("%.20q: %+v", ref, k)
		}
	}
	if got := pull(7, false).CacheKeys("5-1").Env(); got != "base="+main+"\nown=gavel-pull-7-\nsave=gavel-pull-7-5-1\nfolder=own\n" {
		t.Errorf("the lines are %q", got)
	}
}
