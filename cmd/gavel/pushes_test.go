package main

import (
	"net/http/httptest"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestPushesShareAlpha: with `over: pull_request` a later push needs a clearer difference.
// A case that passed at base and always fails at head is called once the p-value of its
// reruns, 0.0146 of four, 0.0037 of five and 0.00082 of six, is at most the
// share of the push: 4/5 of alpha, times 6/π² = 0.61 at the first push, a quarter of that
// at the second and a ninth at the third. Measurements of earlier pushes count.
func TestPushesShareAlpha(t *testing.T) {
	for _, tt := range []struct {
		name, over string
		// calls are the calls of the case at head after each push, its first one included.
		calls [3]int
	}{
		{"each push has alpha", "push", [3]int{5, 5, 5}},                        // 0.016
		{"the pushes share alpha", "pull_request", [3]int{1 + 5, 1 + 6, 1 + 6}}, // 0.0097, 0.0024, 0.0011
	} {
		for _, d := range doors[:2] {
			t.Run(tt.name+" "+d.name, func(t *testing.T) {
				m := &spokenModels{asked: map[string]int{}, times: map[string]int{}}
				server := httptest.NewServer(m)
				defer server.Close()
				j := d.open(t, fourCases(server.URL, "fail_on: regression}\nnoise: {alpha: 0.02, over: "+tt.over, [2]string{"say yes", "please say no"}))
				for push, want := range tt.calls {
					d.judge(t, j)
					if got := m.timesOf("botplease say no\n"); got != want {
						t.Errorf("after push %d head was asked %d times, want %d", push+1, got, want)
					}
					if heading, _ := j.said(t); heading != "### ❌ 1 regression (confirmed)" {
						t.Errorf("push %d: %s", push+1, heading)
					}
					j.git(t, "commit", "-q", "--allow-empty", "-m", "the same again")
					j.head = gittest.Resolve(t, j.folder, "HEAD")
					j.git(t, "update-ref", "refs/pull/1/head", j.head)
					j.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: j.head, BaseSHA: j.base, HeadRef: "topic"})
				}
			})
		}
	}
}

// timesOf is how often a model was sent a text, by its name and the text.
func (m *spokenModels) timesOf(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.times[key]
}
