package controller_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A provider is a model that writes down the bytes of every request. It calls
// each tool that it is offered once and then answers.
type provider struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]string // by case, found by a word of its prompt
}

func newProvider(t *testing.T) *provider {
	p := &provider{bodies: map[string][]string{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

var delimiters = regexp.MustCompile(`[0-9a-f]{24}`)

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var req struct {
		Messages []struct {
			Role    string
			Content any
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(raw, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text := string(raw)
	asker, content := "/role ", `{"score": 1, "reason": "good"}`
	switch {
	case strings.Contains(text, `"name":"answer"`):
		content = `{"answer": "7"}`
	case !strings.Contains(text, "response_format"):
		// The reply of the target names the case, so that a judge's request does.
		asker, content = "/target ", "It is good: 7. SELECT name FROM t"
	}
	p.mu.Lock()
	for _, word := range words {
		if strings.Contains(text, word) {
			p.bodies[word] = append(p.bodies[word], asker+r.URL.Path+" "+delimiters.ReplaceAllString(text, "D"))
			content = strings.Replace(content, "It is", word+" is", 1)
		}
	}
	p.mu.Unlock()
	answered := slices.ContainsFunc(req.Messages, func(m struct {
		Role    string
		Content any
	}) bool {
		return m.Role == "tool"
	})
	message := map[string]any{"role": "assistant", "content": content}
	if len(req.Tools) > 0 && !answered {
		var calls []any
		for i, tool := range req.Tools {
			calls = append(calls, map[string]any{
				"id": fmt.Sprint(i), "type": "function",
				"function": map[string]string{"name": tool.Function.Name, "arguments": "{}"},
			})
		}
		message = map[string]any{"role": "assistant", "content": nil, "tool_calls": calls}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client shows a broken answer
		"id": "1", "object": "chat.completion", "model": "m", "created": 1,
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": message}},
	})
}

// words name the cases of the oracle's repository: each is in one prompt.
var words = []string{"alpha", "beta", "gamma", "delta", "epsilon"}

func oracleFiles(url string) map[string]string {
	return map[string]string{
		"gavel.yaml": `
version: 1
default_target: agent
targets:
  agent: {provider: openai, model: m1, base_url: ` + url + `/target, temperature: 0.5, system_prompt: {file: prompts/agent.md}, mocks: {lookup: [{params: {}, response: one}]}}
  judge: {provider: openai, model: m2, base_url: ` + url + `/judge}
roles: {judge: judge}
`,
		"prompts/agent.md":                         "You are an agent.",
		"test_definitions/a/domain.json":           `{"id": "a", "name": "A", "system_prompt": "Be brief.", "evaluator_id": "keyword", "tool_ids": ["search"]}`,
		"test_definitions/a/level_1/alpha.json":    `{"id": "alpha", "name": "Alpha", "prompt": "alpha?", "expected": {"keywords": ["good", "seven"]}}`,
		"test_definitions/a/level_2/level.json":    `{"system_prompt": "Second level.", "system_prompt_mode": "append"}`,
		"test_definitions/a/level_2/beta.json":     `{"id": "beta", "name": "Beta", "prompt": "beta?", "expected": {"answer": 7}, "evaluator_id": "two_pass", "tool_ids": ["lookup"]}`,
		"test_definitions/b/domain.json":           `{"id": "b", "name": "B", "evaluator_id": "style"}`,
		"test_definitions/b/level_1/gamma.json":    `{"id": "gamma", "name": "Gamma", "prompt": "gamma?", "expected": "polite"}`,
		"test_definitions/b/level_1/delta.json":    `{"id": "delta", "name": "Delta", "prompt": "delta?", "expected": "good", "evaluator_id": "pattern"}`,
		"test_definitions/b/level_1/epsilon.json":  `{"id": "epsilon", "name": "Epsilon", "prompt": "epsilon?", "expected": {"expected_columns": ["name"]}, "evaluator_id": "sql_executor"}`,
		"test_definitions/b/seed/1.sql":            `CREATE TABLE t (name TEXT);`,
		"test_definitions/evaluators/style.json":   `{"id": "style", "type": "prompt", "eval_prompt": "Is {response} {expected}?"}`,
		"test_definitions/evaluators/pattern.json": `{"id": "pattern", "type": "regex", "extraction_regex": "(good)"}`,
		"test_definitions/tools/search.json":       `{"id": "search", "function": {"name": "search", "description": "Searches", "parameters": {"type": "object", "properties": {}}}, "mock_response": {"found": 1}}`,
		"test_definitions/tools/lookup.json":       `{"id": "lookup", "function": {"name": "lookup", "parameters": {"type": "object"}}, "mock_response": "nothing"}`,
		"test_definitions/tools/unused.json":       `{"id": "unused", "function": {"name": "unused"}, "mock_response": "nothing"}`,
	}
}

// seen has the actions of a case: everything that a digest covers, found out without
// asking the digest.
type seen struct{ executed, judged, decided string }

// observe runs a repository on a fresh ledger and returns the observations and the
// three digests of each case.
func observe(t *testing.T, p *provider, state controller.Checkout) (map[string]seen, map[string][3]string) {
	t.Helper()
	prepared := prepare(t, state)
	p.mu.Lock()
	clear(p.bodies)
	p.mu.Unlock()
	_, err := prepared.Execute(t.Context(), controller.Opener(func(c config.Target, s controller.Checkout) (target.Target, error) {
		return target.New(c, target.Env{Lookup: nowhere, Files: s.FS})
	}), controller.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p.account(t, prepared)
}

// account combines the requests with the inputs of evaluators and rules.
func (p *provider) account(t *testing.T, prepared *controller.Prepared) (map[string]seen, map[string][3]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out, digests := map[string]seen{}, map[string][3]string{}
	for _, row := range prepared.Plan.Rows {
		word := row.Key[strings.LastIndex(row.Key, "/")+1:]
		var s seen
		for _, body := range p.bodies[word] {
			if strings.HasPrefix(body, "/target") {
				s.executed += body + "\n"
			} else {
				s.judged += body + "\n"
			}
		}
		if s.executed == "" && row.Head.Skip == "" {
			t.Fatalf("%s sent nothing", row.Key)
		}
		s.executed += row.HeadCase.Policy.Timeout.String()
		for _, ev := range row.HeadCase.Evaluators {
			spec, err := json.Marshal(ev.Spec)
			if err != nil {
				t.Fatal(err)
			}
			rule, err := json.Marshal(ev.Rule)
			if err != nil {
				t.Fatal(err)
			}
			s.judged += ev.Spec.Kind() + string(spec)
			s.decided += string(rule)
			if db, ok := ev.Spec.(evaluator.SQLExecutor); ok {
				for _, f := range db.Database {
					s.judged += string(f.Data)
				}
			}
		}
		s.decided += fmt.Sprint(row.HeadCase.Policy.Iterations)
		out[word] = s
		digests[word] = [3]string{row.HeadDigests.E, row.HeadDigests.J, row.HeadDigests.D}
	}
	return out, digests
}

// TestADigestDiffersExactlyWhenWhatItIsAboutDoes changes every input that
// there is, one at a time. The test observes from outside what a case sends,
// gives to its evaluators and is decided by, down to the bytes of the requests.
func TestADigestDiffersExactlyWhenWhatItIsAboutDoes(t *testing.T) {
	p := newProvider(t)
	base := oracleFiles(p.URL)
	was := scan(t, base)
	before, old := observe(t, p, stateOf(t, controller.Worktree, base))
	swap := func(file, from, to string) map[string]string {
		if !strings.Contains(base[file], from) {
			t.Fatalf("%s does not hold %q", file, from)
		}
		return map[string]string{file: strings.Replace(base[file], from, to, 1)}
	}
	const defs = "test_definitions/"
	mutations := map[string]struct {
		change  map[string]string
		affects string // the cases whose D changes, for the reader
	}{
		"prompt":                 {swap(defs+"a/level_1/alpha.json", "alpha?", "alpha!"), "alpha"},
		"description":            {swap(defs+"a/level_1/alpha.json", `"name": "Alpha"`, `"name": "Al", "description": "x"`), ""},
		"id":                     {swap(defs+"a/level_1/alpha.json", `"id": "alpha"`, `"id": "other"`), ""},
		"weight":                 {swap(defs+"a/level_1/alpha.json", `"name"`, `"weight": 3, "name"`), ""},
		"white space":            {swap(defs+"a/level_1/alpha.json", `, `, ",\n\n   "), ""},
		"order of keys":          {map[string]string{defs + "a/level_1/alpha.json": `{"prompt": "alpha?", "name": "Alpha", "expected": {"keywords": ["good", "seven"]}, "id": "alpha"}`}, ""},
		"JSON to YAML":           {map[string]string{defs + "a/level_1/alpha.json": "", defs + "a/level_1/alpha.yaml": "# a comment\nid: alpha\nname: Alpha\nprompt: alpha?\nexpected: {keywords: [good, seven]}\n"}, ""},
		"keywords":               {swap(defs+"a/level_1/alpha.json", "seven", "eight"), "alpha"},
		"forbidden":              {swap(defs+"a/level_1/alpha.json", `"keywords"`, `"forbidden": ["x"], "keywords"`), "alpha"},
		"match":                  {swap(defs+"a/level_1/alpha.json", `"keywords"`, `"match": "any", "keywords"`), "alpha"},
		"timeout":                {swap(defs+"a/level_1/alpha.json", `"name"`, `"timeout_ms": 1000, "name"`), "alpha"},
		"default timeout":        {swap(defs+"a/level_1/alpha.json", `"name"`, `"timeout_ms": 30000, "name"`), ""},
		"system prompt":          {swap(defs+"a/level_1/alpha.json", `"name"`, `"system_prompt": "Mine.", "name"`), "alpha"},
		"domain system prompt":   {swap(defs+"a/domain.json", "Be brief.", "Be long."), "alpha beta"},
		"target's prompt":        {swap("prompts/agent.md", "an agent", "a clerk"), "gamma delta epsilon"},
		"target's prompt behind": {swap(defs+"a/domain.json", `"name"`, `"system_prompt_mode": "append", "name"`), "alpha beta"},
		"domain icon":            {swap(defs+"a/domain.json", `"name"`, `"icon": "x", "name"`), ""},
		"level system prompt":    {swap(defs+"a/level_2/level.json", "Second", "2nd"), "beta"},
		"level prompt mode":      {swap(defs+"a/level_2/level.json", "append", "overwrite"), "beta"},
		"level.json goes":        {map[string]string{defs + "a/level_2/level.json": ""}, "beta"},
		"level.json appears":     {map[string]string{defs + "a/level_1/level.json": `{"system_prompt": "First level."}`}, "alpha"},
		"empty level.json":       {map[string]string{defs + "a/level_1/level.json": `{"name": "first"}`}, ""},
		"domain tool":            {swap(defs+"a/domain.json", `["search"]`, `[]`), "alpha beta"},
		"tool description":       {swap(defs+"tools/search.json", "Searches", "Finds"), "alpha beta"},
		"tool parameters":        {swap(defs+"tools/lookup.json", `"object"`, `"object", "required": []`), "beta"},
		"tool parameter order":   {swap(defs+"tools/search.json", `{"type": "object", "properties": {}}`, `{"properties": {}, "type": "object"}`), ""},
		"tool mock":              {swap(defs+"tools/search.json", `{"found": 1}`, `{"found": 2}`), "alpha beta"},
		"tool nobody offers":     {swap(defs+"tools/unused.json", "nothing", "something"), ""},
		"order of tools":         {swap(defs+"a/level_2/beta.json", `["lookup"]`, `["lookup", "search"]`), ""},
		"target's mock":          {swap("gavel.yaml", "response: one", "response: two"), "beta"},
		"answer":                 {swap(defs+"a/level_2/beta.json", `"answer": 7`, `"answer": 8`), "beta"},
		"answer's notation":      {swap(defs+"a/level_2/beta.json", `"answer": 7`, `"answer": 7.0`), ""},
		"type":                   {swap(defs+"a/level_2/beta.json", `"answer": 7`, `"answer": 7, "type": "string"`), "beta"},
		"inferred type written":  {swap(defs+"a/level_2/beta.json", `"answer": 7`, `"answer": 7, "type": "numeric"`), ""},
		"tolerance":              {swap(defs+"a/level_2/beta.json", `"answer": 7`, `"answer": 7, "tolerance": 1`), "beta"},
		"evaluator":              {swap(defs+"a/level_2/beta.json", `"evaluator_id": "two_pass"`, `"evaluator_id": "pattern"`), "beta"},
		"judge's template":       {swap(defs+"evaluators/style.json", "Is {response}", "Was {response}"), "gamma"},
		"template uses level":    {swap(defs+"evaluators/style.json", "Is {response}", "At {level}, is {response}"), "gamma"},
		"evaluator's name":       {swap(defs+"evaluators/style.json", `"type"`, `"name": "Style", "description": "x", "type"`), ""},
		"evaluator's threshold":  {swap(defs+"evaluators/style.json", `"type"`, `"config": {"threshold": 0.9}, "type"`), "gamma"},
		"threshold as it is":     {swap(defs+"evaluators/style.json", `"type"`, `"config": {"threshold": 0.7}, "type"`), ""},
		"max_score":              {swap(defs+"evaluators/style.json", `"type"`, `"config": {"max_score": 10}, "type"`), "gamma"},
		"pattern":                {swap(defs+"evaluators/pattern.json", "(good)", "(goo)d"), "delta"},
		"expected of a judge":    {swap(defs+"b/level_1/gamma.json", "polite", "kind"), "gamma"},
		"expected of a pattern":  {swap(defs+"b/level_1/delta.json", `"good"`, `"bad"`), "delta"},
		"database":               {swap(defs+"b/seed/1.sql", "name TEXT", "name TEXT, age INT"), "epsilon"},
		"database appears":       {map[string]string{defs + "b/seed/2.sql": `INSERT INTO t VALUES ('x');`}, "epsilon"},
		"columns":                {swap(defs+"b/level_1/epsilon.json", `["name"]`, `["name", "age"]`), "epsilon"},
		"model":                  {swap("gavel.yaml", "m1", "m3"), "alpha beta gamma delta epsilon"},
		"temperature":            {swap("gavel.yaml", "0.5", "0.6"), "alpha beta gamma delta epsilon"},
		"judge's model":          {swap("gavel.yaml", "m2", "m4"), "beta gamma epsilon"},
		"concurrency":            {swap("gavel.yaml", "model: m1", "model: m1, concurrency: 2"), ""},
		"rates and price":        {swap("gavel.yaml", "model: m1", "model: m1, requests_per_minute: 6000, price: {input: 1, output: 1}"), ""},
		"gate":                   {swap("gavel.yaml", "version: 1", "version: 1\ngate: {fail_on: never}"), ""},
		"iterations":             {swap("gavel.yaml", "version: 1", "version: 1\ndefaults: {iterations: 2}"), "alpha beta gamma delta epsilon"},
		"default of timeout":     {swap("gavel.yaml", "version: 1", "version: 1\ndefaults: {timeout: 5s}"), "alpha beta gamma delta epsilon"},
		"domain's threshold":     {swap("gavel.yaml", "version: 1", "version: 1\nthresholds: {domain: 0.4}"), "alpha gamma delta"},
		"another role":           {swap("gavel.yaml", "roles: {judge: judge}", "roles: {judge: judge, extractor: agent}"), "beta epsilon"},
	}
	for name, m := range mutations {
		t.Run(name, func(t *testing.T) {
			texts := map[string]string{}
			for file, text := range base {
				texts[file] = text
			}
			for file, text := range m.change {
				texts[file] = text
				if text == "" {
					delete(texts, file)
				}
			}
			head := stateOf(t, controller.Worktree, texts)
			after, now := observe(t, p, head)
			samePlans(t, was, head, func(key string) bool { return old[local(key)][2] != now[local(key)][2] })
			for _, word := range words {
				compare(t, word, before[word], after[word], old[word], now[word])
				affected := old[word][2] != now[word][2]
				if want := strings.Contains(m.affects, word); affected != want {
					t.Errorf("%s: affected is %v, want %v", word, affected, want)
				}
			}
		})
	}
}

// compare demands of one case that each digest differs exactly when what it is
// about does. Two samples send what one sends twice, which is not another request.
func compare(t *testing.T, word string, before, after seen, old, now [3]string) {
	t.Helper()
	differences := ""
	for i, pair := range [][2]string{{before.executed, after.executed}, {before.judged, after.judged}, {before.decided, after.decided}} {
		differences += apart(pair[0], pair[1])
		if differs := old[i] != now[i]; differs != (differences != "") {
			t.Errorf("%s: digest %c differs: %v, what it is about differs in:\n%s", word, "EJD"[i], differs, differences)
		}
	}
}

// apart gives the lines that are in one text alone.
func apart(before, after string) string {
	var out strings.Builder
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, line := range was {
		if !slices.Contains(is, line) {
			fmt.Fprintf(&out, "-%.1500s\n", line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			fmt.Fprintf(&out, "+%.1500s\n", line)
		}
	}
	return out.String()
}
