package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// visited answers as the agents of first visits did, by path.
func visited(w http.ResponseWriter, r *http.Request) {
	said := map[string]struct {
		status int
		text   string
	}{
		"/token":                {401, `{"error": "no token"}`},
		"/empty":                {200, ""},
		"/answer":               {200, `{"answer": "hello"}`},
		"/text":                 {200, "hello there"},
		"/page":                 {200, "<!doctype html><html><head><title>Sign in</title></head></html>"},
		"/latin":                {200, "{\"answer\": \"n\xe9e\"}"},
		"/form":                 {422, `{"detail": [{"loc": ["body", "question"], "msg": "Field required"}]}`},
		"/key/chat/completions": {401, `{"error": {"message": "Incorrect API key provided"}}`},
	}
	answer, ok := said[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.WriteHeader(answer.status)
	_, _ = io.WriteString(w, answer.text)
}

// TestFirstVisit takes the wrong turns of testdata/first_visit.txt, and looks for the tests
// that the table names.
func TestFirstVisit(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(http.HandlerFunc(visited))
	t.Cleanup(agent.Close)
	table, err := os.ReadFile("testdata/first_visit.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) == 3 && cells[1] == "see":
			folder, name, isElsewhere := strings.Cut(cells[2], " ")
			if !isElsewhere {
				folder, name = "cmd/gavel", folder
			}
			if !strings.Contains(declaredTests(t, filepath.Join("..", "..", folder)), "func "+name+"(") {
				t.Errorf("%s: there is no %s", cells[0], cells[2])
			}
		case len(cells) == 6:
			t.Run(cells[0], func(t *testing.T) {
				t.Parallel()
				takeTurn(t, cells, agent.URL)
			})
		default:
			t.Errorf("%d cells, want 3 or 6: %s", len(cells), line)
		}
	}
}

// declaredTests returns the text of the tests in a folder.
func declaredTests(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// takeTurn types the command of a row in a repository with its target.
func takeTurn(t *testing.T, cells []string, agent string) {
	t.Helper()
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	files := oneTarget(strings.ReplaceAll(cells[1], "AGENT", agent))
	files[mistakeFile] = mistakeCase
	gittest.Commit(t, dir, files)
	code, err := strconv.Atoi(cells[3])
	if err != nil {
		t.Fatal(err)
	}
	m := mistake{args: cells[2], code: code}
	for says := range strings.SplitSeq(cells[4], "~") {
		m.says = append(m.says, strings.TrimSpace(says))
	}
	if cells[5] != "" {
		m.never = []string{cells[5]}
	}
	stdout, stderr, ended := gavel(t, dir, strings.Fields(m.args)...)
	m.held(t, stdout+stderr, ended)
}

// TestOneTargetThatCannotBeOpened has its cases end in an error, or not run where a key is
// missing, and the others judged, for which the budget is left. Nothing is judged where no
// target is left.
func TestOneTargetThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ target, want string }{
		{`{provider: command, argv: [shh]}`, "! error refund#other target away: argv: no program shh in "},
		{`{provider: openai, model: m, api_key_env: NO_SUCH_KEY}`, "! not run refund#other the environment variable NO_SUCH_KEY is not set (api_key_env of the target away)"},
		{`{provider: command, argv: [sh], env: [NO_SUCH_KEY]}`, "! not run refund#other the environment variable NO_SUCH_KEY is not set (env of the target away)"},
	} {
		dir := t.TempDir()
		gittest.Init(t, dir, "main")
		gittest.Commit(t, dir, map[string]string{
			"gavel.yaml": mistakeConfig + "  away: " + tt.target + "\ndefault_target: bot\nbudget: {calls: 1}\n",
			mistakeFile:  mistakeCase + "  - {id: other, input: hi, execution: {target: away}, checks: [{contains: hello}]}\n",
		})
		stdout, stderr, code := gavel(t, dir, "run", "--sandbox", "off")
		mistake{args: "run", code: exitGate, says: []string{tt.want, "2 cases: 1 passed, 0 failed, 1 not", "gate undetermined: 1 case "}}.held(t, stdout+stderr, code)
		stdout, stderr, code = gavel(t, dir, "run", "--sandbox", "off", "refund#other")
		mistake{args: "run refund#other", code: exitUsage, says: []string{"gavel: "}, never: []string{"gate"}}.held(t, stdout+stderr, code)
	}
}

// TestTheSameHeadAgain says the same of a change that it said before, though nothing is
// judged any more.
func TestTheSameHeadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{"gavel.yaml": mistakeConfig, mistakeFile: mistakeCase})
	gavel(t, dir, "run")
	if err := os.WriteFile(filepath.Join(dir, mistakeFile), []byte(strings.Replace(mistakeCase, "input: hi", "input: good morning", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, judged := range []string{"1 run", "1 reused"} {
		stdout, stderr, code := gavel(t, dir, "run", "--base", "HEAD")
		mistake{args: "run --base HEAD", says: []string{judged, "gate pass: no case regressed"}, never: []string{"no affected cases"}}.held(t, stdout+stderr, code)
	}
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	said := map[string]bool{}
	for range 2 {
		j.run(t)
		heading, _, _ := strings.Cut(j.forge.Comments(1)[0].Body[strings.Index(j.forge.Comments(1)[0].Body, "### "):], "\n")
		said[heading] = true
	}
	if len(said) != 1 {
		t.Errorf("the headings of one head are %v", said)
	}
}
