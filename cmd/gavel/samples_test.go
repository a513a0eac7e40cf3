package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// missing speaks the wire format of OpenAI. The model bot answers "pong", but "miss" to
// the first requests of a case, as many as the request's text says ("miss 2 …"). The model
// judge finds every answer good that is not "miss".
func missing() http.Handler {
	var mu sync.Mutex
	asked := map[string]int{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		var request struct {
			Model    string
			Messages []struct{ Content string }
		}
		if err != nil || json.Unmarshal(data, &request) != nil || len(request.Messages) == 0 {
			http.Error(w, "no request", http.StatusBadRequest)
			return
		}
		text := request.Messages[len(request.Messages)-1].Content
		reply := "pong"
		if request.Model == "judge" {
			reply = judged(text)
		} else {
			var misses int
			mu.Lock()
			if n, _ := fmt.Sscanf(text, "miss %d", &misses); n == 1 && asked[text] < misses {
				reply = "a miss"
			}
			asked[text]++
			mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"model": request.Model, "choices": []any{map[string]any{
			"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply},
		}}}) // a client that is gone needs no answer
	})
}

// judged is the reply of a judge in the form that its question asks for.
func judged(question string) string {
	good := !strings.Contains(question, "a miss")
	ten, five := 0, 0
	if good {
		ten, five = 10, 5
	}
	switch {
	case strings.Contains(question, "Excellent"):
		return fmt.Sprintf(`{"grade": %q, "pass": %t, "reason": "r"}`, map[bool]string{true: "Excellent", false: "Very Bad"}[good], good)
	case strings.Contains(question, `{"criteria":`):
		return fmt.Sprintf(`{"criteria": [{"name": "Answer", "reason": "r", "score": %d}], "summary": "s"}`, ten)
	case strings.Contains(question, `{"metrics":`):
		return fmt.Sprintf(`{"metrics": {"overall": {"score": %d, "justification": "j", "failure_code": "", "turns": []}}, "outcomes": [{"outcome": 1, "met": %t, "reasoning": "r", "turns": []}], "summary": "s"}`, five, good)
	}
	return fmt.Sprintf(`{"pass": %t, "score": %d, "reason": "r"}`, good, ten/10)
}

// TestSeveralSamples holds the table of evaluators.md: when a case of each format passes
// that is measured five times, by the number of samples that miss.
func TestSeveralSamples(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(missing())
	t.Cleanup(server.Close)
	const samples = 5
	files := map[string]string{
		"gavel.yaml": fmt.Sprintf(`version: 1
default_target: bot
defaults: {iterations: 5}
roles: {judge: judge, simulator: judge}
targets:
  bot: {provider: openai, model: bot, base_url: %[1]s/v1, api_key_env: MODEL_KEY, concurrency: 1}
  judge: {provider: openai, model: judge, base_url: %[1]s/v1, api_key_env: MODEL_KEY}
`, server.URL),
		"test_definitions/d/domain.json": `{"id": "d", "name": "D", "evaluator_id": "keyword"}`,
		"test_definitions/c/domain.json": `{"id": "c", "name": "C", "evaluator_id": "keyword"}`,
	}
	forms := map[string]struct {
		file, text string // with N for the number of misses
		passes     int    // the greatest number of misses that passes
	}{
		"matrix, contains":    {"test_definitions/contains-N/promptfooconfig.yaml", "prompts: ['miss N contains']\nproviders: [bot]\ntests: [{assert: [{type: contains, value: pong}]}]\n", 0},
		"matrix, levenshtein": {"test_definitions/leven-N/promptfooconfig.yaml", "prompts: ['miss N leven']\nproviders: [bot]\ntests: [{assert: [{type: levenshtein, value: pong, threshold: 1}]}]\n", 0},
		"matrix, llm-rubric":  {"test_definitions/rubric-N/promptfooconfig.yaml", "prompts: ['miss N rubric']\nproviders: [bot]\ntests: [{assert: [{type: llm-rubric, value: answers}]}]\n", 0},
		"matrix, threshold":   {"test_definitions/least-N/promptfooconfig.yaml", "prompts: ['miss N least']\nproviders: [bot]\ntests: [{threshold: 0.6, assert: [{type: contains, value: pong}, {type: contains, value: o}]}]\n", 0},
		"evalcase":            {"test_definitions/plain-N.eval.yaml", "name: plain\ntests: [{id: a, input: miss N plain, criteria: answers, assertions: [{type: contains, value: pong}]}]\n", 1},
		"evalcase, required":  {"test_definitions/required-N.eval.yaml", "name: required\ntests: [{id: a, input: miss N required, criteria: answers, assertions: [{type: contains, value: pong, required: true}]}]\n", 1},
		"evalcase, trials":    {"test_definitions/trials-N.eval.yaml", "name: trials\nexecution: {trials: {count: 5}}\ntests: [{id: a, input: miss N trials, criteria: answers, assertions: [{type: contains, value: pong}]}]\n", 4},
		"domain":              {"test_definitions/d/level_1/case-N.json", `{"id": "case-N", "name": "N", "prompt": "miss N domain", "expected": {"keywords": ["pong"]}}`, 1},
		"checks":              {"test_definitions/c/level_1/checked-N.json", `{"id": "checked-N", "name": "N", "prompt": "miss N checks", "expected": {"keywords": ["pong", "miss"], "match": "any"}}`, 2},
		"promptval":           {"test_definitions/prompt-N.json", `{"test_type": "workflow", "name": "bot", "user_input": "miss N promptval", "testing_prompt": "It answers."}`, 0},
		"promptval, numeric":  {"test_definitions/numeric-N.json", `{"test_type": "workflow", "name": "bot", "user_input": "miss N numeric", "testing_prompt": "It answers.", "evaluation_type": "numeric", "threshold": 6, "rubric": {"criteria": [{"name": "Answer", "description": "It answers.", "weight": 1}]}}`, 2},
		"testcase":            {"test_definitions/conversation-N.json", `{"name": "conversation N", "initial_message": "miss N testcase", "max_turns": 1, "evaluation_criteria_override": "It answers.", "expected_outcomes": {"answered": true}}`, 1},
	}
	for misses := range samples + 1 {
		files[fmt.Sprintf("test_definitions/c/level_1/checked-%d.checks.yaml", misses)] = ".: [{contains: pong}]\n"
	}
	for _, form := range forms {
		for misses := range samples + 1 {
			n := fmt.Sprint(misses)
			files[strings.ReplaceAll(form.file, "N", n)] = strings.ReplaceAll(form.text, "N", n)
		}
	}
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, files)
	stdout, stderr, code := withModelKey(t, dir, "run", "--json")
	if code > 1 {
		t.Fatalf("it ends with %d: %s", code, stderr)
	}
	var got report.Report
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]string{}
	for _, c := range got.Cases {
		if c.Error != nil || c.Samples != samples {
			t.Errorf("%s has %d samples: %v", c.Key, c.Samples, c.Error)
			continue
		}
		verdicts[c.File] = fmt.Sprintf("%s, %s", *c.Verdict, c.VerdictReason)
	}
	for name, form := range forms {
		for misses := range samples + 1 {
			want := verdict.Fail
			if misses <= form.passes {
				want = verdict.Pass
			}
			passing := samples - misses
			if name == "checks" && want == verdict.Pass {
				passing = samples // the keywords give the reason
			}
			got := verdicts[strings.ReplaceAll(form.file, "N", fmt.Sprint(misses))]
			if share := fmt.Sprintf("(%d of %d samples pass", passing, samples); !strings.HasPrefix(got, string(want)+", ") || !strings.Contains(got, share) {
				t.Errorf("%s with %d misses: %q, want %s, %s", name, misses, got, want, share)
			}
		}
	}
}
