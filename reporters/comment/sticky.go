package comment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// sizes are tried in order, in bytes: the next one is for a server that rejects the
// previous one as too long.
var sizes = [...]int{MaxBytes, 30_000, 10_000, 3_000}

const (
	// maxPages bounds the search: 100 comments a page.
	maxPages = 100
	// writeComments is the permission that all of this needs in a workflow.
	writeComments = "pull-requests: write"
)

// An Outcome is the result of an upsert.
type Outcome string

// The outcomes of writing a comment.
const (
	Created   Outcome = "created"
	Edited    Outcome = "edited"
	Unchanged Outcome = "unchanged"
	// Omitted is the outcome of [PublisherConfig.EditOnly] without a comment.
	Omitted Outcome = "omitted"
)

// A Comment is the comment with the report. Keep its ID for the next run's
// [PublisherConfig].
type Comment struct {
	ID      int64
	URL     string
	Outcome Outcome
	// Digest is the text's, for [Publisher.HasComment].
	Digest string
}

var markerPattern = lazyregexp.New(`^<!-- gavel:[^\n]{1,200} -->$`)

// Two errors after which everything starts again.
var (
	// errGone means that a comment was found and then deleted by somebody else.
	errGone = errors.New("the comment was deleted meanwhile")
	// errLost means that a create may have been applied unnoticed.
	errLost = errors.New("the answer to the new comment was lost")
)

// UpsertComment makes text the one comment of this product instance on the pull
// request. The first line of the text is its marker, the same at every level: `<!--
// gavel:… -->`.
//
// The comment is found by its id, else by marker and author over all pages; the oldest
// is ours, and younger twins, left by two runs at once or a crash, are deleted. A
// comment with our marker by another author is never touched. It is written only if its
// text differs, created again if it was deleted, and rendered smaller if the forge
// rejects it as too long. [PublisherConfig.Explain] explains refusals.
//
// Our own author is the credential's owner. A job's token cannot look it up; then it is
// [PublisherConfig.Login], and in any case the author of a newly created comment is the
// truth from then on: the list that is read after each create finds that author's older
// comment, and the new one is deleted.
func (p *Publisher) UpsertComment(ctx context.Context, text Renderer) (Comment, error) {
	op := fmt.Sprintf("comment on %s/%s#%d", p.cfg.Owner, p.cfg.Name, p.cfg.Number)
	if p.cfg.Number <= 0 {
		return Comment{}, fmt.Errorf("%s: no pull request", op)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	body := ""
	for _, size := range sizes {
		smaller := text(size)
		marker := firstLine(smaller)
		if !markerPattern.MatchString(marker) {
			return Comment{}, fmt.Errorf("%s: its first line %.80q is not a marker", op, marker)
		}
		if smaller == body {
			continue
		}
		body = smaller
		var c Comment
		if c, err = p.upsert(ctx, marker, body); err == nil {
			p.commentID = c.ID
			return c, nil
		}
		if statusOf(err) != http.StatusUnprocessableEntity {
			break
		}
	}
	return Comment{}, p.explain(op, p.cfg.Permission, err)
}

// HasComment reports whether the comment of [PublisherConfig.CommentID] still exists, with the
// text of the digest; an empty one is not compared.
func (p *Publisher) HasComment(ctx context.Context, digest string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, err := p.stored(ctx)
	op := fmt.Sprintf("read the comment on %s/%s#%d", p.cfg.Owner, p.cfg.Name, p.cfg.Number)
	return found != nil && (digest == "" || Digest(found.GetBody()) == digest), p.explain(op, p.cfg.Permission, err)
}

// Retire turns our comment into an earlier one: its text goes into a fold below the
// title, and its marker is removed, so that the next [Publisher.UpsertComment] creates
// another. Without a comment it does nothing.
func (p *Publisher) Retire(ctx context.Context, marker, title string) error {
	op := fmt.Sprintf("retire the comment on %s/%s#%d", p.cfg.Owner, p.cfg.Name, p.cfg.Number)
	p.mu.Lock()
	defer p.mu.Unlock()
	found, err := p.find(ctx, marker)
	if err != nil || found == nil || firstLine(found.GetBody()) != marker {
		return p.explain(op, p.cfg.Permission, err)
	}
	_, rest, _ := strings.Cut(found.GetBody(), "\n")
	_, err = p.edit(ctx, found, fmt.Sprintf("<details><summary>%s</summary>\n\n%s\n</details>", title, rest))
	p.commentID = 0
	if errors.Is(err, errGone) {
		err = nil
	}
	return p.explain(op, p.cfg.Permission, err)
}

// find returns our comment: by its id, else by marker and author; nil without one.
func (p *Publisher) find(ctx context.Context, marker string) (*gh.IssueComment, error) {
	if err := p.identify(ctx); err != nil {
		return nil, err
	}
	found, err := p.stored(ctx)
	if err == nil && found == nil {
		found, err = p.search(ctx, marker)
	}
	return found, err
}

// upsert restarts if the comment changed in between: it looks before each write.
func (p *Publisher) upsert(ctx context.Context, marker, body string) (c Comment, err error) {
	for range rounds {
		c, err = p.tryUpsert(ctx, marker, body)
		if !errors.Is(err, errGone) && !errors.Is(err, errLost) {
			break
		}
	}
	return c, err
}

func (p *Publisher) tryUpsert(ctx context.Context, marker, body string) (Comment, error) {
	found, err := p.find(ctx, marker)
	switch {
	case err != nil:
		return Comment{}, err
	case found != nil:
		return p.edit(ctx, found, body)
	case p.cfg.EditOnly:
		return Comment{Outcome: Omitted}, nil
	}
	created, _, err := p.cfg.REST.Issues.CreateComment(ctx, p.cfg.Owner, p.cfg.Name, p.cfg.Number, &gh.IssueComment{Body: &body})
	if isLost(ctx, err) {
		err = fmt.Errorf("%w: %w", errLost, err)
	}
	if err != nil {
		return Comment{}, err
	}
	if id := created.GetUser().GetID(); id != 0 {
		p.self = id
	}
	// Another run may have created one between our look and our write.
	oldest, err := p.search(ctx, marker)
	if err != nil {
		return Comment{}, err
	}
	if oldest == nil || oldest.GetID() == created.GetID() {
		return convertComment(created, Created), nil
	}
	return p.edit(ctx, oldest, body)
}

// identify looks the credential's account up once. A refusal is not an error.
func (p *Publisher) identify(ctx context.Context) error {
	if p.asked {
		return nil
	}
	user, _, err := p.cfg.REST.Users.Get(ctx, "")
	if isRefusal(err) && p.cfg.Login != "" {
		user, _, err = p.cfg.REST.Users.Get(ctx, p.cfg.Login)
	}
	if err != nil && !isRefusal(err) {
		return err
	}
	p.asked = true
	p.self = user.GetID()
	return nil
}

// isRefusal excludes 401: nothing works with that credential.
func isRefusal(err error) bool {
	status := statusOf(err)
	return status == http.StatusForbidden || status == http.StatusNotFound
}

// stored returns the comment with the known id, or nil if there is none, if it is
// elsewhere, or if somebody else wrote it.
func (p *Publisher) stored(ctx context.Context) (*gh.IssueComment, error) {
	if p.commentID == 0 {
		return nil, nil
	}
	c, _, err := p.cfg.REST.Issues.GetComment(ctx, p.cfg.Owner, p.cfg.Name, p.commentID)
	if err != nil && statusOf(err) != http.StatusNotFound {
		return nil, err
	}
	elsewhere := c.GetIssueURL() != "" && !strings.HasSuffix(c.GetIssueURL(), "/"+strconv.Itoa(p.cfg.Number))
	foreign := p.self != 0 && c.GetUser().GetID() != p.self
	if err != nil || elsewhere || foreign {
		p.commentID = 0
		return nil, nil
	}
	return c, nil
}

// search returns our oldest comment with the marker, nil if there is none or if our
// account is unknown, and deletes its younger twins.
func (p *Publisher) search(ctx context.Context, marker string) (*gh.IssueComment, error) {
	if p.self == 0 {
		return nil, nil
	}
	own, err := p.own(ctx, marker)
	if err != nil || len(own) == 0 {
		return nil, err
	}
	slices.SortFunc(own, func(a, b *gh.IssueComment) int { return cmp.Compare(a.GetID(), b.GetID()) })
	for _, twin := range own[1:] {
		_, err := p.cfg.REST.Issues.DeleteComment(ctx, p.cfg.Owner, p.cfg.Name, twin.GetID())
		// The other run deletes the same one.
		if err != nil && statusOf(err) != http.StatusNotFound {
			return nil, err
		}
	}
	return own[0], nil
}

func (p *Publisher) own(ctx context.Context, marker string) ([]*gh.IssueComment, error) {
	var own []*gh.IssueComment
	opts := &gh.IssueListCommentsOptions{ListOptions: gh.ListOptions{PerPage: 100}}
	for range maxPages {
		page, resp, err := p.cfg.REST.Issues.ListComments(ctx, p.cfg.Owner, p.cfg.Name, p.cfg.Number, opts)
		if err != nil {
			return nil, err
		}
		for _, c := range page {
			if c.GetUser().GetID() == p.self && firstLine(c.GetBody()) == marker {
				own = append(own, c)
			}
		}
		// A forge that ignores paging sends everything at once without a link.
		if resp.NextPage <= opts.Page {
			return own, nil
		}
		opts.Page = resp.NextPage
	}
	return nil, fmt.Errorf("more than %d comments", maxPages*opts.PerPage)
}

func (p *Publisher) edit(ctx context.Context, c *gh.IssueComment, body string) (Comment, error) {
	if normal(c.GetBody()) == normal(body) {
		return convertComment(c, Unchanged), nil
	}
	edited, _, err := p.cfg.REST.Issues.EditComment(ctx, p.cfg.Owner, p.cfg.Name, c.GetID(), &gh.IssueComment{Body: &body})
	if statusOf(err) == http.StatusNotFound {
		p.commentID = 0
		return Comment{}, fmt.Errorf("%w: %w", errGone, err)
	}
	if err != nil {
		return Comment{}, err
	}
	return convertComment(edited, Edited), nil
}

func convertComment(c *gh.IssueComment, outcome Outcome) Comment {
	return Comment{ID: c.GetID(), URL: c.GetHTMLURL(), Outcome: outcome, Digest: Digest(c.GetBody())}
}

// Digest returns the digest of a comment's text, whatever forges change in what they store.
func Digest(body string) string {
	sum := sha256.Sum256([]byte(normal(body)))
	return hex.EncodeToString(sum[:])
}

func firstLine(body string) string {
	line, _, _ := strings.Cut(body, "\n")
	return strings.TrimRight(line, "\r")
}

// normal reverts changes that forges make to a stored text.
func normal(body string) string {
	return strings.TrimSpace(strings.ReplaceAll(body, "\r\n", "\n"))
}
