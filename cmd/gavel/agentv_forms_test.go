package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// agentvConfig is the gavel.yaml of the repositories in testdata/agentv, which may have more
// in targets.yaml.
const agentvConfig = `version: 1
default_target: bot
targets:
  bot: {provider: openai, model: echo, base_url: "SERVER/v1", concurrency: 8, price: {input: 100, output: 100}}
  shouter: {provider: openai, model: shout, base_url: "SERVER/v1", concurrency: 8}
  agent: {provider: http, url: "SERVER/agent"}
  grader: {provider: openai, model: grader, base_url: "SERVER/grader/v1", concurrency: 8}
  strict: {provider: openai, model: strict, base_url: "SERVER/grader/v1", concurrency: 8}
  letters: {provider: openai, api: embeddings, model: letters, base_url: "SERVER/v1", concurrency: 8}
  worker: {provider: command, argv: [sh, worker.sh]}
  user: {provider: openai, model: user, base_url: "SERVER/grader/v1", concurrency: 8}
roles: {judge: grader, embedder: letters, simulator: user, extractor: grader}
`

// formFolders are the archives of forms, of AgentV 4 and 5, Connexity and Evonic.
var formFolders = []string{"agentv", "connexity", "evonic"}

// formArchives are the archives of the forms of one tool.
func formArchives(t *testing.T, folder string) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/" + folder + "/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("testdata/%s has no archives (%v)", folder, err)
	}
	return names
}

// TestAgentVFormsRun runs each row of the tables that list what files of AgentV, Connexity and
// Evonic may have. Each archive is a repository and says what its cases come to.
func TestAgentVFormsRun(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(agentvServer())
	t.Cleanup(server.Close)
	for _, folder := range formFolders {
		for _, name := range formArchives(t, folder) {
			t.Run(folder+"/"+strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
				t.Parallel()
				archive, err := txtar.ParseFile(name)
				if err != nil {
					t.Fatal(err)
				}
				runAgentVForm(t, server.URL, archive)
			})
		}
	}
}

// runAgentVForm runs a repository and compares its cases with what the archive says. The file
// want has a line for each case, and the file says has texts that validating prints.
func runAgentVForm(t *testing.T, server string, archive *txtar.Archive) {
	files := map[string]string{"gavel.yaml": agentvConfig, "test_definitions/.keep": "\n"}
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
	validated, _, _ := withModelKey(t, dir, "validate")
	printed := strings.Join(strings.Fields(validated), " ")
	for text := range strings.Lines(says) {
		if text = strings.TrimSpace(text); !strings.Contains(printed, text) {
			t.Errorf("validating does not say %q:\n%s", text, validated)
		}
	}
	if says == "" && !strings.Contains(printed, "0 errors, 0 warnings") {
		t.Errorf("validating finds something that the archive does not name:\n%s", validated)
	}
	stdout, stderr, _ := withModelKey(t, dir, "run", "--json")
	wanted := strings.Split(strings.TrimSpace(want), "\n")
	slices.Sort(wanted)
	if diff := cmp.Diff(wanted, comeTo(t, stdout, server)); diff != "" {
		t.Errorf("the cases (-want +got):\n%s\n%s", diff, stderr)
	}
}

// comeTo are the cases of a run with what they come to, sorted.
func comeTo(t *testing.T, stdout, server string) []string {
	t.Helper()
	var run struct {
		Cases []struct {
			Key, Target, Verdict, Error string
			Score                       *float64
			Reasons                     []struct{ Message string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &run); err != nil {
		t.Fatalf("the run prints no JSON (%v):\n%s", err, stdout)
	}
	var got []string
	for _, c := range run.Cases {
		line := strings.TrimPrefix(c.Key, "suite#")
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
	slices.Sort(got)
	return got
}

// agentvServer is [formsServer] with judges that read their question: grader, whose
// answer the question contains, and strict, who finds nothing.
func agentvServer() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", formsServer())
	mux.HandleFunc("POST /grader/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var said struct {
			Model    string
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if said.Model == "user" {
			reply, seen := userReply(said.Messages[len(said.Messages)-1].Content), fmt.Sprint(said.Messages)
			if strings.Contains(seen, "SECRET") {
				http.Error(w, "the user is told what is expected of the agent", http.StatusBadRequest)
				return
			}
			writeReply(w, reply)
			return
		}
		reply := graderReply(said.Messages[len(said.Messages)-1].Content, said.Model == "strict")
		writeReply(w, reply)
	})
	return mux
}

// writeReply replies with JSON as a model does.
func writeReply(w http.ResponseWriter, reply any) {
	raw, _ := json.Marshal(reply)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "1", "object": "chat.completion", "model": "grader", "choices": []any{map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": string(raw)}, "finish_reason": "stop"}},
		"usage": map[string]any{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
	})
}

// userReply is the message of the simulated user: hello first, and nothing more.
func userReply(heard string) map[string]any {
	if strings.Contains(heard, "You speak first") {
		return map[string]any{"message": "Hello", "done": false}
	}
	return map[string]any{"message": "", "done": true}
}

var (
	// listedCriterion matches a criterion in what a judge is asked.
	listedCriterion = regexp.MustCompile(`(?m)^- "([^"]+)": (.*)$`)
	// toldScore matches what a definition tells the grader to give.
	toldScore = regexp.MustCompile(`GIVE ([\d.]+)`)
	// saidWord matches a word that the grader has to find in the transcript.
	saidWord = regexp.MustCompile(`SAYS (\w+)`)
	// askedFor matches the first field of the form in which the judge has to reply.
	askedFor = regexp.MustCompile(`one JSON object \{"(\w+)"`)
)

// graderReply is the reply of a judge. A text with GIVE 0.4 has that score, one with
// SAYS word holds if the question has the word once more, and every other one holds.
func graderReply(question string, strict bool) map[string]any {
	give := func(text string) float64 {
		switch told, word := toldScore.FindStringSubmatch(text), saidWord.FindStringSubmatch(text); {
		case strict, word != nil && strings.Count(question, word[1]) < 2:
			return 0
		case told != nil:
			score, _ := strconv.ParseFloat(told[1], 64)
			return score
		}
		return 1
	}
	form := askedFor.FindStringSubmatch(question)
	switch {
	case form != nil && form[1] == "criteria":
		var all []map[string]any
		for _, m := range listedCriterion.FindAllStringSubmatch(question, -1) {
			one := map[string]any{"id": m[1], "reason": "read"}
			if strings.Contains(m[2], "a score from 0 to 10") {
				one["score"] = give(m[2])
			} else {
				one["met"] = give(m[2]) > 0
			}
			all = append(all, one)
		}
		return map[string]any{"criteria": all, "summary": "read"}
	case form != nil && form[1] == "metrics":
		return metricsReply(question, strict)
	case form != nil && form[1] == "hits":
		return map[string]any{"hits": []string{}, "misses": []string{}, "reasoning": "read", "score": give(question)}
	}
	return map[string]any{"reason": "read", "score": give(question), "pass": give(question) > 0}
}

var (
	// listedMetric matches a metric that a judge of a conversation scores, and listedOutcome an
	// outcome.
	listedMetric  = regexp.MustCompile(`(?m)^- (\w+): `)
	listedOutcome = regexp.MustCompile(`(?m)^(\d+)\. ".*": `)
	// listedCall matches a call that a judge compares with an expected one.
	listedCall = regexp.MustCompile(`(?m)^(\d+)\. CALL `)
)

// metricsReply scores every metric of a conversation with 4 of 5, or with the given
// score, and every outcome holds.
func metricsReply(question string, strict bool) map[string]any {
	score := 4.0
	if told := toldScore.FindStringSubmatch(question); told != nil {
		score, _ = strconv.ParseFloat(told[1], 64)
	}
	metrics, outcomes := map[string]any{}, []any{}
	one := map[string]any{"score": score, "justification": "read", "failure_code": "", "turns": []int{}}
	for _, m := range listedMetric.FindAllStringSubmatch(question, -1) {
		metrics[m[1]] = one
	}
	if len(metrics) == 0 {
		own := regexp.MustCompile(`\{"metrics": \{"(\w+)"`).FindStringSubmatch(question)
		metrics[own[1]] = one
	}
	for _, m := range listedOutcome.FindAllStringSubmatch(question, -1) {
		n, _ := strconv.Atoi(m[1])
		outcomes = append(outcomes, map[string]any{"outcome": n, "met": !strict, "reasoning": "read", "turns": []int{}})
	}
	reply := map[string]any{"metrics": metrics, "summary": "read"}
	if len(outcomes) > 0 {
		reply["outcomes"] = outcomes
	}
	var same []any
	for _, m := range listedCall.FindAllStringSubmatch(question, -1) {
		n, _ := strconv.Atoi(m[1])
		same = append(same, map[string]any{"comparison": n, "same": true})
	}
	if len(same) > 0 {
		reply["comparisons"] = same
	}
	return reply
}

// TestEveryAgentVFormHasAnArchive holds that each key, each type of assertion and each row of the
// tables is in an archive that is run.
func TestEveryAgentVFormHasAnArchive(t *testing.T) {
	t.Parallel()
	all := map[string]string{}
	for _, folder := range formFolders {
		for _, name := range formArchives(t, folder) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			form, _, _ := strings.Cut(filepath.Base(name), "-")
			if folder != "agentv" {
				form = folder
			}
			all[form] += string(data)
		}
	}
	for _, tt := range agentvForms {
		for name := range strings.FieldsSeq(tt.names) {
			if !regexp.MustCompile(fmt.Sprintf(tt.pattern, name)).MatchString(all[tt.form]) {
				t.Errorf("no archive of %s has %s", tt.form, name)
			}
		}
	}
}

// agentvForms are the names that the archives of a form must have, each in a pattern.
var agentvForms = []struct{ form, pattern, names string }{
	{"v4", `[\n{ ]%s:\s`, "tests name description category version author license requires governance tags metadata input input_files assertions execution threshold workspace preprocessors " +
		"target targets workers trials skip_defaults timeout_seconds cache budget_usd fail_on_error " +
		"id criteria expected_output conversation_id note vars turns mode aggregation on_turn_failure window_size depends_on on_dependency_failure " +
		"template hooks before_all before_each after_each after_all command cwd timeout_ms isolation repos docker path env " +
		"type value flags weight required min_score negate prompt rubrics config args_match minimums expected fields skill should_trigger aggregator"},
	{"v4", `type: ["']?%s["']?[,}\n]`, "contains icontains contains-any contains-all icontains-any icontains-all equals starts-with ends-with regex is-json llm-grader code-grader rubrics tool-trajectory " +
		"execution-metrics skill-trigger composite field-accuracy latency cost token-usage contains_any is_json word-count text file image json weighted_average threshold"},
	{"v4", `%s`, `mode:\sany_order mode:\sin_order mode:\sexact mode:\ssubset mode:\ssuperset strategy:\smean strategy:\spass_at_k strategy:\sconfidence_interval required:\s0\.\d tests:\s\S+\.jsonl -\sfile://\S+\.yaml`},
	{"v5", `[\n{ ]%s: `, "tests prompts providers default_test assert scenarios threshold evaluate_options environment extensions defaults tags name description category version author license requires metadata governance env " +
		"nunjucks_filters derived_metrics output_path input_files repeat max_concurrency " +
		"id vars criteria conversation_id options run execution skip_defaults provider depends_on turns aggregation on_turn_failure window_size transform rubric_prompt include " +
		"raw label messages workdir setup metric min_score config"},
	{"v5", `type: ["']?%s["']?[,}\n]`, "llm-rubric agent-rubric script contains icontains contains-any contains-all icontains-any icontains-all equals starts-with ends-with regex is-json trajectory:tool-used trajectory:tool-sequence " +
		"trajectory:tool-args-match trajectory:step-count trajectory:goal-success skill-used not-skill-used not-trajectory:tool-used execution-metrics latency cost token-usage field-accuracy similar assert-set javascript python webhook " +
		"rubrics host docker word-count"},
	{"v5", `%s`, `\.csv \.jsonl case\.yaml \*\.yaml file://\S+\.(mjs|js):before agentv:agent-rules __expected score_ranges`},
	{"trap", `^?A%s\b`, "1 2 3 4 5 6 7 8 9 10 11 12"},
	{"connexity", `"?%s"?: `, "name description difficulty tags status persona_context first_turn first_message user_context expected_outcomes expected_tool_calls mock_responses evaluation_criteria_override agent_id source_call_id " +
		"id created_at updated_at test_cases exported_at count"},
	{"connexity", `C%s\b`, "1 2 3 4 5"},
	{"evonic", `"?%s"?: `, "id name prompt expected evaluator_id tools tool_ids system_prompt system_prompt_mode weight timeout_ms difficulty source icd_target domain_id level enabled path tests mock_response mock_response_type"},
	{"evonic", `"?%s"?`, "two_pass keyword icd_code_judge tool_call natural_text_compare sql_executor regex E1 E2 E3 E4 E5"},
}
