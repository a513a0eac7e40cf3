package portal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A tip is the files of a branch with their commit.
type tip struct {
	gitrepo.FileSystem
	repo   *gitrepo.Repository
	commit string
}

// fresh is how long the tip of a branch is taken for the newest one, unless something
// is written.
const fresh = 10 * time.Second

// tips remembers the tip of a branch: forms ask for it at every word that is typed.
type tips struct {
	now func() time.Time

	mu     sync.Mutex
	commit string    // guarded by mu
	at     time.Time // guarded by mu

	planning sync.Mutex        // held while a commit is planned
	digests  map[string]string // guarded by planning; of the cases of planned
	planned  string            // guarded by planning; a commit
}

// digestsOf returns the digests of the cases of files that open returned. It plans each commit
// once.
func (t *tips) digestsOf(ctx context.Context, server Server, files fs.FS) (map[string]string, error) {
	at, ok := files.(tip)
	t.planning.Lock()
	defer t.planning.Unlock()
	if ok && t.planned == at.commit {
		return t.digests, nil
	}
	found, err := server.Digests(ctx, watchedOf(ctx), files)
	if err == nil && ok {
		t.planned, t.digests = at.commit, found
	}
	return found, err
}

// open opens the files of the branch, as they were some seconds ago at most.
func (t *tips) open(ctx context.Context) (fs.FS, func() error, error) {
	t.mu.Lock()
	commit, at := t.commit, t.at
	t.mu.Unlock()
	if commit != "" && t.now().Sub(at) < fresh {
		if repo, err := watchedOf(ctx).Clone(); err == nil {
			return openCommit(repo, commit)
		}
	}
	files, end, err := t.newest(ctx)
	if err != nil && commit != "" && forge.Transient(err) {
		// A form is shown with the files of some time ago rather than lost.
		if repo, cloneErr := watchedOf(ctx).Clone(); cloneErr == nil {
			return openCommit(repo, commit)
		}
	}
	return files, end, refusal("the files of the repository cannot be read", err)
}

// newestTip is newest before something is written.
func (t *tips) newestTip(ctx context.Context) (fs.FS, func() error, error) {
	files, end, err := t.newest(ctx)
	return files, end, refusal("nothing was written, because the files of the repository cannot be read", err)
}

// refusal says to a person why the forge or its git server did not do something; nil stays
// nil. Other errors are the server's own.
func refusal(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case forge.Transient(err):
		return editor.Away(fmt.Sprintf("%s: the forge does not answer now (%v); send it again in a minute", what, err))
	case forge.Refused(err), errors.Is(err, gitrepo.ErrRefused):
		return editor.Forbidden(fmt.Sprintf("%s: %v", what, err))
	}
	return fmt.Errorf("%s: %w", what, err)
}

// newest opens the files of the branch as they are now.
func (t *tips) newest(ctx context.Context) (fs.FS, func() error, error) {
	repo, commit, err := watchedOf(ctx).Tip(ctx)
	if err != nil {
		return nil, nil, err
	}
	t.mu.Lock()
	t.commit, t.at = commit, t.now()
	t.mu.Unlock()
	return openCommit(repo, commit)
}

// openCommit opens the files of a commit.
func openCommit(repo *gitrepo.Repository, commit string) (fs.FS, func() error, error) {
	tree, err := repo.FS(commit)
	if err != nil {
		return nil, nil, errors.Join(err, repo.Close())
	}
	return tip{tree, repo, commit}, repo.Close, nil
}

// store returns the definitions of a repository at the tip of its branch. A change is a
// pull request.
func (p *portal) store(root, known string, site *dashboard.Site) *editor.Store {
	seen := &tips{now: p.cfg.Now}
	return editor.New(editor.Config{
		Now: p.cfg.Now, Repository: known, Root: root, Verdicts: site.Verdicts,
		Digests: func(ctx context.Context, files fs.FS) (map[string]string, error) {
			return seen.digestsOf(ctx, p.cfg.Server, files)
		},
		Open: seen.open, OpenNewest: seen.newestTip,
		Write:    p.propose,
		Settings: settingsOf,
		Forecast: func(ctx context.Context, before, after fs.FS) (*editor.Forecast, error) {
			return p.cfg.Server.Forecast(ctx, watchedOf(ctx), before, after)
		},
		Identity: func(ctx context.Context, files fs.FS, c *schema.Case) (*explain.Identity, error) {
			at, ok := files.(tip)
			if !ok {
				return explain.Identify(ctx, &c.CaseInfo, explain.History{Repository: known})
			}
			own, err := settingsOf(ctx, files)
			if err != nil {
				return nil, err
			}
			return explain.IdentityOf(ctx, at.repo, explain.CommitRef{Repository: known, Commit: at.commit}, c, own)
		},
	})
}

// settingsOf returns the settings in the configuration of a request's repository.
func settingsOf(ctx context.Context, tree fs.FS) (schema.Settings, error) {
	return settingsAt(tree, watchedOf(ctx).ConfigFile)
}

// plain are the letters of a branch.
var plain = lazyregexp.New(`[^a-z0-9]+`)

// propose pushes a branch with a change and opens a pull request.
func (p *portal) propose(ctx context.Context, files fs.FS, c editor.Change) (editor.Kept, error) {
	w := watchedOf(ctx)
	at, ok := files.(tip)
	if w.Client == nil || !ok {
		return editor.Kept{}, editor.Forbidden("the repository has no forge, so that its definitions are only shown here")
	}
	who, _ := ctx.Value(userKey{}).(string)
	names := slices.Sorted(maps.Keys(c))
	title := titleOf(names, c)
	commit := gitrepo.Commit{Parent: at.commit, Files: c, Message: title + "\n", Author: who, At: p.cfg.Now()}
	branch := branchOf(w, at.commit, c)
	if _, err := w.Push(ctx, branch, commit); err != nil {
		return editor.Kept{}, refusal("the change is not kept", err)
	}
	number, page, err := forge.OpenProposal(ctx, w.Client, w.Name, forge.Proposal{
		Branch: branch, Base: w.Branch, Title: title,
		Body: fmt.Sprintf("%s changed %s in the settings of Gavel.\n", cmp.Or(mention(who), "Somebody"), countOf(names)),
	})
	if err != nil {
		return editor.Kept{}, refusal(fmt.Sprintf("the change is on the branch %s, and its pull request is not open", branch), err)
	}
	if page == "" {
		page = w.Client.PullPage(w.WebURL, w.Name, number)
	}
	return editor.Kept{Branch: branch, PullRequest: page}, nil
}

// mention returns a name in a form that notifies nobody in a pull request.
func mention(name string) string {
	if name == "" {
		return ""
	}
	return "`" + strings.NewReplacer("`", "'", "\n", " ").Replace(name) + "`"
}

func countOf(names []string) string {
	if len(names) == 1 {
		return "`" + names[0] + "`"
	}
	return fmt.Sprintf("%d files", len(names))
}

// titleOf returns what a change does.
func titleOf(names []string, c editor.Change) string {
	what := "change"
	if c[names[0]] == nil {
		what = "remove"
	}
	if len(names) == 1 {
		return "settings: " + what + " " + names[0]
	}
	return fmt.Sprintf("settings: change %d files", len(names))
}

// branchOf names the branch of a change: the same change of the same commit has the
// same name, so that sending a form twice opens one pull request.
func branchOf(w serve.RepositoryView, commit string, c editor.Change) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s\n", w.ID, commit)
	names := slices.Sorted(maps.Keys(c))
	for _, name := range names {
		fmt.Fprintf(sum, "%q %t %q\n", name, c[name] == nil, c[name])
	}
	base := strings.ToLower(strings.TrimSuffix(path.Base(names[0]), path.Ext(names[0])))
	slug := strings.Trim(plain.ReplaceAllString(base, "-"), "-")
	return "gavel/" + cmp.Or(slug[:min(len(slug), 40)], "settings") + "-" + hex.EncodeToString(sum.Sum(nil))[:8]
}
