package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/tracing/tracingtest"
)

// TestWorkers has two workers judge what a server plans. Only they have the key of the
// agent.
func TestWorkers(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{} // guarded by mu; by the key and the message that the agent is sent
	var told []string         // guarded by mu; the traces that the agent is sent
	url, collector := postgrestest.URL(t), tracingtest.New(t)
	rows := sync.OnceValue(func() string { return everyRow(t, url) }) // while cases are judged
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rows()
		mu.Lock()
		defer mu.Unlock()
		told = append(told, r.Header.Get("Traceparent"))
		calls[r.Header.Get("Authorization")+string(body)]++
		fmt.Fprint(w, `{"messages": [{"role": "assistant", "content": "hi"}]}`)
	}))
	defer agent.Close()
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.env[databaseVariable], j.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = url, collector.URL
	const cases = 20
	head := map[string]string{}
	for i := range cases {
		head[fmt.Sprintf("test_definitions/talk/level_1/case_%d.json", i)] = fmt.Sprintf(
			`{"id": "case_%d", "name": "Case %d", "prompt": "Hello, I am %d", "expected": {"keywords": ["hi"]}}`, i, i, i)
	}
	j.replace(t, withAnAgent(agent.URL), head)

	file := operatorsFile(t, j, "")
	served, end := j.starting(t, file)
	base := served.listens(t)
	served.await(t, "no gavel worker is running")
	if status, text := get(t, base+"/healthz"); status != http.StatusOK || text != "ok\nwarning: "+noWorker+"\n" {
		t.Errorf("without a worker /healthz is %d %q", status, text)
	}
	able := maps.Clone(j.env)
	able["AGENT_KEY"] = "a-key-of-workers"
	var workers []func() int
	for range 2 {
		log, end := start(t, able, "worker", "--config", file, "--listen", "127.0.0.1:0")
		log.await(t, "waiting for cases")
		at := log.address(t, "answering")
		if status, _ := get(t, at+"/healthz"); status != http.StatusOK {
			t.Errorf("/healthz of a worker is %d", status)
		}
		for status := 0; status != http.StatusOK; { // with its first sign of life
			status, _ = get(t, at+"/readyz")
		}
		workers = append(workers, end)
	}
	served.await(t, `"repo":"octo/demo#1","duration"`)
	if status, text := get(t, base+"/healthz"); status != http.StatusOK || text != "ok\n" {
		t.Errorf("with workers /healthz is %d %q", status, text)
	}
	if status, text := get(t, base+"/metrics"); status != http.StatusOK || !strings.Contains(text, "\ngavel_workers 2\n") || !strings.Contains(text, `gavel_worker_cases{state="waiting"} 0`) {
		t.Errorf("/metrics is %d, want 2 workers and no case that waits:\n%s", status, text)
	}
	comments := j.forge.Comments(1)
	if len(comments) != 1 || strings.Count(comments[0].Body, "| 1.00 | 🆕 new") != cases {
		t.Errorf("the comments are %+v, want one with %d new cases that pass", comments, cases)
	}
	mu.Lock()
	for call, n := range calls {
		if n != 1 || !strings.HasPrefix(call, "Bearer a-key-of-workers") {
			t.Errorf("the agent is called %d times with %s, want once and with the key of the workers", n, call)
		}
	}
	if len(calls) < cases {
		t.Errorf("the agent is called %d times, want once for each of %d cases", len(calls), cases)
	}
	mu.Unlock()
	for _, end := range append(workers, end) {
		if code := end(); code != exitPass {
			t.Errorf("it ends with %d", code)
		}
	}
	for _, text := range []string{rows(), everyRow(t, url)} {
		if !strings.Contains(text, "case_0") || strings.Contains(text, "a-key-of-workers") || strings.Contains(text, hookSecret) || strings.Contains(text, j.env["GITHUB_TOKEN"]) {
			t.Errorf("the database has a secret, or not the key of a case:\n%s", text)
		}
	}
	spans := map[string]*tracepb.Span{} // by id
	for _, s := range collector.Spans() {
		spans[string(s.SpanId)] = s
	}
	for i, way := range waysBack(t, spans, told) {
		if want := []string{"call", "case", "job", "judge", "reconcile"}; !slices.Equal(way, want) {
			t.Errorf("the way back from the call %d is %q, want %q: over the queue", i, way, want)
		}
	}
}

// TestADatabaseThatIsAwayIsSaid by a server and a worker that wait for it at their
// start.
func TestADatabaseThatIsAwayIsSaid(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.env[databaseVariable] = "postgres://gavel:hidden-word@127.0.0.1:1/gavel"
	file := operatorsFile(t, j, "")
	for _, command := range []string{"serve", "worker"} {
		log, end := start(t, j.env, command, "--config", file)
		if line := log.await(t, "the database cannot be reached; waiting up to 1m0s"); strings.Contains(line, "hidden-word") || !strings.Contains(line, "connection refused") {
			t.Errorf("%s logs %s, want why and no password", command, line)
		}
		end()
	}
}

// everyRow is the text of all rows of a database.
func everyRow(t *testing.T, url string) string {
	db, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer db.Close(context.Background()) //nolint:errcheck // it only reads
	var text string
	err = db.QueryRow(context.Background(), `SELECT string_agg(table_schema || '.' || table_name || ' ' ||
		query_to_xml(format('SELECT to_jsonb(r) FROM %I.%I r', table_schema, table_name), true, true, '')::text, E'\n')
		FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`).Scan(&text)
	if err != nil {
		t.Error(err)
	}
	return text
}

// TestServeCheckOfADatabase looks at it and at its workers, and writes nothing.
func TestServeCheckOfADatabase(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.forge.Scopes = []string{"repo"}
	url := postgrestest.URL(t)
	j.env[databaseVariable] = url
	file := operatorsFile(t, j, "")
	check := func(code int, want string, args ...string) string {
		t.Helper()
		stdout, stderr, got := j.call(t, append([]string{"serve", "--check", "--config", file}, args...)...)
		if got != code || !strings.Contains(stdout, want) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s%s", args, got, code, want, stdout, stderr)
		}
		return stdout
	}
	const unmade = ": the server makes its tables, or brings them up to date, when it starts\n"
	check(exitPass, "optional workers: no gavel worker is running, and cases wait for one; start gavel worker with the same database, or gavel serve with --judge\n")
	for range 2 { // the first look made none
		if stdout := check(exitPass, unmade); strings.Contains(stdout, "the ledger ") {
			t.Errorf("a file is looked at:\n%s", stdout)
		}
	}
	if stdout := check(exitPass, unmade, "--judge"); strings.Contains(stdout, "workers") {
		t.Errorf("a server that judges itself needs no workers:\n%s", stdout)
	}
	log, end := start(t, j.env, "worker", "--config", file, "--listen", "127.0.0.1:0")
	at := log.address(t, "answering")
	for status := 0; status != http.StatusOK; {
		status, _ = get(t, at+"/readyz")
	}
	if stdout := check(exitPass, "ok       workers: 1 running\n"); strings.Contains(stdout, unmade) {
		t.Errorf("the tables of the worker are not seen:\n%s", stdout)
	}
	end()
	checkWorker := func(code int, want ...string) {
		t.Helper()
		stdout, stderr, got := j.call(t, "worker", "--check", "--config", file)
		for _, one := range want {
			if got != code || !strings.Contains(stdout, one) {
				t.Errorf("exit code %d, want %d and %q\n%s%s", got, code, one, stdout, stderr)
			}
		}
	}
	checkWorker(exitPass, "ok       the database "+postgres.Redacted(url), " the sandbox", "ok       octo/demo: metadata: read\n")
	token := j.env["GITHUB_TOKEN"]
	delete(j.env, "GITHUB_TOKEN")
	checkWorker(exitUsage, "missing  octo/demo: credential bot: the variable GITHUB_TOKEN holds nothing\n")
	j.env["GITHUB_TOKEN"] = token
	j.env[databaseVariable] = "postgres://gavel:hidden-word@127.0.0.1:1/gavel"
	if stdout := check(exitUsage, "missing  the database postgres://gavel@127.0.0.1:1/gavel: "); strings.Contains(stdout, "hidden-word") || strings.Contains(stdout, "\n\t") {
		t.Errorf("the password, or a line that is not a check, is printed:\n%s", stdout)
	}
	j.env[databaseVariable] = "mysql://db/gavel"
	check(exitUsage, "")
}

// TestClockOfADatabase: a check names a clock that is too far from the database's.
func TestClockOfADatabase(t *testing.T) {
	url := postgrestest.URL(t)
	for _, tt := range []struct {
		ahead time.Duration
		want  string
	}{
		{0, ""},
		{time.Second, ""},
		{time.Minute, "it is 1m0s ahead of the database's"},
		{-10 * time.Second, "it is 10s behind the database's"},
	} {
		found := lookAtDatabase(t.Context(), url, "the server", func() time.Time { return time.Now().Add(tt.ahead) })
		got := ""
		for _, f := range found.Findings {
			if f.What == "the clock" {
				got = f.Message
			}
		}
		if found.Fault != nil || (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%v ahead: %q (%v), want %q", tt.ahead, got, found.Fault, tt.want)
		}
	}
}

// TestProgramsAreRunByWorkers from git objects, in a sandbox of the worker.
func TestProgramsAreRunByWorkers(t *testing.T) {
	needsIsolation(t)
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.env[databaseVariable] = postgrestest.URL(t)
	j.replace(t, withPrograms(), map[string]string{
		"test_definitions/talk/domain.json": `{"id": "talk", "name": "Talk", "evaluator_id": "keyword", "system_prompt": "Be kinder."}`,
	})
	file := operatorsFile(t, j, "")
	log, endWorker := start(t, j.env, "worker", "--config", file)
	log.await(t, `"programs":true`)
	served, end := j.starting(t, file)
	served.await(t, `"repo":"octo/demo#1","duration"`)
	if comments := j.forge.Comments(1); len(comments) != 1 || !strings.Contains(comments[0].Body, "2 of 2 cases rerun") || strings.Contains(comments[0].Body, "not run") {
		t.Errorf("the comments are %+v, want one with two cases that were run", comments)
	}
	if state := j.states()["gavel/verdict"]; !strings.HasPrefix(state, "success") {
		t.Errorf("the statuses are %v, want a verdict that passes", j.states())
	}
	end()
	endWorker()
}
