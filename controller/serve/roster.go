package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/reconcile"
)

// A Policy is what the operator lets pull requests have, see [review.Config].
type Policy struct {
	// Forks is what those get that may not be run.
	Forks string
	// Programs says when programs of a head are run.
	Programs string
	// Deadline bounds what is done for a head before it is judged. Defaults to 2
	// minutes.
	Deadline time.Duration
	// Bots are ids of accounts whose comments are heard although they are bots.
	Bots []int64
}

// A roster is who is looked after. Repositories come and go while the server
// runs; one that cannot be reached is tried again and holds up no other.
type roster struct {
	news chan struct{} // has a place when entries changed

	mu sync.Mutex
	// The fields below are guarded by mu.
	policy  Policy
	entries map[*Repository]*entry
	known   map[int64]*repository // those that were reached
	// fetching are held while a clone is fetched into, by id: while one repository
	// takes the place of another there are two with the same clone.
	fetching map[int64]*sync.Mutex
}

// clone is held while the clone of a repository is fetched into.
func (r *roster) clone(id int64) *sync.Mutex {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fetching[id] == nil {
		r.fetching[id] = new(sync.Mutex)
	}
	return r.fetching[id]
}

// An entry is a repository that is to be looked after.
type entry struct {
	due    chan struct{} // has a place when it is to be looked through at once
	looked bool          // once at least; guarded by the roster's mu
}

// hurry has the repository looked through at once.
func (e *entry) hurry() {
	select {
	case e.due <- struct{}{}:
	default:
	}
}

func newRoster() roster {
	return roster{news: make(chan struct{}, 1), entries: map[*Repository]*entry{}, known: map[int64]*repository{}, fetching: map[int64]*sync.Mutex{}}
}

// Update changes whom the server looks after, and how. A repository that is the
// same pointer as before goes on undisturbed, unless the policy is another one.
// What runs for one that is gone ends.
func (s *Server) Update(repositories []*Repository, policy Policy) {
	r := &s.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	same := reflect.DeepEqual(policy, r.policy)
	entries := make(map[*Repository]*entry, len(repositories))
	for _, repo := range repositories {
		e := r.entries[repo]
		if !same {
			next := *repo
			repo, e = &next, nil // it is looked at anew
		}
		if e == nil {
			e = &entry{due: make(chan struct{}, 1)}
		}
		entries[repo] = e
	}
	r.entries, r.policy = entries, policy
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// Ready reports whether every repository was looked through once, so that all
// that was missed while the server was down is known.
func (s *Server) Ready() bool {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	for _, e := range s.roster.entries {
		if !e.looked {
			return false
		}
	}
	return true
}

// repo is a repository that was reached, nil for every other.
func (s *Server) repo(id int64) *repository {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	return s.roster.known[id]
}

// named are the repositories that their forges know by an id, of which several
// may have the same.
func (s *Server) named(id int64) (found []*repository) {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	for _, repo := range s.roster.known {
		if repo.said.ID == id {
			found = append(found, repo)
		}
	}
	return found
}

func (s *Server) policy() Policy {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	return s.roster.policy
}

// hurry has every repository looked through at once.
func (s *Server) hurry() {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	for _, e := range s.roster.entries {
		e.hurry()
	}
}

// A follower is the goroutine of an entry.
type follower struct {
	end  context.CancelFunc
	done chan struct{}
}

// lookAfter has a follower for each entry, until ctx ends.
func (s *Server) lookAfter(ctx context.Context) {
	followers := map[*Repository]follower{}
	for {
		s.roster.mu.Lock()
		entries := s.roster.entries
		s.roster.mu.Unlock()
		for r, f := range followers {
			if entries[r] == nil || ctx.Err() != nil {
				f.end()
				<-f.done
				delete(followers, r)
			}
		}
		if ctx.Err() != nil {
			return
		}
		for r, e := range entries {
			if _, there := followers[r]; there {
				continue
			}
			inner, end := context.WithCancel(ctx)
			f := follower{end, make(chan struct{})}
			followers[r] = f
			go func() {
				defer close(f.done)
				s.follow(inner, r, e)
			}()
		}
		select {
		case <-ctx.Done():
		case <-s.roster.news:
		}
	}
}

// follow looks after one repository until ctx ends.
func (s *Server) follow(ctx context.Context, r *Repository, e *entry) {
	var repo *repository
	defer func() {
		if repo == nil {
			return
		}
		replaced := s.listed(r.name())
		if s.leave(repo, replaced); !replaced {
			s.cfg.Observer.Tell(r.name(), "the repository is not looked after any more")
		}
	}()
	for ctx.Err() == nil {
		err := reconcile.Contained(func() error {
			now, err := s.reach(ctx, r, repo)
			if repo != nil && now == nil && over(err) {
				s.leave(repo, false)
				repo = nil
			}
			if now == nil {
				return err
			}
			repo = now
			err = s.poll(ctx, repo)
			s.loop.AddPatiently(Key{Repository: repo.id, Sweep: true})
			return err
		})
		s.looked(ctx, e, repo, err)
		if ctx.Err() == nil {
			s.cfg.Observer.Polled(r.name(), err)
		}
		s.pause(ctx, e, s.wait(repo, err))
	}
}

// errArchived means that a repository can only be read.
var errArchived = errors.New("it is archived: nothing can be said on it")

// over reports whether an error says that a repository is not there any more.
func over(err error) bool {
	var denied *forge.DeniedError
	return errors.Is(err, errArchived) || errors.As(err, &denied) && denied.Status == http.StatusNotFound
}

// reach asks for a repository. It gives the one that is known, unless the forge
// says something else of it than before: it was renamed, or has another default
// branch.
func (s *Server) reach(ctx context.Context, r *Repository, known *repository) (*repository, error) {
	now, err := s.repository(ctx, r)
	if err != nil {
		return nil, err
	}
	if known != nil && known.said == now.said {
		return known, nil
	}
	s.roster.mu.Lock()
	there := s.roster.known[now.id]
	twice := there != nil && there != known
	if !twice {
		s.roster.known[now.id] = now
	}
	s.roster.mu.Unlock()
	if twice {
		return nil, fmt.Errorf("%s is listed twice, under two names", now.name)
	}
	if err := s.open.rename(now.said.ID, now.id); err != nil {
		return nil, err
	}
	if len(s.underWay(now.id)) > 0 {
		return now, nil // who is at work delivers what is theirs
	}
	return now, now.reviewer.Deliver(ctx)
}

// listed reports whether a repository of a name is to be looked after.
func (s *Server) listed(name string) bool {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	for r := range s.roster.entries {
		if r.name() == name {
			return true
		}
	}
	return false
}

// leave forgets a repository. Unless another entry takes its place, what runs
// for it ends.
func (s *Server) leave(repo *repository, replaced bool) {
	s.roster.mu.Lock()
	delete(s.roster.known, repo.id)
	s.roster.mu.Unlock()
	if replaced {
		return
	}
	for key := range s.underWay(repo.id) {
		s.loop.Add(key)
	}
}

// looked notes that a repository was looked through, or is over.
func (s *Server) looked(ctx context.Context, e *entry, repo *repository, err error) {
	if ctx.Err() != nil || !over(err) && (repo == nil || !repo.listed) {
		return
	}
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	e.looked = true
}

// wait is how long it takes until a repository is looked through again.
func (s *Server) wait(repo *repository, err error) time.Duration {
	after := s.cfg.Poll + time.Duration((s.cfg.Random()*2-1)*0.05*float64(s.cfg.Poll))
	if repo != nil {
		after = s.untilDue(repo, after)
	}
	var limit *forge.LimitError
	if errors.As(err, &limit) {
		after = max(after, time.Until(limit.Until))
	}
	return after
}

func (s *Server) pause(ctx context.Context, e *entry, after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-e.due:
	case <-timer.C:
	}
}

// name is what the operator calls it.
func (r *Repository) name() string {
	if r.Client == nil {
		return r.URL
	}
	return cmp.Or(r.Name.String(), r.URL)
}
