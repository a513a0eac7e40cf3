package github

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

// The four states. Pending is never the last one of a commit.
const (
	Pending State = "pending"
	Success State = "success"
	Failure State = "failure"
	Error   State = "error"
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
	// Context tells statuses of one commit apart, at most 255 characters; case
	// does not count.
	Context string
	State   State
	// Description is at most 140 characters; [Publisher.SetStatuses] ends a
	// longer one with an ellipsis.
	Description string
	// TargetURL is where the line links to. Defaults to nowhere.
	TargetURL string
}

// SetStatuses makes each the status of the commit sha in its context, in their
// order. It reads the present ones once and writes only changes: a forge keeps
// every status forever, and takes a thousand for a commit and context. A status
// that is refused for its text keeps no other from being written.
func (p *Publisher) SetStatuses(ctx context.Context, sha string, statuses ...Status) error {
	return p.setStatuses(ctx, sha, nil, statuses)
}

// setStatuses is told what the commit has, nil where that was not read yet.
func (p *Publisher) setStatuses(ctx context.Context, sha string, standing map[string]wireStatus, statuses []Status) error {
	var errs []error
	for _, s := range statuses {
		op := fmt.Sprintf("set status %s of %s/%s@%.12s", s.Context, p.cfg.Owner, p.cfg.Name, sha)
		if err := s.check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", op, err))
			continue
		}
		s.Description = fit(maxDescription, s.Description)
		err := p.setStatus(ctx, sha, s, &standing)
		errs = append(errs, p.explain(op, writeStatuses, err))
		if err != nil && statusOf(err) != http.StatusUnprocessableEntity {
			break
		}
	}
	return errors.Join(errs...)
}

// BeginStatuses sets those of the statuses whose context has none yet, or still
// says pending. It reports whether a context was left as it is: what is known of
// a commit holds until something that it rests on changes.
func (p *Publisher) BeginStatuses(ctx context.Context, sha string, statuses ...Status) (held bool, err error) {
	standing, err := p.newestStatuses(ctx, sha)
	if err != nil {
		return false, p.explain(fmt.Sprintf("read the statuses of %s/%s@%.12s", p.cfg.Owner, p.cfg.Name, sha), "statuses: read", err)
	}
	before := len(statuses)
	statuses = slices.DeleteFunc(slices.Clone(statuses), func(s Status) bool { return standing[strings.ToLower(s.Context)].isTerminal() })
	return len(statuses) < before, p.setStatuses(ctx, sha, standing, statuses)
}

// EndStatuses gives a commit that nobody waits for any more its last word: the
// status last, unless there is a success or a failure in its context, and of the
// others those that would stay pending.
func (p *Publisher) EndStatuses(ctx context.Context, sha string, last Status, others ...Status) error {
	standing, err := p.newestStatuses(ctx, sha)
	if err != nil {
		return p.explain(fmt.Sprintf("read the statuses of %s/%s@%.12s", p.cfg.Owner, p.cfg.Name, sha), "statuses: read", err)
	}
	var all []Status
	if before := standing[strings.ToLower(last.Context)].state(); before != Success && before != Failure {
		all = append(all, last)
	}
	for _, s := range others {
		if standing[strings.ToLower(s.Context)].state() == Pending {
			all = append(all, s)
		}
	}
	return p.setStatuses(ctx, sha, standing, all)
}

// EndPending writes those of the statuses whose context is pending on a commit.
func (p *Publisher) EndPending(ctx context.Context, sha string, statuses ...Status) error {
	standing, err := p.newestStatuses(ctx, sha)
	if err != nil {
		return p.explain(fmt.Sprintf("read the statuses of %s/%s@%.12s", p.cfg.Owner, p.cfg.Name, sha), "statuses: read", err)
	}
	var all []Status
	for _, s := range statuses {
		if standing[strings.ToLower(s.Context)].state() == Pending {
			all = append(all, s)
		}
	}
	return p.setStatuses(ctx, sha, standing, all)
}

// setStatus writes one, unless the commit has it. It reads the present ones if
// they are nil or an answer was lost.
func (p *Publisher) setStatus(ctx context.Context, sha string, s Status, standing *map[string]wireStatus) error {
	var err error
	for range rounds {
		if *standing == nil {
			if *standing, err = p.newestStatuses(ctx, sha); err != nil {
				return err
			}
		}
		if (*standing)[strings.ToLower(s.Context)].equals(s) {
			return nil
		}
		if err = p.createStatus(ctx, sha, s); !isLost(ctx, err) {
			return err
		}
		*standing = nil
	}
	return err
}

func (s Status) check() error {
	switch s.State {
	case Pending, Success, Failure, Error:
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

// A wireStatus is read with our own type because Gitea calls the state
// `status`, where go-github would see none.
type wireStatus struct {
	Context     string `json:"context"`
	State       State  `json:"state"`
	Status      State  `json:"status"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url"`
}

func (w wireStatus) state() State { return cmp.Or(w.State, w.Status) }

// isTerminal reports whether there is one that says more than pending.
func (w wireStatus) isTerminal() bool { return w.state() != "" && w.state() != Pending }

func (w wireStatus) equals(s Status) bool {
	return w.state() == s.State && w.Description == s.Description && w.TargetURL == s.TargetURL
}

// newestStatuses returns the newest status of every context, by its lower case.
func (p *Publisher) newestStatuses(ctx context.Context, sha string) (map[string]wireStatus, error) {
	found := map[string]wireStatus{}
	page := 1
	for range maxPages {
		path := fmt.Sprintf("repos/%s/%s/commits/%s/status?per_page=100&page=%d",
			p.cfg.Owner, p.cfg.Name, url.PathEscape(sha), page)
		req, err := p.cfg.REST.NewRequest(http.MethodGet, path, nil)
		if err != nil {
			return nil, err
		}
		var combined struct {
			Statuses []wireStatus `json:"statuses"`
		}
		resp, err := p.cfg.REST.Do(ctx, req, &combined)
		if err != nil {
			return nil, err
		}
		for _, w := range combined.Statuses {
			found[strings.ToLower(w.Context)] = w
		}
		if resp.NextPage <= page {
			break
		}
		page = resp.NextPage
	}
	return found, nil
}
