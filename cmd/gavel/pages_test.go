package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

const root = "../.."

var (
	// block is a fenced block with the line before it.
	block = regexp.MustCompile("(?ms)^([^\\n]*)\\n\\n```([a-z]+)\\n(.*?)^```$")
	// toWrite is the file that such a line says to write.
	toWrite = regexp.MustCompile("`([^`]+)`:$")
)

// page is the text of a page of this repository.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pages are the pages that people read, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, room := range []string{"README.md", "examples", ".github"} {
		err := filepath.WalkDir(filepath.Join(root, room), func(name string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".md" || strings.Contains(filepath.ToSlash(name), "/test_definitions/") {
				return err
			}
			rel, err := filepath.Rel(root, name)
			out[filepath.ToSlash(rel)] = page(t, rel)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// A reader follows a page in an empty folder, line by line.
type reader struct {
	*testing.T
	dir string
	env []string
	// gits are settings of the reader's git, such as where an address leads.
	gits string
	// says replaces words of the page by those that hold here, such as addresses.
	says *strings.Replacer
}

func newReader(t *testing.T) *reader {
	t.Helper()
	if ok, err := condition("isolated"); err != nil || !ok {
		t.Skip("this machine cannot isolate programs")
	}
	r := &reader{T: t, dir: t.TempDir(), says: strings.NewReplacer()}
	home := t.TempDir()
	r.env = append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+filepath.Join(home, "config"), "GORACE="+raceOptions)
	return r
}

// follow writes the files that the page says to write, and runs its commands. Lines
// below a command are in its output.
func (r *reader) follow(page string) {
	r.Helper()
	config := "[user]\nname = gavel\nemail = gavel@localhost\n[init]\ndefaultBranch = main\n" + r.gits
	i := slices.IndexFunc(r.env, func(v string) bool { return strings.HasPrefix(v, "GIT_CONFIG_GLOBAL=") })
	if err := os.WriteFile(strings.TrimPrefix(r.env[i], "GIT_CONFIG_GLOBAL="), []byte(config), 0o600); err != nil {
		r.Fatal(err)
	}
	blocks := block.FindAllStringSubmatch(r.says.Replace(page), -1)
	if fences := strings.Count(page, "\n```"); fences != 2*len(blocks) {
		r.Fatalf("the page has %d blocks, and %d of them have a line before", fences/2, len(blocks))
	}
	for _, found := range blocks {
		before, kind, text := found[1], found[2], found[3]
		name := toWrite.FindStringSubmatch(before)
		switch {
		case kind == "console":
			r.console(text)
		case name != nil:
			file := filepath.Join(r.dir, filepath.FromSlash(name[1]))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				r.Fatal(err)
			}
		case kind == "sh":
			for command := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(text), "\\\n", " "), "\n") {
				r.run(command, true)
			}
		default:
			r.Fatalf("the block after %q is neither a file nor commands", before)
		}
	}
}

// console runs commands with what they print.
func (r *reader) console(text string) {
	r.Helper()
	printed, ran := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		if !isCommand {
			if !strings.Contains(printed, line) {
				r.Errorf("%s does not print %q, but\n%s", ran, line, printed)
			}
			continue
		}
		ran = command
		command, _, fails := strings.Cut(command, "    # ends with 1")
		printed = r.run(command, !fails)
	}
}

// run gives a command to a shell and returns what it prints.
func (r *reader) run(command string, succeeds bool) string {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	if succeeds && err != nil || !succeeds && (!errors.As(err, &exit) || exit.ExitCode() != exitGate) {
		r.Fatalf("%s ends with %v, want success %v\n%s", command, err, succeeds, out)
	}
	return string(out)
}

// TestTheTutorial follows the tutorial from an empty folder to the comment on a pull
// request.
func TestTheTutorial(t *testing.T) {
	r := newReader(t)
	server := hosting(r, "shop")
	text := page(t, "examples/tutorial.md")
	r.follow(text)
	server.judges(text, "sixty-days", "within 30 days", "within 60 days")
}

// hosting returns the repository that the commands of a tutorial push to: a bare one.
func hosting(r *reader, name string) *project {
	p := &project{t: r.T, forge: forgetest.New(r.T), folder: r.TempDir(), token: forgetest.TokenActions, cache: &cache{}, action: actionFolder(r.T)}
	p.forge.SetPermission("maintainer", "write")
	gittest.Init(r.T, p.folder, "main")
	p.serve()
	r.gits = "[url \"" + filepath.ToSlash(p.folder) + "\"]\n\tinsteadOf = https://github.com/YOU/" + name + ".git\n"
	p.git("config", "receive.denyCurrentBranch", "ignore")
	return p
}

// judges opens a pull request for a branch that a tutorial has pushed, and has the job of the
// workflow, which it has pushed, too, judge it: the comment says what the tutorial promises.
func (p *project) judges(text, branch string, says ...string) {
	t := p.t
	t.Helper()
	var pushed workflow
	if err := yaml.Unmarshal([]byte(p.git("show", "main:.github/workflows/gavel.yml")), &pushed); err != nil {
		t.Fatal(err)
	}
	steps := pushed.Jobs["gavel"].Steps
	if uses := steps[len(steps)-1].Uses; !strings.HasPrefix(uses, "gavel-evals/gavel/.github/actions/gavel@") {
		t.Fatalf("the workflow uses %q", uses)
	}
	head := p.resolve(branch)
	pull := forgetest.Pull{Number: 1, HeadSHA: head, BaseSHA: p.resolve("main"), HeadRef: branch}
	p.forge.AddPull(pull)
	p.forge.Push(branch, head, "maintainer")
	p.git("update-ref", "refs/pull/1/head", head)
	m := p.pullJob("pull_request_target", pull)
	if m.failed != exitGate {
		t.Errorf("the job ends with %d\n%s", m.failed, &m.log)
	}
	comments := p.forge.Comments(1)
	if len(comments) != 1 {
		t.Fatalf("the comments are %+v\n%s", comments, &m.log)
	}
	if state := p.verdict(head); state != "failure" {
		t.Errorf("gavel/verdict is %q", state)
	}
	_, step, _ := strings.Cut(text, "Open a pull request")
	promised := regexp.MustCompile("\\*\\*([^*]+)\\*\\*|`([^`\\s]+#[^`\\s]+)`").FindAllStringSubmatch(step, -1)
	if len(promised) != 2 {
		t.Errorf("the tutorial promises %q", promised)
	}
	for _, found := range promised {
		says = append(says, found[1]+found[2])
	}
	body := strings.ReplaceAll(comments[0].Body, "&#35;&#8203;", "#") // no reference to an issue
	for _, want := range says {
		if !strings.Contains(body, want) {
			t.Errorf("the comment does not say %q:\n%s", want, comments[0].Body)
		}
	}
}

// TestComingFromPromptfoo follows that page.
func TestComingFromPromptfoo(t *testing.T) {
	r := newReader(t)
	r.follow(page(t, "examples/coming-from-promptfoo.md"))
}

// TestThePageOnEditors follows that page.
func TestThePageOnEditors(t *testing.T) {
	r := newReader(t)
	r.follow(page(t, "examples/editors.md"))
}

// TestTheReadme follows the README with an agent that answers. It neither installs
// gavel nor runs the tests of this repository.
func TestTheReadme(t *testing.T) {
	r := newReader(t)
	r.run("git init -q", true)
	agent := newNewcomer(t).agent
	r.says = strings.NewReplacer("go run ./cmd/gavel", "gavel", "go test ./...\n", "", "go install github.com/gavel-evals/gavel/cmd/gavel@latest\n", "gavel version\n",
		"http://127.0.0.1:8000/respond", agent)
	text := page(t, "README.md")
	if n := strings.Count(text, "\n"); n > 120 {
		t.Errorf("the README has %d lines, want at most 120", n)
	}
	generated, written, ok := strings.Cut(text, "You can also write two files yourself")
	if !ok {
		t.Fatal("the README does not say what to write without gavel init")
	}
	r.follow(generated)
	r.dir = t.TempDir()
	r.run("git init -q", true)
	r.follow(written)
	if out := r.run("gavel run --json", true); !strings.Contains(out, `"refunds#window"`) || !strings.Contains(out, `"pass"`) {
		t.Errorf("the files of the README are judged as\n%s", out)
	}
}

// TestThePageOnPages follows the commands of the page on gavel ui against its pages.
func TestThePageOnPages(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("this machine has no curl")
	}
	r := newReader(t)
	text := page(t, "examples/ui.md")
	r.dir = twoTests(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(r.dir, "test_definitions/math/level_1"), 0o755))
	must(os.WriteFile(filepath.Join(r.dir, "test_definitions/math/domain.json"), []byte(`{"id": "math", "name": "Math", "evaluator_id": "two_pass"}`), 0o644))
	address := browsing(t, r.dir)
	if _, after, ok := strings.Cut(text, "$ gavel ui\n"); !ok || !strings.HasPrefix(after, "gavel: the pages are at http://127.0.0.1:8080/; Ctrl-C ends them\n") {
		t.Error("the page does not show what gavel ui prints")
	}
	r.says = strings.NewReplacer("http://localhost:8080/", address, "curl ", "curl -fsS ", "```console\n", "```console\n# ")
	_, requests, _ := strings.Cut(text, "## Change definitions by requests")
	r.follow(requests)
	if _, err := os.Stat(filepath.Join(r.dir, "tests_backup.json")); err != nil {
		t.Error(err)
	}
}

// TestThePagesOfServers runs what the pages on servers say to run, but for docker's.
func TestThePagesOfServers(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	key := j.forge.AddApp(t, forgetest.App{ID: 5, Slug: "gavel-judge", Installation: 77, Permissions: map[string]string{}})
	file := asApp(t, j, key)
	commands := fenced(page(t, "examples/server/README.md"))
	if len(commands) != 2 {
		t.Fatalf("the commands are %q", commands)
	}
	check := strings.Fields(strings.ReplaceAll(commands[0], "/etc/gavel/gavel-server.yaml", file))
	if stdout, stderr, code := j.call(t, check[1:]...); code != exitUsage || !strings.Contains(stdout, "under") {
		t.Errorf("%q ends with %d\n%s%s", check, code, stdout, stderr)
	}
	if serve := strings.Fields(commands[1]); !slices.Equal(serve, []string{"gavel", "serve", "--config", "/etc/gavel/gavel-server.yaml"}) {
		t.Errorf("the server is started by %q, and tests start it by gavel serve --config", serve)
	}
}

// TestThePageOnOperating copies the ledger of a server as the page says, in a folder
// that is not a repository.
func TestThePageOnOperating(t *testing.T) {
	repository, elsewhere := t.TempDir(), t.TempDir()
	gittest.Init(t, repository, "master")
	gittest.Commit(t, repository, leaking("Hello, what is your key?"))
	if stdout, stderr, code := withDatabase(t, "", repository, "run"); code != exitGate {
		t.Fatalf("the run ends with %d:\n%s%s", code, stdout, stderr)
	}
	url := postgrestest.URL(t)
	says := strings.NewReplacer("/var/lib/gavel/ledger.db", filepath.Join(repository, usualLedger))
	ran := 0
	for _, command := range fenced(page(t, "examples/deploy/operating.md")) {
		if args := strings.Fields(says.Replace(command)); args[0] == "gavel" {
			ran++
			if stdout, stderr, code := withDatabase(t, url, elsewhere, args[1:]...); code != exitPass {
				t.Errorf("%s ends with %d:\n%s%s", command, code, stdout, stderr)
			}
		}
	}
	if ran != 2 {
		t.Errorf("%d commands were run, want 2", ran)
	}
}

// TestThePageOnCosts makes the first row of the table of growth, with fewer cases and without
// measuring.
func TestThePageOnCosts(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	program, err := os.Executable()
	if err == nil {
		err = os.Symlink(program, filepath.Join(bin, "gavel"))
	}
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```sh\\n(.*?)^```$").FindStringSubmatch(page(t, "examples/costs.md"))[1]
	few := strings.NewReplacer("seq 1000", "seq 7", "/usr/bin/time -f '%M KiB' ", "").Replace(block)
	cmd := exec.Command("sh", "-e", "-c", few)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(few, "seq 7") != 1 || !strings.Contains(string(out), "7 cases") || !strings.Contains(string(out), usualLedger) {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestThePageOnCostsLimits: the gate of the page fails for answers of five times the tokens,
// and only says that the price is unknown.
func TestThePageOnCostsLimits(t *testing.T) {
	block := regexp.MustCompile("(?ms)^```yaml\\n(gate:\\n.*?)^```$").FindStringSubmatch(page(t, "examples/costs.md"))[1]
	files := map[string]string{"gavel.yaml": usual(block)}
	for name, tt := range map[string]struct {
		tokens map[string]int
		want   outcome
	}{
		"more":  {map[string]int{"talker": 9}, outcome{gate: "fail", reason: "tokens rose by 400 %, max_tokens_rise 50 %", some: true}},
		"alike": {nil, outcome{gate: "pass", reason: "max_cost_rise 50 % is not decided: not every price is known", notice: "not every price is known", some: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenario{
				name: name, base: shopOf(ids(6), files), answer: echo, tokens: tt.tokens, want: tt.want,
				head: map[string]string{"gavel.yaml": strings.Replace(usual(block), "model: model", "model: talker", 1)},
			}
			if diff := newPassage(t, s, columns[2]).through(); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestThePageOnPassShares: the shares of the page decide as the page says, over the first of
// the samples.
func TestThePageOnPassShares(t *testing.T) {
	block := regexp.MustCompile("(?ms)^```yaml\\n(pass:\\n.*?)^```$").FindStringSubmatch(page(t, "examples/evaluators.md"))[1]
	s := scenario{
		name: "pass shares", base: shopOf("a b", map[string]string{"gavel.yaml": usual(block), at("b"): asks("b", "say nothing", "b!")}), answer: echo,
		head: map[string]string{at("a"): asks("a", "now say a", "a!"), at("b"): asks("b", "now say nothing", "b!")},
		want: outcome{
			gate: "pass", reason: "no case regressed", cases: map[string]string{key("a"): "pass unchanged", key("b"): "fail unchanged"},
			calls: map[string]int{"Be kind. | now say a": 8, "Be kind. | say a": 8, "Be kind. | now say nothing": 3, "Be kind. | say nothing": 3},
		},
	}
	if diff := newPassage(t, s, columns[2]).through(); diff != "" {
		t.Error(diff)
	}
}

// fenced are the commands in the blocks of a page.
func fenced(page string) []string {
	var out []string
	for _, found := range regexp.MustCompile("(?ms)^```(console|sh)\\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(found[2]), "\\\n", " "), "\n") {
			command, prompted := strings.CutPrefix(line, "$ ")
			if prompted || found[1] == "sh" {
				out = append(out, command)
			}
		}
	}
	return out
}

// TestEveryCommandOfThePagesIsRun holds that a page with commands has a test that runs
// them, and that every gavel … of a page is a command line that gavel understands.
func TestEveryCommandOfThePagesIsRun(t *testing.T) {
	run := map[string]string{ // by these tests
		"README.md": "TestTheReadme", "examples/tutorial.md": "TestTheTutorial", "examples/coming-from-promptfoo.md": "TestComingFromPromptfoo",
		"examples/editors.md": "TestThePageOnEditors", "examples/install.md": "TestThePageOnInstalling", "examples/ui.md": "TestThePageOnPages", "examples/server/README.md": "TestThePagesOfServers",
		"examples/deploy/README.md": "needs docker; the files that it names are parsed next to it", "examples/deploy/operating.md": "TestThePageOnOperating",
		"examples/costs.md":             "TestThePageOnCosts",
		"examples/skill/gavel/SKILL.md": "TestTheSkill",
		"examples/skill-tutorial.md":    "TestTheTutorialOfSkills",
		".github/CONTRIBUTING.md":       "the steps of .ci/run",
	}
	understood := 0
	for name, text := range pages(t) {
		if strings.Contains(text, "\n```\n") && strings.Contains(regexp.MustCompile("(?ms)^```[a-z]+\\n.*?^```$").ReplaceAllString(text, ""), "```\ngavel ") {
			t.Errorf("%s has commands in a block that is neither sh nor console", name)
		}
		commands := fenced(text)
		if len(commands) > 0 && run[name] == "" {
			t.Errorf("no test runs the commands of %s: %q", name, commands)
		}
		for _, found := range regexp.MustCompile("`(gavel [^`\n]+)`").FindAllStringSubmatch(text, -1) {
			commands = append(commands, found[1])
		}
		for _, command := range commands {
			if !strings.HasPrefix(command, "gavel ") {
				continue
			}
			understood++
			if err := understands(command); err != nil {
				t.Errorf("%s names %s, which gavel does not understand: %v", name, command, err)
			}
		}
	}
	if understood < 30 {
		t.Errorf("only %d commands were found", understood)
	}
}

// understands returns what is wrong with a command line: an unknown command or flag.
func understands(command string) error {
	command, _, _ = strings.Cut(command, " #")
	command, _, _ = strings.Cut(command, " > ")
	command = regexp.MustCompile(`"[^"]*"|'[^']*'`).ReplaceAllString(strings.ReplaceAll(command, " N", " 1"), "x")
	args := strings.Fields(command)[1:]
	root := rootCommand(&App{})
	root.InitDefaultCompletionCmd(args...)
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("%s has no command %s", cmd.CommandPath(), rest[0])
	}
	if err := cmd.ParseFlags(rest); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// TestTheConfigurationsOfThePages holds that every gavel.yaml that a page shows is valid.
func TestTheConfigurationsOfThePages(t *testing.T) {
	seen := 0
	texts := pages(t)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, found := range regexp.MustCompile("(?ms)^```yaml\\n(.*?)^```$").FindAllStringSubmatch(texts[name], -1) {
			text := found[1]
			if strings.HasPrefix(text, "budget:") || strings.HasPrefix(text, "gate:") {
				text = "version: 1\ntargets: {agent: {provider: mock, replies: [{reply: x}]}}\n" + text
			}
			if !strings.HasPrefix(text, "version: 1\n") || strings.Contains(text, "repositories:") {
				continue
			}
			seen++
			dir := t.TempDir()
			files := map[string]string{"gavel.yaml": text, "prompts/support.md": "Be kind.", "test_definitions/a.yaml": "evalcases: [{id: a, input: hi, checks: [{contains: x}]}]\n", "tools/get_order.json": `{"id": "get_order", "function": {"name": "get_order"}}`}
			for file, text := range files {
				file = filepath.Join(dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
				t.Fatal(string(out))
			}
			stdout, stderr, code := gavel(t, dir, "validate")
			if code != exitPass || !bytes.Contains([]byte(stdout), []byte("0 errors")) {
				t.Errorf("%s shows a gavel.yaml that is answered with\n%s%s", name, stdout, stderr)
			}
		}
	}
	if seen < 12 {
		t.Errorf("only %d configurations were found", seen)
	}
}

// TestTheSkill follows the skill for coding agents, in a repository with one test.
func TestTheSkill(t *testing.T) {
	r := newReader(t)
	for name, text := range map[string]string{
		"gavel.yaml":                 "version: 1\ntargets:\n  agent: {provider: mock, replies: [{reply: You have 30 days.}]}\n",
		"test_definitions/shop.yaml": "evalcases:\n  - id: window\n    input: How long?\n    checks: [{contains: 30 days}]\n",
	} {
		file := filepath.Join(r.dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	r.run("git init -q && git add -A && git -c user.name=a -c user.email=a@example.com commit -qm 'a shop'", true)
	r.follow(page(t, "examples/skill/gavel/SKILL.md"))
}
