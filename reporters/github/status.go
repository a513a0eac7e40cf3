package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
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

// A Status is one line beside a commit.
type Status struct {
	// Context tells statuses of one commit apart, at most 255 characters; case
	// does not count.
	Context string
	State   State
	// Description is at most 140 characters; [Publisher.SetStatus] ends a
	// longer one with an ellipsis.
	Description string
	// TargetURL is where the line links to. Defaults to nowhere.
	TargetURL string
}

// SetStatus makes s the status of the commit sha in its context. It reads what
// stands there and writes only a change: a forge keeps every status for ever,
// and takes a thousand for a commit and context.
func (p *Publisher) SetStatus(ctx context.Context, sha string, s Status) error {
	op := fmt.Sprintf("set status %s of %s/%s@%.12s", s.Context, p.cfg.Owner, p.cfg.Name, sha)
	if err := s.check(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	s.Description = fit(maxDescription, s.Description)
	var err error
	for range rounds {
		var same bool
		if same, err = p.stands(ctx, sha, s); err != nil || same {
			break
		}
		if err = p.createStatus(ctx, sha, s); !isLost(ctx, err) {
			break
		}
	}
	return p.explain(op, writeStatuses, err)
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
		return fmt.Errorf("the target URL is no http(s) URL")
	}
	return nil
}

func (p *Publisher) createStatus(ctx context.Context, sha string, s Status) error {
	wire := &gh.RepoStatus{Context: &s.Context, State: gh.String(string(s.State)), Description: &s.Description}
	if s.TargetURL != "" {
		wire.TargetURL = &s.TargetURL
	}
	_, _, err := p.cfg.REST.Repositories.CreateStatus(ctx, p.cfg.Owner, p.cfg.Name, sha, wire)
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

// stands tells whether s is already the newest status in its context.
func (p *Publisher) stands(ctx context.Context, sha string, s Status) (bool, error) {
	for page := 1; page > 0 && page <= maxPages; {
		path := fmt.Sprintf("repos/%s/%s/commits/%s/status?per_page=100&page=%d",
			p.cfg.Owner, p.cfg.Name, url.PathEscape(sha), page)
		req, err := p.cfg.REST.NewRequest(http.MethodGet, path, nil)
		if err != nil {
			return false, err
		}
		var combined struct {
			Statuses []wireStatus `json:"statuses"`
		}
		resp, err := p.cfg.REST.Do(ctx, req, &combined)
		if err != nil {
			return false, err
		}
		for _, w := range combined.Statuses {
			if !strings.EqualFold(w.Context, s.Context) {
				continue
			}
			if w.State == "" {
				w.State = w.Status
			}
			return w.State == s.State && w.Description == s.Description && w.TargetURL == s.TargetURL, nil
		}
		if resp.NextPage <= page {
			return false, nil
		}
		page = resp.NextPage
	}
	return false, nil
}
