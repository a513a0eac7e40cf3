package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/filewatch"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
)

// usualListen is the default address of the pages.
const usualListen = "127.0.0.1:8080"

// uiCommand is gavel ui.
func uiCommand(a *App) *cobra.Command {
	listen, noBrowser := usualListen, false
	cmd := &cobra.Command{
		Use:        "ui",
		SuggestFor: []string{"view", "show", "open"},
		Short:      "Show runs, cases and their history in a browser",
		Args:       noArgs,
		Example: `  gavel ui
  gavel ui --listen 127.0.0.1:9000 --no-browser`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := loopback(listen); err != nil {
				return err
			}
			return a.WithRead(cmd.Context(), func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
				left, err := workTree(w).Finish(ctx, filepath.Join(w.Repo.Root(), gitrepo.OwnFolder))
				if err != nil {
					return fmt.Errorf("finish a change of definitions that was ended: %w", err)
				}
				if left != "" {
					a.Note(left)
				}
				runner := newUIRunner(ctx, a, w)
				defer runner.runs.Wait()
				read := readsOf(a, w)
				defer read.Close()
				handler, err := Handler(a, w, store, runner, read)
				if err != nil {
					return err
				}
				listener, err := net.Listen("tcp", listen)
				if err != nil {
					return usageError("%w; --listen 127.0.0.1:0 takes a free port", err)
				}
				url := "http://" + listener.Addr().String() + "/"
				a.Note("the pages are at " + url + "; Ctrl-C ends them")
				if !noBrowser && isWatched(a) {
					browse(ctx, url)
				}
				return serveUI(ctx, listener, handler)
			})
		},
	}
	a.Sandbox.Bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", usualListen, "address of loopback to serve the pages at, such as 127.0.0.1:9000")
	flags.BoolVar(&noBrowser, "no-browser", false, "do not open a browser")
	return cmd
}

// loopback refuses addresses that others can reach: every client counts as the person
// at the keyboard.
func loopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return usageError("--listen %s: write an address and a port, such as %s", listen, usualListen)
	}
	if addr, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !addr.IsLoopback()) {
		return usageError("--listen %s: others reach this address, and the pages ask for no password; write %s, or use gavel serve", listen, usualListen)
	}
	return nil
}

// Handler serves the pages of a repository to clients on loopback.
func Handler(a *App, w *workspace, store *ledger.Ledger, runner *uiRunner, read *filewatch.Reads) (http.Handler, error) {
	hide, err := hidden(a, w)
	if err != nil {
		return nil, err
	}
	var pages *editor.Store
	site := dashboard.New(dashboard.Config{
		Ledger: store, Hide: hide, Title: filepath.Base(w.Repo.Root()), Board: runner.board,
		Edit: editor.CasePage, Run: editor.RunPath,
		Links: func(*http.Request) []dashboard.Link {
			links := []dashboard.Link{{Path: editor.TestsPath, Text: "Tests"}, {Path: "/settings", Text: "Settings"}}
			if pages.HasChanges() {
				links = append(links, dashboard.Link{Path: editor.ChangesPath, Text: "Changes"})
			}
			return links
		},
		Trouble: func(r *http.Request) (text, path string) {
			problems, err := pages.Problems(r.Context())
			switch {
			case err != nil:
				return err.Error(), "/settings"
			case len(problems) == 0:
				return "", ""
			}
			return problems[0].String(), "/settings"
		},
		Files: func(_ context.Context, commit string) (fs.FS, error) {
			if len(commit) == 40 {
				return w.Repo.FS(commit)
			}
			return w.Files, nil
		},
	})
	mux := http.NewServeMux()
	mux.Handle("/", site)
	pages = Store(a, w, store, site, runner, read)
	pages.Routes(mux)
	pages.Pages(mux, site.Frame)
	return access.Guard{}.Handler(mux), nil
}

// workTree returns the target of changes.
func workTree(w *workspace) editor.WorkTree {
	return editor.WorkTree{Dir: w.Repo.Root(), Own: func(ctx context.Context) (string, error) { return gitrepo.MakeOwnFolder(ctx, w.Repo) }}
}

// readsOf returns the files that the pages read in the working tree, which is opened later.
func readsOf(a *App, w *workspace) *filewatch.Reads {
	read := filewatch.NewReads(w.Repo.Root(), w.Repo.OwnFiles(), clock.Or(a.Clock).Now)
	w.Repo.NoteLooks(read.Note)
	return read
}

// Store returns the definitions of the working tree.
func Store(a *App, w *workspace, store *ledger.Ledger, site *dashboard.Site, runner *uiRunner, read *filewatch.Reads) *editor.Store {
	tree, planner := workTree(w), uiPlanner{a, w, store, read}
	return editor.New(editor.Config{
		Now: clock.Or(a.Clock).Now, Repository: w.Repo.Name(), Write: tree.Write, Lock: tree.Lock, Verdicts: site.Verdicts, Digests: planner.digests, Runner: runner, Version: read.Version,
		Committer: uiCommitter{root: w.Repo.Root(), now: clock.Or(a.Clock).Now},
		Open: func(context.Context) (fs.FS, func() error, error) {
			files, err := w.Repo.WorkFS()
			if err != nil {
				return nil, nil, err
			}
			return files, files.Close, nil
		},
		Settings: func(_ context.Context, files fs.FS) (schema.Settings, error) { return settingsOf(a, files) },
		Problems: func(_ context.Context, files fs.FS) ([]schema.Problem, error) { return configErrors(a, files) },
		Forecast: func(ctx context.Context, before, after fs.FS) (*editor.Forecast, error) {
			return makeForecast(ctx, before, after, planner.plan)
		},
		Identity: func(ctx context.Context, files fs.FS, c *schema.Case) (*explain.Identity, error) {
			own, err := settingsOf(a, files)
			if err != nil {
				return nil, err
			}
			return explain.IdentityAt(ctx, w.Repo, c, own)
		},
	})
}

// settingsOf returns the settings for definitions in gavel.yaml.
func settingsOf(a *App, files fs.FS) (schema.Settings, error) {
	cfg, _, _, err := a.ReadConfig(files)
	if err != nil {
		return schema.Settings{}, err
	}
	return cfg.Settings(), nil
}

// configErrors returns the errors of gavel.yaml.
func configErrors(a *App, files fs.FS) ([]schema.Problem, error) {
	_, problems, _, err := a.ReadConfig(files)
	return slices.DeleteFunc(problems, func(p schema.Problem) bool { return p.Severity != schema.Error }), err
}

// hidden returns a function that removes the configured targets' secrets, and anything
// that looks like a secret.
func hidden(a *App, w *workspace) (func(string) string, error) {
	cfg, _, err := a.OwnConfig(w)
	if err != nil {
		return nil, err
	}
	var known redact.Values
	known.Add(target.Secrets(slices.Collect(maps.Values(cfg.Targets)), a.LookupEnv)...)
	return func(text string) string { return a.Secrets.Text(known.Text(text)) }, nil
}

// serveUI answers until ctx ends.
func serveUI(ctx context.Context, listener net.Listener, handler http.Handler) error {
	web := &http.Server{
		Handler: handler, MaxHeaderBytes: 32 << 10,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the pages: %w", err)
	case <-ctx.Done():
	}
	err := web.Close()
	if stopped := <-failed; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	return err
}

// isWatched reports whether a person sees the command's output.
func isWatched(a *App) bool {
	f, ok := terminal.Below(a.Stderr).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
