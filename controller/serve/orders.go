package serve

import (
	"context"
	"errors"
	"time"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/reporters"
)

// newDesk takes the commands of a repository.
func (s *Server) newDesk(repo *repository) *command.Desk {
	name := repo.name.String()
	return command.NewDesk(command.Config{
		Client: repo.Client, Ledger: s.cfg.Ledger, ID: repo.said.ID, Known: repo.known, Bots: s.policy().Bots, WebURL: repo.WebURL, Redact: s.cfg.Redact,
		Report: func(ctx context.Context, number int, head string) (*reporters.Report, error) {
			return s.memory.report(ctx, s.cfg.Ledger, place{repo.known, number, head})
		},
		Tell: func(number int, line string) { s.cfg.Observer.Tell(numbered(name, number), line) },
	})
}

// obey has a review do what people ask for. unread is why not all that they
// wrote could be read or answered.
func (s *Server) obey(ctx context.Context, repo *repository, key Key, r *review.Review) (commands command.Commands, unread, err error) {
	if key.Pull == 0 {
		return commands, nil, nil
	}
	if commands, unread, err = repo.desk.Take(ctx, r.Place()); err != nil {
		return commands, nil, err
	}
	unread = errors.Join(unread, commands.Unanswered)
	if commands.Cancelled != "" {
		h := s.open.known(head{Repository: key.Repository, Pull: key.Pull, SHA: r.Head()})
		return commands, unread, s.settle(ctx, repo, h, commands.Cancelled)
	}
	r.Obey(commands)
	return commands, unread, nil
}

// cancelled says why the run of a pull request's head has to end, empty where
// nobody wants that. What else people ask for then is answered at once and
// carried out afterwards.
func (s *Server) cancelled(ctx context.Context, repo *repository, key Key) (string, error) {
	r, err := repo.reviewer.Pull(ctx, key.Pull, "")
	if err != nil {
		return "", err
	}
	place := r.Place()
	place.Running = true
	commands, unread, err := repo.desk.Take(ctx, place)
	if commands.Cancelled == "" {
		return "", errors.Join(unread, commands.Unanswered, err)
	}
	return commands.Cancelled, err
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
