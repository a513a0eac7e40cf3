package review_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/review"
)

// TestNoCommentWhereNothingIsAffected: with `comment: affected` such a pull request has its
// statuses alone. A comment is written as soon as there is something to say, and one that is
// there is kept true.
func TestNoCommentWhereNothingIsAffected(t *testing.T) {
	hello := []byte(`{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["hello"]}}`)
	const file = "test_definitions/talk/level_1/hello.json"
	for _, tt := range []struct {
		name, setting string
		write         map[string][]byte
		comments      int
	}{
		{"a page, by default", "", map[string][]byte{"README.md": []byte("hello\n")}, 1},
		{"a page, always", "comment: always", map[string][]byte{"README.md": []byte("hello\n")}, 1},
		{"a page", "comment: affected", map[string][]byte{"README.md": []byte("hello\n")}, 0},
		{"a page, in long form", "comment: {when: affected, update: new}", map[string][]byte{"README.md": []byte("hello\n")}, 0},
		{"head does not choose", "", map[string][]byte{"gavel.yaml": []byte("version: 1\ncomment: affected\ntargets:\n  bot: {provider: mock, replies: [{reply: hello}]}\n")}, 1},
		{"a case", "comment: affected", map[string][]byte{file: []byte(strings.Replace(string(hello), `"prompt": "hello"`, `"prompt": "hello!"`, 1))}, 1},
		{"a broken case", "comment: affected", map[string][]byte{file: []byte("{")}, 1},
		{"a case that is gone", "comment: affected", map[string][]byte{file: nil}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			change := gitrepo.NewCommit{Branch: "topic", Write: tt.write}
			d := newFixture(t, gitrepo.NewCommit{Write: map[string][]byte{
				"gavel.yaml":                        []byte("version: 1\n" + tt.setting + "\ntargets:\n  bot: {provider: mock, replies: [{reply: hello}]}\n"),
				"test_definitions/talk/domain.json": []byte(`{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`), file: hello,
				"test_definitions/talk/level_1/again.json": []byte(strings.ReplaceAll(string(hello), `"hello"`, `"again"`)),
			}}, change)
			d.pull(1)
			if err := d.review(1); err != nil {
				t.Fatal(err)
			}
			if got := d.states(); !strings.HasPrefix(got["gavel/verdict"], "success") && tt.comments == 0 || len(got) != 2 {
				t.Errorf("the statuses are %v", got)
			}
			comments := d.forge.Comments(1)
			if len(comments) != tt.comments {
				t.Fatalf("%d comments, want %d: %+v", len(comments), tt.comments, comments)
			}
			if tt.comments > 0 {
				return
			}
			// One that is there, as of an earlier head, says what is true now.
			d.forge.AddComment(1, "maintainer", "<!-- gavel:report instance=default -->\n### ❌ 1 regression")
			if err := d.review(1); err != nil {
				t.Fatal(err)
			}
			if now := d.forge.Comments(1); len(now) != 1 || !strings.Contains(now[0].Body, "### ✅ No affected cases") {
				t.Errorf("the comments are %+v", now)
			}
			if stands, err := review.New(d.cfg).HasComment(t.Context(), 1); err != nil || !stands {
				t.Errorf("the comment stands: %v, %v", stands, err)
			}
		})
	}
}
