package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/serve"
)

// A checkCase changes one thing of a server that has all that it needs.
type checkCase struct {
	change func(j *job)
	// want are parts of the output.
	want []string
	code int
}

func (tt checkCase) run(t *testing.T, j *job, file string) {
	t.Helper()
	tt.change(j)
	stdout, stderr, code := j.call(t, "serve", "--check", "--config", file)
	for _, want := range tt.want {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if code != tt.code {
		t.Errorf("exit code %d, want %d\n%s%s", code, tt.code, stdout, stderr)
	}
	for _, r := range j.forge.Writes() {
		if !strings.HasSuffix(r.Path, "/access_tokens") {
			t.Errorf("%s wrote", r)
		}
	}
}

// TestServeCheck says which one is missing, and how to repair it.
func TestServeCheck(t *testing.T) {
	for _, row := range []struct {
		name string
		tt   checkCase
	}{
		{"all is there", checkCase{func(*job) {}, []string{"ok       octo/demo: statuses: write\n", "ok       octo/demo: pull-requests: write\n", "ok       octo/demo: contents: read, branch main\n"}, exitPass}},
		{"no token", checkCase{func(j *job) { delete(j.env, "GITHUB_TOKEN") },
			[]string{"missing  octo/demo: credential bot: the variable GITHUB_TOKEN holds nothing\n"}, exitUsage}},
		{"a wrong token", checkCase{func(j *job) { j.env["GITHUB_TOKEN"] = "wrong-token-of-nobody" },
			[]string{"missing  octo/demo: metadata: read: 401 Bad credentials; the token is wrong, or it has expired: make a new one"}, exitUsage}},
		{"not seen", checkCase{func(j *job) { j.forge.Inject(forgetest.Fault{Path: "/octo/demo", Status: 404}) },
			[]string{"missing  octo/demo: metadata: read: 404", "a classic one by the scope repo; the API of Gitea and Forgejo is at https://127.0.0.1", "/api/v1, "}, exitUsage}},
		{"a short secret", checkCase{func(j *job) { j.env["HOOK"] = "short" }, []string{"missing  the secret of the webhook: "}, exitUsage}},
		{"may not list", checkCase{func(j *job) { j.forge.Inject(forgetest.Fault{Path: "/pulls", Status: 403}) },
			[]string{"missing  octo/demo: pull-requests: read: 403 Forbidden: give the credential this permission\n"}, exitUsage}},
		{"may only read", checkCase{func(j *job) { j.forge.SetPermission("maintainer", "read") },
			[]string{"missing  octo/demo: statuses: write: the account of the token may not write to the repository: give it the role Write there\n"}, exitUsage}},
		{"a scope too few", checkCase{func(j *job) { j.forge.Scopes = []string{"read:org", "repo:status"} },
			[]string{"ok       octo/demo: statuses: write\n", `missing  octo/demo: pull-requests: write: the token has the scopes "read:org, repo:status": add repo or public_repo in its settings`}, exitUsage}},
		{"no scope for what is private", checkCase{func(j *job) { j.forge.Scopes, j.forge.Private = []string{"public_repo"}, true },
			[]string{`missing  octo/demo: statuses: write: the token has the scopes "public_repo": add repo or repo:status`}, exitUsage}},
		{"no scope at all", checkCase{func(j *job) { j.forge.Scopes = []string{} }, []string{`missing  octo/demo: statuses: write: the token has the scopes ""`}, exitUsage}},
		{"a fine-grained token", checkCase{func(j *job) { j.forge.Scopes = nil },
			[]string{"unknown  octo/demo: pull-requests: write: ", "takes Pull requests: Read and write\n", "takes Commit statuses: Read and write\n"}, exitPass}},
		{"no clone", checkCase{func(j *job) { j.forge.CloneURL = "http://127.0.0.1:1/nothing.git" }, []string{"missing  octo/demo: contents: read, branch main: "}, exitUsage}},
	} {
		t.Run(row.name, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.forge.Scopes = []string{"repo"}
			row.tt.run(t, j, operatorsFile(t, j, ""))
		})
	}
}

// TestServeRefusesATokenOfTwo: neither the check nor the start accepts one secret for two
// users, or for a user and the webhook, and no output has the secret.
func TestServeRefusesATokenOfTwo(t *testing.T) {
	for _, tt := range []struct{ name, bob, hook, want string }{
		{"two users", adasToken, hookSecret, "the token of user bob is also the secret of user ada; make one for each"},
		{"a user and the webhook", bobsToken, bobsToken, "the token of user bob is also the secret of the webhook; make one for each"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			file := operatorsFile(t, j, "pages: {users: {ada: {token_env: ADA}, bob: {token_env: BOB}}}")
			j.env["ADA"], j.env["BOB"], j.env["HOOK"] = adasToken, tt.bob, tt.hook
			for _, flags := range [][]string{{"--check"}, nil} {
				stdout, stderr, code := j.call(t, append([]string{"serve", "--config", file}, flags...)...)
				if code != exitUsage || !strings.Contains(stdout+stderr, tt.want) || strings.Contains(stdout+stderr, tt.bob) {
					t.Errorf("serve %v: exit code %d, want %d and %q without the token\n%s%s", flags, code, exitUsage, tt.want, stdout, stderr)
				}
			}
		})
	}
}

// TestServeCheckOfAnApp reads what its installation grants.
func TestServeCheckOfAnApp(t *testing.T) {
	change := func(change func(*forgetest.App)) func(*job) {
		return func(j *job) { j.forge.Change(5, change) }
	}
	for _, row := range []struct {
		name string
		tt   checkCase
	}{
		{"all is there", checkCase{func(*job) {}, []string{"ok       octo/demo: checks: write\n", "ok       octo/demo: events\n", "ok       octo/demo: pull-requests: write\n"}, exitPass}},
		{"reads only", checkCase{change(func(a *forgetest.App) { a.Permissions["pull_requests"] = "read" }),
			[]string{"missing  octo/demo: pull-requests: write: the installation grants read: choose Pull requests: Read and write under Permissions & events of the App, and accept the change in its installation\n"}, exitUsage}},
		{"no statuses", checkCase{change(func(a *forgetest.App) { delete(a.Permissions, "statuses") }),
			[]string{"missing  octo/demo: statuses: write: the installation grants nothing: choose Commit statuses: Read and write"}, exitUsage}},
		{"no checks", checkCase{change(func(a *forgetest.App) { delete(a.Permissions, "checks") }),
			[]string{"optional octo/demo: checks: write: no check runs, statuses and comment say the same: "}, exitPass}},
		{"not told about all", checkCase{change(func(a *forgetest.App) { a.Events = []string{"pull_request", "push", "check_run", "issue_comment"} }),
			[]string{"optional octo/demo: events: the App does not receive check_suite, merge_group, which polling finds later"}, exitPass}},
		{"suspended", checkCase{change(func(a *forgetest.App) { a.Suspended = "2026-03-02T09:00:00Z" }), []string{"missing  octo/demo: statuses: write: the installation of the App is suspended"}, exitUsage}},
		{"not installed", checkCase{change(func(a *forgetest.App) { a.Installation = 0 }),
			[]string{"missing  octo/demo: metadata: read: the App 5 is not installed in octo/demo: install it there from its settings, or correct app_id"}, exitUsage}},
		{"another key", checkCase{func(j *job) { j.env["KEY"] = "no key at all" }, []string{"missing  octo/demo: metadata: read: the private key of App 5: it is not an RSA key in PEM"}, exitUsage}},
	} {
		t.Run(row.name, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			file := asApp(t, j, j.forge.AddApp(t, forgetest.App{
				ID: 5, Slug: "gavel-judge", Installation: 77,
				Events:      []string{"check_run", "check_suite", "issue_comment", "merge_group", "pull_request", "push"},
				Permissions: map[string]string{"metadata": "read", "contents": "read", "pull_requests": "write", "statuses": "write", "checks": "write"},
			}))
			row.tt.run(t, j, file)
		})
	}
}

// TestServeCheckOfSave tries what a change on the pages needs, where somebody may make one.
func TestServeCheckOfSave(t *testing.T) {
	const save = "octo/demo: contents: write, for save on the pages"
	granted := func(contents string) func(*testing.T, *job) string {
		return func(t *testing.T, j *job) string {
			return asApp(t, j, j.forge.AddApp(t, forgetest.App{ID: 5, Slug: "gavel-judge", Installation: 77, Permissions: map[string]string{
				"metadata": "read", "contents": contents, "pull_requests": "write", "statuses": "write", "checks": "write"}}))
		}
	}
	token := func(t *testing.T, j *job) string { return operatorsFile(t, j, "") }
	gitea := func(t *testing.T, j *job) string {
		j.forge.URL += "/api/v1"
		return operatorsFile(t, j, "")
	}
	reading := func(file func(*testing.T, *job) string) func(*testing.T, *job) string {
		return func(t *testing.T, j *job) string {
			name := file(t, j)
			j.forge.CloneURL = gittest.ServeReading(t, j.folder)
			return name
		}
	}
	for _, row := range []struct {
		name  string
		file  func(*testing.T, *job) string
		pages string
		want  string
		never string
		code  int
	}{
		{"no pages", reading(token), "", "", save, exitPass},
		{"nobody edits", reading(token), "pages: {users: {ada: {token_env: ADA, role: judge}}}", "", save, exitPass},
		{"a token that writes", token, "pages: {users: {ada: {token_env: ADA, role: edit}}}", "ok       " + save + "\n", "", exitPass},
		{"a token whose git only reads", reading(token), "pages: {users: {ada: {token_env: ADA, role: edit, repositories: [Octo/Demo]}}}",
			"missing  " + save + ": push to http://127.0.0.1:", "", exitUsage},
		{"a proxy", reading(token), "pages: {proxy: {header: X-User, from: [127.0.0.1], role: edit}}",
			"give the credential contents: write, or write:repository of Gitea and Forgejo; without it, let nobody edit in pages\n", "", exitUsage},
		{"an App that reads", granted("read"), "pages: {users: {ada: {token_env: ADA, role: edit}}}",
			"missing  " + save + ": the installation grants read: choose Contents: Read and write under Permissions & events of the App, and accept the change in its installation; without it, let nobody edit in pages\n", "", exitUsage},
		{"an App that writes", granted("write"), "pages: {users: {ada: {token_env: ADA, role: edit}}}", "ok       " + save + "\n", "", exitPass},
		{"Gitea", gitea, "pages: {users: {ada: {token_env: ADA, role: edit}}}", "ok       " + save + "\n", "", exitPass},
		{"Gitea whose token only reads", reading(gitea), "pages: {users: {ada: {token_env: ADA, role: edit}}}", "missing  " + save + ": push to ", "", exitUsage},
		{"a rule", func(t *testing.T, j *job) string {
			j.forge.Rules = []map[string]any{{"type": "creation"}}
			return token(t, j)
		}, "pages: {users: {ada: {token_env: ADA, role: edit}}}", "optional octo/demo: branches, for save on the pages: a ruleset restricts the creation", "", exitPass},
		{"archived", func(t *testing.T, j *job) string {
			j.forge.Archive()
			return token(t, j)
		}, "pages: {users: {ada: {token_env: ADA, role: edit}}}",
			"missing  octo/demo: the repository: it is archived: nothing can be written to it: unarchive it, or remove it from repositories\n", save, exitUsage},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.forge.Scopes = []string{"repo"}
			j.forge.SetPermission("maintainer", "admin")
			j.env["ADA"] = adasToken
			file := row.file(t, j)
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, append(text, row.pages...), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			checkCase{func(*job) {}, []string{row.want}, row.code}.run(t, j, file)
			stdout, _, _ := j.call(t, "serve", "--check", "--config", file)
			if row.never != "" && strings.Contains(stdout, row.never) {
				t.Errorf("%q in\n%s", row.never, stdout)
			}
		})
	}
}

// TestServeCheckOfADriftIssue takes the issue and a permission of its own.
func TestServeCheckOfADriftIssue(t *testing.T) {
	granted := map[string]string{"metadata": "read", "contents": "read", "pull_requests": "write", "statuses": "write", "checks": "write"}
	for _, row := range []struct {
		issue string
		tt    checkCase
	}{
		{"1", checkCase{func(*job) { granted["issues"] = "write" }, []string{"ok       octo/demo: issues: write\n", "ok       octo/demo: issue 1\n"}, exitPass}},
		{"new", checkCase{func(*job) {}, []string{"ok       octo/demo: issues: write\n"}, exitPass}},
		{"9", checkCase{func(*job) { delete(granted, "issues") }, []string{
			"missing  octo/demo: issues: write: the installation grants nothing: choose Issues: Read and write under",
			"missing  octo/demo: issue 9: 404 Not Found: correct drift_issue, or give the credential issues: read\n"}, exitUsage}},
		{"new", checkCase{func(*job) {}, []string{"missing  octo/demo: issues: write: the installation grants nothing: choose Issues: Read and write under"}, exitUsage}},
	} {
		t.Run(row.issue, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			file := asApp(t, j, j.forge.AddApp(t, forgetest.App{ID: 5, Slug: "gavel-judge", Installation: 77, Permissions: granted}))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			drifting := strings.Replace(string(text), "name: octo/demo,", "name: octo/demo, drift_issue: "+row.issue+",", 1)
			if err := os.WriteFile(file, []byte(drifting), 0o600); err != nil {
				t.Fatal(err)
			}
			row.tt.run(t, j, file)
		})
	}
}

// asApp writes an operator's file whose credential is the App 5.
func asApp(t *testing.T, j *job, key string) string {
	t.Helper()
	j.env["KEY"] = key
	file := operatorsFile(t, j, "")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	app := strings.Replace(string(text), "{token_env: GITHUB_TOKEN}", "{app_id: 5, private_key_env: KEY}", 1)
	if err := os.WriteFile(file, []byte(app), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestServeCheckOfGitea, which tells nothing of its tokens.
func TestServeCheckOfGitea(t *testing.T) {
	for _, row := range []struct {
		permission string
		tt         checkCase
	}{
		{"admin", checkCase{func(*job) {}, []string{"unknown  octo/demo: statuses: write: ", "write:repository, write:issue and read:user\n", "ok       octo/demo: who may write\n"}, exitPass}},
		{"write", checkCase{func(*job) {}, []string{"missing  octo/demo: who may write: on Gitea and Forgejo only an administrator may ask"}, exitUsage}},
	} {
		t.Run(row.permission, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.forge.URL += "/api/v1"
			j.forge.SetPermission("maintainer", row.permission)
			row.tt.run(t, j, operatorsFile(t, j, ""))
		})
	}
}

// TestServeCheckWhileServing looks on without a word about the lock, and prints
// one document where that is asked for.
func TestServeCheckWhileServing(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	file := operatorsFile(t, j, "")
	release, err := serve.Lock(filepath.Join(filepath.Dir(file), "data", "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	stdout, stderr, code := j.call(t, "serve", "--check", "--json", "--config", file)
	type checked struct {
		Repository, State, Message string
		What                       string `json:"check"`
	}
	var said struct{ Checks []checked }
	if err := json.Unmarshal([]byte(stdout), &said); err != nil || code != exitPass {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if len(said.Checks) != 10 || said.Checks[4] != (checked{Repository: "octo/demo", What: "metadata: read", State: serve.StateOK}) {
		t.Errorf("the checks are %+v, want 10 of which the fifth reads the metadata of octo/demo", said.Checks)
	}
}

// TestServeCheckWritesNothing: no folder and no lock is made, and a place where none can be
// made is found all the same.
func TestServeCheckWritesNothing(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.forge.Scopes = []string{"repo"}
	file := operatorsFile(t, j, "")
	if stdout, stderr, code := j.call(t, "serve", "--check", "--config", file); code != exitPass || !strings.Contains(stdout, "ok       the ledger ") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("next to the file there is now %v, %v", left, err)
	}
	text, err := os.ReadFile(file)
	if err == nil { // a folder within a file
		err = os.WriteFile(file, []byte(strings.Replace(string(text), filepath.Join(filepath.Dir(file), "data"), filepath.Join(file, "data"), 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := j.call(t, "serve", "--check", "--config", file); code != exitUsage || !strings.Contains(stdout, "missing  the ledger ") || !strings.Contains(stdout, "not a directory") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestServeOnAPortInUse ends with the file to correct.
func TestServeOnAPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	file := operatorsFile(t, j, "")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), "127.0.0.1:0", taken.Addr().String(), 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, stderr, code := j.call(t, "serve", "--config", file)
	want := "another program has the port, which may be a server that still runs: end it, or write another address as listen in " + file
	if code != exitUsage || !strings.Contains(stderr, want) || !strings.Contains(stderr, taken.Addr().String()) {
		t.Errorf("exit code %d, want %d and %q\n%s", code, exitUsage, want, stderr)
	}
}
