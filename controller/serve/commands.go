package serve

import (
	"context"
	"errors"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
)

// newInbox returns the inbox for the commands of a repository.
func (w *worker) newInbox(repo *repository) *command.Inbox {
	name := repo.name.String()
	return command.NewInbox(command.Config{
		Client: repo.Client, Ledger: w.cfg.Ledger, ID: repo.said.ID, Known: repo.ledgerName, Bots: w.registry.currentPolicy().Bots, WebURL: repo.WebURL, Redact: w.cfg.Redact,
		Report: func(ctx context.Context, number int, head string) (*report.Report, error) {
			return w.reports.report(ctx, reportKey{repo.ledgerName, number, head})
		},
		Log: func(number int, line string) { w.cfg.Observer.Log(numbered(name, number), line) },
	})
}

// accept makes a review carry out people's commands. unread is the reason why some
// comments could not be read or answered.
func (w *worker) accept(ctx context.Context, repo *repository, key Key, r *review.Review) (commands command.Commands, unread, err error) {
	if key.Kind != PullRequest {
		return w.inherit(ctx, repo, key, r)
	}
	if commands, unread, err = w.process(ctx, repo, key, r.PullHead()); err != nil {
		return commands, nil, err
	}
	unread = errors.Join(unread, commands.Unanswered)
	if commands.Cancelled != "" {
		h, _, err := w.state.Load(ctx, pendingHead(key, r.Head()))
		if err == nil {
			err = w.settle(ctx, repo, h, commands.Cancelled)
		}
		return commands, unread, err
	}
	r.Follow(commands)
	return commands, unread, nil
}

// inherit has the commit of a branch carry out the quarantines of the repository and, in
// the merge queue, what was accepted at the head of the pull request. Without a forge nobody
// gives commands.
func (w *worker) inherit(ctx context.Context, repo *repository, key Key, r *review.Review) (commands command.Commands, unread, err error) {
	if repo.inbox == nil {
		return commands, nil, nil
	}
	inherited, err := repo.inbox.Quarantines(ctx)
	if err != nil {
		return commands, nil, err
	}
	if group, ok := forge.Queued(key.Ref); ok && group.Number != 0 {
		accepted, err := w.acceptedIn(ctx, repo, group.Number)
		if denied, ok := errors.AsType[*forge.DeniedError](err); ok {
			unread = denied
		} else if err != nil {
			// A red commit leaves the queue, and does not come back by itself.
			return commands, nil, err
		}
		inherited = append(inherited, accepted...)
	}
	r.Inherit(inherited)
	return commands, unread, nil
}

// acceptedIn returns the acceptances at the head of a pull request, each limited to the
// results and the changes of targets that people saw there: a commit of the queue also has what others merged.
func (w *worker) acceptedIn(ctx context.Context, repo *repository, number int) (accepted []report.Command, err error) {
	pull, err := repo.Client.Pull(ctx, repo.name, number)
	if err != nil {
		return nil, err
	}
	given, err := repo.inbox.Accepted(ctx, number, pull.HeadSHA)
	if err != nil || len(given) == 0 {
		return nil, err
	}
	seen, err := w.reports.report(ctx, reportKey{repo.ledgerName, number, pull.HeadSHA})
	if err != nil || seen == nil {
		return nil, err
	}
	for _, c := range given {
		if c.Limit(seen); len(c.Results) > 0 {
			accepted = append(accepted, c)
		}
	}
	return accepted, nil
}

// process reads the commands of a pull request, with the label that was added to it. A
// label stays until the forge has said what its sender may do.
func (w *worker) process(ctx context.Context, repo *repository, key Key, place command.PullHead) (commands command.Commands, unread, err error) {
	label, added := w.labels.Load(key)
	if added {
		place.Label = label.(*forge.Labeled)
	}
	commands, unread, err = repo.inbox.Process(ctx, place)
	if added && err == nil && unread == nil {
		w.labels.CompareAndDelete(key, label)
	}
	return commands, unread, err
}

// cancelReason returns why the run of a pull request's head has to end, empty if nobody
// asked for that. Other commands are answered at once and carried out afterwards.
func (w *worker) cancelReason(ctx context.Context, repo *repository, key Key) (string, error) {
	r, err := repo.reviewer.Pull(ctx, key.Pull, "")
	if err != nil {
		return "", err
	}
	place := r.PullHead()
	place.Running = true
	commands, unread, err := w.process(ctx, repo, key, place)
	if commands.Cancelled == "" {
		return "", errors.Join(unread, commands.Unanswered, err)
	}
	return commands.Cancelled, err
}
