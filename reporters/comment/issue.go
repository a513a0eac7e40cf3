package comment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"
)

const (
	// driftMarker is the first line of the issue that a scheduled run opens.
	driftMarker = "<!-- gavel:drift-issue -->"
	// driftTitle and driftBody are the texts of the issue. Its comments have the results.
	driftTitle = "Drift: verdicts got worse without a change of the repository"
	driftBody  = driftMarker + `
A scheduled run of Gavel judged all cases again, and some verdicts got worse although the repository did not change. The comment of each branch has its last change.

Later changes are reported here as long as this issue is open. Close it when nothing is left to do: the next drift opens another one.
`
)

// DriftIssue returns the number of the open issue in which this product instance reports
// drift, 0 for none. It is the known one, or the oldest with our marker and author; younger
// twins, left by two runs at once, are closed. If opens is set, it is opened if there is
// none.
func (p *Publisher) DriftIssue(ctx context.Context, known int, opens bool) (number int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range rounds {
		number, err = p.tryIssue(ctx, known, opens)
		if !errors.Is(err, errLost) {
			break
		}
	}
	op := "find the issue for drift in "
	if opens {
		op = "open an issue for drift in "
	}
	return number, p.explain(op+p.cfg.Owner+"/"+p.cfg.Name, p.cfg.Permission, err)
}

func (p *Publisher) tryIssue(ctx context.Context, known int, opens bool) (int, error) {
	if err := p.identify(ctx); err != nil {
		return 0, err
	}
	if known != 0 {
		found, err := p.readIssue(ctx, known)
		if err != nil || found {
			return known, err
		}
	}
	oldest, err := p.oldestIssue(ctx)
	if err != nil || oldest != 0 || !opens {
		return oldest, err
	}
	title, body := driftTitle, driftBody
	created, _, err := p.cfg.REST.Issues.Create(ctx, p.cfg.Owner, p.cfg.Name, &gh.IssueRequest{Title: &title, Body: &body})
	if isLost(ctx, err) {
		err = fmt.Errorf("%w: %w", errLost, err)
	}
	if err != nil {
		return 0, err
	}
	if id := created.GetUser().GetID(); id != 0 {
		p.self = id
	}
	// Another run may have opened one between our look and our write.
	oldest, err = p.oldestIssue(ctx)
	return cmp.Or(oldest, created.GetNumber()), err
}

// isDriftIssue reports whether an issue is open and ours, as far as our account is known.
func (p *Publisher) isDriftIssue(i *gh.Issue) bool {
	return !i.IsPullRequest() && i.GetState() == "open" && (p.self == 0 || i.GetUser().GetID() == p.self) && firstLine(i.GetBody()) == driftMarker
}

// readIssue reports whether the known issue is still ours and open.
func (p *Publisher) readIssue(ctx context.Context, number int) (bool, error) {
	var found gh.Issue
	_, err := p.get(ctx, fmt.Sprintf("issues/%d", number), &found)
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusGone {
		return false, nil
	}
	return err == nil && found.GetNumber() == number && p.isDriftIssue(&found), err
}

// oldestIssue returns our oldest open issue with the marker, 0 if there is none or if our
// account is unknown, and closes its younger twins.
func (p *Publisher) oldestIssue(ctx context.Context) (int, error) {
	if p.self == 0 {
		return 0, nil
	}
	own, err := p.ownIssues(ctx)
	if err != nil || len(own) == 0 {
		return 0, err
	}
	slices.Sort(own)
	closed := "closed"
	for _, twin := range own[1:] {
		if _, _, err := p.cfg.REST.Issues.Edit(ctx, p.cfg.Owner, p.cfg.Name, twin, &gh.IssueRequest{State: &closed}); err != nil {
			return 0, err
		}
	}
	return own[0], nil
}

func (p *Publisher) ownIssues(ctx context.Context) (own []int, err error) {
	for page := 1; page <= maxPages; {
		var found []*gh.Issue
		resp, err := p.get(ctx, fmt.Sprintf("issues?state=open&per_page=100&page=%d", page), &found)
		if err != nil {
			return nil, err
		}
		for _, i := range found {
			if p.isDriftIssue(i) {
				own = append(own, i.GetNumber())
			}
		}
		// A forge that ignores paging sends everything at once without a link.
		if resp.NextPage <= page {
			return own, nil
		}
		page = resp.NextPage
	}
	return nil, fmt.Errorf("more than %d open issues", maxPages*100)
}

// get reads a path of the repository; go-github's own methods request a preview that was
// made public long ago.
func (p *Publisher) get(ctx context.Context, path string, into any) (*gh.Response, error) {
	req, err := p.cfg.REST.NewRequest(http.MethodGet, strings.Join([]string{"repos", p.cfg.Owner, p.cfg.Name, path}, "/"), nil)
	if err != nil {
		return nil, err
	}
	return p.cfg.REST.Do(ctx, req, into)
}
