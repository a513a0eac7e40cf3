package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// A Policy has the operator's rules for pull requests, see [review.Config].
type Policy struct {
	// Forks is how forks are handled whose programs may not be run.
	Forks string
	// Programs says when programs of a head are run.
	Programs string
	// Targets says whose changes of targets are judged.
	Targets string
	// Deadline bounds the work for a head before it is judged. Defaults to 2 minutes.
	Deadline time.Duration
	// Bots are ids of accounts whose comments count although they are bots.
	// Labels has the label [forge.RunLabel] ask for a run.
	Labels bool
	Bots   []int64
	// Day is the limit of each repository for a day.
	Day config.Limits
}

// A registry knows which repositories are kept current. They come and go while the
// server runs. It is safe for concurrent use.
type registry struct {
	cfg   Config
	state *ledger.ServerState
	// connect creates the reviewer and the inbox of a repository.
	connect func(*repository)
	changed chan struct{} // has a value when entries changed

	mu sync.Mutex
	// The fields below are guarded by mu.
	policy  Policy
	entries map[*Repository]*entry
	reached map[int64]*repository // by the id of their keys
	names   map[int64]string      // of all reached ones, for log lines about their end
	// fetching are held during fetches into a clone, by id: while one repository
	// replaces another, both have the same clone.
	fetching map[int64]*sync.Mutex
}

// An entry is a repository that is listed.
type entry struct {
	due    chan struct{} // has a value when the repository has to be polled at once
	polled bool          // once at least; guarded by the registry's mu
}

// pollNow polls the repository at once.
func (e *entry) pollNow() {
	select {
	case e.due <- struct{}{}:
	default:
	}
}

func newRegistry(cfg Config, state *ledger.ServerState) *registry {
	return &registry{
		cfg: cfg, state: state, changed: make(chan struct{}, 1),
		entries: map[*Repository]*entry{}, reached: map[int64]*repository{}, names: map[int64]string{}, fetching: map[int64]*sync.Mutex{},
	}
}

// update implements [Server.Update].
func (r *registry) update(repositories []*Repository, policy Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := reflect.DeepEqual(policy, r.policy)
	entries := make(map[*Repository]*entry, len(repositories))
	for _, repo := range repositories {
		e := r.entries[repo]
		if !same {
			next := *repo
			repo, e = &next, nil // it is reached again
		}
		if e == nil {
			e = &entry{due: make(chan struct{}, 1)}
		}
		entries[repo] = e
	}
	r.entries, r.policy = entries, policy
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// ready implements [Server.Ready].
func (r *registry) ready() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if !e.polled {
			return false
		}
	}
	return true
}

// markPolled notes that an entry was polled.
func (r *registry) markPolled(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.polled = true
}

// pollNow polls every repository at once.
func (r *registry) pollNow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		e.pollNow()
	}
}

// listed returns the entries; the map is never changed.
func (r *registry) listed() map[*Repository]*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries
}

// lists reports whether a repository of a name is listed.
func (r *registry) lists(name string) bool {
	for repo := range r.listed() {
		if repo.name() == name {
			return true
		}
	}
	return false
}

// repo returns a repository that was reached, nil for every other.
func (r *registry) repo(id int64) *repository {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reached[id]
}

// onForge returns the repositories that their forges know by an id. Several forges
// may use the same one.
func (r *registry) onForge(id int64) (found []*repository) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, repo := range r.reached {
		if repo.said.ID == id {
			found = append(found, repo)
		}
	}
	return found
}

// currentPolicy returns the policy that holds now.
func (r *registry) currentPolicy() Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.policy
}

// keyName implements [Server.Name].
func (r *registry) keyName(k Key) string {
	r.mu.Lock()
	name := r.names[k.Repository]
	r.mu.Unlock()
	if name == "" {
		name = fmt.Sprintf("repository %d", k.Repository) // which was not reached
	}
	return numbered(name, k.number())
}

// numbered returns a repository with a pull request, if the number is not 0.
func numbered(name string, number int) string {
	if number == 0 {
		return name
	}
	return fmt.Sprintf("%s#%d", name, number)
}

// replace puts a repository in the place of the one that was reached before, nil for
// none. It reports false if another entry has the place.
func (r *registry) replace(before, now *repository) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if there := r.reached[now.id]; there != nil && there != before {
		return false
	}
	r.reached[now.id], r.names[now.id] = now, now.name.String()
	return true
}

// remove forgets a repository that was reached.
func (r *registry) remove(repo *repository) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reached, repo.id)
}

// errArchived means that a repository can only be read.
var errArchived = errors.New("it is archived: nothing can be written to it")

// reach asks the forge for a repository.
func (r *registry) reach(ctx context.Context, listed *Repository) (*repository, error) {
	repo, err := identify(ctx, listed)
	if err != nil {
		return nil, err
	}
	if repo.ledgerName, err = r.state.Name(ctx, repo.id, repo.name.String()); err != nil {
		return nil, err
	}
	repo.clone = filepath.Join(r.cfg.Dir, "clones", fmt.Sprintf("%d.git", repo.id))
	if repo.mirror, err = gitrepo.NewMirror(gitrepo.MirrorConfig{Dir: repo.clone, URL: repo.url, Token: listed.Token}); err != nil {
		return nil, fmt.Errorf("%s: %w", repo.name, err)
	}
	repo.fetching = r.fetchLock(repo.id)
	r.connect(repo)
	return repo, nil
}

// identify finds the name of a repository, its id and its branches.
func identify(ctx context.Context, listed *Repository) (*repository, error) {
	repo := &repository{
		Repository: listed, name: listed.Name, branches: listed.Branches, url: listed.URL,
		pulls: map[int]forge.Pull{}, tips: map[string]string{}, ruled: map[string]string{}, scheduled: map[string]time.Time{},
	}
	if listed.Client != nil {
		var err error
		if repo.said, err = listed.Client.Repository(ctx, listed.Name); err != nil {
			return nil, err
		}
		if repo.said.Archived {
			return nil, fmt.Errorf("%s: %w", repo.said.Repo, errArchived)
		}
		repo.id, repo.name, repo.url = idAt(listed.Client, repo.said.ID), repo.said.Repo, cmp.Or(listed.URL, repo.said.CloneURL)
		if len(repo.branches) == 0 {
			repo.branches = []string{repo.said.DefaultBranch}
		}
	} else {
		folder := strings.TrimSuffix(strings.TrimRight(listed.URL, "/"), ".git")
		repo.name = forge.Repo{Owner: path.Base(path.Dir(folder)), Name: path.Base(folder)}
		repo.id = idOf(listed.URL)
	}
	if len(repo.branches) == 0 {
		return nil, fmt.Errorf("%s has no forge that knows its default branch: list its branches", listed.URL)
	}
	return repo, nil
}

// fetchLock returns a lock that is held during fetches into the clone of a repository.
func (r *registry) fetchLock(id int64) *sync.Mutex {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fetching[id] == nil {
		r.fetching[id] = new(sync.Mutex)
	}
	return r.fetching[id]
}
