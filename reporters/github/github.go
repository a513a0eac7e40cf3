// Package github publishes a report on a pull request: one sticky comment
// ([Publisher.UpsertComment]), two commit statuses ([Publisher.SetStatuses],
// [StatusFor]), and the summary of a CI job ([JobSummary]) where the credential
// may not write.
//
// It decides nothing about a verdict, and its failure changes none. Credential,
// limits and the pace of writing belong to the client that it is given; what it
// adds is that a write whose answer was lost is looked up before it is
// repeated.
package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// A Config says where to publish, and as whom.
type Config struct {
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
	cfg Config

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

// New returns a Publisher. It sends nothing.
func New(cfg Config) *Publisher {
	cfg.Permission = cmp.Or(cfg.Permission, writeComments)
	return &Publisher{cfg: cfg, commentID: cfg.CommentID}
}

// A Text renders one report in at most maxBytes where it can, by telling less
// and never by cutting. Its first line is the marker at every size, see
// [Publisher.UpsertComment].
type Text func(maxBytes int) string

// explain says in an error what was tried, by [Config.Explain] where that is
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
