package run_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestJudgesAreShownImages holds that a judge sees the images that the target
// saw where its configuration says that it takes them, and is else told that it
// does not.
func TestJudgesAreShownImages(t *testing.T) {
	image := schema.Block{Type: "image", Media: "image/gif", Data: []byte("GIF89a")}
	kinds := map[string]schema.Spec{
		"rubric":    evaluator.Rubrics{Criteria: []evaluator.RubricCriterion{{ID: "a", Outcome: "Names the colour"}}},
		"llm_judge": evaluator.LLMJudge{Subject: evaluator.Subject{ExpectedOutcome: "Names the colour"}},
	}
	replies := map[string]string{"rubric": `{"criteria":[{"id":"a","met":true}],"summary":""}`, "llm_judge": `{"score":1}`}
	yes, no := true, false
	for _, takes := range []*bool{&yes, &no, nil} {
		for kind, spec := range kinds {
			c := greeting("a")
			c.Drive.Messages = []schema.Message{{Role: schema.RoleUser, Content: "Which colour?", Blocks: []schema.Block{{Type: "text", Text: "Which colour?"}, image}}}
			c.Evaluators = []schema.Evaluator{{Name: kind, Weight: 1, Spec: spec}}
			s := newConversationFixture(t, []target.Reply{says("Blue.")}, replies[kind])
			s.roles[schema.Judge] = "player"
			s.player = config.Target{Name: "player", Kind: config.Model, AcceptsImages: takes}
			if out := s.hold(t, c); out.Result.Verdict != verdict.Pass {
				t.Fatalf("%s: %+v, want a pass", kind, out.Result)
			}
			asked := s.user.asked[0].Messages[0]
			if takes == &yes {
				if len(asked.Blocks) != 2 || cmp.Diff(image, asked.Blocks[1]) != "" {
					t.Fatalf("%s: the judge is sent %+v", kind, asked.Blocks)
				}
				if text := asked.Blocks[0].Text; !strings.Contains(text, "[an image, which follows all this]") || strings.Contains(text, "not shown") {
					t.Errorf("%s: next to the image stands\n%s", kind, text)
				}
			} else if asked.Blocks != nil || !strings.Contains(asked.Content, "[an image, which is not shown to you]") {
				t.Errorf("%s: the judge is sent %+v", kind, asked)
			}
			if len(s.agent.asked[0].Messages[0].Blocks) != 2 {
				t.Errorf("%s: the target lost its image", kind)
			}
		}
	}
}
