package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/testcase"
)

// completionTime bounds a shell's wait for completions.
const completionTime = 3 * time.Second

// A completer returns the words that fit at a position.
type completer = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// Complete adds shell completion to a command that names cases, by keys and files, and
// to its flags for targets, tags and so on.
func (a *App) Complete(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		known := a.known(cmd)
		return wordsWithPrefix(known.keys, begun), cobra.ShellCompDirectiveDefault // files, too
	}
	for flag, of := range map[string]func(known) []string{
		"target":     func(k known) []string { return k.targets },
		"tag":        func(k known) []string { return k.tags },
		"domain":     func(k known) []string { return k.domains },
		"level":      func(k known) []string { return k.levels },
		"difficulty": func(known) []string { return document.Shapes()["#Testcase"].Fields["difficulty"].Enum },
		"status":     func(known) []string { return document.Shapes()["#Testcase"].Fields["status"].Enum },
		"only":       func(known) []string { return []string{"failed", "errors", "flaky"} },
	} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		words := func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return listed(of(a.known(cmd)), begun), cobra.ShellCompDirectiveNoFileComp
		}
		_ = cmd.RegisterFlagCompletionFunc(flag, words) // fails only for a missing flag
	}
}

// completeWords completes the arguments of a command from a list.
func completeWords(words []string) completer {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return wordsWithPrefix(words, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// newest is the number of completed runs.
const newest = 20

// CompleteSides completes the names of two sides: branches and tags, worktree, the
// newest runs in the ledger, and files.
func (a *App) CompleteSides(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	words := []string{controller.Worktree, "HEAD"}
	quiet := *a
	quiet.Stderr = io.Discard
	if into, err := cmd.Flags().GetString("dir"); err == nil {
		quiet.Dir = a.Path(into)
	}
	// Without a ledger there is nothing to complete.
	_ = quiet.WithStored(ctx, quiet.WithRead, func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
		refs, err := w.Repo.RefNames()
		words = append(words, refs...)
		if err != nil {
			return err
		}
		runs, err := store.Runs(ctx, newest)
		for _, r := range runs {
			words = append(words, r.ID)
		}
		return err
	})
	return wordsWithPrefix(words, begun), cobra.ShellCompDirectiveDefault // files, too
}

// known are the names in the working tree, each sorted.
type known struct {
	keys, targets, tags, domains, levels []string
}

// known reads the working tree; unreadable parts have no names. It writes nothing.
func (a *App) known(cmd *cobra.Command) (out known) {
	into, err := cmd.Flags().GetString("dir")
	if err != nil {
		return out // a command without the flag completes nothing
	}
	here := *a
	here.Dir = a.Path(into)
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	_ = here.WithWorkspace(func(w *workspace) error { // an error means that there is nothing to complete
		cfg, _, err := here.OwnConfig(w)
		if err != nil {
			return err
		}
		out.targets = slices.Sorted(maps.Keys(cfg.Targets))
		found, err := load.Load(ctx, w.Files, load.Options{Settings: cfg.Settings()})
		if err != nil {
			return err
		}
		for _, c := range found.Cases {
			out.keys = append(out.keys, c.Key)
			out.tags = append(out.tags, c.Labels.Tags...)
			if c.Dialect == schema.DialectTestcase {
				out.tags = append(out.tags, testcase.Tags()...)
			}
			if groups := c.Labels.Groups; c.Traits().Levels && len(groups) > 1 {
				out.domains, out.levels = append(out.domains, groups[0]), append(out.levels, groups[1])
			}
		}
		return nil
	})
	for _, list := range []*[]string{&out.keys, &out.tags, &out.domains, &out.levels} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return out
}

// wordsWithPrefix returns the words that begin with the typed text.
func wordsWithPrefix(words []string, begun string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, begun) {
			out = append(out, w)
		}
	}
	return out
}

// listed is wordsWithPrefix for the last item of a list with commas.
func listed(words []string, begun string) []string {
	before := begun[:strings.LastIndex(begun, ",")+1]
	var out []string
	for _, w := range wordsWithPrefix(words, begun[len(before):]) {
		out = append(out, before+w)
	}
	return out
}
