package comment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"
)

// State is a commit status as forges know it.
type State string

// The four states. StatePending is never the last one of a commit.
const (
	StatePending State = "pending"
	StateSuccess State = "success"
	StateFailure State = "failure"
	StateError   State = "error"
)

// Contexts of the two statuses; stable, since branch protection names them.
const (
	ContextValidate = "gavel/validate"
	ContextVerdict  = "gavel/verdict"
)

const (
	maxContext     = 255
	maxDescription = 140
	writeStatuses  = "statuses: write"
)

// A Status is one line next to a commit.
type Status struct {
	// Context distinguishes the statuses of one commit, at most 255 characters; case
	// does not count.
	Context string
	State   State
	// Description is at most 140 characters; [Publisher.SetStatuses] ends a
	// longer one with an ellipsis.
	Description string
	// TargetURL is the link of the line. Defaults to none.
	TargetURL string
	// Hold is the reason why a status with [StateError] waits for people. Defaults to
	// none.
	Hold Hold `json:",omitzero"`
}

// SetStatuses sets the commit's statuses in their contexts, in order. It reads the
// present ones once and writes only changes: a forge keeps every status forever, and
// accepts a thousand per commit and context. A status that is refused for its text does
// not prevent the others. If other pull requests have the commit, each context has the
// worst of theirs, see [PublisherConfig.Sharers].
func (p *Publisher) SetStatuses(ctx context.Context, sha string, statuses ...Status) error {
	return p.setStatuses(ctx, sha, nil, statuses)
}

// setStatuses gets the commit's present statuses, or nil if they were not read yet.
// Another process may write between reading and writing: the last of two writers finds
// both when it reads once more.
func (p *Publisher) setStatuses(ctx context.Context, sha string, at *standing, statuses []Status) error {
	var errs []error
	var left []Status
	for _, s := range statuses {
		if err := s.check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.setting(sha, s), err))
			continue
		}
		s.Description = fit(maxDescription, s.Description)
		left = append(left, s)
	}
	w := &writes{sha: sha, at: at, last: map[string]Status{}}
	for range rounds {
		before := w.count
		for i := 0; i < len(left); i++ {
			err := p.setStatus(ctx, w, left[i])
			if err == nil {
				continue
			}
			errs = append(errs, p.explain(p.setting(sha, left[i]), writeStatuses, err))
			if statusOf(err) != http.StatusUnprocessableEntity {
				return errors.Join(errs...)
			}
			left = slices.Delete(left, i, i+1)
			i--
		}
		if w.count == before || !p.mayBeShared(w.at) {
			break
		}
		w.at = nil
	}
	return errors.Join(errs...)
}

// setting describes the operation in an error.
func (p *Publisher) setting(sha string, s Status) string {
	return fmt.Sprintf("set status %s of %s/%s@%.12s", s.Context, p.cfg.Owner, p.cfg.Name, sha)
}

// mayBeShared reports whether another subject may write to the commit.
func (p *Publisher) mayBeShared(at *standing) bool {
	if p.cfg.Sharers == nil {
		return false
	}
	expected, complete := p.cfg.Sharers.Expected(at.sha)
	return !complete || at.shared || slices.ContainsFunc(expected, func(n int) bool { return n != p.cfg.Number || p.cfg.Queued })
}

// BeginStatuses sets the statuses whose context has none of the publisher's subject
// yet, or is still pending. It reports whether a context was left unchanged: a commit's
// result is valid until one of its inputs changes.
func (p *Publisher) BeginStatuses(ctx context.Context, sha string, statuses ...Status) (held bool, err error) {
	at, err := p.statusesOf(ctx, sha)
	if err != nil {
		return false, p.explain(p.reading(sha), "statuses: read", err)
	}
	before := len(statuses)
	statuses = slices.DeleteFunc(slices.Clone(statuses), func(s Status) bool {
		own := at.own(s.Context, p.subject())
		return own != "" && own != StatePending
	})
	return len(statuses) < before, p.setStatuses(ctx, sha, at, statuses)
}

// EndStatuses finalizes a commit that nobody waits for any more: it sets the status
// last, unless its context has a success or a failure, and the others that would stay
// pending. If others have the commit as their head, it sets their result.
func (p *Publisher) EndStatuses(ctx context.Context, sha string, last Status, others ...Status) error {
	at, err := p.statusesOf(ctx, sha)
	if err != nil {
		return p.explain(p.reading(sha), "statuses: read", err)
	}
	if p.cfg.Sharers != nil {
		shared, err := p.leave(ctx, at)
		expected, _ := p.cfg.Sharers.Expected(sha)
		if err != nil || shared || slices.ContainsFunc(expected, func(n int) bool { return n != p.cfg.Number }) {
			return p.explain(p.setting(sha, last), writeStatuses, err)
		}
	}
	var all []Status
	if before := at.own(last.Context, p.subject()); before != StateSuccess && before != StateFailure {
		all = append(all, last)
	}
	for _, s := range others {
		if at.own(s.Context, p.subject()) == StatePending {
			all = append(all, s)
		}
	}
	return p.setStatuses(ctx, sha, at, all)
}

// EndPending writes the statuses whose context is pending on a commit.
func (p *Publisher) EndPending(ctx context.Context, sha string, statuses ...Status) error {
	at, err := p.statusesOf(ctx, sha)
	if err != nil {
		return p.explain(p.reading(sha), "statuses: read", err)
	}
	var all []Status
	for _, s := range statuses {
		if at.newest[strings.ToLower(s.Context)].state() == StatePending {
			all = append(all, s)
		}
	}
	return p.setStatuses(ctx, sha, at, all)
}

func (p *Publisher) reading(sha string) string {
	return fmt.Sprintf("read the statuses of %s/%s@%.12s", p.cfg.Owner, p.cfg.Name, sha)
}

// writes are the writes to one commit.
type writes struct {
	sha string
	// at is nil if the present statuses must be read.
	at    *standing
	count int
	last  map[string]Status // by context
}

// setStatus writes a status, unless the commit has it. It reads the present ones if
// they are unknown or an answer was lost.
func (p *Publisher) setStatus(ctx context.Context, w *writes, s Status) error {
	var err error
	for range rounds {
		if w.at == nil {
			if w.at, err = p.statusesOf(ctx, w.sha); err != nil {
				return err
			}
		}
		want, needed, failed := p.shown(ctx, w.at, s)
		if failed != nil || !needed || w.last[s.Context] == want {
			return failed
		}
		if err = p.createStatus(ctx, w.sha, want); !isLost(ctx, err) {
			w.last[s.Context] = want
			w.count++
			return err
		}
		w.at = nil
	}
	return err
}

func (s Status) check() error {
	switch s.State {
	case StatePending, StateSuccess, StateFailure, StateError:
	default:
		return fmt.Errorf("no state %q", s.State)
	}
	if s.Context == "" || len(s.Context) > maxContext {
		return fmt.Errorf("a context has 1 to %d characters", maxContext)
	}
	if s.TargetURL == "" {
		return nil
	}
	u, err := url.Parse(s.TargetURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("the target URL is not an http(s) URL")
	}
	return nil
}

func (p *Publisher) createStatus(ctx context.Context, sha string, s Status) error {
	_, _, err := p.cfg.REST.Repositories.CreateStatus(ctx, p.cfg.Owner, p.cfg.Name, sha, &gh.RepoStatus{
		Context: &s.Context, State: gh.String(string(s.State)), Description: &s.Description, TargetURL: optional(s.TargetURL),
	})
	return err
}

// A wireStatus is our own type because Gitea calls the state `status`, where go-github
// would see none.
type wireStatus struct {
	ID          int64  `json:"id"`
	Context     string `json:"context"`
	State       State  `json:"state"`
	Status      State  `json:"status"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url"`
}

func (w wireStatus) state() State { return cmp.Or(w.State, w.Status) }

func (w wireStatus) equals(s Status) bool {
	return w.state() == s.State && w.Description == s.Description && w.TargetURL == s.TargetURL
}

// statusesOf reads all statuses that a commit ever had, newest first: the newest of a
// context does not show each pull request's.
func (p *Publisher) statusesOf(ctx context.Context, sha string) (*standing, error) {
	at := &standing{
		sha: sha, newest: map[string]wireStatus{}, unrecorded: map[string]wireStatus{}, by: map[string]map[subject]claim{}, heads: map[int]bool{},
	}
	page := 1
	for range maxPages {
		path := fmt.Sprintf("repos/%s/%s/commits/%s/statuses?per_page=100&page=%d",
			p.cfg.Owner, p.cfg.Name, url.PathEscape(sha), page)
		req, err := p.cfg.REST.NewRequest(http.MethodGet, path, nil)
		if err != nil {
			return nil, err
		}
		var statuses []wireStatus
		resp, err := p.cfg.REST.Do(ctx, req, &statuses)
		if err != nil {
			return nil, err
		}
		for _, w := range statuses {
			at.note(w)
		}
		if resp.NextPage <= page {
			return at, nil
		}
		page = resp.NextPage
	}
	return nil, fmt.Errorf("list the statuses of %.7s: there are more than %d; push another commit", sha, maxPages*100)
}
