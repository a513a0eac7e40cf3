package serve

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// newOperator reads a file with a few changed lines.
func newOperator(t *testing.T, env map[string]string, text string) *Operator {
	t.Helper()
	file, problems := config.ParseServer("server.yaml", []byte("version: 1\n"+text))
	if file == nil {
		t.Fatal(problems)
	}
	fake := new(forgetest.Clock)
	return &Operator{
		File: file, Clock: fake,
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Transport: func(string) http.RoundTripper { return http.DefaultTransport },
	}
}

// TestAnAppIsACredential for the forge and for git, and none of what it knows
// is shown.
func TestAnAppIsACredential(t *testing.T) {
	f := forgetest.New(t)
	key := f.AddApp(t, forgetest.App{ID: 5, Slug: "gavel-judge", Installation: 77})
	o := newOperator(t, map[string]string{"KEY": strings.ReplaceAll(key, "\n", `\n`)}, fmt.Sprintf(`
credentials: {app: {app_id: 5, private_key_env: KEY}}
repositories: [{name: octo/demo, forge: %q, credential: app}]
`, f.URL))
	repos, err := o.Repositories()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repos[0].Client.Repository(t.Context(), repos[0].Name); err != nil {
		t.Fatal(err)
	}
	token, err := repos[0].Token(t.Context(), "")
	if err != nil || !f.Knows(token) {
		t.Fatalf("the token for git: %v", err)
	}
	again, err := repos[0].Token(t.Context(), token)
	if err != nil || again == token || !f.Knows(again) {
		t.Errorf("after a refusal: %v", err)
	}
	lines := strings.Split(key, "\n")
	shown := o.Redact(fmt.Sprint(token, again, key, lines[3], fmt.Sprintf("%q", key)))
	for _, secret := range []string{token, again, lines[3], lines[4]} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q shows a secret", shown)
		}
	}
}

// TestATokenFileIsReadAnew when it is replaced, by the forge's client, by git,
// and by the list of what no log may show.
func TestATokenFileIsReadAnew(t *testing.T) {
	f := forgetest.New(t)
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a-token-that-ended")
	o := newOperator(t, nil, fmt.Sprintf(`
credentials: {bot: {token_file: %q}}
repositories:
  - {name: octo/demo, forge: %q, credential: bot}
  - {url: "https://git.example/x.git", credential: bot}
`, file, f.URL))
	repos, err := o.Repositories()
	if err != nil {
		t.Fatal(err)
	}
	demo := forge.Repo{Owner: "octo", Name: "demo"}
	if _, err := repos[0].Client.Repository(t.Context(), demo); err == nil {
		t.Error("the token that ended was taken")
	}
	write(forgetest.TokenUser)
	if _, err := repos[0].Client.Repository(t.Context(), demo); err != nil {
		t.Error(err)
	}
	for _, repo := range repos {
		if token, err := repo.Token(t.Context(), ""); err != nil || token != forgetest.TokenUser {
			t.Errorf("git: %v", err)
		}
	}
	if got := o.Redact("a-token-that-ended " + forgetest.TokenUser); got != "[redacted] [redacted]" {
		t.Errorf("redacted: %q", got)
	}
}
