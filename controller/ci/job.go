// Package ci judges the subject of a CI job: a pull request, following its comments, or
// the commit of a merge queue or of a push.
//
// Most callers ask [Idle] whether an event matters and then let a [Job] [Job.Judge] it.
// [KeysOf] names the data kept from one job to the next.
package ci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/safefile"
)

// Idle returns the reason why an event needs nothing, or an empty string. Most comments
// are conversation, and cost nothing else. A pushed tag is not judged. A label asks for
// something only if labels are turned on.
func Idle(e forge.Event, labels bool) string {
	switch {
	case e.Action == "labeled" && (e.Label == nil || !labels):
		return fmt.Sprintf("the label asks for nothing: only %s does, where labels are turned on", forge.RunLabel)
	case e.Name == forge.EventPush && strings.HasPrefix(e.HeadRef, "refs/"):
		return fmt.Sprintf("%s is not a branch: its commit is judged where a branch or a pull request has it", strings.TrimPrefix(e.HeadRef, "refs/"))
	case e.Name != forge.EventIssueComment:
		return ""
	}
	_, asks := command.Parse(e.Comment)
	switch {
	case e.Action != "created":
		return "the comment is not a new one"
	case !asks:
		return "the first line of the comment is not a /gavel command"
	case e.Number == 0:
		return "the comment is not on a pull request"
	}
	return ""
}

// A Job is a job of a repository.
type Job struct {
	Review review.Config
	// Output is the file by which the steps of the job pass values on, empty without
	// one.
	Output string
	// Redact removes secrets from answers. Defaults to redact.Text.
	Redact func(string) string

	// Labels has the label [forge.RunLabel] ask for a run.
	Labels bool
	// DriftIssue has the job judge every case of its branch again and report drift in that
	// issue, as a server does by its schedule; none judges what is not stored.
	DriftIssue config.DriftIssue

	kept bool // the job was told to keep its ledger
}

// A Result is the result of a job: a report, or the reason why there is none.
type Result struct {
	// Review can render the report; both are nil without one.
	Review *review.Review
	Report *report.Report
	// Ended names the person who cancelled the head, Idle the reason why nobody waits
	// for it.
	Ended, Idle string
	// Unpublished is the part that the forge refused, which changes no verdict.
	Unpublished error
}

// Leave handles a closed pull request: it judges nothing. From then on the statuses of
// its head show the verdicts of other pull requests with the same head. A token that
// may not write leaves them unchanged.
func (j *Job) Leave(ctx context.Context, e forge.Event) error {
	reviewer := review.New(j.Review)
	err := reviewer.Leave(ctx, review.Predecessor{Number: e.Number, Head: e.HeadSHA})
	if forge.Refused(err) {
		j.Review.Log(err.Error())
		return nil
	}
	return err
}

// leaveBefore does the same for the head that a push replaced. The payload names it, or
// the ledger knows the previous head.
func (j *Job) leaveBefore(ctx context.Context, e forge.Event, r *review.Review) error {
	if e.Action != "synchronize" {
		return nil
	}
	before := e.Before
	if before == "" {
		heads, err := j.Review.Ledger.Heads(ctx, r.Known, e.Number)
		if err != nil {
			return err
		}
		for sha, seen := range heads {
			if sha != r.Head() && (before == "" || seen.After(heads[before])) {
				before = sha
			}
		}
	}
	if before == "" || before == r.Head() {
		return nil
	}
	e.HeadSHA = before
	return j.Leave(ctx, e)
}

// Judge judges the subject of an event. The error is [review.ErrNoBase] if a push has
// nothing to compare with.
func (j *Job) Judge(ctx context.Context, e forge.Event) (Result, error) {
	if e.Number != 0 {
		return j.steered(ctx, e)
	}
	if j.DriftIssue != (config.DriftIssue{}) && e.HeadRef == e.BaseRef {
		return j.run(ctx, review.New(j.Review).Scheduled(review.Schedule{
			Branch: e.HeadRef, SHA: e.HeadSHA, Due: time.Now(), Issue: j.DriftIssue, // the ledger goes by the same clock
		}))
	}
	r, err := review.New(j.Review).Commit(e)
	if err != nil {
		return Result{}, err
	}
	return j.run(ctx, r)
}

// Refuse publishes on an event's head why it is not judged. It does not need the
// ledger.
func (j *Job) Refuse(ctx context.Context, e forge.Event, why string) error {
	reviewer := review.New(j.Review)
	var r *review.Review
	var err error
	if e.Number != 0 {
		r, err = reviewer.Pull(ctx, e.Number, e.Name)
	} else {
		r, err = reviewer.Commit(e)
	}
	if err != nil {
		return err
	}
	return reviewer.Settle(ctx, r.Predecessor(), why)
}

// steered judges a pull request in its current state. A command about a report that
// does not exist yet, as after a lost cache, is executed in a second round.
func (j *Job) steered(ctx context.Context, e forge.Event) (Result, error) {
	reviewer := review.New(j.Review)
	for first := true; ; first = false {
		var r *review.Review
		err := j.Review.Retry.Do(ctx, func() (err error) {
			r, err = reviewer.Pull(ctx, e.Number, e.Name)
			return err
		})
		if err != nil {
			return Result{}, err
		}
		if r.Closed() && e.Name == forge.EventIssueComment {
			return Result{Idle: "the pull request is closed"}, nil
		}
		var label *forge.Labeled
		if j.Labels {
			label = e.Label
		}
		commands, err := j.runCommands(ctx, r, label)
		if err != nil {
			return Result{}, err
		}
		if commands.Cancelled != "" {
			unpublished := errors.Join(j.settle(ctx, r, commands.Cancelled), j.answer(ctx, r, commands))
			return Result{Ended: commands.Cancelled, Unpublished: unpublished}, j.markSaved(r)
		}
		result, err := j.run(ctx, r)
		result.Unpublished = errors.Join(result.Unpublished, j.answer(ctx, r, commands))
		if err != nil || !first || !commands.Waiting {
			result.Unpublished = errors.Join(result.Unpublished, j.leaveBefore(ctx, e, r))
			return result, err
		}
	}
}

func (j *Job) desk(r *review.Review) *command.Inbox {
	return command.NewInbox(command.Config{
		Client: r.Client, Ledger: r.Ledger, ID: r.RepositoryID(), Known: r.Known, Login: r.Login, Bots: r.Bots, WebURL: r.WebURL, Log: func(_ int, line string) { r.Log(line) }, Report: j.recall,
		Redact: j.Redact,
	})
}

// answer retries the replies to commands, which must not delay a verdict.
func (j *Job) answer(ctx context.Context, r *review.Review, commands command.Commands) error {
	if commands.Unanswered == nil {
		return nil
	}
	desk := j.desk(r)
	return r.Retry.Do(ctx, func() error {
		again, unread, err := desk.Process(ctx, r.PullHead())
		return errors.Join(unread, again.Unanswered, err)
	})
}

// runCommands applies the commands of the comments to a review.
func (j *Job) runCommands(ctx context.Context, r *review.Review, label *forge.Labeled) (command.Commands, error) {
	desk := j.desk(r)
	place := r.PullHead()
	place.Label = label
	var commands command.Commands
	var err error
	unread := r.Retry.Do(ctx, func() (unread error) {
		commands, unread, err = desk.Process(ctx, place)
		return unread
	})
	if unread != nil {
		r.Log(fmt.Sprintf("not all that people ask for could be read or answered: %v", unread))
	}
	r.Follow(commands)
	return commands, err
}

// settle publishes on a head that it was cancelled, unless it has a report.
func (j *Job) settle(ctx context.Context, r *review.Review, why string) error {
	cfg := j.Review
	cfg.Recall = j.recall
	return review.New(cfg).Settle(ctx, r.Predecessor(), why)
}

func (j *Job) recall(ctx context.Context, number int, head string) (*report.Report, error) {
	return review.Newest(ctx, j.Review.Ledger, j.Review.Repository.String(), number, head)
}

func (j *Job) run(ctx context.Context, r *review.Review) (Result, error) {
	if err := j.markSaved(r); err != nil {
		return Result{}, err
	}
	report, unpublished, err := r.Run(ctx)
	return Result{Review: r, Report: report, Unpublished: unpublished}, err
}

// markSaved sets the output that makes later steps save the ledger. A ledger caused
// only by a stranger is not saved, since anybody could fill the cache.
func (j *Job) markSaved(r *review.Review) error {
	if j.Output == "" || j.kept || !r.Trusted() {
		return nil
	}
	err := HandOn(j.Output, "keep", "true")
	if err != nil {
		return fmt.Errorf("tell the job to keep its ledger: %w", err)
	}
	j.kept = true
	return nil
}

// HandOn adds a value to the output file of a step, from which later steps read it.
// Without a file it does nothing.
func HandOn(file, name, value string) error {
	if file == "" {
		return nil
	}
	f, err := safefile.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("hand on %s: %w", name, err)
	}
	_, err = fmt.Fprintf(f, "%s=%s\n", name, value)
	return errors.Join(err, f.Close())
}
