package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

const (
	// batchSize is how many rows a run judges, which a file may have.
	batchSize = 1000
	// echoConfig is a gavel.yaml whose target repeats what it is sent.
	echoConfig = "version: 1\ntargets: {x: {provider: mock, replies: [{echo: true}]}}\n"
)

// TestSameAsPromptfoo holds that Gavel judges the rows of the oracle as promptfoo did,
// unless a rule on the format's page says otherwise.
func TestSameAsPromptfoo(t *testing.T) {
	t.Parallel()
	rows := oracle.Rows()
	theirs, err := oracle.Recorded(rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 12_000 {
		t.Errorf("there are %d rows, want 12000", len(rows))
	}
	compareRows(t, rows, theirs, oracle.Rules)
}

// TestWordsSameAsPromptfoo holds the same of the rows about words and markup.
func TestWordsSameAsPromptfoo(t *testing.T) {
	t.Parallel()
	rows := oracle.WordRows()
	theirs, err := oracle.RecordedWords(rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 10_000 {
		t.Errorf("there are %d rows, want 10000", len(rows))
	}
	compareRows(t, rows, theirs, oracle.WordRules)
}

// TestPythonSameAsPromptfoo holds the same of the rows of python.
func TestPythonSameAsPromptfoo(t *testing.T) {
	t.Parallel()
	rows := oracle.PythonRows()
	theirs, err := oracle.RecordedPython(rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 250 {
		t.Errorf("there are %d rows, want 250", len(rows))
	}
	compareRows(t, rows, theirs, oracle.PythonRules)
}

// compareRows compares what both tools say of rows.
func compareRows(t *testing.T, rows []oracle.Row, theirs []string, rules []oracle.Rule[oracle.Judged]) {
	t.Helper()
	tally := &oracle.Tally[oracle.Judged]{Rules: rules}
	for from := 0; from < len(rows); from += batchSize {
		batch := rows[from:min(from+batchSize, len(rows))]
		ours := judgedRows(t, batch)
		for i, row := range batch {
			addRow(t, tally, oracle.Judged{Row: row, Theirs: theirs[from+i], Ours: ours[i]}, ours[i] == theirs[from+i])
		}
	}
	checkTally(t, tally, "matrix.md")
}

// TestGradedSameAsPromptfoo holds that Gavel judges rows that ask a judge or compare vectors
// as promptfoo did with the same replies, unless a rule says otherwise.
func TestGradedSameAsPromptfoo(t *testing.T) {
	t.Parallel()
	rows := oracle.GradedRows()
	theirs, err := oracle.RecordedGraded(rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 2800 {
		t.Errorf("there are %d rows, want 2800", len(rows))
	}
	config, err := oracle.GradedConfig(rows, "")
	if err != nil {
		t.Fatal(err)
	}
	server := oracleModels(t, func(i int) string { return rows[i].Ours })
	settings := "version: 1\ntargets:\n  x: {provider: mock, replies: [{echo: true}]}\n" +
		"  judge: {provider: openai, model: m, base_url: " + server + ", concurrency: 8}\n" +
		"  vectors: {provider: openai, api: embeddings, model: m, base_url: " + server + ", concurrency: 8}\n" +
		"default_target: x\nroles: {judge: judge, embedder: vectors}\n"
	ours := slices.Repeat([]string{"no case"}, len(rows))
	for _, c := range judgedFiles(t, map[string]string{"promptfooconfig.json": string(config), "gavel.yaml": settings}) {
		i, err := strconv.Atoi(strings.TrimPrefix(rowName.FindString(c.test), "r"))
		if err != nil {
			t.Fatal(err)
		}
		ours[i] = c.answer
	}
	tally := &oracle.Tally[oracle.Graded]{Rules: oracle.GradedRules}
	for i, row := range rows {
		addRow(t, tally, oracle.Graded{Row: row, Theirs: theirs[i], Ours: ours[i]}, ours[i] == theirs[i])
	}
	checkTally(t, tally, "matrix.md")
}

// oracleModels serves a judge that replies to the row whose marker it is asked about, and
// embeddings that are the numbers of their text. It returns the base URL.
func oracleModels(t *testing.T, reply func(i int) string) string {
	t.Helper()
	marker := regexp.MustCompile(`ROW(\d+)Q`)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		found := marker.FindSubmatch(body)
		if err != nil || found == nil {
			http.Error(w, "the question is of no row", http.StatusBadRequest)
			return
		}
		i, _ := strconv.Atoi(string(found[1])) // digits
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"content": reply(i)}}}})
	})
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input any }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		texts, isList := in.Input.([]any)
		if !isList {
			texts = []any{in.Input}
		}
		var data []any
		for i, text := range texts {
			var vector []float64
			for _, word := range strings.Fields(fmt.Sprint(text))[1:] {
				n, _ := strconv.ParseFloat(word, 64)
				vector = append(vector, n)
			}
			data = append(data, map[string]any{"index": i, "embedding": vector})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// TestStructuresSameAsPromptfoo holds that files whose parts act on each other have the
// rows, verdicts and scores that promptfoo gave them, unless a rule says otherwise.
func TestStructuresSameAsPromptfoo(t *testing.T) {
	t.Parallel()
	structures := oracle.Structures()
	theirs, err := oracle.RecordedStructures(structures)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	tally := &oracle.Tally[oracle.JudgedTest]{Rules: oracle.StructureRules}
	for i, s := range structures {
		config, err := json.Marshal(s.Config)
		if err != nil {
			t.Fatal(err)
		}
		ours := map[string][]string{}
		files := map[string]string{"promptfooconfig.json": string(config), "gavel.yaml": echoConfig}
		maps.Copy(files, s.Files)
		for _, c := range judgedFiles(t, files) {
			name := rowName.FindString(c.test)
			ours[name] = append(ours[name], c.answer)
		}
		tests := s.Tests()
		for name, want := range theirs[i] {
			rows += len(want)
			slices.Sort(ours[name])
			addRow(t, tally, oracle.JudgedTest{Test: tests[name], Theirs: want, Ours: ours[name]}, slices.Equal(want, ours[name]))
		}
	}
	if rows < 900 {
		t.Errorf("the structures have %d rows, want 900", rows)
	}
	checkTally(t, tally, "matrix.md")
}

// TestSameAsAgentV holds that Gavel judges the suites of the oracle as AgentV did, unless a
// rule on the format's page says otherwise.
func TestSameAsAgentV(t *testing.T) {
	t.Parallel()
	suites := oracle.Suites()
	theirs, err := oracle.RecordedSuites(suites)
	if err != nil {
		t.Fatal(err)
	}
	files, err := oracle.Files(suites)
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]string{}
	for _, c := range judgedFiles(t, files) {
		ours[c.file+" "+rowName.FindString(c.test)] = c.answer
	}
	if len(ours) < 1600 {
		t.Errorf("there are %d rows, want 1600", len(ours))
	}
	tally := &oracle.Tally[oracle.SuiteTest]{Rules: oracle.SuiteRules}
	for i, suite := range suites {
		file := strings.TrimSuffix(oracle.SuiteFile(i), ".yaml")
		for j, test := range suite.Tests {
			id := fmt.Sprintf("r%d", j)
			raw, err := json.Marshal(test)
			if err != nil {
				t.Fatal(err)
			}
			row := oracle.SuiteTest{Answer: suite.Answer, Test: string(raw), Theirs: theirs[i][id], Ours: ours[filepath.Base(file)+" "+id]}
			addRow(t, tally, row, row.Theirs == row.Ours)
		}
	}
	checkTally(t, tally, "evalcase.md")
}

// addRow counts a row, and reports one that differs without a rule.
func addRow[R any](t *testing.T, tally *oracle.Tally[R], row R, isSame bool) {
	t.Helper()
	if !tally.Add(row, isSame) {
		t.Errorf("no rule is about %+v", row)
	}
}

// checkTally holds that each rule is needed, and on the format's page.
func checkTally[R any](t *testing.T, tally *oracle.Tally[R], page string) {
	t.Helper()
	text, err := os.ReadFile("../../examples/formats/" + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range tally.Check(string(text)) {
		t.Error(err)
	}
	t.Logf("rows by their rule: %v", tally.Used)
}

// rowName is the name of a test in the oracle, at the start of the name of its case.
var rowName = regexp.MustCompile(`^r\d+x?`)

// A judgedCase is what Gavel says of a case.
type judgedCase struct{ file, test, answer string }

// judgedFiles returns what Gavel says of the cases of a repository.
func judgedFiles(t *testing.T, files map[string]string) []judgedCase {
	t.Helper()
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	gittest.Commit(t, dir, files)
	stdout, stderr, _ := withModelKey(t, dir, "run", "--json")
	var run struct {
		Cases []struct {
			Key, Verdict string
			Score        *float64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &run); err != nil || len(run.Cases) == 0 {
		t.Fatalf("the run prints no cases (%v):\n%.2000s%.2000s", err, stderr, stdout)
	}
	var all []judgedCase
	for _, c := range run.Cases {
		file, test, _ := strings.Cut(c.Key, "#")
		if !rowName.MatchString(test) {
			t.Fatalf("the case %s is of no row", c.Key)
		}
		score := 0.0
		if c.Score != nil {
			score = *c.Score
		}
		all = append(all, judgedCase{filepath.Base(file), test, oracle.Answer(c.Verdict == "pass", c.Verdict != "pass" && c.Verdict != "fail", score)})
	}
	return all
}

// judgedRows returns what Gavel says of rows.
func judgedRows(t *testing.T, rows []oracle.Row) []string {
	t.Helper()
	config, err := oracle.Config(rows)
	if err != nil {
		t.Fatal(err)
	}
	out := slices.Repeat([]string{"no case"}, len(rows))
	for _, c := range judgedFiles(t, map[string]string{"promptfooconfig.json": string(config), "gavel.yaml": echoConfig}) {
		var i int
		if _, err := fmt.Sscanf(c.test, "r%d", &i); err != nil || i >= len(rows) {
			t.Fatalf("the case %s is of no row", c.test)
		}
		out[i] = c.answer
	}
	return out
}
