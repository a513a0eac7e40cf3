package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/examples"
)

// A way is a section of the page on agents in CI: the first gavel.yaml in it, and the step
// that takes the place of the last one in the workflow.
type way struct {
	config string
	inputs map[string]string
}

// wayOf reads a section of the page, and checks that its step and the workflow are one file.
func wayOf(t *testing.T, heading string) way {
	t.Helper()
	_, section, found := strings.Cut(page(t, "examples/ci.md"), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	config := firstBlock(section, "yaml")
	step := firstBlock(section, "yml")
	if !found || config == "" || step == "" {
		t.Fatalf("the page has no %s with a gavel.yaml and a step", heading)
	}
	whole := examples.Workflow()
	last := strings.LastIndex(whole, "      - uses: ")
	var w workflow
	if err := yaml.Unmarshal([]byte(whole[:last]+step), &w); err != nil {
		t.Fatal(err)
	}
	steps := w.Jobs["gavel"].Steps
	used := steps[len(steps)-1]
	if used.Uses != examples.Action {
		t.Errorf("the step uses %q, want %q", used.Uses, examples.Action)
	}
	known := readAction(t).Inputs
	for name := range used.With {
		if _, ok := known[name]; !ok {
			t.Errorf("the action has no input %q", name)
		}
	}
	return way{config, used.With}
}

// firstBlock returns the first block of a language in a text.
func firstBlock(text, language string) string {
	_, block, _ := strings.Cut(text, "```"+language+"\n")
	block, _, _ = strings.Cut(block, "```")
	return block
}

// TestThePageOnCIStartsAnAgent follows the first way: nothing is deployed, and the job starts
// the agent of each side with the packages that the default branch asks for.
func TestThePageOnCIStartsAnAgent(t *testing.T) {
	needsPrograms(t, "python3")
	way := wayOf(t, "Started in the job")
	files := withServer("30")
	files["gavel.yaml"] = way.config
	files["requirements.txt"] = "# the machine of the test has no network\n"
	files["agent/server.py"] = "import os; assert os.environ['OPENAI_API_KEY'] == 'a key'\n" + files["agent/server.py"]
	p := newJobs(t, files)
	p.inputs, p.secrets = way.inputs, map[string]string{"OPENAI_API_KEY": "a key"}
	p.judgesARegression(nil)
}

// TestThePageOnCIStartsAProgram follows the same way for a program that reads stdin.
func TestThePageOnCIStartsAProgram(t *testing.T) {
	needsPrograms(t, "python3")
	way := wayOf(t, "Started in the job")
	_, section, _ := strings.Cut(page(t, "examples/ci.md"), "reads its question from stdin")
	files := withServer("30")
	files["gavel.yaml"] = firstBlock(section, "yaml")
	files["requirements.txt"] = ""
	files["agent/answer.py"] = "from words import said\nprint(said(open('prompts/system.md').read().strip()))\n"
	p := newJobs(t, files)
	p.inputs, p.secrets = way.inputs, map[string]string{"OPENAI_API_KEY": "a key"}
	p.judgesARegression(nil)
}

// judgesARegression judges main, then a pull request that makes its agent worse. deploy is
// called with each commit before its job.
func (p *project) judgesARegression(deploy func(commit string)) {
	p.t.Helper()
	if deploy == nil {
		deploy = func(string) {}
	}
	deploy(p.resolve("main"))
	if m := p.pushJob(p.resolve("main~1")); m.failed != exitPass {
		p.t.Fatalf("the job of main ends with %d\n%s", m.failed, &m.log)
	}
	gittest.Branch(p.t, p.folder, "topic")
	head := p.commit(map[string]string{"prompts/system.md": "60"})
	deploy(head)
	if m := p.opens(head); m.failed != exitGate {
		p.t.Errorf("the job ends with %d, want the code of a regression\n%s", m.failed, &m.log)
	}
	p.report("1 regression", "60 days")
}

// A deployment is an agent over HTTP that says the days of the commit that answers.
type deployment struct {
	mu sync.Mutex
	// at is the commit at the one address, and there are the commits with an address of their
	// own; both are guarded by mu.
	at    string
	there []string
	days  func(commit string) string
}

func (d *deployment) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	commit := d.at
	if own := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/respond"); own != "respond" {
		if commit = own; !slices.Contains(d.there, own) {
			http.NotFound(w, r)
			return
		}
	}
	if r.Header.Get("Authorization") != "Bearer a token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Fprintf(w, `{"messages": [{"role": "assistant", "content": "%s days"}], "metadata": {"revision": %q}}`, d.days(commit), commit)
}

// deployed is a project with the agent of a way, whose address in the page is replaced.
func deployed(t *testing.T, heading, address, ours string) (*project, *deployment) {
	t.Helper()
	way := wayOf(t, heading)
	d := &deployment{}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	files := withAgent("", "30")
	// Time does not pass in a job of the tests.
	way.config = strings.Replace(way.config, "    wait_for: 10m\n", "", 1)
	if files["gavel.yaml"] = strings.Replace(way.config, address, server.URL+ours, 1); files["gavel.yaml"] == way.config {
		t.Fatalf("the page does not have the address %s", address)
	}
	p := newJobs(t, files)
	p.inputs, p.secrets = way.inputs, map[string]string{"AGENT_TOKEN": "a token"}
	d.days = func(commit string) string { return strings.TrimSpace(p.git("show", commit+":prompts/system.md")) }
	return p, d
}

// TestThePageOnCIAsksPreviews follows the second way: each commit has its address.
func TestThePageOnCIAsksPreviews(t *testing.T) {
	p, d := deployed(t, "Deployed for each commit or pull request", "https://{sha}.preview.example", "/{sha}")
	p.judgesARegression(func(commit string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.there = append(d.there, commit)
	})
	if comment := p.ours("report")[0]; strings.Contains(comment, "base not measured again") {
		t.Errorf("base has an address and is not asked:\n%s", comment)
	}
}

// TestThePageOnCIAsksOnePlace follows the third way: before the head is deployed, its job is
// an error that says which commit answers.
func TestThePageOnCIAsksOnePlace(t *testing.T) {
	p, d := deployed(t, "Deployed to one place", "https://agent.example", "")
	main := p.resolve("main")
	deploy := func(commit string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.at = commit
	}
	p.judgesARegression(deploy)
	p.report("base not measured again")

	deploy(main)
	head := p.commit(map[string]string{"prompts/system.md": "90"})
	if m := p.opens(head); m.failed != exitGate {
		t.Errorf("the job ends with %d\n%s", m.failed, &m.log)
	}
	p.report("agent is at "+main[:12], "wanted "+head[:12])
}

// TestOneAddressOfTheAction: every page and workflow has the one address of the action, and
// that commit has the inputs that they use.
func TestOneAddressOfTheAction(t *testing.T) {
	if !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(examples.Action) {
		t.Errorf("%s is not a full commit", examples.Action)
	}
	address := regexp.MustCompile(`uses: (gavel-evals/gavel[^ \n` + "`" + `]*)`)
	found := 0
	for _, dir := range []string{"README.md", "examples", "cmd/gavel/help", "cmd/internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
				return err
			}
			data, err := os.ReadFile(name)
			for _, m := range address.FindAllSubmatch(data, -1) {
				if found++; string(m[1]) != examples.Action {
					t.Errorf("%s uses %s, want %s", name, m[1], examples.Action)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 6 {
		t.Errorf("%d addresses are found, want all in the workflows and the pages", found)
	}
	_, commit, _ := strings.Cut(examples.Action, "@")
	data, err := exec.CommandContext(t.Context(), "git", "-C", root, "show", commit+":.github/actions/gavel/action.yml").Output()
	if err != nil {
		t.Logf("this clone does not have %s: %v", commit, err)
		return
	}
	var pinned composite
	if err := yaml.Unmarshal(data, &pinned); err != nil {
		t.Fatal(err)
	}
	for name := range readAction(t).Inputs {
		if _, ok := pinned.Inputs[name]; !ok {
			t.Errorf("the action at %s has no input %q; name a commit that has it", commit, name)
		}
	}
}
