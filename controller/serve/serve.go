// Package serve keeps the pull requests and base branches of its repositories
// true: each has the statuses and the comment that its commits deserve, however
// the news of a change arrived, and whether it did at all.
//
// Most callers make a [Server] with [New], give [Server.Take] the hints of a
// webhook, and call [Server.Run] until the program ends. Nothing but the ledger
// and a folder with clones and unfinished heads is kept; what has to be done is
// found out at every start.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/reconcile"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/serve/slots"
	"github.com/gavel-evals/gavel/controller/serve/trial"
	"github.com/gavel-evals/gavel/reporters"
)

// A Key names what is kept true: a pull request, or, where Pull is 0, a base
// branch or that of a merge group. The repository is its id, which survives
// renames; that of a forge other than GitHub is made of its id there.
type Key struct {
	Repository int64
	Pull       int
	Branch     string
	// Anew is for a base branch that is judged anew because it is time.
	Anew bool
	// Commit is one whose check run somebody wants anew; then Pull and Branch are
	// not known.
	Commit string
	// Sweep is for all that was left open in the repository, see [Server.sweep].
	Sweep bool
}

// number is the pull request in whose name a key is judged, 0 for none.
func (k Key) number() int {
	group, _ := forge.Queued(k.Branch)
	return max(k.Pull, group.Number)
}

// Name is what people call a key: owner/name, with #N for a pull request.
func (s *Server) Name(k Key) string {
	name := fmt.Sprintf("repository %d", k.Repository) // which is not looked after any more
	if repo := s.repo(k.Repository); repo != nil {
		name = repo.name.String()
	}
	return numbered(name, k.number())
}

// numbered is a repository with a pull request, where the number is not 0.
func numbered(name string, number int) string {
	if number == 0 {
		return name
	}
	return fmt.Sprintf("%s#%d", name, number)
}

// A Repository is one that is looked after.
type Repository struct {
	// Name and Client are zero where there is no forge; then only branches are
	// judged, and nothing is published.
	Name   forge.Repo
	Client *forge.Client
	// URL is where it is cloned from. Defaults to what the forge says.
	URL string
	// Token gives the credential for the clone; nil for none.
	Token gitrepo.Credential
	// Branches are base branches. Default to the default branch of the forge.
	Branches []string
	// ConfigFile is the path of gavel.yaml.
	ConfigFile string
	// WebURL is the root of the forge's pages, such as https://github.com.
	WebURL string
	// Schedule says when the base branches are judged anew, nil for never, and
	// DriftIssue which issue gets a comment about it, 0 for none.
	Schedule   Schedule
	DriftIssue int
}

// An Observer is told what happens. Calls may overlap; each may be nil.
type Observer struct {
	// Done is told of every key that was looked at.
	Done func(key Key, took time.Duration, err error)
	// Judged is told of every report that was made, not of those known before.
	Judged func(*reporters.Report)
	// Polled is told of every time that a repository was looked through.
	Polled func(repository string, err error)
	// Tell is given a line for the log, and what it is about: owner/name, with #N
	// for a pull request, or empty.
	Tell func(name, line string)
}

// A Config says what to look after, and how.
type Config struct {
	// Repositories and Policy hold until [Server.Update].
	Repositories []*Repository
	Policy
	Ledger *ledger.Ledger
	// Dir is the folder for clones and unfinished heads.
	Dir string
	// Execute carries a plan out and stores its report.
	Execute   func(context.Context, *controller.Prepared, controller.Execution) (*reporters.Report, error)
	LookupEnv func(name string) (string, bool)
	Redact    func(string) string // of answers to people; defaults to redact.Text
	// Poll is how often a forge is asked, with a jitter of 5 %; a minute by default.
	Poll     time.Duration
	Observer Observer
	// Workers is how many commits are judged at once. Defaults to 4.
	Workers int
	// Farewell is how long a forge is given to take that a run ended. Defaults to
	// 30 s.
	Farewell time.Duration
	// After tells when a time is over, after which a head says that it is judged.
	// Defaults to [time.After].
	After func(time.Duration) <-chan time.Time
	// Trial judges a commit in a child. Defaults to [trial.Run].
	Trial trial.Trier
	// Random gives the jitter, in [0, 1). Defaults to [rand.Float64].
	Random func() float64
	// Now is the clock of the schedules. Defaults to [time.Now].
	Now func() time.Time
}

// A Server looks after repositories. It is safe for concurrent use.
type Server struct {
	cfg    Config
	loop   *reconcile.Loop[Key]
	roster roster
	memory *memory
	open   unfinished
	names  names
	stalls stalls
	slots  *slots.Slots
	guard  *trial.Guard

	writing sync.Mutex // held while the diary is read and written
	diary   diary

	mu sync.Mutex
	// The fields below are guarded by mu.
	heads  map[Key]string // that are under way
	swept  map[swept]sweeping
	passes map[Key]pass // why those are not wanted any more
}

// lookers is how many keys are looked at at once. It is more than are judged, so
// that a head says that it is known while others have their turn.
const lookers = 64

// New reads what the ledger has. It asks no forge: a repository that cannot be
// reached must not keep the server from looking after the others.
func New(ctx context.Context, cfg Config) (*Server, error) {
	cfg = withDefaults(cfg)
	s := newServer(cfg)
	var err error
	if s.memory, err = remember(ctx, cfg.Ledger); err != nil {
		return nil, err
	}
	if s.guard, err = trial.NewGuard(filepath.Join(cfg.Dir, "looking"), trial.GuardConfig{Try: cfg.Trial, Now: cfg.Now}); err != nil {
		return nil, err
	}
	s.loop = reconcile.New(reconcile.Config[Key]{
		Reconcile: s.reconcile, Stale: s.stale, Done: s.done, Workers: lookers, Random: cfg.Random,
		// People wait for their pull requests and for the queue.
		Background: func(key Key) bool { return key.number() == 0 && key.Commit == "" },
	})
	s.Update(cfg.Repositories, cfg.Policy)
	return s, nil
}

func newServer(cfg Config) *Server {
	return &Server{
		cfg: cfg, roster: newRoster(), open: unfinished{filepath.Join(cfg.Dir, "unfinished")},
		diary: diary{filepath.Join(cfg.Dir, "anew")}, names: names{file: filepath.Join(cfg.Dir, "names.json")},
		heads: map[Key]string{}, passes: map[Key]pass{}, swept: map[swept]sweeping{}, stalls: stalls{since: map[Key]time.Time{}},
		slots: slots.New(cfg.Workers),
	}
}

func withDefaults(cfg Config) Config {
	if cfg.Poll == 0 {
		cfg.Poll = time.Minute
	}
	if cfg.Workers == 0 {
		cfg.Workers = 4
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Observer.Done == nil {
		cfg.Observer.Done = func(Key, time.Duration, error) {}
	}
	if cfg.Observer.Judged == nil {
		cfg.Observer.Judged = func(*reporters.Report) {}
	}
	if cfg.Observer.Polled == nil {
		cfg.Observer.Polled = func(string, error) {}
	}
	if cfg.Observer.Tell == nil {
		cfg.Observer.Tell = func(string, string) {}
	}
	return cfg
}

// done is told of every look at a key that ended.
func (s *Server) done(key Key, took time.Duration, err error) {
	s.stalls.note(key, err, s.cfg.Now())
	if !key.Sweep || err != nil {
		s.cfg.Observer.Done(key, took, err)
	}
}

// Depth is how many keys wait, and how many are under way.
func (s *Server) Depth() (waiting, running int) {
	queued := s.slots.Queued()
	waiting, running = s.loop.Depth()
	return waiting + queued, max(0, running-queued)
}

// Take makes what a hint names due. Hints of other repositories are left.
func (s *Server) Take(h forge.Hint) error {
	if h.Repository == 0 {
		s.hurry()
		return nil
	}
	named := s.named(h.Repository)
	if len(named) == 0 {
		s.cfg.Observer.Tell("", fmt.Sprintf("a delivery is of repository %d, which is not listed or was not reached yet", h.Repository))
		if h.Rerequested != "" && !s.Ready() {
			return s.open.add(head{Repository: h.Repository, SHA: h.Rerequested, Asked: true})
		}
	}
	var errs []error
	for _, repo := range named {
		errs = append(errs, s.take(repo, h))
	}
	return errors.Join(errs...)
}

func (s *Server) take(repo *repository, h forge.Hint) error {
	switch {
	case h.Rerequested != "":
		return s.rerequested(repo, h.Rerequested)
	case h.Number != 0:
		s.loop.Add(Key{Repository: repo.id, Pull: h.Number})
	case h.Head != "":
		s.loop.Add(Key{Repository: repo.id, Branch: h.Head})
	case repo.follows(h.Branch):
		s.loop.Add(Key{Repository: repo.id, Branch: h.Branch})
	}
	return nil
}

// Run looks after the repositories until ctx ends, and returns when the runs
// that are under way then have said on their commits that they end.
func (s *Server) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.lookAfter(ctx) })
	return s.loop.Run(ctx)
}

// reconcile brings a key to its state.
func (s *Server) reconcile(ctx context.Context, key Key) error {
	repo := s.repo(key.Repository)
	if repo == nil {
		return nil // nobody wants to know any more
	}
	switch {
	case key.Anew:
		return next(s.anew(ctx, repo, key))
	case key.Commit != "":
		return next(s.asked(ctx, repo, key.Commit))
	case key.Sweep:
		if err := s.sweep(ctx, repo); err != nil {
			return &reconcile.Stall{Err: err} // each poll comes back to it
		}
		return nil
	}
	r, err := s.review(ctx, repo, key)
	if err != nil || r == nil {
		return next(err)
	}
	r.Tell = func(line string) { s.cfg.Observer.Tell(s.Name(key), line) }
	// Of a head that is looked at for the first time nobody has seen a check run.
	known := s.memory.knows(place{repo.known, key.number(), r.Head()})
	commands, unread, err := s.obey(ctx, repo, key, r)
	if err == nil && commands.Cancelled == "" {
		err = s.run(ctx, key, r)
		if err == nil && commands.Waiting {
			s.loop.Add(key) // there is a report now
		}
	}
	err = next(errors.Join(err, unread))
	if known || commands.Cancelled != "" {
		err = s.grant(ctx, repo, wanted{key.number(), r.Head(), commands.Cancelled}, err)
	}
	return err
}

// review is what a key asks for now, nil for nothing.
func (s *Server) review(ctx context.Context, repo *repository, key Key) (*review.Review, error) {
	if key.Pull == 0 {
		return s.branch(ctx, repo, key.Branch)
	}
	r, err := repo.reviewer.Pull(ctx, key.Pull, "")
	if err != nil || r.Closed() {
		return nil, err
	}
	return r, nil
}

// run judges a commit as long as somebody waits for it.
func (s *Server) run(ctx context.Context, key Key, r *review.Review) error {
	s.begin(key, r.Head())
	defer s.end(key)
	entry := head{Repository: key.Repository, Pull: key.Pull, Branch: key.Branch, SHA: r.Head(), Anew: key.Anew}
	if entry.Seen = s.open.known(entry).Seen; entry.Seen.IsZero() {
		entry.Seen = s.cfg.Now()
	}
	r.Pushed(entry.Seen)
	if err := s.open.add(entry); err != nil {
		return err
	}
	if why := s.declined(key.Repository, r.Waiting()); why != "" {
		if err := r.Decline(ctx, why); err != nil {
			return err
		}
		return s.open.remove(entry)
	}
	r.Planned(func(groups []string) error {
		entry.Groups = groups
		return s.open.add(entry)
	})
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(s.why(ctx, key)) })
	defer stop()
	report, unpublished, err := r.Run(inner)
	// What is judged anew stands beside what is remembered of the commit.
	if report != nil && (key.Anew || s.memory.add(key.number(), r.Known, report)) {
		s.cfg.Observer.Judged(report)
		if r.Client == nil { // nobody else tells
			s.cfg.Observer.Tell(s.Name(key), fmt.Sprintf("%s at %.7s: %s: %s", key.Branch, r.Head(), report.Gate.Result, report.Gate.Reason))
		}
	}
	var abandoned *review.Abandoned
	if errors.As(errors.Join(err, unpublished), &abandoned) {
		s.cfg.Observer.Tell(s.Name(key), fmt.Sprintf("%.7s: %s", r.Head(), abandoned.Reason))
		if abandoned.Superseded {
			s.loop.AddPatiently(Key{Repository: key.Repository, Sweep: true})
			return ctx.Err()
		}
		if len(entry.Groups) > 0 {
			return ctx.Err() // they are swept up
		}
		return errors.Join(s.open.remove(entry), ctx.Err())
	}
	if err := errors.Join(err, unpublished); err != nil {
		return err // what stays pending is swept up when nobody comes back to it
	}
	return s.open.remove(entry)
}

// A pass is why the run of a key is not wanted any more.
type pass struct {
	reason string
	// superseded means that the sweep says so, and not the run.
	superseded bool
}

// why is the reason that the run of a key is not wanted any more.
func (s *Server) why(ctx context.Context, key Key) *review.Abandoned {
	if !errors.Is(context.Cause(ctx), reconcile.ErrSuperseded) {
		return &review.Abandoned{Reason: "gavel was stopped; it goes on when it starts again", Within: s.cfg.Farewell}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.passes[key]
	return &review.Abandoned{Reason: now.reason, Within: s.cfg.Farewell, Superseded: now.superseded}
}

// begin ends the sweep of the head, if it is at it: what that says must not come
// after what is found out now.
func (s *Server) begin(key Key, head string) {
	for {
		s.mu.Lock()
		at, there := s.swept[swept{key.Repository, head}]
		if !there {
			s.heads[key] = head
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		at.end()
		<-at.done
	}
}

func (s *Server) end(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.heads, key)
	delete(s.passes, key)
}

// stale reports whether the run of a key is about a head that is not the
// newest. Who cannot tell lets it run: its report is right for its commit.
func (s *Server) stale(ctx context.Context, key Key) bool {
	s.mu.Lock()
	running := s.heads[key]
	s.mu.Unlock()
	if running == "" {
		return false
	}
	repo := s.repo(key.Repository)
	reason, err := s.passed(ctx, key, running)
	superseded := reason != "" && repo != nil // of others nothing is swept up
	if err == nil && reason == "" && key.Pull != 0 && repo != nil {
		reason, err = s.cancelled(ctx, repo, key)
	}
	if err != nil || reason == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passes[key] = pass{reason, superseded}
	return s.heads[key] == running
}

// passed says why a commit is not the head of a key any more, empty where it
// is.
func (s *Server) passed(ctx context.Context, key Key, sha string) (string, error) {
	repo := s.repo(key.Repository)
	switch {
	case repo == nil:
		return "gavel does not look after the repository any more", nil
	case key.Anew && repo.Schedule == nil:
		return "nothing is judged anew any more", nil
	}
	if key.Pull == 0 {
		tip, err := repo.tip(ctx, key.Branch)
		switch {
		case err != nil || tip == sha:
			return "", err
		case tip == "":
			return "the branch is gone", nil
		}
		return superseded(tip), nil
	}
	pull, err := repo.Client.Pull(ctx, repo.name, key.Pull)
	switch {
	case err != nil:
		return "", err
	case pull.HeadSHA != sha:
		return superseded(pull.HeadSHA), nil
	case !pull.Open:
		return "the pull request was closed", nil
	}
	return "", nil
}

func superseded(by string) string { return fmt.Sprintf("superseded by %.7s", by) }

// next says by its type what comes after an error.
func next(err error) error {
	var limit *forge.LimitError
	var denied *forge.DeniedError
	switch {
	case errors.As(err, &limit):
		return &reconcile.Wait{Err: err, After: max(time.Until(limit.Until), time.Second)}
	case errors.As(err, &denied):
		return &reconcile.Stall{Err: err}
	}
	return err
}

// newReviewer reviews what is in a repository.
func (s *Server) newReviewer(repo *repository) *review.Reviewer {
	name := repo.name.String()
	policy := s.policy()
	return review.New(review.Config{
		Client: repo.Client, Repository: repo.name, Known: repo.known, Ledger: s.cfg.Ledger, Fetch: repo.fetch,
		Execute: s.cfg.Execute, ConfigFile: repo.ConfigFile, LookupEnv: s.cfg.LookupEnv, WebURL: repo.WebURL,
		Tell:  func(line string) { s.cfg.Observer.Tell(name, line) },
		Forks: policy.Forks, Programs: policy.Programs, Bots: policy.Bots, Deadline: policy.Deadline, OwnOnly: true,
		Turn:  func(ctx context.Context, w review.Waiting) (review.Turn, error) { return s.turn(ctx, repo, w) },
		After: s.cfg.After,
		Recall: func(ctx context.Context, number int, head string) (*reporters.Report, error) {
			return s.memory.report(ctx, s.cfg.Ledger, place{repo.known, number, head})
		},
	})
}

// repository asks the forge for a repository.
func (s *Server) repository(ctx context.Context, r *Repository) (*repository, error) {
	repo := &repository{Repository: r, name: r.Name, branches: r.Branches, url: r.URL, pulls: map[int]forge.Pull{}, tips: map[string]string{}, clock: map[string]time.Time{}, wishes: wishes{answered: map[string]time.Time{}}}
	if r.Client != nil {
		var err error
		if repo.said, err = r.Client.Repository(ctx, r.Name); err != nil {
			return nil, err
		}
		if repo.said.Archived {
			return nil, fmt.Errorf("%s: %w", repo.said.Repo, errArchived)
		}
		repo.id, repo.name, repo.url = idAt(r.Client, repo.said.ID), repo.said.Repo, cmp.Or(r.URL, repo.said.CloneURL)
		if len(repo.branches) == 0 {
			repo.branches = []string{repo.said.DefaultBranch}
		}
	} else {
		folder := strings.TrimSuffix(strings.TrimRight(r.URL, "/"), ".git")
		repo.name = forge.Repo{Owner: path.Base(path.Dir(folder)), Name: path.Base(folder)}
		repo.id = idOf(r.URL)
	}
	if len(repo.branches) == 0 {
		return nil, fmt.Errorf("%s has no forge that knows its default branch: list its branches", r.URL)
	}
	var err error
	if repo.known, err = s.names.of(repo.id, repo.name.String()); err != nil {
		return nil, err
	}
	repo.mirror, err = gitrepo.NewMirror(gitrepo.MirrorConfig{
		Dir: s.clone(repo.id), URL: repo.url, Token: r.Token,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", repo.name, err)
	}
	repo.fetching = s.roster.clone(repo.id)
	repo.reviewer = s.newReviewer(repo)
	if repo.Client != nil {
		repo.desk = s.newDesk(repo)
	}
	return repo, nil
}

// clone is the folder of a repository's clone.
func (s *Server) clone(id int64) string {
	return filepath.Join(s.cfg.Dir, "clones", fmt.Sprintf("%d.git", id))
}

// idAt is the id of a repository at a forge: GitHub's own, and one like that of
// [idOf] at all others, since each counts its repositories from one.
func idAt(client *forge.Client, id int64) int64 {
	base := strings.TrimRight(client.REST().BaseURL.String(), "/")
	if base == forge.DefaultBaseURL {
		return id
	}
	return idOf(fmt.Sprintf("%s %d", base, id))
}

// idOf is the id of a repository without a forge: negative, and the same
// wherever it stands in a list.
func idOf(url string) int64 {
	h := fnv.New64a()
	h.Write([]byte(url))
	return -int64(h.Sum64()>>1) - 1
}
