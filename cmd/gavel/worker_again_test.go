package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
)

// A changedRepository has one case for each way in which a further measurement is made.
type changedRepository struct{ base, head map[string]string }

// measuredAgain is a repository whose head makes cases worse: for good, by chance, in
// several samples, only in the eyes of the judge, with an editor, and in a conversation.
func measuredAgain(models string) changedRepository {
	keyword := func(id, prompt string) string {
		return fmt.Sprintf(`{"id": %q, "name": %[1]q, "prompt": %q, "expected": {"keywords": ["yes"]}}`, id, prompt)
	}
	plan := func(input, criterion, more string) string {
		return fmt.Sprintf(`{"test_type": "agent", "name": "bot", "user_input": %q, "testing_prompt": "Judge the plan.", "evaluation_type": "numeric",
			"threshold": 7, "rubric": {"criteria": [{"name": "Clarity", "description": %q, "weight": 1}]}%s}`, input, criterion, more)
	}
	talk := func(wish string) string {
		return fmt.Sprintf(`{"name": "Talk", "persona": {"type": "busy", "description": "Wants %s.", "instructions": "Be brief."}, "max_turns": 2,
			"expected_outcomes": {"helped": true}}`, wish)
	}
	const edited = `, "retry": true, "max_retries": 1, "edit_prompt": true, "editor_model": "gemini"`
	return changedRepository{
		base: map[string]string{
			"gavel.yaml": fmt.Sprintf(`version: 1
default_target: bot
targets:
  bot: {provider: openai, model: bot, base_url: %[1]s/v1, api_key_env: MODEL_KEY, accepts_prompt: true}
  judge: {provider: openai, model: judge, base_url: %[1]s/v1, api_key_env: MODEL_KEY}
  customer: {provider: openai, model: customer, base_url: %[1]s/v1, api_key_env: MODEL_KEY}
  editor: {provider: openai, model: editor, base_url: %[1]s/v1, api_key_env: MODEL_KEY}
roles: {judge: judge, simulator: customer, editors: {gemini: editor}}
`, models),
			"test_definitions/shop/domain.json":         `{"id": "shop", "name": "Shop", "evaluator_id": "keyword"}`,
			"test_definitions/shop/level_1/broken.json": keyword("broken", "say yes"),
			"test_definitions/shop/level_1/chance.json": keyword("chance", "say yes, by chance"),
			"test_definitions/shop/level_1/same.json":   keyword("same", "say yes again"),
			"test_definitions/plans/many.json":          plan("Plan a good day.", "It is clear.", `, "iterations": 3`),
			"test_definitions/plans/judged.json":        plan("Plan a day.", "It is clear.", ""),
			"test_definitions/plans/edited.json":        plan("Plan a good week.", "It is clear.", edited),
			"test_definitions/talk.json":                talk("good help"),
		},
		head: map[string]string{
			"test_definitions/shop/level_1/broken.json": keyword("broken", "say no"),
			"test_definitions/shop/level_1/chance.json": keyword("chance", "say yes, at random"),
			"test_definitions/plans/many.json":          plan("Plan a BAD day.", "It is clear.", `, "iterations": 3`),
			"test_definitions/plans/judged.json":        plan("Plan a day.", "It is clear, and BAD.", ""),
			"test_definitions/plans/edited.json":        plan("Plan a BAD week.", "It is clear.", edited),
			"test_definitions/talk.json":                talk("BAD help"),
		},
	}
}

// wantAgain is the result of measuredAgain, by hand: a case that is worse for good is a
// regression, and one that was worse by chance is flaky.
var wantAgain = map[string]string{
	"shop/level_1/broken": "fail regression", "shop/level_1/chance": "fail flaky",
	"plans/many": "fail regression", "plans/judged": "fail regression", "plans/edited": "fail regression", "talk": "fail regression",
}

// spokenModels answer in the wire format of OpenAI, and count what each model is asked.
type spokenModels struct {
	mu    sync.Mutex
	asked map[string]int // by model; guarded by mu
	times map[string]int // by model and prompt; guarded by mu
}

func (m *spokenModels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model    string
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var text strings.Builder
	for _, message := range req.Messages {
		text.WriteString(message.Content + "\n")
	}
	m.mu.Lock()
	m.asked[req.Model]++
	m.times[req.Model+text.String()]++
	n := m.times[req.Model+text.String()]
	m.mu.Unlock()
	content, err := json.Marshal(spoken(req.Model, text.String(), n))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id": "1", "object": "chat.completion", "model": %q, "choices": [{"index": 0, "finish_reason": "stop",
		"message": {"role": "assistant", "content": %s}}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}`, req.Model, content)
}

// spoken is a model's reply when it is asked for the n-th time.
func spoken(model, text string, n int) string {
	bad := strings.Contains(text, "BAD")
	score := func(good, worse int) int {
		if bad {
			return worse
		}
		return good
	}
	switch model {
	case "customer":
		if bad {
			return `{"message": "I want BAD help.", "done": false}`
		}
		return `{"message": "I want good help.", "done": false}`
	case "editor":
		return `{"prompt": "Plan better."}`
	case "judge":
		if strings.Contains(text, "Clarity") {
			return fmt.Sprintf(`{"criteria": [{"name": "Clarity", "reason": "It is so.", "score": %d}], "summary": "So."}`, score(9, 2))
		}
		metrics := map[string]any{}
		for _, name := range []string{"tool_routing", "parameter_extraction", "result_interpretation", "grounding_fidelity", "instruction_compliance",
			"information_gathering", "conversation_management", "response_delivery"} {
			metrics[name] = map[string]any{"score": score(5, 1), "justification": "It is so."}
		}
		body, _ := json.Marshal(map[string]any{"metrics": metrics, "outcomes": []any{map[string]any{"outcome": 1, "met": !bad, "reasoning": "It is so."}}, "summary": "So."}) // it never fails
		return string(body)
	}
	if strings.HasSuffix(text, "say no\n") || strings.Contains(text, "at random") && n == 1 {
		return "no"
	}
	if bad {
		return "yes, a BAD one"
	}
	return "yes"
}

// judgedThrough has a pull request judged by a server, in its own process or by two
// workers, and returns the verdict and class of each case, the statuses, and how often
// each model was asked.
func judgedThrough(t *testing.T, workers bool) (cases, states map[string]string, asked map[string]int) {
	m := &spokenModels{asked: map[string]int{}, times: map[string]int{}}
	server := httptest.NewServer(m)
	defer server.Close()
	files := measuredAgain(server.URL)
	j := newOrigin(t, files.base, files.head)
	j.env["MODEL_KEY"] = "a-key-of-the-models"
	j.env[databaseVariable] = postgrestest.URL(t)
	file := operatorsFile(t, j, "")
	var flags []string
	if !workers {
		flags = []string{"--judge"}
	}
	served, end := j.starting(t, file, flags...)
	ends := []func() int{end}
	if workers {
		served.await(t, "no gavel worker is running")
		for range 2 {
			log, end := start(t, j.env, "worker", "--config", file)
			ends = append(ends, end)
			t.Cleanup(func() {
				for len(log) > 0 {
					if line := <-log; strings.Contains(line, "computes another digest") {
						t.Errorf("a worker says %s", line)
					}
				}
			})
		}
	}
	served.await(t, `"repo":"octo/demo#1","duration"`)
	for _, end := range ends {
		if code := end(); code != exitPass {
			t.Errorf("it ends with %d", code)
		}
	}
	cases = map[string]string{}
	for _, row := range j.lastReport(t, j.env[databaseVariable], "").Cases {
		// A case that nothing affects has a verdict if the branch was judged first.
		if row.Verdict != nil && row.Class != nil && row.Action != plan.Reuse {
			cases[row.Key] = fmt.Sprint(*row.Verdict, " ", *row.Class)
		}
	}
	states = j.states()
	for context, said := range states { // and its score counts then
		states[context], _, _ = strings.Cut(said, " · score")
	}
	return cases, states, m.asked
}

// TestTheFirstStart: on an empty database a server begins, and two pull requests wait when
// two workers begin.
func TestTheFirstStart(t *testing.T) {
	m := &spokenModels{asked: map[string]int{}, times: map[string]int{}}
	server := httptest.NewServer(m)
	defer server.Close()
	files := measuredAgain(server.URL)
	j := newOrigin(t, files.base, map[string]string{"test_definitions/shop/level_1/same.json": strings.Replace(files.head["test_definitions/shop/level_1/chance.json"], `"id": "chance"`, `"id": "same"`, 1)})
	j.git(t, "checkout", "-q", "-b", "second", "main")
	second := gittest.Commit(t, j.folder, map[string]string{"test_definitions/shop/level_1/same.json": strings.Replace(files.head["test_definitions/shop/level_1/broken.json"], `"id": "broken"`, `"id": "same"`, 1)})
	j.git(t, "update-ref", "refs/pull/2/head", second)
	j.forge.AddPull(forgetest.Pull{Number: 2, HeadSHA: second, BaseSHA: j.base, HeadRef: "second"})
	j.env["MODEL_KEY"] = "a-key-of-the-models"
	// The owner of the database is called like the schema of the tables.
	database := postgrestest.Start(t)
	url := database.URL(t)
	db, err := pgx.Connect(t.Context(), url)
	if err == nil {
		_, err = db.Exec(t.Context(), "CREATE ROLE gavel LOGIN SUPERUSER")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background()) //nolint:errcheck // nothing is lost
	j.env[databaseVariable] = strings.Replace(url, "postgres://postgres@", "postgres://gavel@", 1)
	file := operatorsFile(t, j, "")
	served, end := j.starting(t, file)
	for range 2 {
		served.await(t, "no gavel worker is running")
	}
	// The author reads why it takes time, and that the definitions are right.
	waiting := func() bool {
		states := j.states()
		return strings.HasPrefix(states["gavel/validate"], "success: all definitions are valid") && strings.HasSuffix(states["gavel/verdict"], " for a worker; none is running")
	}
	for end := time.Now().Add(time.Minute); !waiting(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the statuses of a head that waits are %v", j.states())
		}
	}
	ends := []func() int{end}
	for range 2 {
		_, end := start(t, j.env, "worker", "--config", file)
		ends = append(ends, end)
	}
	for len(j.forge.Comments(1)) == 0 || len(j.forge.Comments(2)) == 0 {
		served.await(t, `,"duration"`)
	}
	for _, end := range ends {
		if code := end(); code != exitPass {
			t.Errorf("it ends with %d", code)
		}
	}
	for number := 1; number <= 2; number++ {
		if comments := j.forge.Comments(number); len(comments) != 1 {
			t.Errorf("pull request %d has %d comments, want one", number, len(comments))
		}
	}
	if rows := everyRow(t, url); strings.Contains(rows, "public.") {
		t.Errorf("there are tables in another schema than gavel:\n%s", rows)
	}
}

// newOrigin is a repository with a pull request of one commit.
func newOrigin(t *testing.T, base, head map[string]string) *job {
	t.Helper()
	j := emptyOrigin(t)
	j.base = gittest.Commit(t, j.folder, base)
	gittest.Branch(t, j.folder, "topic")
	j.head = gittest.Commit(t, j.folder, head)
	j.git(t, "update-ref", "refs/pull/1/head", j.head)
	j.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: j.head, BaseSHA: j.base, HeadRef: "topic"})
	return j
}

// emptyOrigin is a forge and a repository without a commit.
func emptyOrigin(t *testing.T) *job {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "origin")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	gittest.Init(t, folder, "main")
	repo, err := git.PlainOpen(folder)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{forge: forgetest.New(t), origin: repo, folder: folder, summary: filepath.Join(t.TempDir(), "summary.md"), after: never}
	j.env = map[string]string{"GITHUB_API_URL": j.forge.URL, "GITHUB_TOKEN": forgetest.TokenUser, "GITHUB_STEP_SUMMARY": j.summary}
	j.forge.SetPermission("maintainer", "write")
	return j
}

// lastReport reads the last report on the head from a ledger. It compares with a commit, or
// with any where base is empty.
func (j *job) lastReport(t *testing.T, path, base string) *report.Report {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // it is only read
	var last *report.Report
	err = store.EachReport(t.Context(), func(run ledger.Run) error {
		r, err := report.Decode(run.Report)
		if err == nil && r.Head != nil && *r.Head == j.head && (base == "" || r.Base != nil && *r.Base == base) {
			last = r
		}
		return err
	})
	if err != nil || last == nil {
		t.Fatalf("no report on the head is stored: %v", err)
	}
	return last
}

// TestWorkersMeasureAgain: a pull request has one outcome, whether the server judges it or
// workers do, and takes as many calls. Workers judge the cases that are measured again,
// too: both sides, judgements alone, several samples, edited prompts and conversations.
func TestWorkersMeasureAgain(t *testing.T) {
	cases, states, asked := judgedThrough(t, false)
	if diff := cmp.Diff(wantAgain, cases); diff != "" {
		t.Errorf("the server judges (-want +got):\n%s", diff)
	}
	byWorkers, statesThere, askedThere := judgedThrough(t, true)
	if diff := cmp.Diff(wantAgain, byWorkers); diff != "" {
		t.Errorf("workers judge (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(states, statesThere); diff != "" {
		t.Errorf("the statuses differ (-server +workers):\n%s", diff)
	}
	if diff := cmp.Diff(asked, askedThere); diff != "" {
		t.Errorf("the models are not asked as often (-server +workers):\n%s", diff)
	}
}
