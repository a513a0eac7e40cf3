package forge

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	sha1 = "9f31c2e000000000000000000000000000000001"
	sha2 = "4b07d1a000000000000000000000000000000002"
	none = "0000000000000000000000000000000000000000"
)

// pullEvent is a payload with the given head.repo and user.
func pullEvent(headRepo, user string) string {
	return fmt.Sprintf(`{"action":"synchronize","number":7,
		"repository":{"id":1,"full_name":"octo/demo","private":true},
		"pull_request":{"number":7,"state":"open","draft":true,"user":%s,"created_at":12,
			"head":{"sha":"%s","ref":"feature/x","repo":%s},
			"base":{"sha":"%s","ref":"main","repo":{"id":1,"full_name":"octo/demo","private":true,"fork":true}}}}`,
		user, sha1, headRepo, sha2)
}

const (
	ownRepo   = `{"id":1,"full_name":"octo/demo","private":true,"fork":true}`
	otherRepo = `{"id":2,"full_name":"stranger/demo"}`
	mona      = `{"login":"mona"}`
	group     = `{"action":"checks_requested","repository":{"full_name":"octo/demo"},"merge_group":{
		"head_sha":"` + sha1 + `","head_ref":"refs/heads/gh-readonly-queue/main/pr-7","base_sha":"` + sha2 + `","base_ref":"refs/heads/main"}}`
)

func push(ref, before, after string) string {
	return fmt.Sprintf(`{"ref":%q,"before":%q,"after":%q,"repository":{"full_name":"octo/demo","default_branch":"main","owner":{"name":"octo"}}}`, ref, before, after)
}

func written(issue, comment string) string {
	return fmt.Sprintf(`{"action":"created","repository":{"full_name":"octo/demo"},"issue":%s,"comment":%s}`, issue, comment)
}

func writeEvent(t testing.TB, payload string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(path, []byte(payload), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadEvent(t *testing.T) {
	demo := Repo{"octo", "demo"}
	pull := Pull{
		Number: 7, Repo: demo, RepoID: 1, HeadSHA: sha1, HeadRef: "feature/x", HeadRepo: demo, BaseSHA: sha2, BaseRef: "main",
		Author: "mona", Open: true, Draft: true, Private: true,
	}
	fork, gone, renamed := pull, pull, pull
	fork.Fork, fork.HeadRepo = true, Repo{"stranger", "demo"}
	gone.Fork, gone.HeadRepo, gone.Author = true, Repo{}, ""
	renamed.HeadRepo = Repo{"octo", "older-name"}
	pullOf := func(name string, p Pull) Event {
		return Event{Name: name, Action: "synchronize", Repo: demo, HeadSHA: sha1, HeadRef: "feature/x", BaseSHA: sha2, BaseRef: "main", Number: p.Number, Pull: &p}
	}
	pushed := Event{Name: EventPush, Repo: demo, HeadSHA: sha1, BaseSHA: sha2, HeadRef: "main", BaseRef: "main", DefaultBranch: "main"}
	first, tag := pushed, pushed
	first.BaseSHA = ""
	tag.HeadRef = "refs/tags/v1"
	tests := []struct {
		name, event, payload string
		want                 Event
	}{
		{"same repository", EventPullRequest, pullEvent(ownRepo, mona), pullOf(EventPullRequest, pull)},
		{"target", eventPullRequestTarget, pullEvent(ownRepo, mona), pullOf(eventPullRequestTarget, pull)},
		{"gitea's action", EventPullRequest, strings.Replace(pullEvent(ownRepo, mona), "synchronize", "synchronized", 1), pullOf(EventPullRequest, pull)},
		{"fork", EventPullRequest, pullEvent(otherRepo, mona), pullOf(EventPullRequest, fork)},
		{"deleted fork and author", EventPullRequest, pullEvent("null", "null"), pullOf(EventPullRequest, gone)},
		{"renamed, same id", EventPullRequest, pullEvent(`{"id":1,"full_name":"octo/older-name"}`, mona), pullOf(EventPullRequest, renamed)},
		{"merge group", EventMergeGroup, group, Event{
			Name: EventMergeGroup, Action: "checks_requested", Repo: demo, HeadSHA: sha1, BaseSHA: sha2,
			HeadRef: "gh-readonly-queue/main/pr-7", BaseRef: "main",
		}},
		{"comment", EventIssueComment, written(`{"number":7,"pull_request":{"url":"x"}}`, `{"body":"/gavel run\n"}`), Event{
			Name: EventIssueComment, Action: "created", Repo: demo, Number: 7, Comment: "/gavel run\n",
		}},
		{"comment on an issue", EventIssueComment, written(`{"number":8,"pull_request":null}`, `{"body":"\u0000$(x)"}`), Event{
			Name: EventIssueComment, Action: "created", Repo: demo, Comment: "\x00$(x)",
		}},
		{"push", EventPush, push("refs/heads/main", sha2, sha1), pushed},
		{"push of a new branch", EventPush, push("refs/heads/main", none, sha1), first},
		{"push of a tag", EventPush, push("refs/tags/v1", sha2, sha1), tag},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadEvent(writeEvent(t, tt.payload), tt.event)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReadEventRefuses(t *testing.T) {
	own := pullEvent(ownRepo, mona)
	tests := []struct{ name, event, payload, want string }{
		{"unknown name", "pull_requst", own, "did you mean `pull_request`?"},
		{"event of another kind", "workflow_dispatch", own, "name the pull request instead"},
		{"empty", EventPush, "", "unexpected end"},
		{"null", EventPullRequest, "null", "repository is missing"},
		{"array", EventPullRequest, "[]", "cannot unmarshal"},
		{"string for a number", EventPullRequest, strings.ReplaceAll(own, `"number":7`, `"number":"7"`), "cannot unmarshal"},
		{"no pull request", EventPullRequest, group, "pull_request is missing"},
		{"no merge group", EventMergeGroup, own, "merge_group is missing"},
		{"null base", EventPullRequest, strings.Replace(own, `"base":{`, `"base":null,"other":{`, 1), "pull_request.base.repo is missing"},
		{"null head", EventPullRequest, strings.Replace(own, `"head":{`, `"head":null,"other":{`, 1), "pull_request.head.sha"},
		{"negative number", EventPullRequest, strings.ReplaceAll(own, `"number":7`, `"number":-7`), "number is missing"},
		{"short commit", EventPullRequest, strings.Replace(own, sha1, "9f31c2e", 1), "pull_request.head.sha"},
		{"ref as an option", EventPullRequest, strings.Replace(own, "feature/x", "--upload-pack=x", 1), "pull_request.head.ref"},
		{"ref with a newline", EventPullRequest, strings.Replace(own, "feature/x", `a\nb`, 1), "pull_request.head.ref"},
		{"ref that climbs", EventMergeGroup, strings.Replace(group, "refs/heads/main", "refs/heads/../x", 1), "merge_group.base_ref"},
		{"ref as an option behind refs/heads", EventPush, push("refs/heads/-x", sha2, sha1), "ref:"},
		{"repository that climbs", EventPullRequest, strings.Replace(own, "octo/demo", "../..", 1), "is not a repository"},
		{"head repository that climbs", EventPullRequest, pullEvent(`{"id":2,"full_name":"a/b/c"}`, mona), "is not a repository"},
		{"another repository's", EventPullRequest, strings.Replace(own, "octo/demo", "octo/other", 1), "the event of octo/other"},
		{"comment without a text", EventIssueComment, written(`{"number":7,"pull_request":{}}`, "null"), "comment is missing"},
		{"comment on nothing", EventIssueComment, written("null", `{"body":"x"}`), "issue.number is missing"},
		{"comment on a negative issue", EventIssueComment, written(`{"number":-7,"pull_request":{}}`, `{"body":"x"}`), "issue.number is missing"},
		{"comment in a repository that climbs", EventIssueComment, strings.Replace(written(`{"number":7}`, `{"body":"x"}`), "octo/demo", "../..", 1), "is not a repository"},
		{"deleted branch", EventPush, push("refs/heads/main", sha2, none), "it has no commit to judge"},
		{"too large", EventPush, strings.Repeat(" ", maxEvent+1), "larger than 25 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadEvent(writeEvent(t, tt.payload), tt.event)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %+v, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
	if _, err := ReadEvent(filepath.Join(t.TempDir(), "absent"), EventPush); err == nil {
		t.Error("an absent file is not an event")
	}
}

func FuzzReadEvent(f *testing.F) {
	names := jobEvents
	for _, payload := range []string{
		pullEvent(ownRepo, mona), pullEvent("null", "null"), pullEvent(otherRepo, mona), group, written(`{"number":7,"pull_request":{}}`, `{"body":"/gavel run"}`),
		push("refs/heads/main", none, sha1), push("refs/tags/v1", sha2, none),
		`null`, `{"pull_request":null,"repository":null}`, strings.Repeat("[", 20000),
	} {
		for i := range names {
			f.Add(uint8(i), []byte(payload))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, payload []byte) {
		e, err := ReadEvent(writeEvent(t, string(payload)), names[int(which)%len(names)])
		if err != nil {
			return
		}
		if e.Name != EventIssueComment && !shaPattern.MatchString(e.HeadSHA) || strings.HasPrefix(e.HeadRef, "-") || strings.HasPrefix(e.BaseRef, "-") {
			t.Errorf("unsafe: %+v", e)
		}
		if err := e.Repo.check(); err != nil {
			t.Error(err)
		}
		isPull := e.Name == EventPullRequest || e.Name == eventPullRequestTarget
		if isPull != (e.Pull != nil) {
			t.Errorf("%s with pull request %+v", e.Name, e.Pull)
		}
		if e.Pull != nil && e.Pull.HeadRepo == (Repo{}) && !e.Pull.Fork {
			t.Errorf("a head from nowhere is taken for our own: %+v", e.Pull)
		}
	})
}

func TestTokenNeverShows(t *testing.T) {
	const secret = "hunter22hunter22"
	cfg := Config{Token: secret}
	data, err := json.Marshal(map[string]any{"token": cfg.Token})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(cfg.Token), fmt.Sprintf("%s %q %x %#v %d", cfg.Token, cfg.Token, cfg.Token, cfg.Token, cfg.Token),
		fmt.Sprintf("%+v", cfg), cfg.Token.String(), string(data),
	} {
		if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) || !strings.Contains(text, redacted) {
			t.Errorf("got %q", text)
		}
	}
}

func TestTrusted(t *testing.T) {
	own := &Pull{Number: 7, Repo: Repo{"octo", "demo"}, HeadRepo: Repo{"octo", "demo"}, Author: "mona"}
	fork := &Pull{Number: 7, Repo: own.Repo, HeadRepo: Repo{"stranger", "demo"}, Author: "mona", Fork: true}
	gone := &Pull{Number: 7, Repo: own.Repo, Author: "mona", Fork: true}
	ghost := &Pull{Number: 7, Repo: own.Repo, HeadRepo: own.Repo}
	for _, event := range []string{EventPullRequest, eventPullRequestTarget, EventIssueComment, ""} {
		for _, tt := range []struct {
			name       string
			pull       *Pull
			permission Permission
			reason     string
		}{
			{"writer", own, PermissionWrite, ""},
			{"maintainer", own, PermissionMaintain, ""},
			{"admin", own, PermissionAdmin, ""},
			{"owner", own, PermissionOwner, ""},
			{"reader", own, PermissionRead, "mona has no write permission"},
			{"bot", own, PermissionNone, "mona has no write permission"},
			{"a word nobody knows", own, "superuser", "mona has no write permission"},
			{"unknown", own, PermissionUnknown, "what mona may do here could not be read"},
			{"deleted author", ghost, PermissionAdmin, "the author's account was deleted"},
			{"fork of a writer", fork, PermissionWrite, "the head comes from the fork stranger/demo"},
			{"fork of a stranger", fork, PermissionRead, "the head comes from the fork stranger/demo"},
			{"deleted fork", gone, PermissionAdmin, "the head's repository was deleted"},
			{"no pull request", nil, PermissionAdmin, "no pull request is known"},
		} {
			t.Run(event+"/"+tt.name, func(t *testing.T) {
				want := Trust{Run: tt.reason == "", Reason: tt.reason}
				if got := Trusted(event, tt.pull, tt.permission); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
	for _, tt := range []struct {
		event string
		run   bool
	}{{EventPush, true}, {EventMergeGroup, true}, {"issue_comment", false}, {"workflow_run", false}} {
		if got := Trusted(tt.event, nil, PermissionUnknown); got.Run != tt.run || (got.Reason == "") != tt.run {
			t.Errorf("%s: got %+v", tt.event, got)
		}
	}
}
