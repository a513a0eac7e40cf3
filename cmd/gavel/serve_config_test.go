package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/redact"
)

const hookSecretOfCheck = "a-secret-of-the-webhook"

// TestTheOperatorsExample is valid, and serve does all that it asks for.
func TestTheOperatorsExample(t *testing.T) {
	file, err := filepath.Abs("../../examples/server/gavel-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	server, problems := config.ParseServer("gavel-server.yaml", data)
	if server == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	a := &App{Stdout: io.Discard, Stderr: io.Discard, Secrets: &redact.Values{}, LookupEnv: func(string) (string, bool) { return "", false }, Dir: t.TempDir()}
	s, err := newServer(a, file)
	if err != nil {
		t.Fatal(err)
	}
	// Only the secrets are not there.
	if _, err := s.operator.Repositories(); err == nil || strings.Contains(err.Error(), "gavel serve") {
		t.Errorf("repositories: %v", err)
	}
	if len(server.Repositories) != 4 || server.Webhook == nil || server.Trust.Forks != "approve" || *server.Budget.USD != 50 {
		t.Errorf("the server file is %+v, want 4 repositories, a webhook, forks that are approved and 50 USD", server)
	}
}

// TestTheFileOfTheContainer is valid: its server is reached from outside of the
// container, and keeps what it knows in the volume.
func TestTheFileOfTheContainer(t *testing.T) {
	data, err := os.ReadFile("../../examples/deploy/gavel-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server, problems := config.ParseServer("gavel-server.yaml", data)
	if server == nil || len(problems) > 0 {
		t.Fatalf("the file has problems, want none: %v", problems)
	}
	if server.Listen != "0.0.0.0:8080" || server.Ledger != "/var/lib/gavel/ledger.db" {
		t.Errorf("the server listens on %s with the ledger %s, want 0.0.0.0:8080 and one in /var/lib/gavel", server.Listen, server.Ledger)
	}
}

// TestAbuseALogHoldsNoSecret, whatever is logged.
func TestAbuseALogHoldsNoSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.yaml")
	text := fmt.Sprintf("version: 1\nlisten: 127.0.0.1:0\ndata: %s\nwebhook: {secret_env: HOOK}\n"+
		"credentials: {bot: {token_env: GITHUB_TOKEN}}\nrepositories: [{name: octo/demo, credential: bot}]\n", t.TempDir())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOOK": hookSecretOfCheck, "GITHUB_TOKEN": forgetest.TokenUser}
	var out bytes.Buffer
	a := &App{Stdout: &out, Stderr: &out, Dir: t.TempDir(), Secrets: &redact.Values{}, LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	s, err := newServer(a, file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.operator.Repositories(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.handler(); err != nil {
		t.Fatal(err)
	}
	const key = "sk-ant-abcdefghijklmnopqrstuvwxyz"
	s.log.Warn().Err(fmt.Errorf("%s %s %s", forgetest.TokenUser, hookSecretOfCheck, key)).Msg(key)
	for _, value := range []string{forgetest.TokenUser, hookSecretOfCheck, key} {
		if strings.Contains(out.String(), value) {
			t.Errorf("%q is in the log: %s", value, &out)
		}
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Errorf("nothing was logged: %s", &out)
	}
}
