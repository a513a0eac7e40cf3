package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

const hookSecret = "a-secret-of-the-webhook"

// lines is a log that a test waits for.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// await returns the first line with some words, and fails on a secret.
func (l lines) await(t *testing.T, words string) string {
	t.Helper()
	for {
		select {
		case line := <-l:
			if strings.Contains(line, forgetest.TokenUser) || strings.Contains(line, hookSecret) {
				t.Errorf("a secret is in the log: %s", line)
			}
			if strings.Contains(line, words) {
				return line
			}
		case <-t.Context().Done():
			t.Fatalf("no line with %q", words)
		}
	}
}

// operatorsFile writes the operator's file for the demo and gives its path.
func operatorsFile(t *testing.T, j *job, more string) string {
	t.Helper()
	j.forge.CloneURL = gittest.Serve(t, j.folder, "")
	dir := t.TempDir()
	file := filepath.Join(dir, "server.yaml")
	text := fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
data: %s
webhook: {secret_env: HOOK}
credentials: {bot: {token_env: GITHUB_TOKEN}}
repositories: [{name: octo/demo, forge: %s, credential: bot}]
%s`, filepath.Join(dir, "data"), j.forge.URL, more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j.env["HOOK"] = hookSecret
	return file
}

// serving runs the command until end, which gives its exit code.
func (j *job) serving(t *testing.T, file string) (base string, log lines, end func() int) {
	t.Helper()
	log, end = j.starting(t, file)
	return log.listens(t), log, end
}

// starting is serving that does not wait until it serves.
func (j *job) starting(t *testing.T, file string, flags ...string) (log lines, end func() int) {
	t.Helper()
	return startApp(t, &App{Notices: j.notices}, j.env, append([]string{"serve", "--config", file}, flags...)...)
}

// start runs gavel with a log until end, which gives its exit code.
func start(t *testing.T, env map[string]string, args ...string) (log lines, end func() int) {
	t.Helper()
	return startApp(t, &App{}, env, args...)
}

// startApp is start with an App that has more than the usual fields.
func startApp(t *testing.T, a *App, env map[string]string, args ...string) (log lines, end func() int) {
	t.Helper()
	log = make(lines, 1000)
	a.Stdout, a.Stderr, a.Dir, a.Clock = io.Discard, log, t.TempDir(), &forgetest.Clock{}
	a.LookupEnv = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() { code <- execute(ctx, a, args) }()
	return log, func() int { cancel(); return <-code }
}

// listens waits until a server serves and returns its address.
func (l lines) listens(t *testing.T) string {
	t.Helper()
	return l.address(t, `"serving"`)
}

// address waits for a line with some words and returns the address in it.
func (l lines) address(t *testing.T, words string) string {
	t.Helper()
	var line struct{ Listen string }
	if err := json.Unmarshal([]byte(l.await(t, words)), &line); err != nil {
		t.Fatal(err)
	}
	return "http://" + line.Listen
}

// visitor has its own connections. The default client's are closed whenever a server of
// a test ends.
var visitor = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	return ask(t, "GET", url, "", "")
}

// deliver sends a signed delivery about pull request 1.
func deliver(t *testing.T, url, secret string) int {
	t.Helper()
	status, err := tryToDeliver(t, url, secret)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// tryToDeliver is deliver to a server that may be away.
func tryToDeliver(t *testing.T, url, secret string) (status int, err error) {
	t.Helper()
	body := []byte(`{"action": "synchronize", "number": 1, "repository": {"id": 1, "full_name": "octo/demo"}}`)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "pull_request")
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := visitor.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// TestServe has the demo's pull request judged by a server, and told again by a
// delivery after a push.
func TestServe(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	base, log, end := j.serving(t, operatorsFile(t, j, ""))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	comments := j.forge.Comments(1)
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "1 regression") {
		t.Fatalf("comments %+v", comments)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := get(t, base+path); status != http.StatusOK {
			t.Errorf("%s = %d %s, want 200", path, status, body)
		}
	}
	if _, body := get(t, base+"/metrics"); !strings.Contains(body, `gavel_reconcile_duration_seconds_count{kind="pull_request",outcome="done"} 1`) ||
		!strings.Contains(body, `gavel_forge_rate_limit_remaining{credential="bot"} 4999`) {
		t.Errorf("metrics\n%s", body)
	}
	if status := deliver(t, base+"/hooks", "another-secret-of-nobody"); status != http.StatusUnauthorized {
		t.Errorf("a forged delivery = %d", status)
	}
	if line := log.await(t, "refused a delivery"); !strings.Contains(line, "the signature is missing or wrong") {
		t.Errorf("the log says of a forged delivery: %s", line)
	}
	j.move(t, j.base)
	if status := deliver(t, base+"/hooks", hookSecret); status != http.StatusAccepted {
		t.Errorf("a delivery = %d", status)
	}
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if comments := j.forge.Comments(1); len(comments) != 1 || !strings.Contains(comments[0].Body, "No affected cases") {
		t.Errorf("comments %+v", comments)
	}
	if code := end(); code != exitPass {
		t.Errorf("exit code %d after a graceful stop", code)
	}
}

// TestALogLineNamesWhatItIsAbout as people do, and tells how long it took in
// seconds.
func TestALogLineNamesWhatItIsAbout(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	base, log, end := j.serving(t, operatorsFile(t, j, ""))
	defer end()
	type said struct {
		Level, Repo, Branch, Message, Err string
		Duration                          *float64
	}
	await := func(words string) (line said) {
		t.Helper()
		if err := json.Unmarshal([]byte(log.await(t, words)), &line); err != nil {
			t.Fatal(err)
		}
		return line
	}
	if line := await("comment created"); line.Repo != "octo/demo#1" {
		t.Errorf("the comment is told as %+v", line)
	}
	looked := await(`"repo":"octo/demo#1","duration"`)
	if looked.Message != "looked at" || looked.Duration == nil || *looked.Duration <= 0 || *looked.Duration > 600 {
		t.Errorf("the pull request is told as %+v", looked)
	}
	j.forge.AddComment(1, "maintainer", "/gavel help") // as the account that gavel writes as
	deliver(t, base+"/hooks", hookSecret)
	if line := await("is refused"); line.Repo != "octo/demo#1" {
		t.Errorf("the command is told as %+v", line)
	}
	j.forge.Inject(forgetest.Fault{Path: "/pulls/1", Status: 403, Times: -1})
	deliver(t, base+"/hooks", hookSecret)
	if line := await(`"err"`); line.Level != "warn" || line.Repo != "octo/demo#1" || !strings.Contains(line.Err, "403") {
		t.Errorf("the error is told as %+v", line)
	}
}

// TestTheBudgetOfAServer ends the running cases, and the report says so.
func TestTheBudgetOfAServer(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	_, log, end := j.serving(t, operatorsFile(t, j, "budget: {calls: 1}\n"))
	defer end()
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if body := j.forge.Comments(1)[0].Body; !strings.Contains(body, "were not run, since the budget of 1 call for octo/demo on ") {
		t.Errorf("the report does not say it:\n%s", body)
	}
}

// TestTwoServersOnOneLedger: the second one ends.
func TestTwoServersOnOneLedger(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	file := operatorsFile(t, j, "")
	_, _, end := j.serving(t, file)
	defer end()
	if _, stderr, code := j.call(t, "serve", "--config", file); code != exitInternal || !strings.Contains(stderr, "another gavel serve uses this ledger") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestServeRefuses what it could not do.
func TestServeRefuses(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	for _, tt := range []struct{ more, want string }{
		{"trust: {forks: sometimes}\n", "server.yaml"},
		{"", ""},
		{"budget: {usd: -1}\n", "server.yaml"},
		{"poll: never\n", "server.yaml"},
		{"unknown: 1\n", "server.yaml"},
		{"trust: {programs: never, forks: plan}", ""},
	} {
		_, stderr, code := j.call(t, "serve", "--check", "--config", operatorsFile(t, j, tt.more))
		if tt.want == "" && code != exitPass || tt.want != "" && (code != exitUsage || !strings.Contains(stderr, tt.want)) {
			t.Errorf("%q: exit code %d: %s", tt.more, code, stderr)
		}
	}
	if _, stderr, code := j.call(t, "serve", "--config", "nothing.yaml"); code != exitUsage || !strings.Contains(stderr, "name it with --config") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestServeByTheClock takes a schedule, and judges nothing before its time.
func TestServeByTheClock(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	file := operatorsFile(t, j, "")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("name: octo/demo"), []byte(`name: octo/demo, schedule: "0 3 30 2 *"`), 1)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, log, end := j.serving(t, file)
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if code := end(); code != exitPass {
		t.Errorf("exit code %d", code)
	}
}

// TestUntilRestart names the fields that have changed since the start, and none that
// was changed back.
func TestUntilRestart(t *testing.T) {
	start := config.Server{Listen: ":1", Data: "/data", Ledger: "/ledger", Poll: time.Minute}
	for _, tt := range []struct {
		want string
		now  config.Server
	}{
		{"", config.Server{Listen: ":1", Data: "/data", Ledger: "/ledger", Poll: time.Minute, Bots: []int64{7}}},
		{"ledger", config.Server{Listen: ":1", Data: "/data", Ledger: "/other", Poll: time.Minute}},
		{"data,ledger,listen,poll", config.Server{}},
	} {
		if got := strings.Join(tt.now.UntilRestart(&start), ","); got != tt.want {
			t.Errorf("%q waits, want %q", got, tt.want)
		}
	}
}

// TestServeReadsItsFileAgain: an invalid one changes nothing and is reported with its
// line, a valid one adds and removes repositories and secrets.
func TestServeReadsItsFileAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGHUP")
	}
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	file := operatorsFile(t, j, "")
	base, log, end := j.serving(t, file)
	log.await(t, `"repo":"octo/demo#1","duration"`)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		self, err := os.FindProcess(os.Getpid())
		if err := errors.Join(err, self.Signal(syscall.SIGHUP)); err != nil {
			t.Fatal(err)
		}
	}
	works := func(secret string, want int) {
		t.Helper()
		if status := deliver(t, base+"/hooks", secret); status != want {
			t.Errorf("a delivery = %d, want %d", status, want)
		}
	}
	const stays = "the one before stays in force"

	write(string(good) + "polls: 5s\n")
	if line := log.await(t, `"problem"`); !strings.Contains(line, "server.yaml:7:1: ") || !strings.Contains(line, "poll") {
		t.Errorf("the problem is told as %s", line)
	}
	log.await(t, stays)
	works(hookSecret, http.StatusAccepted)

	write(strings.Replace(string(good), "token_env: GITHUB_TOKEN", "token_env: NOBODY_HAS_IT", 1))
	if line := log.await(t, stays); !strings.Contains(line, "the variable NOBODY_HAS_IT holds nothing") {
		t.Errorf("it is told as %s", line)
	}
	write(strings.Replace(string(good), "secret_env: HOOK", "secret_env: NO_HOOK", 1))
	if line := log.await(t, stays); !strings.Contains(line, "NO_HOOK") {
		t.Errorf("it is told as %s", line)
	}
	works(hookSecret, http.StatusAccepted)
	j.move(t, j.base)
	log.await(t, `"repo":"octo/demo#1","duration"`)

	const next = "the-next-secret-of-the-webhook"
	secrets := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(secrets, []byte(next), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(good), "secret_env: HOOK", "secret_file: "+secrets, 1)
	text = strings.Replace(text, "repositories: [", "repositories: [{url: "+j.folder+", branches: [main]}, ", 1)
	write(strings.Replace(text, "listen: 127.0.0.1:0", "listen: 127.0.0.1:1", 1) + "poll: 7h\n")
	if line := log.await(t, "when gavel serve starts again"); !strings.Contains(line, `["listen","poll"]`) {
		t.Errorf("it is told as %s", line)
	}
	log.await(t, `"repositories":2,`)
	log.await(t, `"branch":"main"`)
	works(hookSecret, http.StatusUnauthorized)
	works(next, http.StatusAccepted)
	// The new head has all its statuses before it stops being watched. The status of
	// the verdict is written last.
	published := func(s forgetest.Status) bool { return strings.HasPrefix(s.Description, "no affected cases") }
	for !slices.ContainsFunc(j.forge.Statuses(j.base), published) {
		log.await(t, `"repo":"octo/demo#1","duration"`)
	}

	write(strings.Replace(text, ", {name: octo/demo, forge: "+j.forge.URL+", credential: bot}", "", 1))
	log.await(t, "gavel stopped watching the repository")
	// A review that was running is finished first.
	writes := -1
	for now := len(j.forge.Writes()); now != writes; now = len(j.forge.Writes()) {
		writes = now
		time.Sleep(300 * time.Millisecond)
	}
	works(next, http.StatusAccepted)
	log.await(t, "it is not configured, or not loaded yet")
	if more := j.forge.Writes()[writes:]; len(more) > 0 {
		t.Errorf("written %v", more)
	}
	if code := end(); code != exitPass {
		t.Errorf("exit code %d", code)
	}
}
