package forge

import (
	"strings"
	"testing"
)

func TestQueued(t *testing.T) {
	sha := strings.Repeat("a1", 20)
	for _, tt := range []struct {
		branch string
		want   Group
	}{
		{"gh-readonly-queue/main/pr-7-" + sha, Group{"main", 7, sha}},
		{"gh-readonly-queue/release/2.1/pr-12-" + sha, Group{"release/2.1", 12, sha}},
		{"gh-readonly-queue/main/pr-7", Group{"main", 7, ""}},
		{"gh-readonly-queue/main/pr-7-main", Group{"main", 7, ""}},
		{"gh-readonly-queue/main/pr--7", Group{"main", 0, ""}},
		{"gh-readonly-queue/main/batch", Group{"main", 0, ""}},
	} {
		if got, ok := Queued(tt.branch); !ok || got != tt.want {
			t.Errorf("%s is %+v, %v; want %+v", tt.branch, got, ok, tt.want)
		}
	}
	for _, branch := range []string{"main", "gh-readonly-queue", "gh-readonly-queue/", "gh-readonly-queue/main", "gh-readonly-queue//pr-7", "my/gh-readonly-queue/main/pr-7"} {
		if got, ok := Queued(branch); ok {
			t.Errorf("%s is a merge group: %+v", branch, got)
		}
	}
}
