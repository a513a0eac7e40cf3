package serve

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/review"
)

// A repository is a reached repository, with its state at the last poll.
type repository struct {
	*Repository
	id   int64            // the id in its keys, see idAt
	said forge.Repository // zero if there is no forge
	name forge.Repo
	// ledgerName is its name in the ledger.
	ledgerName string
	url        string
	branches   []string
	reviewer   *review.Reviewer
	inbox      *command.Inbox // nil if there is no forge

	clone    string      // the folder of the mirror
	fetching *sync.Mutex // held while the mirror fetches
	mirror   *gitrepo.Mirror
	// open are the open pull requests at the last poll, for viewers.
	open  atomic.Pointer[[]forge.Pull]
	heads openHeads
	// polledTips are the tips of the branches that it follows, as of the last poll.
	polledTips atomic.Pointer[map[string]string]
	// digests are the digests of the rules at the last look, by branch.
	digests sync.Map

	// The fields below belong to the goroutine that polls.
	tag       string
	pulls     map[int]forge.Pull
	tips      map[string]string
	ruled     map[string]string    // the tips by which the rules were looked at
	scheduled map[string]time.Time // when the schedule last made branches due
	listed    bool                 // once at least
	comments  commentCursor
	lastPull  int // whose comment was looked for last, see pollOwnComments
}

func (r *repository) fetch(ctx context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error) {
	r.fetching.Lock()
	defer r.fetching.Unlock()
	return r.mirror.FetchSource(ctx, src)
}

// fetchTip fetches the tip of a branch, into an empty mirror with its parents alone.
func (r *repository) fetchTip(ctx context.Context, branch string) (*gitrepo.Repository, []string, error) {
	refs := []string{"refs/heads/" + branch}
	return r.fetch(ctx, gitrepo.Source{Refs: refs, Most: gitrepo.OfBase, Near: func(context.Context) (*gitrepo.Near, error) {
		return &gitrepo.Near{Refs: refs, Most: gitrepo.OfBase}, nil
	}})
}

// tip returns the commit of a branch, empty if there is none.
func (r *repository) tip(ctx context.Context, branch string) (string, error) {
	tips, err := r.mirror.Branches(ctx)
	return tips[branch], err
}

// follows reports whether a branch is judged.
func (r *repository) follows(branch string) bool {
	_, queued := forge.Queued(branch)
	return slices.Contains(r.branches, branch) || queued && r.Client != nil
}

// decides reports whether the settings of a branch are rules for pull requests.
func (r *repository) decides(branch string) bool {
	return r.Client != nil && (branch == r.said.DefaultBranch || slices.Contains(r.branches, branch))
}

// Locate returns the current name of a repository, where it is cloned from, and an id
// that survives renames.
func (r *Repository) Locate(ctx context.Context) (name forge.Repo, url string, id int64, err error) {
	found, err := identify(ctx, r)
	if err != nil {
		return forge.Repo{}, "", 0, err
	}
	return found.name, found.url, found.id, nil
}

// name returns the operator's name for it.
func (r *Repository) name() string {
	if r.Client == nil {
		return r.URL
	}
	return cmp.Or(r.Name.String(), r.URL)
}

// idAt returns the id of a repository at a forge: GitHub's own, and one in the form of
// [idOf] at all others, since each counts its repositories from one.
func idAt(client *forge.Client, id int64) int64 {
	base := strings.TrimRight(client.REST().BaseURL.String(), "/")
	if base == forge.DefaultBaseURL {
		return id
	}
	return idOf(fmt.Sprintf("%s %d", base, id))
}

// idOf returns the id of a repository without a forge: negative, and the same at any
// place in a list.
func idOf(url string) int64 {
	h := fnv.New64a()
	h.Write([]byte(url))
	return -int64(h.Sum64()>>1) - 1
}
