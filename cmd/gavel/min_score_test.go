package main

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

// fourCases is a repository with four cases, one of which fails and one of which a pull
// request changes, under a gate. say are the prompts of the changed one at base and head.
func fourCases(models, gate string, say [2]string) changedRepository {
	keyword := func(id, prompt string) string {
		return fmt.Sprintf(`{"id": %q, "name": %[1]q, "prompt": %q, "expected": {"keywords": ["yes"]}}`, id, prompt)
	}
	const folder = "test_definitions/shop/level_1/"
	return changedRepository{
		base: map[string]string{
			"gavel.yaml": fmt.Sprintf(`version: 1
default_target: bot
gate: {%s}
targets:
  bot: {provider: openai, model: bot, base_url: %s/v1, api_key_env: MODEL_KEY}
`, gate, models),
			"test_definitions/shop/domain.json": `{"id": "shop", "name": "Shop", "evaluator_id": "keyword"}`,
			folder + "changed.json":             keyword("changed", say[0]),
			folder + "failing.json":             keyword("failing", "always say no"),
			folder + "third.json":               keyword("third", "say yes, the third time"),
			folder + "fourth.json":              keyword("fourth", "say yes, the fourth time"),
		},
		head: map[string]string{folder + "changed.json": keyword("changed", say[1])},
	}
}

// A judgedJob is a job with what its server is started with.
type judgedJob struct {
	*job
	file string
}

// A door has a pull request judged.
type door struct {
	name  string
	judge func(t *testing.T, j *judgedJob)
}

func byCI(t *testing.T, j *judgedJob) {
	if j.checkout == "" {
		j.checkout = filepath.Join(t.TempDir(), "checkout")
		j.git(t, "clone", "-q", j.folder, j.checkout)
	}
	if stdout, stderr, code := j.run(t); code != exitPass && code != exitGate {
		t.Fatalf("gavel pr ends with %d:\n%s%s", code, stdout, stderr)
	}
}

// byServer runs a server until it has judged the pull request, in its own process or by
// two workers that come when cases wait. The first time it judges the branch, too.
func byServer(flags []string, workers int) func(*testing.T, *judgedJob) {
	return func(t *testing.T, j *judgedJob) {
		isFirst := j.file == ""
		if isFirst {
			j.file = operatorsFile(t, j.job, "")
		}
		served, end := j.starting(t, j.file, flags...)
		ends := []func() int{end}
		if workers > 0 {
			served.await(t, "no gavel worker is running")
		}
		for range workers {
			_, end := start(t, j.env, "worker", "--config", j.file)
			ends = append(ends, end)
		}
		pull, branch := false, !isFirst
		for !pull || !branch { // in whatever order
			line := served.await(t, `,"duration"`)
			pull = pull || strings.Contains(line, `"repo":"octo/demo#1"`)
			branch = branch || strings.Contains(line, `"branch":"main"`)
		}
		for _, end := range ends {
			if code := end(); code != exitPass {
				t.Errorf("it ends with %d", code)
			}
		}
	}
}

var doors = []door{
	{"pr", byCI},
	{"serve", byServer(nil, 0)},
	{"serve --judge on PostgreSQL", byServer([]string{"--judge"}, 0)},
	{"workers", byServer(nil, 2)},
}

// open is a job for a door, whose ledger is where the door's is.
func (d door) open(t *testing.T, files changedRepository) *judgedJob {
	j := &judgedJob{job: newOrigin(t, files.base, files.head)}
	j.env["MODEL_KEY"] = "a-key-of-the-models"
	if d.name != "pr" && d.name != "serve" {
		j.env[databaseVariable] = postgrestest.URL(t)
	}
	return j
}

// TestMinScoreThroughEveryDoor: the score covers all four cases, .75, whatever was
// judged before, and each case is called once: the changed one at both sides.
func TestMinScoreThroughEveryDoor(t *testing.T) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			m := &spokenModels{asked: map[string]int{}, times: map[string]int{}}
			server := httptest.NewServer(m)
			defer server.Close()
			j := d.open(t, fourCases(server.URL, "fail_on: threshold, min_score: 0.8", [2]string{"say yes", "say yes, changed"}))
			d.judge(t, j)
			const want = "failure: no regressions · score 0.750 is below min_score 0.8"
			if got := j.states()["gavel/verdict"]; !strings.HasPrefix(got, want) {
				t.Errorf("the status is %q, want %q", got, want)
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			if n := m.asked["bot"]; n != 5 {
				t.Errorf("the model is asked %d times, want 5: %v", n, m.times)
			}
		})
	}
}

// TestAStrangersScoreIsNotAsked: a fork that changes no case is not red for what the
// branch fails, judged before or not.
func TestAStrangersScoreIsNotAsked(t *testing.T) {
	for _, d := range doors[:2] {
		t.Run(d.name, func(t *testing.T) {
			m := &spokenModels{asked: map[string]int{}, times: map[string]int{}}
			server := httptest.NewServer(m)
			defer server.Close()
			files := fourCases(server.URL, "fail_on: threshold, min_score: 0.8", [2]string{"say yes", "say yes"})
			files.head = map[string]string{"README.md": "hello"}
			j := d.open(t, files)
			j.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: j.head, BaseSHA: j.base, HeadRef: "topic", Author: "stranger", HeadRepo: "stranger/demo"})
			d.judge(t, j)
			const said = "min_score 0.8 is not asked, since nothing is run"
			if got := j.states()["gavel/verdict"]; !strings.HasPrefix(got, "success: no affected cases") || !strings.HasSuffix(got, " · "+said) {
				t.Errorf("the status is %q, want that no case is affected and that %s", got, said)
			}
			comments := j.forge.Comments(1)
			if len(comments) != 1 || !strings.Contains(comments[0].Body, said) {
				t.Errorf("the comments are %+v", comments)
			}
		})
	}
}

// said is the first text that people read about a pull request: the heading of the
// comment, and the status without the number of cases of this run.
func (j *job) said(t *testing.T) (heading, status string) {
	t.Helper()
	comments := j.forge.Comments(1)
	if len(comments) != 1 {
		t.Fatalf("there are %d comments", len(comments))
	}
	for line := range strings.Lines(comments[0].Body) {
		if strings.HasPrefix(line, "### ") {
			heading = strings.TrimSpace(line)
			break
		}
	}
	var parts []string
	for part := range strings.SplitSeq(j.states()["gavel/verdict"], " · ") {
		if !strings.HasSuffix(part, "rerun") {
			parts = append(parts, part)
		}
	}
	return heading, strings.Join(parts, " · ")
}

// TestJudgedTwiceSaysTheSame: a pull request whose verdicts come from the ledger affects
// the same cases as when they were paid for.
func TestJudgedTwiceSaysTheSame(t *testing.T) {
	for _, tt := range []struct {
		name, gate      string
		say             [2]string
		heading, status string
	}{
		{"green", "fail_on: regression", [2]string{"say yes", "say yes, changed"}, "### ✅ No regressions", "success: no regressions · score 1.000, unchanged"},
		{"failing", "fail_on: regression", [2]string{"say yes", "please say no"},
			"### ❌ 1 regression (confirmed)", "failure: 1 regression · 1 case regressed (fail_on: regression) · score 1.000 → 0.000"},
		{"green by all", "min_score: 0.7, unsure: notice", [2]string{"say yes", "say yes, changed"},
			"### ✅ No regressions", "success: no regressions · score 0.750, unchanged"},
		{"failing by all", "min_score: 0.8", [2]string{"say yes", "say yes, changed"},
			"### ❌ Gate failed: score 0.750 is below min_score 0.8", "failure: no regressions · score 0.750 is below min_score 0.8 · score 0.750, unchanged"},
	} {
		for _, d := range doors[:2] {
			t.Run(tt.name+" "+d.name, func(t *testing.T) {
				m := &spokenModels{asked: map[string]int{}, times: map[string]int{}}
				server := httptest.NewServer(m)
				defer server.Close()
				j := d.open(t, fourCases(server.URL, tt.gate, tt.say))
				for n := range 2 {
					before := m.total()
					d.judge(t, j)
					heading, status := j.said(t)
					if n == 1 && m.total() != before {
						t.Errorf("the second time takes %d calls", m.total()-before)
					}
					if d.name == "serve" { // which judges the branch, too
						status = strings.Split(status, " · score")[0]
						tt.status = strings.Split(tt.status, " · score")[0]
					}
					if heading != tt.heading || status != tt.status {
						t.Errorf("the time %d says\n%s\n%s\nwant\n%s\n%s", n+1, heading, status, tt.heading, tt.status)
					}
					// The next head has the same content, and all its verdicts are in the ledger.
					j.git(t, "commit", "-q", "--allow-empty", "-m", "the same again")
					j.head = gittest.Resolve(t, j.folder, "HEAD")
					j.git(t, "update-ref", "refs/pull/1/head", j.head)
					j.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: j.head, BaseSHA: j.base, HeadRef: "topic"})
				}
			})
		}
	}
}

// total is how often a model was asked.
func (m *spokenModels) total() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, times := range m.asked {
		n += times
	}
	return n
}
