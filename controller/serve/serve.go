// Package serve keeps the statuses and comments of every pull request and base branch
// of its repositories current, even where deliveries are lost.
//
// Most callers make a [Server] with [New], pass it the hints of a webhook with
// [Server.Enqueue], and call [Server.Run] until the program ends. A registry knows the
// repositories, a poller finds the due work, and a worker does it. The ledger keeps the
// state that a restart needs; due work is found again.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/reconcile"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/serve/crashguard"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/reporters/notify"
)

// A Kind says what a [Key] keeps current.
type Kind string

// The kinds of keys. The ledger stores them.
const (
	// PullRequest is the head of a pull request.
	PullRequest Kind = "pull_request"
	// Branch is the tip of a base branch, or of the branch of a merge group.
	Branch Kind = "branch"
	// Scheduled is the tip of a base branch whose cases are all judged again by the
	// schedule.
	Scheduled Kind = "scheduled"
	// CheckRerun is a commit whose check run somebody requested again.
	CheckRerun Kind = "check_rerun"
	// Rules are the settings at the tip of a branch, by which the pull requests are judged
	// that go to it.
	Rules Kind = "rules"
	// Sweep is every commit of the repository that was left pending.
	Sweep Kind = "sweep"
)

// A Key identifies something that is kept current. The repository is its id, which
// survives renames; the id of a repository on a forge other than GitHub is derived from
// its id on that forge.
type Key struct {
	Repository int64
	Kind       Kind
	// Pull is set for a PullRequest.
	Pull int
	// Ref is the branch of a Branch, a Scheduled and a Rules key, and the commit of
	// a CheckRerun.
	Ref string
}

// number returns the pull request in whose name a key is judged, 0 for none.
func (k Key) number() int {
	if k.Kind == Branch {
		group, _ := forge.Queued(k.Ref)
		return group.Number
	}
	return k.Pull
}

// background reports whether a key waits for the others: people wait for their pull
// requests, for the queue and for check runs that they requested again.
func (k Key) background() bool { return k.number() == 0 && k.Kind != CheckRerun }

// A Repository is one that is kept current.
type Repository struct {
	// Name and Client are zero if there is no forge; then only branches are judged, and
	// nothing is published.
	Name   forge.Repo
	Client *forge.Client
	// URL is where it is cloned from. Defaults to the forge's address.
	URL string
	// Token returns the credential for the clone; nil for none.
	Token gitrepo.Credential
	// Branches are base branches. Default to the default branch of the forge.
	Branches []string
	// ConfigFile is the path of gavel.yaml.
	ConfigFile string
	// WebURL is the root of the forge's pages, such as https://github.com.
	WebURL string
	// Schedule says when all cases of the base branches are judged again, nil for
	// never, and DriftIssue which issue gets a comment about it, 0 for none.
	Schedule   Schedule
	DriftIssue config.DriftIssue
}

// An Observer is told what happens. Calls may overlap.
type Observer interface {
	// Done is called after every look at a key.
	Done(key Key, took time.Duration, err error)
	// Judged is called with every new report, not with those known before.
	Judged(r *report.Report)
	// Polled is called after every poll of a repository.
	Polled(repository string, err error)
	// Log is called with a line for the log, and its subject: owner/name, with #N for a
	// pull request, or empty.
	Log(name, line string)
}

// Unobserved is an [Observer] that does nothing.
type Unobserved struct{}

// Done implements [Observer].
func (Unobserved) Done(Key, time.Duration, error) {}

// Judged implements [Observer].
func (Unobserved) Judged(*report.Report) {}

// Polled implements [Observer].
func (Unobserved) Polled(string, error) {}

// Log implements [Observer].
func (Unobserved) Log(string, string) {}

// A Config says which repositories to keep current, and how.
type Config struct {
	// Repositories and Policy hold until [Server.Update].
	Repositories []*Repository
	Policy
	// Ledger keeps verdicts, and the state that the server needs after a restart.
	Ledger *ledger.Ledger
	// Dir is the folder for clones.
	Dir string
	// Tracer traces the handling of hints; nil traces nothing.
	Tracer *tracing.Tracer
	// Making runs the programs that make parts of definitions.
	Making controller.Making
	// Execute carries a plan out and stores its report.
	Execute   controller.Executor
	LookupEnv func(name string) (string, bool)
	// Notices sends what the notify of a gavel.yaml asks for; nil sends nothing.
	Notices *notify.Sender
	// Redact is applied to answers to people. Defaults to redact.Text.
	Redact func(string) string
	// Poll is how often a forge is asked, with a jitter of 5 %. Defaults to a minute.
	Poll     time.Duration
	Observer Observer
	// Workers is how many commits are judged at once. Defaults to 4.
	Workers int
	// ShutdownTimeout bounds how long a forge may take to accept that a run ended.
	// Defaults to 30 s.
	ShutdownTimeout time.Duration
	// Trial judges a commit in a child. Defaults to [crashguard.Run].
	Trial crashguard.Trier
	// Proxied reports whether an address is a proxy's, which asks for many people.
	// Defaults to none.
	Proxied func(netip.Addr) bool
	// Clock is the one of schedules and polls. Defaults to the machine's.
	Clock clock.Clock
}

// withDefaults fills in what is not set.
func (cfg Config) withDefaults() Config {
	if cfg.Poll == 0 {
		cfg.Poll = time.Minute
	}
	if cfg.Workers == 0 {
		cfg.Workers = 4
	}
	cfg.Clock = clock.Or(cfg.Clock)
	if cfg.Observer == nil {
		cfg.Observer = Unobserved{}
	}
	return cfg
}

// A Server keeps repositories current. It is safe for concurrent use.
type Server struct {
	cfg      Config
	loop     *reconcile.Loop[Key]
	state    *ledger.ServerState
	registry *registry
	poller   *poller
	worker   *worker
	refused  *refusedKeys
}

// maxConcurrentKeys is how many keys are handled at once. It is more than are judged,
// so that a new head gets a status while others are being judged.
const maxConcurrentKeys = 64

// New reads the state in the ledger. It asks no forge: an unreachable repository must
// not keep the server from the others.
func New(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	state := ledger.NewServerState(cfg.Ledger)
	reports, err := loadReports(ctx, cfg.Ledger)
	if err != nil {
		return nil, err
	}
	guard, err := crashguard.NewGuard(ctx, state, crashguard.GuardConfig{Try: cfg.Trial, Now: cfg.Clock.Now})
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, state: state, refused: &refusedKeys{since: map[Key]time.Time{}}}
	s.registry = newRegistry(cfg, state)
	s.worker = &worker{
		cfg: cfg, state: state, registry: s.registry, reports: reports, guard: guard, slots: newSlots(cfg.Workers),
		heads: map[Key]string{}, queued: map[crashguard.Head]int{}, cancelled: map[Key]cancellation{}, swept: map[sweptCommit]sweepRun{},
	}
	s.registry.connect = s.worker.connect
	s.loop = reconcile.New(reconcile.Config[Key]{
		Reconcile: s.worker.reconcile, Stale: s.worker.stale, Done: s.done, Workers: maxConcurrentKeys, Random: cfg.Clock.Random,
		Background: Key.background,
	})
	s.worker.loop = s.loop
	s.poller = &poller{cfg: cfg, state: state, loop: s.loop, registry: s.registry, worker: s.worker, refused: s.refused}
	s.Update(cfg.Repositories, cfg.Policy)
	return s, nil
}

// done is called after every look at a key.
func (s *Server) done(key Key, took time.Duration, err error) {
	s.refused.note(key, err, s.cfg.Clock.Now())
	if key.Kind != Sweep || err != nil {
		s.cfg.Observer.Done(key, took, err)
	}
}

// Update changes which repositories are kept current, and how. A repository with the
// same pointer as before continues undisturbed, unless its policy differs. Running
// reviews of a removed one end.
func (s *Server) Update(repositories []*Repository, policy Policy) {
	s.registry.update(repositories, policy)
}

// Ready reports whether every repository was polled once, so that all events that were
// missed while the server was down are known.
func (s *Server) Ready() bool { return s.registry.ready() }

// Name returns the name of a key for people: owner/name, with #N for a pull request.
func (s *Server) Name(k Key) string { return s.registry.keyName(k) }

// Depth returns how many keys wait, and how many are being worked on.
func (s *Server) Depth() (waiting, running int) {
	queued := s.worker.slots.Queued()
	waiting, running = s.loop.Depth()
	return waiting + queued, max(0, running-queued)
}

// enqueueTimeout bounds the write for a hint. A webhook is answered soon.
const enqueueTimeout = 5 * time.Second

// Enqueue makes the key of a hint due. Hints of other repositories are ignored. The
// error means that the hint has to be sent again.
func (s *Server) Enqueue(h forge.Hint) error {
	ctx, cancel := context.WithTimeout(context.Background(), enqueueTimeout)
	defer cancel()
	if h.Repository == 0 {
		s.registry.pollNow()
		return nil
	}
	repos := s.registry.onForge(h.Repository)
	if len(repos) == 0 {
		s.cfg.Observer.Log("", fmt.Sprintf("ignored a delivery for repository %d: it is not configured, or not loaded yet", h.Repository))
		if h.Rerequested != "" && !s.Ready() {
			return s.state.AddPending(ctx, rerunOf(h.Repository, h.Rerequested))
		}
	}
	var errs []error
	for _, repo := range repos {
		errs = append(errs, s.enqueue(ctx, repo, h))
	}
	return errors.Join(errs...)
}

func (s *Server) enqueue(ctx context.Context, repo *repository, h forge.Hint) error {
	switch {
	case h.Rerequested != "":
		// The ledger has it first, since nothing else knows it after a restart.
		rerun := rerunOf(repo.id, h.Rerequested)
		err := s.state.AddPending(ctx, rerun)
		s.due(h, keyOf(rerun))
		return err
	case h.Number != 0:
		key := Key{Repository: repo.id, Kind: PullRequest, Pull: h.Number}
		if h.Label != nil && s.registry.currentPolicy().Labels {
			s.worker.labels.Store(key, h.Label)
		}
		s.due(h, key)
	case h.Head != "":
		s.due(h, Key{Repository: repo.id, Kind: Branch, Ref: h.Head})
	case repo.follows(h.Branch):
		s.due(h, Key{Repository: repo.id, Kind: Branch, Ref: h.Branch})
		fallthrough
	case repo.decides(h.Branch):
		s.due(h, Key{Repository: repo.id, Kind: Rules, Ref: h.Branch})
	}
	return nil
}

// due makes a key due because of a hint.
func (s *Server) due(h forge.Hint, key Key) {
	s.worker.causes.Note(key, h.Trace)
	s.loop.Add(key)
}

// Run keeps the repositories current until ctx ends, and returns when the commits
// that are being judged then have statuses that say why it ended.
func (s *Server) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.poller.run(ctx) })
	return s.loop.Run(ctx)
}
