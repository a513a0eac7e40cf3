package comment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// A PublisherConfig selects the place and the identity of publishing.
type PublisherConfig struct {
	// REST is the connection to the forge, with credential, retries and limits.
	REST *gh.Client
	// Owner and Name of the repository, as the forge reports them.
	Owner string
	Name  string
	// Number of the pull request. Defaults to none: statuses only.
	Number int
	// Queued means that the statuses belong to the merge group of that pull request.
	Queued bool
	// Sharers knows who else has a commit. A status then records its subject in the
	// query of its TargetURL, for other processes. Defaults to nobody, without a
	// record.
	Sharers Sharers
	// Permission is the permission needed for writing. Defaults to "pull-requests:
	// write".
	Permission string
	// CommentID is the last known comment. Defaults to unknown: it is searched.
	CommentID int64
	// EditOnly creates no comment: only one that is there is written.
	EditOnly bool
	// Login is the credential's account, for credentials that cannot look it up: a
	// job's token gets 403 for "who am I", and writes as github-actions[bot]. Defaults
	// to unknown: learned from the first created comment, which costs one more write
	// per run.
	Login string
	// Explain turns a refusal of the forge into an error that names the missing line in
	// a workflow's permissions. The connection knows refusals, so it explains them.
	// Defaults to the forge's own words.
	Explain func(op, permission string, err error) error
}

// rounds bounds the restarts of a publication after a lost answer or the deletion of a
// comment just found.
const rounds = 3

// A Publisher writes to one pull request. It is safe for concurrent use;
// comments are written one after another.
type Publisher struct {
	cfg PublisherConfig

	// mu is held while the comment is searched and written; it guards the fields below.
	mu sync.Mutex
	// commentID is the comment of the last success, or 0.
	commentID int64
	// self is our own user id, 0 while unknown; asked means that the forge was already
	// asked.
	self  int64
	asked bool
}

// NewPublisher returns a Publisher. It sends nothing.
func NewPublisher(cfg PublisherConfig) *Publisher {
	cfg.Permission = cmp.Or(cfg.Permission, writeComments)
	return &Publisher{cfg: cfg, commentID: cfg.CommentID}
}

// A Renderer renders one report in at most maxBytes if possible, by omitting content
// and never by cutting. Its first line is the marker at every size, see
// [Publisher.UpsertComment].
type Renderer func(maxBytes int) string

// explain adds the operation to an error, by [PublisherConfig.Explain] if it is set.
func (p *Publisher) explain(op, permission string, err error) error {
	switch {
	case err == nil:
		return nil
	case p.cfg.Explain != nil:
		return p.cfg.Explain(op, permission, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// statusOf returns the HTTP status of the forge's refusal, 0 for other errors.
func statusOf(err error) int {
	var answer *gh.ErrorResponse
	if errors.As(err, &answer) && answer.Response != nil {
		return answer.Response.StatusCode
	}
	return 0
}

// isLost reports whether a write may have been applied although its answer did not
// arrive. A rate limit is not such an error: nothing was written, and it names the time
// of a retry.
func isLost(ctx context.Context, err error) bool {
	var limit interface{ RetryAt() time.Time }
	if err == nil || ctx.Err() != nil || errors.As(err, &limit) {
		return false
	}
	status := statusOf(err)
	return status == 0 || status >= 500
}

// A Reaction is the sign on a comment.
type Reaction string

// The reactions in use.
const (
	ReactionDone     Reaction = "+1"       // done, or accepted
	ReactionRefused  Reaction = "-1"       // understood and refused
	ReactionConfused Reaction = "confused" // not understood
)

// React adds a reaction to a comment. Forges keep one of a kind per account, so
// reacting twice has no effect.
func (p *Publisher) React(ctx context.Context, comment int64, r Reaction) error {
	// go-github's own method requests a preview that was made public long ago.
	path := fmt.Sprintf("repos/%s/%s/issues/comments/%d/reactions", p.cfg.Owner, p.cfg.Name, comment)
	req, err := p.cfg.REST.NewRequest("POST", path, &gh.Reaction{Content: gh.String(string(r))})
	if err == nil {
		_, err = p.cfg.REST.Do(ctx, req, nil)
	}
	return p.explain(fmt.Sprintf("react to comment %d", comment), writeComments, err)
}

// maxSummary is the size that GitHub shows of one step; a longer file is not shown at
// all.
const maxSummary = 1 << 20

// JobSummary appends text to the file at path, from GITHUB_STEP_SUMMARY, rendered so
// that the file stays within 1 MiB.
func JobSummary(path string, text Renderer) (err error) {
	f, err := safefile.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("job summary: %w", err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("job summary: %w", cerr)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("job summary: %w", err)
	}
	body := text(maxSummary - int(info.Size()) - 2)
	if int(info.Size())+len(body)+2 > maxSummary {
		return errors.New("job summary: the report does not fit what is left of 1 MiB")
	}
	// An earlier part may end without a line break, which would join its last line with
	// ours.
	if info.Size() > 0 {
		body = "\n" + body
	}
	if _, err := f.WriteString(body + "\n"); err != nil {
		return fmt.Errorf("job summary: %w", err)
	}
	return nil
}
