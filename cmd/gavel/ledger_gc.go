package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/upkeep"
	"github.com/gavel-evals/gavel/reporters/phrase"
)

// gcFlags are the flags of ledger gc.
type gcFlags struct {
	maxAge   time.Duration
	maxBytes string
	bases    []string
	closed   []string
	dryRun   bool
}

func (a *app) gcCommand() *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove what is old and not needed any more",
		Long: `Remove what is older than --max-age, and more, from the oldest on, until the
rest fits into --max-bytes. Never removed is what the working tree, HEAD, the
default branch and the refs of --base need, what a run under way wants, and
what a pull request needs that is not named by --closed.

What is needed follows from the definitions and the targets: run it with the
environment in which gavel runs.`,
		Example: `  gavel ledger gc --max-age 2160h
  gavel ledger gc --max-bytes 500MB --closed octo/demo#7
  gavel ledger gc --max-age 720h --dry-run`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withLedger(cmd.Context(), func(ctx context.Context, w *workspace, book *ledger.Ledger) error {
				return a.gc(ctx, w, book, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.maxAge, "max-age", 0, "remove what is older, such as 2160h for 90 days (default: no limit)")
	flags.StringVar(&f.maxBytes, "max-bytes", "", "size that is left at most, such as 500MB or 2GB (default: no limit)")
	flags.StringArrayVar(&f.bases, "base", nil, "a further ref whose verdicts are kept, such as release; repeatable")
	flags.StringArrayVar(&f.closed, "closed", nil, "a pull request that is over, such as octo/demo#7; repeatable")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would be removed for its age")
	return cmd
}

// collected is the shape of ledger gc --json.
type collected struct {
	Removed ledger.Removed `json:"removed"`
	// Bytes and BytesBefore are sizes of the file.
	BytesBefore int64 `json:"bytes_before"`
	Bytes       int64 `json:"bytes"`
	DryRun      bool  `json:"dry_run"`
}

func (a *app) gc(ctx context.Context, w *workspace, book *ledger.Ledger, f gcFlags) error {
	c, err := f.collection()
	if err != nil {
		return err
	}
	if c.Needed, err = a.needed(ctx, w, book, upkeep.Roots{Bases: f.bases, Closed: c.Closed}); err != nil {
		return err
	}
	before, err := book.Counts(ctx)
	if err != nil {
		return err
	}
	removed, err := book.Collect(ctx, c)
	if err != nil {
		return err
	}
	after, err := book.Counts(ctx)
	if err != nil {
		return err
	}
	out := collected{removed, before.Bytes + before.Free, after.Bytes + after.Free, f.dryRun}
	if a.json {
		return a.print(out)
	}
	verb := "removed"
	if f.dryRun {
		verb = "would be removed"
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s, %s, %s, %s and %s; %s, before %s\n", verb, phrase.Count(int(removed.Verdicts), "verdict"),
		phrase.Count(int(removed.Samples), "sample"), phrase.Count(int(removed.Judgements), "judgement"),
		phrase.Count(int(removed.Calls), "call"), phrase.Count(int(removed.Runs), "run"), bytesText(out.Bytes), bytesText(out.BytesBefore))
	return err
}

// needed are the digests of what bases and open pull requests consist of.
func (a *app) needed(ctx context.Context, w *workspace, book *ledger.Ledger, roots upkeep.Roots) (_ []plan.Digests, err error) {
	roots.Repo, roots.Ledger, roots.ConfigFile, roots.LookupEnv = w.repo, book, a.configFile, a.lookupEnv
	if roots.Head, err = a.worktree(w); err != nil {
		return nil, err
	}
	store := filepath.Join(w.repo.Root(), ownFolder, "objects.git")
	if _, err := os.Stat(store); err == nil {
		if roots.Fetched, err = gitrepo.Open(store); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, roots.Fetched.Close()) }()
	}
	all, err := roots.Needed(ctx)
	var missing *upkeep.MissingError
	if errors.As(err, &missing) {
		return nil, &exitError{exitUsage, err}
	}
	return all, err
}

// collection reads the flags.
func (f gcFlags) collection() (ledger.Collection, error) {
	c := ledger.Collection{DryRun: f.dryRun}
	if f.maxAge <= 0 && f.maxBytes == "" {
		return c, usageError("say what may go: --max-age 2160h, or --max-bytes 500MB")
	}
	if f.maxAge > 0 {
		c.Before = time.Now().Add(-f.maxAge)
	}
	if f.maxBytes != "" {
		if f.dryRun {
			return c, usageError("--dry-run tells only what goes for its age: leave out --max-bytes")
		}
		var err error
		if c.MaxBytes, err = parseBytes(f.maxBytes); err != nil {
			return c, err
		}
	}
	for _, text := range f.closed {
		name, number, _ := strings.Cut(text, "#")
		repo, err := forge.ParseRepo(name)
		n, bad := strconv.Atoi(number)
		if err != nil || bad != nil || n <= 0 {
			return c, usageError("--closed %s is no pull request: write owner/name#7", text)
		}
		c.Closed = append(c.Closed, ledger.Trust{Level: ledger.LevelPull, Repository: repo.String(), PullRequest: n})
	}
	return c, nil
}

// units of sizes, the longest suffix first.
var units = []struct {
	suffix string
	bytes  float64
}{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}

func parseBytes(text string) (int64, error) {
	number, factor := strings.ToUpper(strings.TrimSpace(text)), 1.
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0) || n*factor > math.MaxInt64/2 {
		return 0, usageError("--max-bytes %s is no size: write 500MB or 2GB", text)
	}
	return int64(n * factor), nil
}

func bytesText(n int64) string {
	for _, u := range units[:2] {
		if float64(n) >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/u.bytes, u.suffix)
		}
	}
	return fmt.Sprintf("%.0f KB", float64(n)/1e3)
}
