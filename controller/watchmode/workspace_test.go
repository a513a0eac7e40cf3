package watchmode_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/filewatch"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/watchmode"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// start has the initial files of the repositories in these tests.
var start = map[string]string{
	"gavel.yaml": `version: 1
targets:
  bot: {provider: mock, replies: [{match: bye, reply: "good bye"}, {reply: "hello there"}]}
`,
	"test_definitions/talk/domain.json":        `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
	"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["hello"]}}`,
	"test_definitions/talk/level_1/bye.json":   `{"id": "bye", "name": "Bye", "prompt": "bye", "expected": {"keywords": ["bye"]}}`,
	"test_definitions/talk/level_2/more.json":  `{"id": "more", "name": "More", "prompt": "more", "expected": {"keywords": ["hello"]}}`,
	"test_definitions/suite.yaml":              suite("/prompts/talk.md"),
	"prompts/talk.md":                          "Be brief.\n",
	"prompts/other.md":                         "Be long.\n",
}

// suite has one case, whose prompt is in a file.
func suite(prompt string) string {
	return `
evalcases:
- id: brief
  expected_outcome: Greets.
  input_messages:
  - role: system
    content: [{type: file, value: ` + prompt + `}]
  - {role: user, content: hello}
  execution:
    evaluators: [{name: quick, type: latency, threshold: 60000}]
`
}

// A repo is a repository on disk that a test changes.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	r := &repo{t, filepath.Join(t.TempDir(), "repo")}
	r.must(os.MkdirAll(r.dir, 0o755))
	r.git("init", "-q", "-b", "main")
	r.write(start)
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "start")
	return r
}

func (r *repo) git(args ...string) {
	r.t.Helper()
	gittest.Run(r.t, r.dir, args...)
}

func (r *repo) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// write writes files as git does: a watcher waits until all of them are whole,
// however long that takes on a busy machine.
func (r *repo) write(files map[string]string) {
	r.t.Helper()
	if info, err := os.Stat(r.path(".git")); err == nil && info.IsDir() {
		lock := r.path(".git/index.lock")
		r.must(os.WriteFile(lock, nil, 0o644))
		defer func() { r.must(os.Remove(lock)) }()
	}
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(r.path(name)), 0o755), os.WriteFile(r.path(name), []byte(text), 0o644)); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *repo) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// open opens the repository without a ledger.
func (r *repo) open(context.Context) (watchmode.Workspace, error) {
	repository, err := gitrepo.Open(r.dir)
	if err != nil {
		return watchmode.Workspace{}, err
	}
	return watchmode.Workspace{Repo: repository, Files: []string{r.dir}, Own: []string{".gavel/", "test_definitions/book.db"}, Close: repository.Close}, nil
}

// judged opens it with a ledger.
func (r *repo) judged(ctx context.Context) (watchmode.Workspace, error) {
	place, err := r.open(ctx)
	if err != nil {
		return place, err
	}
	r.must(os.MkdirAll(r.path(".gavel"), 0o755))
	place.Ledger, err = ledger.Open(ctx, ledger.Config{Path: r.path(".gavel/ledger.db")})
	place.Close = func() error { return errors.Join(place.Ledger.Close(), place.Repo.Close()) }
	place.Files = append(place.Files, r.path(".gavel/ledger.db"))
	return place, err
}

// A source follows a repository against HEAD. Its functions are nil but where a test does
// otherwise.
type source struct {
	*repo
	open       func(context.Context) (watchmode.Workspace, error)
	beforeBase func() error
	beforeRead func()
}

func (s *source) Open(ctx context.Context) (watchmode.Workspace, error) {
	if s.open != nil {
		return s.open(ctx)
	}
	return s.repo.open(ctx)
}

func (s *source) Base(ctx context.Context, w watchmode.Workspace) (string, error) {
	if s.beforeBase != nil {
		if err := s.beforeBase(); err != nil {
			return "", err
		}
	}
	if w.Repo.Unborn() {
		return "", nil
	}
	return w.Repo.Resolve(ctx, "HEAD")
}

func (s *source) At(w watchmode.Workspace, commit string, otherwise *config.Config) (controller.Checkout, error) {
	files, err := w.Repo.FS(commit)
	if err != nil {
		return controller.Checkout{}, err
	}
	cfg, problems, err := readConfig(files)
	if schema.HasErrors(problems) {
		cfg = otherwise
	}
	return controller.Checkout{Commit: commit, FS: files, Config: cfg}, err
}

func (s *source) Snapshot(ctx context.Context, _ watchmode.Workspace, at controller.Checkout) (*load.Snapshot, error) {
	return load.Scan(ctx, at.FS, load.Options{Settings: at.Config.Settings()})
}

func (s *source) ReadConfig(files *gitrepo.WorkTree) (*config.Config, []schema.Problem, error) {
	if s.beforeRead != nil {
		s.beforeRead()
	}
	return readConfig(files)
}

// config follows the repository against HEAD.
func (r *repo) config() watchmode.Config { return r.following(&source{repo: r}) }

func (r *repo) following(s *source) watchmode.Config {
	return watchmode.Config{
		Source: s, ConfigFile: "gavel.yaml", LookupEnv: func(string) (string, bool) { return "", false },
		Watch: filewatch.Config{Settle: 20 * time.Millisecond},
	}
}

func (r *repo) committed() bool {
	cmd := exec.Command("git", "rev-parse", "-q", "--verify", "HEAD")
	cmd.Dir = r.dir
	return cmd.Run() == nil
}

func readConfig(files fs.FS) (*config.Config, []schema.Problem, error) {
	data, err := fs.ReadFile(files, "gavel.yaml")
	if errors.Is(err, fs.ErrNotExist) {
		return config.Default(), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	cfg, problems := config.Parse("gavel.yaml", data)
	return cfg, problems, nil
}

// fresh is the plan of a new process, with every case loaded on both sides.
func (r *repo) fresh() []string {
	r.t.Helper()
	repository, err := gitrepo.Open(r.dir)
	r.must(err)
	defer repository.Close()
	files, err := repository.WorkFS()
	r.must(err)
	defer files.Close()
	cfg, problems, err := readConfig(files)
	r.must(err)
	if schema.HasErrors(problems) {
		return lines(nil, problems)
	}
	req := controller.Request{
		Head:       controller.Checkout{Commit: controller.Worktree, FS: files, Config: cfg, Dir: r.dir},
		ConfigFile: "gavel.yaml", LookupEnv: func(string) (string, bool) { return "", false },
	}
	if r.committed() {
		commit, err := repository.Resolve(r.t.Context(), "HEAD")
		r.must(err)
		base, err := (&source{repo: r}).At(watchmode.Workspace{Repo: repository}, commit, cfg)
		r.must(err)
		req.Base = &base
		req.Changed = func(ctx context.Context, outside []string) ([]string, error) {
			return repository.ChangedWork(ctx, commit, append(append(load.Folders(cfg.Settings()), "gavel.yaml"), outside...))
		}
	}
	prepared, err := controller.Prepare(r.t.Context(), req)
	r.must(err)
	return lines(prepared.Plan, prepared.Problems)
}

// lines describe a plan and its problems, with the number of unaffected cases.
func lines(p *plan.Plan, problems []schema.Problem) []string {
	var out []string
	if p != nil {
		rest := p.Rest
		out = append(out, "against "+p.Base)
		for _, row := range p.Rows {
			if row.Unaffected() {
				rest.Cases++
				if row.Action == plan.Skip {
					rest.Skipped++
				}
				continue
			}
			out = append(out, fmt.Sprint(row.Key, " ", row.Action, " ", row.MovedFrom, ": ", row.Reasons, " ", row.HeadDigests.D))
		}
		out = append(out, fmt.Sprintf("%+v", rest))
	}
	for _, problem := range problems {
		out = append(out, problem.String())
	}
	return out
}

func linesOf(look *watchmode.View) []string {
	if look.Prepared == nil {
		return lines(nil, look.Problems)
	}
	return lines(look.Prepared.Plan, look.Problems)
}

func show(lines []string) string { return strings.Join(lines, "\n") }
