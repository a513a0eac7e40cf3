package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/github"
	"github.com/gavel-evals/gavel/schema"
)

func (a *app) prCommand() *cobra.Command {
	var repo string
	var number int
	cmd := &cobra.Command{
		Use:   "pr",
		Short: "Judge a pull request and publish the verdicts on it",
		Long: `Judge a pull request and publish the verdicts on it: one comment, two statuses,
and where the token may not write, the summary of the job and the exit code.

In a job of GitHub Actions everything is read from the environment. Elsewhere
name the pull request and put a token into GITHUB_TOKEN.`,
		Args: noArgs,
		Example: `  gavel pr
  GITHUB_TOKEN=… gavel pr --repo octo/demo --pr 7`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.pullRequest(cmd.Context(), repo, number)
		},
	}
	cmd.Flags().StringVar(&repo, "repo", "", "repository as owner/name, such as octo/demo (default: that of the event)")
	cmd.Flags().IntVar(&number, "pr", 0, "number of the pull request, such as 7 (default: that of the event)")
	return cmd
}

// A review is one pull request, or one commit of a merge queue or of a push, on
// its way to a report.
type review struct {
	*app
	client *forge.Client
	repo   forge.Repo
	head   string
	// refs are fetched: where head and base are found.
	refs []string
	// base is a commit or one of refs; head is compared with the merge base.
	base   string
	number int // 0 for a merge queue and a push
	// level is what samples of head are stored under.
	level ledger.Level
	trust forge.Trust
	// fresh asks for a new comment when the verdict changes.
	fresh bool
}

func (a *app) pullRequest(ctx context.Context, repo string, number int) error {
	r, err := a.review(ctx, repo, number)
	if err != nil {
		return err
	}
	// A token that may not write shows again at the end, where it matters.
	denied := r.setStatuses(ctx,
		github.Status{Context: github.ContextValidate, State: github.Pending, Description: "checking the definitions"},
		github.Status{Context: github.ContextVerdict, State: github.Pending, Description: "working out what is affected"})
	report, err := r.judgeAndPublish(ctx)
	if err != nil {
		const broken = "gavel could not judge this head; see the job's log"
		// The head must not stay pending, even when the job was cancelled.
		return errors.Join(err, r.setStatuses(context.WithoutCancel(ctx),
			github.Status{Context: github.ContextVerdict, State: github.Error, Description: broken},
			github.Status{Context: github.ContextValidate, State: github.Error, Description: broken}))
	}
	return errors.Join(r.tell(report.Report, errors.Join(denied, report.unpublished)), exitOf(report.Report))
}

// A reviewed pull request has a report, and may have something that the forge
// did not take.
type reviewed struct {
	*reporters.Report
	unpublished error
}

// judgeAndPublish works on one ledger: what is judged is stored before any of
// it is published.
func (r *review) judgeAndPublish(ctx context.Context) (reviewed, error) {
	book, err := r.openLedger(ctx)
	if err != nil {
		return reviewed{}, err
	}
	defer book.Close()
	report, err := r.judge(ctx, book)
	if err != nil {
		return reviewed{}, err
	}
	return reviewed{report, r.publish(context.WithoutCancel(ctx), book, report)}, nil
}

func exitOf(report *reporters.Report) error {
	if code := report.ExitCode(); code != exitPass {
		return &exitError{code: code}
	}
	return nil
}

func (a *app) env(name string) string {
	v, _ := a.lookupEnv(name)
	return v
}

// review finds out what is to be judged and whether it may be run.
func (a *app) review(ctx context.Context, repo string, number int) (*review, error) {
	client, err := forge.New(forge.Config{
		BaseURL: a.env("GITHUB_API_URL"), Token: forge.Token(a.env("GITHUB_TOKEN")), Now: a.now, Wait: a.wait,
	})
	if err != nil {
		return nil, usageError("GITHUB_API_URL: %w", err)
	}
	r := &review{app: a, client: client, number: number}
	event := forge.Event{}
	if repo == "" || number == 0 {
		path := a.env("GITHUB_EVENT_PATH")
		if path == "" {
			return nil, usageError("there is no event; name the pull request with --repo owner/name --pr N")
		}
		if event, err = forge.ReadEvent(path, a.env("GITHUB_EVENT_NAME")); err != nil {
			return nil, usageError("read the event: %w", err)
		}
		r.repo = event.Repo
		if event.Pull != nil {
			r.number = event.Pull.Number
		}
	} else if r.repo, err = forge.ParseRepo(repo); err != nil {
		return nil, usageError("--repo: %w", err)
	}
	if err := r.read(ctx, event); err != nil {
		return nil, err
	}
	return r, nil
}

// login is who a job's token writes as, since it cannot ask.
func (a *app) login() string {
	if a.env("GITHUB_ACTIONS") == "true" {
		return "github-actions[bot]"
	}
	return ""
}

// read finds out the two sides. A pull request is read as it is now: the event
// is only a hint.
func (r *review) read(ctx context.Context, event forge.Event) error {
	r.level = ledger.LevelPull
	if r.number == 0 {
		r.trust = forge.Trusted(event.Name, nil, forge.PermissionUnknown)
		return r.commit(event)
	}
	pull, err := r.client.Pull(ctx, r.repo, r.number)
	if err != nil {
		return fmt.Errorf("read the pull request: %w", err)
	}
	r.head, r.base = pull.HeadSHA, pull.BaseSHA
	r.refs = []string{"refs/heads/" + pull.BaseRef, fmt.Sprintf("refs/pull/%d/head", r.number)}
	permission, err := r.client.Permission(ctx, r.repo, pull.Author)
	if err != nil {
		permission = forge.PermissionUnknown
	}
	r.trust = forge.Trusted(event.Name, &pull, permission)
	return nil
}

// commit takes the two sides from the event of a merge queue or of a push. A
// push to the default branch is compared with what it replaced, and what is
// judged there is base's from now on. A push to another branch is compared with
// the default branch.
func (r *review) commit(event forge.Event) error {
	r.head = event.HeadSHA
	r.refs = []string{"refs/heads/" + event.HeadRef}
	if event.BaseRef != "" && event.BaseRef != event.HeadRef {
		r.refs = append(r.refs, "refs/heads/"+event.BaseRef)
	}
	switch {
	case event.Name == forge.EventMergeGroup:
		r.base = event.BaseSHA
	case event.BaseRef == event.HeadRef:
		r.base, r.level = event.BaseSHA, ledger.LevelBase
	case event.BaseRef != "":
		r.base = "refs/heads/" + event.BaseRef
	}
	if r.base == "" {
		return usageError("the push to %s has nothing to compare with: use gavel run", event.HeadRef)
	}
	return nil
}

// judge fetches both sides, plans, and runs what may be run.
func (r *review) judge(ctx context.Context, book *ledger.Ledger) (*reporters.Report, error) {
	w, err := r.fetch(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	prepared, err := r.committed(ctx, w, book, commits{
		head: r.head, base: r.base,
		trust: ledger.Trust{Level: r.level, Repository: r.repo.String(), PullRequest: r.number},
	})
	if err != nil {
		return nil, err
	}
	r.fresh = prepared.Base.Config.Comment == "new"
	e := controller.Execution{Repository: r.repo.String(), PullRequest: r.number, Outbox: r.outbox}
	if !r.trust.Run {
		e.NotRun = r.trust.Reason + ": validated and planned only, until somebody with write permission approves"
	}
	if err := r.configuration(prepared, &e); err != nil {
		return nil, err
	}
	return r.execute(ctx, prepared, "", e)
}

// configuration says what happens to gavel.yaml in the pull request. Without
// one at base nothing is run.
func (r *review) configuration(p *controller.Prepared, e *controller.Execution) error {
	baseCfg, problems, found, err := r.readConfig(p.Base.FS)
	if err != nil {
		return err
	}
	switch {
	case !found:
		e.NotRun = cmp.Or(e.NotRun, fmt.Sprintf("base has no %s: validated and planned only", r.configFile))
	case schema.HasErrors(problems):
		e.NotRun = cmp.Or(e.NotRun, fmt.Sprintf("%s is invalid at base: %s", r.configFile, problems[0]))
	}
	for _, row := range p.Plan.Rows {
		// Without a sandbox a program of a pull request is not started.
		if row.Action == plan.Run && p.Base.Config.Targets[row.Target].Provider == config.Command {
			e.NotRun = cmp.Or(e.NotRun, fmt.Sprintf("target %s is a command, and programs are not run for a pull request", row.Target))
		}
	}
	headCfg, headProblems, headFound, err := r.readConfig(p.Head.FS)
	if err != nil {
		return err
	}
	p.Problems = slices.Concat(headProblems, p.Problems)
	e.ConfigDiff = reporters.ConfigChange{File: r.configFile, DecidedBy: "base"}
	e.ConfigDiff.Files = constraintChange(baseCfg, headCfg, p)
	baseCfg.Constrain(nil)
	headCfg.Constrain(nil)
	if found && headFound && baseCfg.Digest == headCfg.Digest {
		return nil
	}
	if found || headFound {
		e.ConfigDiff.Files = append([]string{r.configFile}, e.ConfigDiff.Files...)
	}
	if found && headFound {
		base, head := controller.GateSettings(baseCfg.Gate), controller.GateSettings(headCfg.Gate)
		e.ConfigDiff.Base, e.ConfigDiff.Head = &base, &head
	}
	return nil
}

// fetch brings both sides with their history, which a job's shallow checkout
// does not have.
func (r *review) fetch(ctx context.Context) (*workspace, error) {
	here, err := gitrepo.Open(r.dir)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	root := here.Root()
	repo, commits, err := here.Fetch(ctx, gitrepo.Source{
		Refs: r.refs, Token: func() string { return r.env("GITHUB_TOKEN") },
		Store: filepath.Join(root, ownFolder, "objects.git"),
	})
	if err := errors.Join(err, here.Close()); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", strings.Join(r.refs, " and "), err)
	}
	if i := slices.Index(r.refs, r.base); i >= 0 {
		r.base = commits[i]
	}
	return &workspace{repo: repo}, nil
}

// openLedger comes before anything is fetched, since it refuses a folder that
// the checkout brought along.
func (r *review) openLedger(ctx context.Context) (*ledger.Ledger, error) {
	if r.ledgerFile != "" {
		return ledger.Open(ctx, ledger.Config{Path: r.ledgerFile})
	}
	here, err := gitrepo.Open(r.dir)
	if err != nil {
		return nil, err
	}
	book, err := openOwnLedger(ctx, here)
	return book, errors.Join(err, here.Close())
}
