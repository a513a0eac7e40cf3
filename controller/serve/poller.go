package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/reconcile"
)

// A poller finds the due work: it asks the forge and the clone of each repository again
// and again. An unreachable one is tried again and does not delay the others.
type poller struct {
	cfg      Config
	state    *ledger.ServerState
	loop     *reconcile.Loop[Key]
	registry *registry
	worker   *worker
	refused  *refusedKeys
}

// A pollLoop is the goroutine of an entry.
type pollLoop struct {
	end  context.CancelFunc
	done chan struct{}
}

// run runs a loop for each entry, until ctx ends.
func (p *poller) run(ctx context.Context) {
	loops := map[*Repository]pollLoop{}
	for {
		entries := p.registry.listed()
		for r, l := range loops {
			if entries[r] == nil || ctx.Err() != nil {
				l.end()
				<-l.done
				delete(loops, r)
			}
		}
		if ctx.Err() != nil {
			return
		}
		for r, e := range entries {
			if _, there := loops[r]; there {
				continue
			}
			inner, end := context.WithCancel(ctx)
			l := pollLoop{end, make(chan struct{})}
			loops[r] = l
			go func() {
				defer close(l.done)
				p.follow(inner, r, e)
			}()
		}
		select {
		case <-ctx.Done():
		case <-p.registry.changed:
		}
	}
}

// follow polls one repository until ctx ends.
func (p *poller) follow(ctx context.Context, r *Repository, e *entry) {
	var repo *repository
	defer func() {
		if repo == nil {
			return
		}
		replaced := p.registry.lists(r.name())
		if p.leave(repo, replaced); !replaced {
			p.cfg.Observer.Log(r.name(), "gavel stopped watching the repository")
		}
	}()
	for ctx.Err() == nil {
		err := reconcile.Recover(func() error {
			now, err := p.reach(ctx, r, repo)
			if repo != nil && now == nil && isGone(err) {
				p.leave(repo, false)
				repo = nil
			}
			if now == nil {
				return err
			}
			repo = now
			err = p.poll(ctx, repo)
			p.loop.AddIfIdle(Key{Repository: repo.id, Kind: Sweep})
			return err
		})
		if ctx.Err() == nil {
			if isGone(err) || repo != nil && repo.listed {
				p.registry.markPolled(e)
			}
			p.cfg.Observer.Polled(r.name(), err)
		}
		pause(ctx, e, p.interval(repo, err))
	}
}

// isGone reports whether an error means that a repository no longer exists.
func isGone(err error) bool {
	var denied *forge.DeniedError
	return errors.Is(err, errArchived) || errors.As(err, &denied) && denied.Status == http.StatusNotFound
}

// reach asks for a repository. It returns the known one, unless the forge's answer has
// changed: it was renamed, or has another default branch.
func (p *poller) reach(ctx context.Context, r *Repository, known *repository) (*repository, error) {
	now, err := p.registry.reach(ctx, r)
	if err != nil {
		return nil, err
	}
	if known != nil && known.said == now.said {
		return known, nil
	}
	if !p.registry.replace(known, now) {
		return nil, fmt.Errorf("%s is listed twice, under two names", now.name)
	}
	if err := p.state.MovePending(ctx, now.said.ID, now.id); err != nil {
		return nil, err
	}
	if len(p.worker.running(now.id)) > 0 {
		return now, nil // runs in progress publish their own results
	}
	return now, now.reviewer.Deliver(ctx)
}

// leave forgets a repository. Unless another entry takes its place, its runs end.
func (p *poller) leave(repo *repository, replaced bool) {
	p.registry.remove(repo)
	if replaced {
		return
	}
	for key := range p.worker.running(repo.id) {
		p.loop.Add(key)
	}
}

// interval returns the time until a repository is polled again.
func (p *poller) interval(repo *repository, err error) time.Duration {
	after := p.cfg.Poll + time.Duration((p.cfg.Clock.Random()*2-1)*0.05*float64(p.cfg.Poll))
	if repo != nil {
		after = p.untilDue(repo, after)
	}
	var limit *forge.LimitError
	if errors.As(err, &limit) {
		after = max(after, time.Until(limit.Until))
	}
	return after
}

func pause(ctx context.Context, e *entry, after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-e.due:
	case <-timer.C:
	}
}

// poll makes the keys due that have changed since the last poll.
func (p *poller) poll(ctx context.Context, repo *repository) error {
	pulls, branches := p.pollPulls(ctx, repo), p.pollBranches(ctx, repo)
	repo.listed = repo.listed || pulls == nil
	p.pollRefused(repo)
	news := errors.Join(pulls, branches, p.pollComments(ctx, repo), p.pollSchedule(ctx, repo))
	// The last requests are those that nobody waits for.
	return errors.Join(news, p.pollOwnComments(ctx, repo))
}

func (p *poller) pollPulls(ctx context.Context, repo *repository) error {
	if repo.Client == nil {
		return nil
	}
	pulls, tag, err := repo.Client.OpenPulls(ctx, repo.name, repo.tag)
	if errors.Is(err, forge.ErrUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	now := make(map[int]forge.Pull, len(pulls))
	for _, pull := range pulls {
		now[pull.Number] = pull
		if isNews(repo.pulls[pull.Number], pull) {
			p.loop.Add(Key{Repository: repo.id, Kind: PullRequest, Pull: pull.Number})
		}
	}
	// Running reviews of a closed pull request are of no use any more.
	for key := range p.worker.running(repo.id) {
		if _, open := now[key.Pull]; key.Kind == PullRequest && !open {
			p.loop.Add(key)
		}
	}
	repo.pulls, repo.tag = now, tag
	repo.open.Store(&pulls)
	p.worker.left(repo, repo.heads.poll(pulls)...)
	return nil
}

// isNews reports whether more than the title of a pull request has changed.
func isNews(before, now forge.Pull) bool {
	before.Title = now.Title
	return before != now
}

func (p *poller) pollBranches(ctx context.Context, repo *repository) error {
	tips, err := repo.mirror.Branches(ctx)
	if err != nil {
		return err
	}
	for branch, tip := range tips {
		if repo.decides(branch) && repo.ruled[branch] != tip {
			repo.ruled[branch] = tip
			p.loop.Add(Key{Repository: repo.id, Kind: Rules, Ref: branch})
		}
	}
	p.worker.restored(repo.id, tips)
	maps.DeleteFunc(tips, func(branch, _ string) bool { return !repo.follows(branch) })
	for branch, tip := range tips {
		if repo.tips[branch] != tip {
			p.loop.Add(Key{Repository: repo.id, Kind: Branch, Ref: branch})
		}
	}
	repo.tips = tips
	repo.polledTips.Store(&tips)
	// Running reviews of a deleted branch are of no use any more.
	for key := range p.worker.running(repo.id) {
		if key.Kind != PullRequest && tips[key.Ref] == "" {
			p.loop.Add(key)
		}
	}
	var errs []error
	for _, branch := range repo.branches {
		if tips[branch] == "" {
			errs = append(errs, fmt.Errorf("%s has no branch %s", repo.name, branch))
		}
	}
	return errors.Join(errs...)
}

// A commentCursor is how far the comments of a repository were read.
type commentCursor struct {
	since time.Time // of the newest change, zero before the first look
	tag   string
	// bodies are the texts of the comments that changed at since, by id: a listing since
	// then has them again.
	bodies map[int64]string
}

// has reports whether a comment was seen before with the same text.
func (c *commentCursor) has(comment forge.Comment) bool {
	body, there := c.bodies[comment.ID]
	return there && body == comment.Body && comment.Updated.Equal(c.since)
}

// note records a comment.
func (c *commentCursor) note(comment forge.Comment) {
	if comment.Updated.After(c.since) {
		*c = commentCursor{since: comment.Updated} // no request has returned a tag yet
	}
	if !comment.Updated.Equal(c.since) {
		return
	}
	if c.bodies == nil {
		c.bodies = map[int64]string{}
	}
	c.bodies[comment.ID] = comment.Body
}

// pollComments makes pull requests due that have new commands, or a comment of ours that
// somebody edited.
func (p *poller) pollComments(ctx context.Context, repo *repository) error {
	if repo.Client == nil {
		return nil
	}
	const missed = 24 * time.Hour // at the first look all are due anyway
	since := repo.comments.since
	if since.IsZero() {
		since = time.Now().Add(-missed)
	}
	comments, tag, err := repo.Client.RecentComments(ctx, repo.name, since, repo.comments.tag)
	if errors.Is(err, forge.ErrUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	now := commentCursor{since, tag, maps.Clone(repo.comments.bodies)}
	for _, c := range comments {
		if now.note(c); repo.comments.has(c) {
			continue
		}
		_, asks := command.Parse(c.Body)
		if asks && c.Number != 0 {
			p.loop.Add(Key{Repository: repo.id, Kind: PullRequest, Pull: c.Number})
		}
		if _, isOpen := repo.pulls[c.Number]; !isOpen {
			continue
		}
		edited, err := repo.reviewer.Differs(ctx, c)
		if err != nil {
			return err
		}
		if edited {
			p.loop.AddIfIdle(Key{Repository: repo.id, Kind: PullRequest, Pull: c.Number})
		}
	}
	repo.comments = now
	return nil
}

// pollOwnComments finds comments of ours that somebody edited or deleted, on a few pull
// requests at a time: no listing shows deleted ones, and an edit may be missed.
func (p *poller) pollOwnComments(ctx context.Context, repo *repository) error {
	const most = 10
	for _, number := range rotate(maps.Keys(repo.pulls), repo.lastPull, most) {
		repo.lastPull = number
		stands, err := repo.reviewer.HasComment(ctx, number)
		if err != nil {
			return err
		}
		if !stands {
			p.loop.AddIfIdle(Key{Repository: repo.id, Kind: PullRequest, Pull: number})
		}
	}
	return nil
}

// rotate returns at most this many items of all, beginning after the last one.
func rotate[T cmp.Ordered](all iter.Seq[T], last T, most int) []T {
	sorted := slices.Sorted(all)
	if i := slices.IndexFunc(sorted, func(one T) bool { return one > last }); i > 0 {
		sorted = slices.Concat(sorted[i:], sorted[:i])
	}
	return sorted[:min(most, len(sorted))]
}
