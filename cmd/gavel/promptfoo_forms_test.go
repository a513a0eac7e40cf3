package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// formsConfig is the gavel.yaml of the repositories in testdata/promptfoo. SERVER is the
// address of the models.
const formsConfig = `version: 1
default_target: bot
targets:
  bot: {provider: openai, model: echo, base_url: "SERVER/v1", concurrency: 8, price: {input: 100, output: 100}}
  shouter: {provider: openai, model: shout, base_url: "SERVER/v1", concurrency: 8}
  formed: {provider: openai, model: echo, base_url: "SERVER/v1", parameters: {response_format: {type: json_schema, json_schema: {name: x, schema: {type: object}}}}}
  caller: {provider: openai, model: echo, base_url: "SERVER/v1", tools: [search]}
  agent: {provider: http, url: "SERVER/agent"}
  judge: {provider: openai, model: judge, base_url: "SERVER/v1", concurrency: 8}
  strict: {provider: openai, model: strict, base_url: "SERVER/v1", concurrency: 8}
  absent: {provider: openai, model: echo, base_url: "SERVER/absent"}
  harm: {provider: openai, api: moderations, model: harm, base_url: "SERVER/v1", concurrency: 8}
  mood: {provider: openai, api: classification, model: org/mood, base_url: "SERVER/labels", concurrency: 8}
  letters: {provider: openai, api: embeddings, model: letters, base_url: "SERVER/v1", concurrency: 8}
roles: {judge: judge, embedder: letters, moderator: harm, classifier: mood}
`

// formsTool is offered by the target caller.
const formsTool = `{"id": "search", "function": {"name": "search", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": false}}, "mock_response": "found"}`

// TestFormsRun runs each row of the tables that list what a promptfooconfig.yaml may
// have: the keys of the file, prompts, providers, tests, variables, options, and types of
// assertion. Each archive in testdata/promptfoo is a repository and says what its cases
// come to.
func TestFormsRun(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(formsServer())
	t.Cleanup(server.Close)
	archives, err := filepath.Glob("testdata/promptfoo/*.txtar")
	if err != nil || len(archives) < 100 {
		t.Fatalf("testdata/promptfoo has %d archives (%v), want at least 100", len(archives), err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			runForm(t, server.URL, archive)
		})
	}
}

// TestEveryFormHasAnArchive holds that each type of assertion, each key of the file, of a
// test and of its options, and each column of a table is in an archive that is run.
func TestEveryFormHasAnArchive(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/promptfoo/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range archives {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	for _, tt := range []struct{ what, names string }{
		{`type: '?%s'?[,}]`, "contains icontains contains-any contains-all icontains-any icontains-all starts-with ends-with equals regex is-json contains-json " +
			"is-sql contains-sql is-xml contains-xml is-html is-valid-openai-tools-call is-valid-function-call is-refusal finish-reason word-count levenshtein latency cost " +
			"rouge-n bleu gleu meteor perplexity perplexity-score similar similar:dot similar:euclidean llm-rubric factuality model-graded-closedqa g-eval answer-relevance " +
			"context-recall context-relevance context-faithfulness classifier moderation pi select-best max-score javascript python ruby webhook assert-set " +
			"trajectory:tool-used trajectory:tool-sequence trajectory:tool-args-match trajectory:step-count trajectory:goal-success tool-call-f1 skill-used trace-span-count search-rubric agent-rubric " +
			"not-contains not-icontains not-contains-any not-equals not-regex not-is-json not-contains-json not-starts-with not-levenshtein not-similar not-llm-rubric not-javascript not-python not-ruby not-latency not-cost"},
		{`\b%s: `, "description prompts providers targets tests defaultTest scenarios env evaluateOptions repeat outputPath derivedMetrics nunjucksFilters extensions tags metadata tracing redteam sharing " +
			"vars assert threshold provider providerOutput assertScoringFunction rubricPrompt transform transformVars prefix suffix storeOutputAs factuality disableVarExpansion weight metric contextTransform config label delay"},
		{`[,\n]%s\b`, "__expected __expected2 __prefix __suffix __description __metric __threshold __metadata:tags __config:__expected:threshold __providerOutput"},
		{`%s`, `\$ref file://\S+\.py file://\S+\.js langfuse:// portkey:// huggingface:// docs\.google\.com exec: echo _conversation \.jsonl \.csv \.j2 \.md \.pdf`},
	} {
		for name := range strings.FieldsSeq(tt.names) {
			if !regexp.MustCompile(fmt.Sprintf(tt.what, name)).MatchString(all.String()) {
				t.Errorf("no archive of testdata/promptfoo has %s", name)
			}
		}
	}
}

// runForm runs a repository and compares its cases with what the archive says. The file
// want has a line for each case, and the file says has texts that validating prints.
func runForm(t *testing.T, server string, archive *txtar.Archive) {
	files := map[string]string{"gavel.yaml": formsConfig, "test_definitions/tools/search.json": formsTool}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	want, says := files["want"], files["says"]
	if programs := strings.Fields(files["programs"]); len(programs) > 0 {
		needsPrograms(t, programs...)
	}
	for _, name := range []string{"want", "says", "programs"} {
		delete(files, name)
	}
	for name := range files {
		files[name] = strings.ReplaceAll(files[name], "SERVER", server)
	}
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	gittest.Commit(t, dir, files)
	stdout, _, _ := withModelKey(t, dir, "validate")
	printed := strings.Join(strings.Fields(stdout), " ")
	for text := range strings.Lines(says) {
		if text = strings.TrimSpace(text); !strings.Contains(printed, text) {
			t.Errorf("validating does not say %q:\n%s", text, stdout)
		}
	}
	stdout, stderr, _ := withModelKey(t, dir, "run", "--json")
	var run struct {
		Cases []struct {
			Key, Target, Verdict, Error string
			Score                       *float64
			Reasons                     []struct{ Message string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &run); err != nil {
		t.Fatalf("the run prints no JSON (%v):\n%s%s", err, stdout, stderr)
	}
	var got []string
	for _, c := range run.Cases {
		line := strings.TrimPrefix(c.Key, "promptfooconfig#")
		if c.Target != "bot" {
			line += " @" + c.Target
		}
		switch {
		case c.Verdict == "skipped":
			line += " skipped: " + c.Reasons[0].Message
		case c.Score == nil:
			line += " " + c.Verdict + ": " + strings.ReplaceAll(c.Error, server, "SERVER")
		default:
			line += fmt.Sprintf(" %s %.2f", c.Verdict, *c.Score)
		}
		got = append(got, line)
	}
	wanted := strings.Split(strings.TrimSpace(want), "\n")
	slices.Sort(wanted)
	slices.Sort(got)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("the cases (-want +got):\n%s\n%s", diff, stderr)
	}
}

// withModelKey is a command line of somebody who has a key of OpenAI.
func withModelKey(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Dir: dir, LookupEnv: func(name string) (string, bool) {
		return "sk-test", name == "OPENAI_API_KEY"
	}}
	code = execute(t.Context(), a, args)
	return out.String(), errs.String(), code
}

// formsServer speaks the wire format of OpenAI. Its models are echo, which repeats its
// input and is cut at …, shout, which repeats it in capitals, offered, which lists the
// fields of its request, calls, which is echo without a text next to calls, judge,
// which replies with the first JSON object in its prompt, strict, which passes nothing,
// letters, whose embedding counts a, b and c, harm, which flags killing and hate, and
// mood, which labels texts. At /agent is an agent that makes the calls in its prompt.
func formsServer() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", formsChat)
	mux.HandleFunc("POST /v1/embeddings", formsEmbedding)
	mux.HandleFunc("POST /v1/moderations", func(w http.ResponseWriter, r *http.Request) {
		var said struct{ Input string }
		_ = json.NewDecoder(r.Body).Decode(&said)
		flagged := map[string]bool{"violence": strings.Contains(said.Input, "kill"), "hate": strings.Contains(said.Input, "hate")}
		scores := map[string]float64{"violence": 0.9, "hate": 0.8}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": "harm", "results": []any{map[string]any{"flagged": true, "categories": flagged, "category_scores": scores}}})
	})
	mux.HandleFunc("POST /labels/org/mood", func(w http.ResponseWriter, r *http.Request) {
		var said struct{ Inputs string }
		_ = json.NewDecoder(r.Body).Decode(&said)
		good := 0.2
		if strings.Contains(said.Inputs, "good") {
			good = 0.9
		}
		_ = json.NewEncoder(w).Encode([]any{[]any{map[string]any{"label": "good", "score": good}, map[string]any{"label": "bad", "score": 1 - good}}})
	})
	mux.HandleFunc("POST /plain", func(w http.ResponseWriter, r *http.Request) {
		var said struct{ Question string }
		_ = json.NewDecoder(r.Body).Decode(&said)
		_ = json.NewEncoder(w).Encode(map[string]any{"answer": said.Question + "!"})
	})
	mux.HandleFunc("POST /agent", func(w http.ResponseWriter, r *http.Request) {
		var said struct{ Messages []struct{ Content string } }
		_ = json.NewDecoder(r.Body).Decode(&said)
		calls := toolCalls(said.Messages[len(said.Messages)-1].Content)
		messages := []any{}
		if len(calls) > 0 {
			messages = append(messages, map[string]any{"role": "assistant", "content": "", "tool_calls": calls})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"messages": append(messages, map[string]any{"role": "assistant", "content": "done"})})
	})
	return mux
}

// formsChat replies as one of the models that chat.
func formsChat(w http.ResponseWriter, r *http.Request) {
	var said struct {
		Model    string
		Messages []struct{ Role, Content string }
		Format   struct{ Type string } `json:"response_format"`
	}
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, json.Unmarshal(body, &said)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var lines []string
	for _, m := range said.Messages {
		lines = append(lines, m.Role+": "+m.Content)
	}
	last := said.Messages[len(said.Messages)-1]
	reply := strings.Join(lines, "\n")
	if len(lines) == 1 {
		reply = last.Content
	}
	if said.Format.Type == "json_object" {
		reply = fmt.Sprintf(`{"said": %q}`, reply)
	}
	message := map[string]any{"role": "assistant", "content": reply}
	finish := "stop"
	if strings.HasSuffix(reply, "…") {
		finish = "length"
	}
	switch said.Model {
	case "offered":
		message["content"] = offered(body)
	case "shout":
		message["content"] = strings.ToUpper(reply)
	case "judge":
		message["content"] = `{"pass": true, "score": 1}`
		if told := graded.FindString(reply); told != "" {
			message["content"] = told
		}
		if counted := countedReply(reply); counted != "" {
			message["content"] = counted
		}
		if best := chosen(reply); best != "" {
			message["content"] = `{"analysis": "it has the word", "best": ` + best + `}`
		}
	case "strict":
		message["content"] = `{"reason": "strict", "pass": false, "score": 0}`
	default:
		if calls := toolCalls(last.Content); calls != nil && last.Role == "user" {
			message["tool_calls"], finish = calls, "tool_calls"
			if said.Model == "calls" {
				message["content"] = nil
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "1", "object": "chat.completion", "model": said.Model, "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage": map[string]any{"prompt_tokens": 1000, "completion_tokens": 1000, "total_tokens": 2000},
	})
}

// offered are the fields of a request besides model and messages, by name, and the
// names of its tools.
func offered(body []byte) string {
	var fields map[string]any
	_ = json.Unmarshal(body, &fields) // as it was read before
	delete(fields, "model")
	delete(fields, "messages")
	raw, _ := json.Marshal(fields) // which was JSON
	return string(raw)
}

// chosen is the number of the output that has the word which the criterion of a question
// asks for; empty for another question.
func chosen(question string) string {
	wanted := regexp.MustCompile(`it has the word (\w+)`).FindStringSubmatch(question)
	if wanted == nil {
		return ""
	}
	for _, output := range regexp.MustCompile(`(?s)<<<OUTPUT (\d+) \w+\n(.*?)\n\w+ OUTPUT`).FindAllStringSubmatch(question, -1) {
		if strings.Contains(output[2], wanted[1]) {
			return output[1]
		}
	}
	return "0"
}

// formsEmbedding counts letters.
func formsEmbedding(w http.ResponseWriter, r *http.Request) {
	var said struct{ Input any }
	_ = json.NewDecoder(r.Body).Decode(&said)
	texts, many := said.Input.([]any)
	if !many {
		texts = []any{said.Input}
	}
	var data []any
	for i, text := range texts {
		var counts []int
		for _, letter := range []string{"a", "b", "c"} {
			counts = append(counts, strings.Count(fmt.Sprint(text), letter))
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": counts})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": "letters", "data": data, "usage": map[string]any{"prompt_tokens": 1, "total_tokens": 1}})
}

// graded matches the reply that the prompt gives the judge.
var graded = regexp.MustCompile(`\{"(pass|score)":[^}…]*\}`)

// called matches a call that the prompt asks the target to make, such as search({"q":
// "a"}).
var called = regexp.MustCompile(`(\w+)\((\{[^}]*\})\)`)

// toolCalls are the calls that a text has, in OpenAI's form.
func toolCalls(text string) []any {
	var calls []any
	for i, m := range called.FindAllStringSubmatch(text, -1) {
		calls = append(calls, map[string]any{"id": fmt.Sprint("call_", i), "type": "function", "function": map[string]any{"name": m[1], "arguments": m[2]}})
	}
	return calls
}
