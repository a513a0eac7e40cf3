package github

import (
	"context"
	"fmt"

	gh "github.com/google/go-github/v60/github"
)

// A Reaction is the sign below somebody's comment.
type Reaction string

// The reactions in use.
const (
	Done     Reaction = "+1"       // it is done, or will be
	Refused  Reaction = "-1"       // it was understood and is not done
	Confused Reaction = "confused" // it was not understood
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
