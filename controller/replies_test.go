package controller_test

import (
	"testing"
)

// TestTheReplyOfBaseIsKnown holds that a report shows what base said in a case that
// got worse, whether base was judged before or in the same run.
func TestTheReplyOfBaseIsKnown(t *testing.T) {
	head, changed := clone(files(), map[string]string{
		"test_definitions/math/level_1/sum.json": `{"id": "sum", "name": "Sum", "prompt": "What is 1 + 1?", "expected": {"answer": 2}}`,
	})
	for _, tt := range []struct {
		name   string
		before bool
	}{{"judged before", true}, {"judged in the same run", false}} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			if tt.before {
				b.run(t, nil, files(), nil)
			}
			_, report := b.run(t, files(), head, changed)
			shown := 0
			for _, row := range report.Cases {
				if row.Detail == nil {
					continue
				}
				shown++
				if said := row.Detail.BaseReply; said == nil || said.Content != "2" {
					t.Errorf("%s: the reply of base is %+v", row.Key, said)
				}
			}
			if shown != 1 {
				t.Errorf("%d cases are shown", shown)
			}
		})
	}
}
