package config

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const fullServer = `
version: 1
listen: 0.0.0.0:9000
hosts: [gavel.example]
data: /srv/gavel
ledger: /srv/ledger.db
webhook: {path: /github, secret_env: HOOK, previous_secret_file: /run/secrets/old}
credentials:
  bot: {token_env: GITHUB_TOKEN}
  app: {app_id: 5, installation_id: 7, private_key_file: /run/secrets/app.pem}
repositories:
  - {name: octo/demo, credential: app, branches: [main, v1], schedule: "0 3 * * *", drift_issue: 12, config: ci/gavel.yaml}
  - {name: octo/forgejo, forge: "https://git.example/api/v1/", credential: bot}
  - {url: /srv/git/plain}
trust: {forks: plan, programs: approved, sandbox: {accept: partial, read: [/usr], path: [/usr/bin], network: true}}
budget: {usd: 20}
bots: [41898282]
poll: 5m
deadline: 90s
`

func TestParseServer(t *testing.T) {
	got, problems := ParseServer("server.yaml", []byte(fullServer))
	if got == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	usd := 20.0
	want := &Server{
		Listen: "0.0.0.0:9000", Hosts: []string{"gavel.example"}, Data: "/srv/gavel", Ledger: "/srv/ledger.db",
		Webhook: &Webhook{Path: "/github", Secret: Secret{Env: "HOOK"}, Previous: Secret{File: "/run/secrets/old"}},
		Credentials: map[string]Credential{
			"bot": {Token: Secret{Env: "GITHUB_TOKEN"}}, "app": {AppID: 5, Installation: 7, Key: Secret{File: "/run/secrets/app.pem"}},
		},
		Repositories: []Repository{
			{Name: "octo/demo", Forge: DefaultForge, Credential: "app", Branches: []string{"main", "v1"}, DriftIssue: DriftIssue{Number: 12}, Config: "ci/gavel.yaml"},
			{Name: "octo/forgejo", Forge: "https://git.example/api/v1", Credential: "bot", Config: "gavel.yaml"},
			{URL: "/srv/git/plain", Config: "gavel.yaml"},
		},
		Trust: ServerTrust{
			Forks: "plan", Programs: "approved", Targets: "writers",
			Sandbox: ServerSandbox{Accept: "partial", Read: []string{"/usr"}, Path: []string{"/usr/bin"}, Network: true},
		},
		Budget: Limits{USD: &usd}, Bots: []int64{41898282}, Poll: 5 * time.Minute, Deadline: 90 * time.Second,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Repository{}, "Schedule")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	at := time.Date(2026, 2, 28, 3, 0, 0, 0, time.FixedZone("", 3600))
	if next := got.Repositories[0].Schedule.Next(at); !next.Equal(time.Date(2026, 2, 28, 3, 0, 0, 0, time.UTC)) {
		t.Errorf("runs next at %v", next)
	}
}

// TestListenOnAPort: a port alone is one of this machine, however it is written.
func TestListenOnAPort(t *testing.T) {
	for written, want := range map[string]string{"9090": "127.0.0.1:9090", `"9090"`: "127.0.0.1:9090", `"0.0.0.0:9090"`: "0.0.0.0:9090"} {
		got, problems := ParseServer("server.yaml", []byte("version: 1\nlisten: "+written+"\nrepositories: [{name: octo/demo}]\n"))
		if len(problems) > 0 || got.Listen != want {
			t.Errorf("listen: %s is %q, want %q: %v", written, got.Listen, want, problems)
		}
	}
}

func TestServerDefaults(t *testing.T) {
	got, problems := ParseServer("server.yaml", []byte("version: 1\nrepositories: [{name: octo/demo}]\n"))
	calls := int64(DefaultCalls)
	want := &Server{
		Listen: "127.0.0.1:8080", Data: "/var/lib/gavel", Ledger: "/var/lib/gavel/ledger.db",
		Repositories: []Repository{{Name: "octo/demo", Forge: DefaultForge, Config: "gavel.yaml"}},
		Trust:        ServerTrust{Forks: "approve", Programs: "writers", Targets: "writers", Sandbox: ServerSandbox{Accept: "isolated"}},
		Budget:       Limits{Calls: &calls},
		Poll:         time.Minute,
		Deadline:     2 * time.Minute,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || len(problems) > 0 {
		t.Errorf("%v (-want +got):\n%s", problems, diff)
	}
}

// TestManyRepositories: repositories with one name on several forges are distinct, and
// so are all without one.
func TestManyRepositories(t *testing.T) {
	const file = `version: 1
repositories:
  - {name: octo/demo}
  - {name: octo/demo, forge: https://git.example.org/api/v1}
  - {url: /srv/git/one.git}
  - {url: /srv/git/ONE.git}
  - {url: "https://git.example.org/two.git"}
`
	got, problems := ParseServer("server.yaml", []byte(file))
	if got == nil || len(got.Repositories) != 5 || len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
}

// Each row is the text of a server's file and its mistake: line, column and rule, then
// words of message and hint.
func TestServerProblems(t *testing.T) {
	with := func(text string) string { return "version: 1\n" + text + "\nrepositories: [{name: octo/demo}]\n" }
	repo := func(fields string) string { return "version: 1\nrepositories:\n  - {" + fields + "}\n" }
	for _, test := range []struct{ text, at, words string }{
		{"version: 1\n", "1:1 missing-field", "repositories"},
		{"version: 1\nrepositories: []\n", "2:15 out-of-range", "at least 1"},
		{with("listn: x"), "2:1 unknown-field", "`listen`?"},
		{with("listen: \"80800\""), "2:1 bad-address", "host:port"},
		{with("listen: 80800"), "2:1 bad-address", "host:port"},
		{with("listen: \"h:99999\""), "2:1 bad-address", "host:port"},
		{with("probes: 127.0.0.1:8080"), "2:1 bad-address", "another port"},
		{with("probes: 127.0.0.1:9090\nlisten: 0.0.0.0:9090"), "2:1 bad-address", "another port"},
		{with("probes: \":9090\"\nlisten: 127.0.0.1:9090"), "2:1 bad-address", "another port"},
		{with("hosts: [\"gavel.internal:8080\"]"), "2:9 bad-host", "the name alone"},
		{with("hosts: [a, \"https://gavel.internal\"]"), "2:12 bad-host", "the name alone"},
		{with("hosts: [\"\"]"), "2:9 bad-host", "the name alone"},
		{with("poll: 60"), "2:7 wrong-type", "write 60s, if these are seconds"},
		{with("deadline: -1m"), "2:1 bad-duration", "60s"},
		{with("poll: soon"), "2:1 bad-duration", "60s"},
		{with("webhook: {}"), "2:1 missing-field", "GAVEL_SECRET"},
		{with("webhook: {secret_env: a-b}"), "2:11 bad-variable", "environment variable"},
		{with("webhook: {secret_env: A, secret_file: b}"), "2:26 ambiguous-field", "remove one"},
		{with("webhook: {secret_env: A, path: hooks}"), "2:26 bad-path", "begin it"},
		{with("webhook: {secret_env: A, path: /hooks?a=b}"), "2:26 bad-path", "what follows the path"},
		{with("webhook: {secret_env: A, path: /healthz}"), "2:26 bad-path", "such as /hooks"},
		{with("webhook: {secret_env: A, path: /readyz}"), "2:26 bad-path", "such as /hooks"},
		{with("webhook: {secret_env: A, path: /metrics}"), "2:26 bad-path", "such as /hooks"},
		{with("webhook: {secret: s3cret}"), "2:11 unknown-field", ""},
		{with("credentials: {bot: {}}"), "2:15 missing-field", "token_env"},
		{with("credentials: {bot: {token_env: A, app_id: 5}}"), "2:15 ambiguous-field", "two of them"},
		{with("credentials: {bot: {app_id: 5}}"), "2:15 missing-field", "private_key_env"},
		{with("credentials: {bot: {private_key_env: A}}"), "2:15 missing-field", "app_id"},
		{with("credentials: {bot: {token_env: A, installation_id: 5}}"), "2:15 ambiguous-field", "two of them"},
		{"version: 1\ncredentials: {app: {app_id: 5, private_key_env: A}}\nrepositories: [{url: \"https://x/y\", credential: app}]\n", "3:16 missing-field", "owner/name"},
		{"version: 1\ncredentials: {app: {app_id: 5, private_key_env: A}}\nrepositories: [{name: o/d, forge: \"https://x/api/v1/\", credential: app}]\n", "3:56 wrong-value", "token_env"},
		{with("trust: {forks: always}"), "2:16 wrong-value", "approve, plan, never"},
		{with("trust: {sandbox: {accept: none}}"), "2:27 wrong-value", "isolated"},
		{with("bots: [renovate]"), "2:8 wrong-type", "number"},
		{repo("branches: [main]"), "3:5 missing-field", "owner/name"},
		{repo("name: octo"), "3:6 bad-name", "owner/name"},
		{repo("name: octo/demo/x"), "3:6 bad-name", "owner/name"},
		{repo("name: octo/demo, credential: bto"), "3:23 unknown-credential", "under credentials"},
		{repo("name: octo/demo, forge: ftp://x"), "3:23 bad-url", "http"},
		{repo("name: octo/demo, forge: \"https://me:pw@x\""), "3:23 literal-secret", "credential"},
		{repo("name: octo/demo, url: \"ext::sh -c true\""), "3:23 bad-url", "absolute path"},
		{repo("name: octo/demo, url: \"file:///etc\""), "3:23 bad-url", "absolute path"},
		{repo("name: octo/demo, url: --upload-pack=x"), "3:23 bad-url", "absolute path"},
		{repo("url: /srv/git, forge: https://x"), "3:5 missing-field", "the repository's name"},
		{repo("name: octo/demo, config: ../x"), "3:23 path-escapes", "outside"},
		{repo("name: octo/demo, schedule: \"0 3 * *\""), "3:23 bad-schedule", "0 3 * * *"},
		{repo("name: octo/demo, schedule: \"CRON_TZ=Asia/Tokyo 0 3 * * *\""), "3:23 bad-schedule", "0 3 * * *"},
		{repo("name: octo/demo}\n  - {name: Octo/Demo"), "4:5 duplicate-repository", "number 1"},
		{repo("url: /srv/git/a.git, branches: [main]}\n  - {url: /srv/git/a/"), "4:5 duplicate-repository", "number 1"},
	} {
		_, problems := ParseServer("server.yaml", []byte(test.text))
		if len(problems) != 1 {
			t.Errorf("%s\n\tgave %d problems, want 1: %v", test.text, len(problems), problems)
			continue
		}
		p := problems[0]
		if got := fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Rule); got != test.at {
			t.Errorf("%s\n\tgave %s (%s), want %s", test.text, got, p.Message, test.at)
		}
		for word := range strings.SplitSeq(test.words, "|") {
			if !strings.Contains(p.Message+" "+p.Hint, word) {
				t.Errorf("%s\n\tgave %q and %q without %q", test.text, p.Message, p.Hint, word)
			}
		}
		if strings.Contains(p.String(), "pw@") || strings.Contains(p.String(), "s3cret") {
			t.Errorf("%s\n\tshows a secret: %s", test.text, p)
		}
	}
}

func FuzzParseServer(f *testing.F) {
	f.Add([]byte(fullServer))
	f.Add([]byte("version: 1\nrepositories: [{}]\n"))
	f.Add([]byte("version: 1\nrepositories: [{name: a/b, schedule: \"*/0 * * * *\"}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, problems := ParseServer("server.yaml", data)
		if s == nil && len(problems) == 0 {
			t.Error("neither a value nor a problem")
		}
		for _, p := range problems {
			if p.File != "server.yaml" || p.Line < 1 || p.Column < 1 {
				t.Errorf("a problem without a place: %v", p)
			}
		}
	})
}

// TestAServerHasABudget although its file says none, and no other than what it says.
func TestAServerHasABudget(t *testing.T) {
	const repositories = "version: 1\nrepositories: [{name: octo/one}, {name: octo/two}]\n"
	for _, tt := range []struct{ more, want string }{
		{"", "40000 calls"}, {"budget: {}", "40000 calls"}, {"budget: {calls: 7}", "7 calls"}, {"budget: {usd: 2}", "2 USD"},
	} {
		server, problems := ParseServer("server.yaml", []byte(repositories+tt.more))
		if server == nil {
			t.Fatal(problems)
		}
		got := ""
		if b := server.Budget; b.Calls != nil {
			got = fmt.Sprintf("%d calls", *b.Calls)
		} else if b.USD != nil {
			got = fmt.Sprintf("%v USD", *b.USD)
		}
		if got != tt.want || server.Budget.Tokens != nil {
			t.Errorf("%q gives %+v, want %s", tt.more, server.Budget, tt.want)
		}
	}
	one, _ := ParseServer("server.yaml", []byte(repositories))
	if share := (Limits{}).Stricter(one.Budget, 2); *share.Calls != DefaultCalls {
		t.Errorf("each repository gets %d calls", *share.Calls)
	}
}

// TestTheBudgetIsShared by the repositories, and is never more than their own.
func TestTheBudgetIsShared(t *testing.T) {
	n, usd, own := int64(100), 10.0, int64(20)
	got := Limits{Calls: &own}.Stricter(Limits{Calls: &n, Tokens: &n, USD: &usd}, 4)
	if *got.Calls != 20 || *got.Tokens != 25 || *got.USD != 2.5 {
		t.Errorf("%d calls, %d tokens, %v dollars", *got.Calls, *got.Tokens, *got.USD)
	}
	if got := (Limits{Calls: &own}).Stricter(Limits{}, 4); *got.Calls != 20 || got.Tokens != nil || got.USD != nil {
		t.Errorf("without a budget of the server: %+v", got)
	}
}

// TestPages holds who may look, and that an impossible rule is reported at its place.
func TestPages(t *testing.T) {
	const server = "version: 1\nrepositories: [{name: octo/demo}]\n"
	got, problems := ParseServer("server.yaml", []byte(server+`pages:
  users:
    ada: {token_env: ADA, role: edit}
    bob: {repositories: [Octo/Demo]}
  proxy: {header: X-User, from: [127.0.0.1, 10.0.0.0/8], role: see}
`))
	if got == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	want := &Pages{
		Users: []User{{Name: "ada", Token: Secret{Env: "ADA"}, Role: "edit"}, {Name: "bob", Role: "see", Repositories: []string{"Octo/Demo"}}},
		Proxy: &Proxy{Header: "X-User", From: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")}, Role: "see"},
	}
	if diff := cmp.Diff(want, got.Pages, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if none, _ := ParseServer("server.yaml", []byte(server)); none == nil || none.Pages != nil {
		t.Errorf("without pages there are %+v", none)
	}
	for _, tt := range []struct{ text, want string }{
		{"pages: {users: {ada: {}}}", "neither `token_env` nor `token_file` says where the secret is"},
		{"pages: {users: {ada: {token_env: A, role: admin}}}", "role"},
		{"pages: {users: {ada: {token_env: A, repositories: [octo/demon]}}}", "not one of `repositories`"},
		{"pages: {proxy: {header: \"X User\", from: [127.0.0.1]}}", "not the name of a header"},
		{"pages: {proxy: {header: X-User, from: [everywhere]}}", "which is not an address"},
		{"pages: {proxy: {header: X-User, from: []}}", "from"},
		{"pages: {users: {ada: {token_env: A, token_file: /run/secrets/ada}}}", "both hold it"},
	} {
		if got, problems := ParseServer("server.yaml", []byte(server+tt.text+"\n")); got != nil || !strings.Contains(fmt.Sprint(problems), tt.want) {
			t.Errorf("%s: %v, want %q", tt.text, problems, tt.want)
		}
	}
}
