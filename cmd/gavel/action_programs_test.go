package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// newJobs is a project with these files, whose pull requests a person with write permission
// opens.
func newJobs(t *testing.T, files map[string]string) *project {
	t.Helper()
	p := &project{t: t, forge: forgetest.New(t), folder: t.TempDir(), token: forgetest.TokenActions, cache: &cache{}, action: actionFolder(t), lenient: true}
	p.serve()
	p.forge.SetPermission("maintainer", "write")
	gittest.Init(p.t, p.folder, "main")
	p.commit(map[string]string{"docs.md": "words"})
	p.commit(files)
	return p
}

// pushes commits files to the branch of pull request 1 and runs its job.
func (p *project) pushes(files map[string]string) *machine {
	p.t.Helper()
	return p.opens(p.commit(files))
}

// opens runs the job of pull request 1 with a head that is checked out.
func (p *project) opens(head string) *machine {
	p.t.Helper()
	p.forge.Push("topic", head, "maintainer")
	p.pull(forgetest.Pull{})
	return p.pullJob("pull_request_target", forgetest.Pull{})
}

// TestAJobStartsAnAgent: the agent is started with the Python, the packages and the network
// that the inputs of the action give it, once for each side. A head installs nothing.
func TestAJobStartsAnAgent(t *testing.T) {
	needsPrograms(t, "python3")
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "days") }))
	t.Cleanup(model.Close)
	files := withServer("30")
	delete(files, "agent/words.py")
	files["packages/words.py"] = "def said(days): return days\n"
	files["agent/server.py"] = strings.Replace(files["agent/server.py"], "        self.rfile", `        import urllib.request
        unit = urllib.request.urlopen("`+model.URL+`").read().decode()
        self.rfile`, 1)
	files["agent/server.py"] = strings.Replace(files["agent/server.py"], ".strip())", `.strip()) + " " + unit`, 1)
	// As pip does without a network.
	inputs := map[string]string{"python": "3.12", "setup": `cp packages/*.py "$VIRTUAL_ENV"/lib/python*/site-packages/`, "sandbox-network": "true"}

	p := newJobs(t, files)
	p.inputs = inputs
	if m := p.pushJob(p.resolve("main~1")); m.failed != exitPass {
		t.Fatalf("the job of main ends with %d\n%s", m.failed, &m.log)
	}
	gittest.Branch(p.t, p.folder, "topic")
	m := p.pushes(map[string]string{"prompts/system.md": "60", "packages/words.py": "def said(days): return '30'\n"})
	if m.failed != exitGate {
		t.Errorf("the job ends with %d, want the code of a regression\n%s", m.failed, &m.log)
	}
	p.report("1 regression", "60 days")
	for i, tt := range []struct{ input, value, want string }{
		{"setup", "true", "No module named"}, {"sandbox-network", "false", "sandbox-network"}, {"python", "", "/lib/python"},
	} {
		p.inputs = maps.Clone(inputs)
		p.inputs[tt.input] = tt.value
		m := p.pushes(map[string]string{"prompts/system.md": fmt.Sprint(70 + i)})
		if m.failed == exitPass {
			t.Errorf("with %s: %q the job passes", tt.input, tt.value)
		}
		if body := p.ours("report")[0]; !strings.Contains(body+m.log.String(), tt.want) {
			t.Errorf("with %s: %q neither the comment nor the log has %q:\n%s\n%s", tt.input, tt.value, tt.want, body, &m.log)
		}
	}
}
