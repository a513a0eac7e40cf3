package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/ci"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/files"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/notify"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// prFlags are the flags of pr.
type prFlags struct {
	repo       string
	number     int
	baseLedger string
	cacheKeys  bool
	// patience is the time for retries of a forge that does not answer.
	patience time.Duration
	programs string
	targets  string
	bots     string
	labels   bool
	branches []string
	html     string
	// driftIssue is the issue for drift, empty for none.
	driftIssue string
}

// A prApp is the command pr with the common state of all commands.
type prApp struct{ *App }

// prCommand returns the command pr.
func prCommand(app *App) *cobra.Command {
	c := prApp{app}
	var f prFlags
	cmd := &cobra.Command{
		Use:   "pr",
		Short: "Judge a pull request and publish the verdicts on it",
		Args:  noArgs,
		Example: `  gavel pr
  gavel pr --ledger own/ledger.db --base-ledger base/ledger.db
  gavel pr --json | jq .gate
  GITHUB_TOKEN=… gavel pr --repo octo/demo --pr 7`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.cacheKeys {
				return c.cacheKeys(cmd.Context(), f)
			}
			return c.pullRequest(cmd.Context(), f)
		},
	}
	c.Sandbox.Bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.repo, "repo", "", "repository as owner/name, such as octo/demo (default: that of the event)")
	flags.IntVar(&f.number, "pr", 0, "number of the pull request, such as 7 (default: that of the event)")
	flags.StringVar(&f.baseLedger, "base-ledger", "", "ledger to import base results from, such as base/ledger.db; it may be missing")
	f.patience = 10 * time.Minute
	durationVar(flags, &f.patience, "forge-timeout", "how long to retry while the forge does not answer or accept the report, such as 20m")
	flags.StringVar(&f.programs, "programs", review.ProgramsWriters, "which programs of a head run: those of people who may write (writers), only those of approved heads (approved), only unchanged ones (base-only) or none (never)")
	flags.StringVar(&f.targets, "targets", review.TargetsWriters, "whose changes of the model, the parameters of sampling, the system prompt and the tools of a target are judged: those of people who may write (writers), only those of approved heads (approved) or none (base-only)")
	flags.StringVar(&f.bots, "bots", "", "ids of bots that are treated as people who may write, such as 41898282,29139614")
	flags.BoolVar(&f.labels, "labels", false, "have the label gavel:run ask for a run, if somebody added it who may write")
	flags.StringSliceVar(&f.branches, "branches", nil, "base branches whose tips' gavel.yaml decides about what goes to them, such as main,production; that of the default branch decides about the rest (default: the default branch)")
	flags.StringVar(&f.driftIssue, "drift-issue", "", "issue for a comment about drift, such as 12, or new for one that is opened when drift is found: a scheduled job then judges all cases of its branch again, and the token needs issues: write (default: none)")
	flags.StringVar(&f.html, "html", "", "also write the report as one page for a browser to this file, such as report.html, and have the comment link to the artifacts of the job")
	flags.BoolVar(&f.cacheKeys, "cache-keys", false, "only print the cache names of the ledgers of the event, one per line")
	return cmd
}

// cacheKeys prints the values for the next steps of a job.
func (c prApp) cacheKeys(ctx context.Context, f prFlags) error {
	event, _, err := c.subject(f)
	if err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	var keys ci.Keys
	err = c.retry(f).Do(ctx, func() (err error) {
		keys, err = ci.KeysOf(ctx, client, event, c.Env("GITHUB_RUN_ID")+"-"+c.Env("GITHUB_RUN_ATTEMPT"))
		return err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return c.Print(keys)
	}
	_, err = fmt.Fprint(c.Stdout, keys.Env())
	return err
}

// importBase adds base's results to the ledger. If they are unreadable, that only costs
// calls.
func (c prApp) importBase(ctx context.Context, path, from string) error {
	if from == "" {
		return nil
	}
	taken, err := ledger.Import(ctx, path, from)
	if err != nil {
		fmt.Fprintf(c.Stderr, "gavel: the results of base cannot be imported: %v\n", err)
	} else if taken > 0 {
		fmt.Fprintf(c.Stderr, "gavel: imported %s from base\n", textfmt.Count(int(taken), "sample"))
	}
	return nil
}

// prLedger returns the configuration of a job's ledger, after adding base's results. A
// damaged one is moved away first, because nothing could be added to it.
func (c prApp) prLedger(ctx context.Context, w *workspace, base string) (cfg ledger.Config, err error) {
	if cfg.Path, err = c.LedgerPath(ctx, w); err != nil {
		return cfg, err
	}
	if postgres.IsURL(cfg.Path) {
		return cfg, nil // base's results are in the same database
	}
	if cfg.Notice, err = ledger.SetDamagedAside(ctx, cfg); err != nil {
		return cfg, err
	}
	if cfg.Notice != "" {
		c.Note(cfg.Notice)
	}
	return cfg, c.importBase(ctx, cfg.Path, base)
}

// check checks the values of flags, and returns the bots.
func (f prFlags) check() (bots []int64, err error) {
	if bots, err = ci.Writers(f.programs, f.bots); err != nil {
		return nil, usageError("%w", err)
	}
	if !slices.Contains(review.TargetChoices, f.targets) {
		return nil, usageError("--targets is %q; write %s", f.targets, strings.Join(review.TargetChoices, ", "))
	}
	if _, err := config.ParseDriftIssue(f.driftIssue); err != nil {
		return nil, usageError("--drift-issue: %w", err)
	}
	return bots, nil
}

// pullRequest reviews the pull request or event that the flags name.
func (c prApp) pullRequest(ctx context.Context, f prFlags) error {
	bots, err := f.check()
	if err != nil {
		return err
	}
	event, repo, err := c.subject(f)
	if err != nil {
		return err
	}
	if why := ci.Idle(event, f.labels); why != "" {
		return c.idle(why)
	}
	here, err := gitrepo.Open(c.Dir)
	if err != nil {
		return usageError("%w", err)
	}
	defer here.Close()
	w := &workspace{Repo: here}
	page := files.WithPaths(c.Path, files.HTML(f.html, html.Options{}, nil))
	if err := files.Check(page...); err != nil {
		return usageError("%w", err)
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	event.Number = max(event.Number, f.number)
	jobOn := func(store *ledger.Ledger) *ci.Job {
		cfg := c.reviewing(here, store, client, repo)
		cfg.Retry, cfg.Programs, cfg.Targets, cfg.Bots = c.retry(f), f.programs, f.targets, bots
		cfg.Branches = f.branches
		if f.html != "" {
			cfg.ReportURL = ci.Environment(c.Env).ReportURL(repo)
		}
		job := &ci.Job{Review: cfg, Labels: f.labels, Output: c.Env("GITHUB_OUTPUT"), Redact: c.Secrets.Text}
		if ci.Environment(c.Env).Scheduled() {
			job.DriftIssue, _ = config.ParseDriftIssue(f.driftIssue) // it was checked
		}
		return job
	}
	if event.Action == forge.ActionClosed && event.Pull != nil {
		if err := jobOn(nil).Leave(ctx, event); err != nil {
			return err
		}
		return c.idle("the pull request was closed")
	}
	// The ledger is opened before anything is fetched, since a ledger folder from the
	// checkout is refused.
	where, err := c.prLedger(ctx, w, f.baseLedger)
	var result ci.Result
	opened := false
	if err == nil {
		where.Unconfined = c.Unconfined(ctx)
		err = ledger.Use(ctx, where, c.Note, func(store *ledger.Ledger) (err error) {
			opened = true
			if result, err = jobOn(store).Judge(ctx, event); err == nil {
				c.writePage(context.WithoutCancel(ctx), store, result.Report, about(c.Env, repo, event.Number), f.html)
			}
			return err
		})
	}
	if err != nil && !opened || ledger.IsBroken(err) {
		// A head without any status stays open forever.
		return errors.Join(err, jobOn(nil).Refuse(ctx, event, "the ledger cannot be used; see the log of the job"))
	}
	if errors.Is(err, review.ErrNoBase) {
		return usageError("%w: use gavel run", err)
	}
	if err != nil {
		return err
	}
	if err := c.printResult(result); err != nil || ctx.Err() == nil {
		return err
	}
	return errInterrupted
}

// writePage writes the report as a page and passes its path to the next steps of the
// job. A failure to write changes no verdict.
func (c prApp) writePage(ctx context.Context, store *ledger.Ledger, r *report.Report, o html.Options, file string) {
	if file == "" || r == nil {
		return
	}
	page := files.WithPaths(c.Path, files.HTML(file, o, recall(ctx, store)))
	err := files.Write(r, page...)
	if err == nil {
		err = ci.HandOn(c.Env("GITHUB_OUTPUT"), "report", page[0].Path)
	}
	if err != nil {
		c.Note(err.Error())
	}
}

// about returns what the page of a report says it is about.
func about(env ci.Environment, repo forge.Repo, number int) html.Options {
	o := html.Options{RepositoryURL: env.WebURL() + "/" + repo.String(), Subject: repo.String(), At: time.Now()}
	if number > 0 {
		o.Subject += fmt.Sprintf("#%d", number)
	}
	return o
}

// retry returns the retries for an unavailable forge: nothing completes a job's open
// work later.
func (c prApp) retry(f prFlags) forge.Retry {
	return forge.Retry{For: f.patience, Clock: c.Clock, Log: func(err error, wait time.Duration) {
		c.Note(fmt.Sprintf("the forge is asked again in %v: %v", wait.Round(time.Second), err))
	}}
}

// subject returns the event named by the flags, else the job's event.
func (c prApp) subject(f prFlags) (forge.Event, forge.Repo, error) {
	if f.repo != "" && f.number != 0 && !f.cacheKeys {
		repo, err := forge.ParseRepo(f.repo)
		if err != nil {
			return forge.Event{}, repo, usageError("--repo: %w", err)
		}
		return forge.Event{}, repo, nil
	}
	if c.Env("GITHUB_EVENT_PATH") == "" {
		return forge.Event{}, forge.Repo{}, usageError("no event in the environment; name the pull request with --repo owner/name --pr N")
	}
	event, err := ci.Environment(c.Env).Event()
	if err != nil {
		return event, event.Repo, usageError("read the event: %w", err)
	}
	return event.Into(f.branches), event.Repo, nil
}

// client returns a client with the environment's credential.
func (c prApp) client() (*forge.Client, error) {
	client, err := forge.New(forge.Config{
		BaseURL: c.Env("GITHUB_API_URL"), Token: forge.Token(c.Env("GITHUB_TOKEN")), Clock: c.Clock,
	})
	if err != nil {
		return nil, usageError("GITHUB_API_URL: %w", err)
	}
	return client, nil
}

// reviewing returns the configuration for reviewing a repository.
func (c prApp) reviewing(here *gitrepo.Repository, store *ledger.Ledger, client *forge.Client, repo forge.Repo) review.Config {
	job := ci.Environment(c.Env)
	return review.Config{
		Client: client, Repository: repo, Ledger: store, ConfigFile: c.ConfigFile, LookupEnv: c.LookupEnv,
		// A job's shallow checkout lacks the history of both sides.
		Fetch: func(ctx context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error) {
			src.Token = gitrepo.Constant(c.Env("GITHUB_TOKEN"))
			src.Store = filepath.Join(here.MainRoot(), gitrepo.OwnFolder, "objects.git")
			return here.Fetch(ctx, src)
		},
		Making: c.Making(), Execute: c.Execute,
		Login: job.Login(), WebURL: job.WebURL(), RunURL: job.RunURL(repo), Log: c.Note, Clock: c.Clock,
		Notices: &notify.Sender{URL: c.notified, Transport: c.Notices, Clock: c.Clock},
		Hint:    "A job that starts for comments follows them. Without such a job, rerun this one: it reads them too.",
	}
}

// notified returns the address for notices in a variable of the job.
func (c prApp) notified(variable string) (string, error) {
	address := strings.TrimSpace(c.Env(variable))
	if address == "" {
		return "", fmt.Errorf("%s is not set: add it to the env of the job, or remove it from the notify of %s", variable, c.ConfigFile)
	}
	c.Secrets.Add(address)
	return address, nil
}

// printGate prints the gate or, as JSON, the whole report. Without a report the
// document only has the gate.
func (c prApp) printGate(r *report.Report, gate report.Gate) error {
	switch {
	case c.JSON && r != nil:
		return c.Print(r)
	case c.JSON:
		return c.Print(map[string]report.Gate{"gate": gate})
	}
	fmt.Fprintf(c.Stdout, "gate %s: %s\n", gate.Result, gate.Reason)
	return nil
}

// idle prints the reason why there is nothing to do.
func (c prApp) idle(why string) error {
	if c.JSON {
		return c.Print(map[string]string{"idle": why})
	}
	fmt.Fprintf(c.Stdout, "nothing to do: %s\n", why)
	return nil
}

// printResult writes the result to the job's own output, including results that the
// forge refused. That changes no verdict, but a job with unpublished results fails.
func (c prApp) printResult(r ci.Result) error {
	if r.Idle != "" {
		return c.idle(r.Idle)
	}
	if r.Unpublished != nil {
		c.Note(fmt.Sprintf("the report could not be published: %v", r.Unpublished))
	}
	text, gate, code := comment.Renderer(func(int) string { return r.Ended }), report.Gate{Result: report.GateUndetermined, Reason: r.Ended}, ExitGate
	if r.Report != nil {
		text, gate, code = r.Review.Text(r.Report), r.Review.Gate(r.Report), r.Report.ExitCode()
		if code == ExitPass && gate.Result != report.GatePass {
			code = ExitGate
		}
	}
	if path := c.Env("GITHUB_STEP_SUMMARY"); path != "" {
		if err := comment.JobSummary(path, text); err != nil {
			return err
		}
	} else if r.Unpublished != nil && !c.JSON {
		fmt.Fprintln(c.Stdout, text(comment.MaxBytes))
	}
	if err := c.printGate(r.Report, gate); err != nil {
		return err
	}
	// If a permission is missing, summary and exit code carry the verdict.
	if code == ExitPass && r.Unpublished != nil && !forge.Refused(r.Unpublished) {
		code = ExitInternal
	}
	return exitOf(code)
}
