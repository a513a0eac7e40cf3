package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/reporters"
)

// newDesk takes the orders of a repository.
func (s *Server) newDesk(repo *repository) *command.Desk {
	name := repo.name.String()
	return command.NewDesk(command.Config{
		Client: repo.Client, Ledger: s.cfg.Ledger, ID: repo.id, Bots: s.policy().Bots, WebURL: repo.WebURL,
		Report: func(ctx context.Context, number int, head string) (*reporters.Report, error) {
			return s.memory.report(ctx, s.cfg.Ledger, place{repo.known, number, head})
		},
		Tell: func(line string) { s.cfg.Observer.Tell(name, line) },
	})
}

// obey has a review do what people ask for, and tells whether it is wanted at
// all. unread is why not all that they wrote could be read or answered.
func (s *Server) obey(ctx context.Context, repo *repository, key Key, r *review.Review) (wanted bool, unread, err error) {
	if key.Pull == 0 {
		return true, nil, nil
	}
	orders, unread, err := repo.take(ctx, key, r, false)
	if err != nil {
		return false, nil, err
	}
	if orders.Cancelled != "" {
		return false, unread, repo.reviewer.Settle(ctx, key.Pull, r.Head(), cancelledBy(orders.Cancelled))
	}
	r.Obey(review.Orders{Obeyed: orders.Obeyed, Refused: orders.Refused})
	return true, unread, nil
}

// cancelled says who wants the run of a pull request's head to end, empty for
// nobody. What else people ask for then is answered at once and carried out
// afterwards.
func (s *Server) cancelled(ctx context.Context, repo *repository, key Key) (string, error) {
	r, err := repo.reviewer.Pull(ctx, key.Pull, "")
	if err != nil {
		return "", err
	}
	orders, unread, err := repo.take(ctx, key, r, true)
	if orders.Cancelled == "" {
		return "", errors.Join(unread, err)
	}
	return cancelledBy(orders.Cancelled), err
}

func cancelledBy(who string) string {
	return fmt.Sprintf("cancelled by %s; /gavel run judges it", who)
}

func (repo *repository) take(ctx context.Context, key Key, r *review.Review, running bool) (command.Orders, error, error) {
	return repo.desk.Take(ctx, command.Place{
		Repository: r.Repository, Number: key.Pull, Head: r.Head(), Running: running, Unapprovable: r.Unapprovable(),
	})
}

// talk is what was seen of the comments of a repository.
type talk struct {
	since time.Time // of the newest change, zero before the first look
	tag   string
}

// pollComments makes the pull requests due on which somebody asked for
// something.
func (s *Server) pollComments(ctx context.Context, repo *repository) error {
	if repo.Client == nil {
		return nil
	}
	const missed = 24 * time.Hour // at the first look all are due anyway
	since := repo.talk.since
	if since.IsZero() {
		since = time.Now().Add(-missed)
	}
	comments, tag, err := repo.Client.RecentComments(ctx, repo.name, since, repo.talk.tag)
	if errors.Is(err, forge.ErrUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	now := talk{since, tag}
	for _, c := range comments {
		if c.Updated.After(now.since) {
			now = talk{since: c.Updated} // of another request there is no tag yet
		}
		_, asks := command.Parse(c.Body)
		if asks && c.Number != 0 {
			s.loop.Add(Key{Repository: repo.id, Pull: c.Number})
		}
	}
	repo.talk = now
	return nil
}
