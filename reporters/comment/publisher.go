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

// A PublisherConfig says where to publish, and as whom.
type PublisherConfig struct {
	// REST is the connection to the forge, with credential, retries and limits.
	REST *gh.Client
	// Owner and Name of the repository, as the forge gave them.
	Owner string
	Name  string
	// Number of the pull request. Defaults to none: statuses only.
	Number int
	// Queued means that the statuses are those of the merge group of that pull request.
	Queued bool
	// Sharers tells who else has a commit. A status then has a record in the query of its
	// TargetURL of whose it is, so that another process can read that. Defaults to nobody,
	// and to no record.
	Sharers Sharers
	// Permission is what writing there takes. Defaults to "pull-requests: write".
	Permission string
	// CommentID is where the comment was last time. Defaults to unknown: it is
	// searched.
	CommentID int64
	// Login is the account that the credential writes as, for credentials that
	// cannot ask: the token of a job answers 403 to "who am I", and writes as
	// github-actions[bot]. Defaults to unknown: learned from the first comment
	// that is created, which costs one more write a run.
	Login string
	// Explain turns a refusal of the forge into an error that names the line
	// which a workflow's permissions need. The connection knows refusals, so it
	// explains them. Defaults to the forge's own words.
	Explain func(op, permission string, err error) error
}

// rounds is how often a publication is started again because an answer was lost
// or somebody deleted what was just found.
const rounds = 3

// A Publisher writes to one pull request. It is safe for concurrent use;
// comments are written one after another.
type Publisher struct {
	cfg PublisherConfig

	// mu is held while the comment is looked up and written; it guards the
	// fields below.
	mu sync.Mutex
	// commentID is the comment of the last success, or 0.
	commentID int64
	// self is our own user id, 0 while unknown; asked tells whether the forge
	// was asked already.
	self  int64
	asked bool
}

// NewPublisher returns a Publisher. It sends nothing.
func NewPublisher(cfg PublisherConfig) *Publisher {
	cfg.Permission = cmp.Or(cfg.Permission, writeComments)
	return &Publisher{cfg: cfg, commentID: cfg.CommentID}
}

// A Renderer renders one report in at most maxBytes where it can, by telling less
// and never by cutting. Its first line is the marker at every size, see
// [Publisher.UpsertComment].
type Renderer func(maxBytes int) string

// explain says in an error what was tried, by [PublisherConfig.Explain] where that is
// given.
func (p *Publisher) explain(op, permission string, err error) error {
	switch {
	case err == nil:
		return nil
	case p.cfg.Explain != nil:
		return p.cfg.Explain(op, permission, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// statusOf is the HTTP status of the forge's refusal, 0 for other errors.
func statusOf(err error) int {
	var answer *gh.ErrorResponse
	if errors.As(err, &answer) && answer.Response != nil {
		return answer.Response.StatusCode
	}
	return 0
}

// isLost reports whether a write may have been applied although its answer did
// not arrive. A rate limit is not such an error: it says when to come back, and
// nothing was written.
func isLost(ctx context.Context, err error) bool {
	var limit interface{ RetryAt() time.Time }
	if err == nil || ctx.Err() != nil || errors.As(err, &limit) {
		return false
	}
	status := statusOf(err)
	return status == 0 || status >= 500
}

// A Reaction is the sign below somebody's comment.
type Reaction string

// The reactions in use.
const (
	ReactionDone     Reaction = "+1"       // it is done, or will be
	ReactionRefused  Reaction = "-1"       // it was understood and is not done
	ReactionConfused Reaction = "confused" // it was not understood
)

// React puts a reaction below a comment. Forges keep one of a kind for each
// account, so that to react twice is the same as once.
func (p *Publisher) React(ctx context.Context, comment int64, r Reaction) error {
	// go-github's own method asks for a preview that was made public long ago.
	path := fmt.Sprintf("repos/%s/%s/issues/comments/%d/reactions", p.cfg.Owner, p.cfg.Name, comment)
	req, err := p.cfg.REST.NewRequest("POST", path, &gh.Reaction{Content: gh.String(string(r))})
	if err == nil {
		_, err = p.cfg.REST.Do(ctx, req, nil)
	}
	return p.explain(fmt.Sprintf("react to comment %d", comment), writeComments, err)
}

// maxSummary is what GitHub shows of one step; a longer file is not shown at
// all.
const maxSummary = 1 << 20

// JobSummary appends text to the file at path, what GITHUB_STEP_SUMMARY names,
// rendered so that the file stays within 1 MiB.
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
	// An earlier part may end within a line, which would become one line with
	// ours.
	if info.Size() > 0 {
		body = "\n" + body
	}
	if _, err := f.WriteString(body + "\n"); err != nil {
		return fmt.Errorf("job summary: %w", err)
	}
	return nil
}
