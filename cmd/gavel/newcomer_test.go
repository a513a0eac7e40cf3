package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// A newcomer has an agent that answers HTTP, and an empty folder.
type newcomer struct {
	*testing.T
	job
	agent string
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var turn struct {
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&turn); err != nil || len(turn.Messages) == 0 {
			http.Error(w, "messages are needed", http.StatusBadRequest)
			return
		}
		reply := "I can help you with orders and returns."
		if strings.Contains(turn.Messages[len(turn.Messages)-1].Content, "helmet") {
			reply = "A helmet can be returned within 30 days."
		}
		answer := map[string]any{"messages": []map[string]string{{"role": "assistant", "content": reply}}}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(agent.Close)
	n := &newcomer{T: t, agent: agent.URL + "/respond"}
	n.checkout, n.after, n.env = t.TempDir(), never, map[string]string{}
	return n
}

// gavel runs a command, which ends with the code and says the texts.
func (n *newcomer) gavel(code int, args []string, says ...string) {
	n.Helper()
	stdout, stderr, got := n.call(n.T, args...)
	if got != code {
		n.Fatalf("gavel %s ends with %d\n%s%s", strings.Join(args, " "), got, stdout, stderr)
	}
	for _, want := range says {
		if !strings.Contains(stdout+stderr, want) {
			n.Errorf("gavel %s does not say %q\n%s%s", strings.Join(args, " "), want, stdout, stderr)
		}
	}
}

// TestANewcomerGetsAVerdictAndAComment goes from an empty folder to a verdict on an
// own agent, and to a comment on a pull request, by the commands that gavel names
// and by git.
func TestANewcomerGetsAVerdictAndAComment(t *testing.T) {
	n := newNewcomer(t)
	n.gavel(exitUsage, []string{"run"}, "git init")
	n.gavel(exitUsage, []string{"init", "--git"}, "add one of", "--url http://127.0.0.1:8000/respond")
	n.gavel(exitPass, []string{"init", "--git", "--url", n.agent}, "gavel.yaml", "gavel run", "a CI job does not reach")
	n.gavel(exitPass, []string{"validate", "--strict"}, "2 definitions, 2 cases, 0 errors, 0 warnings")
	n.gavel(exitPass, []string{"try", "agent", "Hello"}, "I can help you with orders and returns.")
	n.gavel(exitPass, []string{"run"}, "2 cases: 2 passed", "gate pass")
	n.gavel(exitPass, []string{"new", "refund", "--input", "How long can I return a helmet?", "--contains", "30 days"}, "gavel run test_definitions/refund.yaml")
	n.gavel(exitPass, []string{"run", "test_definitions/refund.yaml"}, "1 case: 1 passed")
	n.gavel(exitPass, []string{"explain", "refund"}, "A helmet can be returned within 30 days.")

	dir := n.checkout
	gittest.Run(t, dir, "add", "-A")
	gittest.Run(t, dir, "commit", "-q", "-m", "evals")
	if files := gittest.Run(t, dir, "ls-files"); strings.Contains(files, "ledger.db") || !strings.Contains(files, ".github/workflows/gavel.yml") {
		t.Errorf("committed are:\n%s", files)
	}
	n.base = gittest.Resolve(t, dir, "HEAD")
	gittest.Run(t, dir, "checkout", "-q", "-b", "sixty-days")
	n.edit("test_definitions/refund.yaml", "30 days", "60 days")
	n.gavel(exitGate, []string{"run", "--base", "main"}, "refund#refund", "gate fail")
	gittest.Run(t, dir, "commit", "-q", "-a", "-m", "sixty days")
	n.head = gittest.Resolve(t, dir, "HEAD")

	// The job of the workflow that init wrote.
	n.forge = forgetest.New(t)
	gittest.Run(t, dir, "update-ref", "refs/pull/1/head", n.head)
	n.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: n.head, BaseSHA: n.base, HeadRef: "sixty-days"})
	n.checkout = filepath.Join(t.TempDir(), "job")
	gittest.Run(t, dir, "clone", "-q", dir, n.checkout)
	n.env = map[string]string{"GITHUB_API_URL": n.forge.URL, "GITHUB_TOKEN": forgetest.TokenUser}
	n.gavel(exitGate, []string{"pr", "--repo", "octo/demo", "--pr", "1"})
	comments := n.forge.Comments(1)
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "refund#refund") || !strings.Contains(comments[0].Body, `the answer does not contain "60 days"`) {
		t.Errorf("the comments are %+v", comments)
	}
}

// edit replaces a text of a file.
func (n *newcomer) edit(file, old, text string) {
	n.Helper()
	file = filepath.Join(n.checkout, file)
	was, err := os.ReadFile(file)
	if err != nil {
		n.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(was), old, text, 1)), 0o600); err != nil {
		n.Fatal(err)
	}
}
