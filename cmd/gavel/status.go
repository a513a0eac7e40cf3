package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

func statusCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use:        "status",
		SuggestFor: []string{"checks", "state"},
		Short:      "Show the state of the branch's pull request",
		Args:       noArgs,
		Example: `  gavel status
  GITHUB_TOKEN=… gavel status --json | jq -r '.statuses[].state'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithWorkspace(func(w *workspace) error { return showStatus(cmd.Context(), a, w) })
		},
	}
}

// A statusDocument is the output of --json.
type statusDocument struct {
	Repository  string               `json:"repository"`
	PullRequest int                  `json:"pull_request"`
	Title       string               `json:"title"`
	Page        string               `json:"page"`
	Head        string               `json:"head"`
	Here        string               `json:"here"`
	Statuses    []forge.CommitStatus `json:"statuses"`
}

// showStatus prints the statuses of the pull request. The exit code is 0 if the verdict is
// a success.
func showStatus(ctx context.Context, a *App, w *workspace) error {
	client, repo, err := a.forgeOf(w)
	if err != nil {
		return err
	}
	here, err := w.Repo.Resolve(ctx, "HEAD")
	if err != nil {
		return usageError("%w", err)
	}
	pull, err := pullOf(ctx, client, repo, w.Repo.Branch(), here)
	if err != nil {
		return err
	}
	found, err := client.Statuses(ctx, repo, pull.HeadSHA)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(s forge.CommitStatus) bool { return !strings.HasPrefix(s.Context, "gavel/") })
	d := statusDocument{
		Repository: repo.String(), PullRequest: pull.Number, Title: pull.Title, Head: pull.HeadSHA, Here: here,
		Page: client.PullPage(forge.WebURL(a.forgeURL(w)), repo, pull.Number), Statuses: found,
	}
	if a.JSON {
		err = a.Print(d)
	} else {
		_, err = a.Stdout.Write([]byte(d.text()))
	}
	if err == nil && !slices.ContainsFunc(found, func(s forge.CommitStatus) bool {
		return s.Context == comment.ContextVerdict && s.State == "success"
	}) {
		return exitOf(ExitGate)
	}
	return err
}

// text formats the state for people.
func (d statusDocument) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s  %s\n", d.PullRequest, textfmt.Line(d.Title), d.Page)
	for _, s := range d.Statuses {
		fmt.Fprintf(&b, "  %s  %s  %s\n", textfmt.Pad(textfmt.Line(s.Context), len(comment.ContextValidate)), textfmt.Pad(textfmt.Line(s.State), len("success")), textfmt.Line(s.Description))
		if s.Target != "" {
			fmt.Fprintf(&b, "  %s  %s\n", strings.Repeat(" ", len(comment.ContextValidate)), textfmt.Line(s.Target))
		}
	}
	if len(d.Statuses) == 0 {
		b.WriteString("  nothing was reported for " + d.Head[:7] + " yet\n")
	}
	if d.Here != d.Head {
		fmt.Fprintf(&b, "the pull request is at %s and this branch at %s; push it to have it judged\n", d.Head[:7], d.Here[:7])
	}
	return b.String()
}

// pullOf returns the open pull request of a branch, or else of a commit.
func pullOf(ctx context.Context, client *forge.Client, repo forge.Repo, branch, commit string) (forge.Pull, error) {
	open, _, err := client.OpenPulls(ctx, repo, "")
	if err != nil {
		return forge.Pull{}, err
	}
	of := func(matches func(forge.Pull) bool) int { return slices.IndexFunc(open, matches) }
	at := of(func(p forge.Pull) bool { return p.HeadSHA == commit })
	if at < 0 && branch != "" {
		at = of(func(p forge.Pull) bool { return p.HeadRef == branch && !p.Fork })
	}
	if at < 0 {
		name := "branch " + branch
		if branch == "" {
			name = "commit " + commit[:7]
		}
		return forge.Pull{}, usageError("%s has no open pull request of the %s; push it and open one, or name another branch with git switch", repo, name)
	}
	return open[at], nil
}

// forgeOf returns a client for the forge of the remote origin, and the repository there.
func (a *App) forgeOf(w *workspace) (*forge.Client, forge.Repo, error) {
	name := a.Env("GITHUB_REPOSITORY")
	if name == "" {
		name = w.Repo.Name()
	}
	if name == "" {
		return nil, forge.Repo{}, usageError("the repository has no remote origin at a forge; write git remote add origin URL, or export GITHUB_REPOSITORY=owner/name")
	}
	repo, err := forge.ParseRepo(name)
	if err != nil {
		return nil, repo, usageError("%w", err)
	}
	url := a.forgeURL(w)
	if url == "" {
		return nil, repo, usageError("the forge at %s has an API of its own; write export GITHUB_API_URL=https://%[1]s/api/v3 for GitHub Enterprise, and …/api/v1 for Gitea and Forgejo", w.Repo.Host())
	}
	token := a.Env("GITHUB_TOKEN")
	if token == "" {
		token = a.Env("GH_TOKEN")
	}
	a.Secrets.Add(token)
	client, err := forge.New(forge.Config{BaseURL: url, Token: forge.Token(token), Clock: a.Clock})
	if err != nil {
		return nil, repo, usageError("GITHUB_API_URL: %w", err)
	}
	return client, repo, nil
}

// forgeURL returns the root of the forge's API; empty if it is not known.
func (a *App) forgeURL(w *workspace) string {
	switch url := a.Env("GITHUB_API_URL"); {
	case url != "":
		return url
	case w.Repo.Host() == "github.com" || w.Repo.Host() == "":
		return forge.DefaultBaseURL
	}
	return ""
}
