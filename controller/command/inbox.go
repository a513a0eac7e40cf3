package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A Config configures an Inbox.
type Config struct {
	Client *forge.Client
	Ledger *ledger.Ledger
	// ID is the repository's at its forge, which survives renames.
	ID int64
	// Known is the ledger's name for the repository's commands.
	Known string
	// Bots are the ids of bot accounts whose commands count.
	Bots []int64
	// Report returns the newest report of a commit, or nil.
	Report func(ctx context.Context, number int, head string) (*report.Report, error)
	// Login is the credential's account, if it cannot be looked up.
	Login string
	// WebURL is the root of the forge's pages, such as https://github.com.
	WebURL string
	// Redact removes secrets from written texts. Defaults to [redact.Text].
	Redact func(string) string
	// Now defaults to time.Now.
	Now func() time.Time
	// Log is called with a log line and its pull request.
	Log func(number int, line string)
}

// An Inbox receives the commands of one repository. It is safe for concurrent use.
type Inbox struct {
	cfg        Config
	repository string // the ledger's name of it

	mu sync.Mutex
	// The fields below are guarded by mu.
	self  string // our own account, empty if unknown
	asked bool   // self was looked up
	// taking are the pull requests whose commands are being processed. Each channel is
	// closed at the end.
	taking map[int]chan struct{}
}

// NewInbox returns an Inbox.
func NewInbox(cfg Config) *Inbox {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Redact == nil {
		cfg.Redact = redact.Text
	}
	return &Inbox{taking: map[int]chan struct{}{}, cfg: cfg, repository: fmt.Sprintf("%s/%d", cfg.Client.REST().BaseURL.Host, cfg.ID)}
}

// A PullHead is a pull request with its current head.
type PullHead struct {
	Repository forge.Repo // under its current name
	Number     int
	Head       string
	// Label asks for a run; nil without one, or if the operator did not turn labels on.
	Label *forge.Labeled
	// Running means that the head is being judged.
	Running bool
	// Unapprovable is the reason why an approval of the head changes nothing; empty if
	// it does.
	Unapprovable string
}

// Commands are the commands that apply to a head.
type Commands struct {
	// Followed are the commands to execute, the oldest first; Refused are lines about
	// refused ones by people with permission.
	Followed []report.Command
	Refused  []string
	// Cancelled is the reason why nothing runs until it is requested; empty if it was
	// not cancelled.
	Cancelled string
	// Waiting means that some commands need a report of the head, which does not exist
	// yet: the next look after judging takes them.
	Waiting bool
	// Unanswered is the reason why some authors did not get an answer, for a retry; nil
	// if all did.
	Unanswered error
}

// Quarantines returns the commands that take cases out of the gate of the whole
// repository, and that have not ended.
func (d *Inbox) Quarantines(ctx context.Context) ([]report.Command, error) {
	stored, err := ledger.ReadQuarantines(ctx, d.cfg.Ledger, d.repository)
	return d.active(stored), err
}

// Accepted returns the commands that accept results at the head of a pull request.
func (d *Inbox) Accepted(ctx context.Context, number int, head string) (found []report.Command, err error) {
	taken, err := d.cfg.Ledger.Commands(ctx, d.repository, number)
	for _, c := range taken {
		if c.Verb == Accept && c.Head == head && c.Refused == "" {
			found = append(found, followed(c))
		}
	}
	return found, err
}

// Process reads a pull request's comments, stores and answers the new commands, and
// returns all that apply to its head. Stored commands are returned even if the forge
// does not answer: unread is the reason why some comments could not be read, for a
// retry.
func (d *Inbox) Process(ctx context.Context, p PullHead) (commands Commands, unread, err error) {
	leave, err := d.lock(ctx, p.Number)
	if err != nil {
		return commands, nil, err
	}
	defer leave()
	l := &poll{PullHead: p, inbox: d}
	if l.before, err = d.cfg.Ledger.SeeHead(ctx, d.repository, p.Number, p.Head); err != nil {
		return commands, nil, err
	}
	if l.back, err = d.seeReturn(ctx, p, l.before); err != nil {
		return commands, nil, err
	}
	if l.taken, err = d.cfg.Ledger.Commands(ctx, d.repository, p.Number); err != nil {
		return commands, nil, err
	}
	if l.quarantines, err = ledger.ReadQuarantines(ctx, d.cfg.Ledger, d.repository); err != nil {
		return commands, nil, err
	}
	if l.report, err = d.cfg.Report(ctx, p.Number, p.Head); err != nil {
		return commands, nil, err
	}
	l.since = sync.OnceValues(func() (time.Time, error) {
		// The commit may have been the head of another pull request before.
		return d.cfg.Client.FirstStatus(ctx, p.Repository, p.Head, func(context, target string) bool {
			ours := context == comment.ContextValidate || context == comment.ContextVerdict
			number, recorded := comment.StatusPullRequest(target)
			return ours && (number == p.Number || !recorded)
		})
	})
	comments, unread := d.cfg.Client.Comments(ctx, p.Repository, p.Number, zero)
	for _, c := range comments {
		if err := l.process(ctx, c); err != nil {
			unread = errors.Join(unread, err)
		}
	}
	if err := l.processLabel(ctx); err != nil {
		unread = errors.Join(unread, err)
	}
	// The command just taken may be a quarantine. If the ledger is unavailable, none
	// was taken.
	if again, err := ledger.ReadQuarantines(ctx, d.cfg.Ledger, d.repository); err == nil {
		l.quarantines = again
	} else {
		unread = errors.Join(unread, err)
	}
	var unanswered error
	for i := range l.taken {
		if !l.taken[i].Answered {
			unanswered = errors.Join(unanswered, l.answer(ctx, l.taken[i]))
		}
	}
	commands = l.commands(l.taken)
	commands.Refused = redact.Apply(commands.Refused, d.cfg.Redact)
	commands.Waiting, commands.Unanswered = l.waiting, unanswered
	return commands, unread, nil
}

// seeReturn records that a commit is the head of a pull request again after another one, and
// returns when that was recorded; zero if it was not. before are the first records of its heads.
func (d *Inbox) seeReturn(ctx context.Context, p PullHead, before heads) (time.Time, error) {
	returns := d.repository + " again"
	again, err := d.cfg.Ledger.Heads(ctx, returns, p.Number)
	if _, known := before[p.Head]; err != nil || !known {
		return time.Time{}, err
	}
	last := func(sha string) time.Time {
		if again[sha].After(before[sha]) {
			return again[sha]
		}
		return before[sha]
	}
	at := last(p.Head)
	for sha := range before {
		if !last(sha).After(at) {
			continue
		}
		if err := d.cfg.Ledger.ForgetHead(ctx, returns, p.Number, p.Head, again[p.Head]); err != nil {
			return time.Time{}, err
		}
		return d.cfg.Ledger.FirstSeen(ctx, returns, p.Number, p.Head)
	}
	return again[p.Head], nil
}

// lock waits until no other call processes the pull request's commands, so that nothing
// is answered twice. Other pull requests do not wait.
func (d *Inbox) lock(ctx context.Context, number int) (leave func(), err error) {
	for {
		d.mu.Lock()
		other := d.taking[number]
		if other == nil {
			mine := make(chan struct{})
			d.taking[number] = mine
			d.mu.Unlock()
			return func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				delete(d.taking, number)
				close(mine)
			}, nil
		}
		d.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// unclear begins the refusal of a command that is not understood.
const unclear = "not understood: "

// A poll processes one pull request.
type poll struct {
	PullHead
	inbox  *Inbox
	before heads
	// back is when the head was noted again after another one, zero if it was not.
	back  time.Time
	taken []ledger.Command // the oldest first
	// quarantines apply to all pull requests of the repository.
	quarantines []ledger.Command
	report      *report.Report
	// since returns the forge's time of our first status on the head.
	since func() (time.Time, error)
	// waiting is set if a command needs a report that does not exist yet.
	waiting bool
}

// process stores the command of a new comment. An error leaves it for the next poll.
func (l *poll) process(ctx context.Context, c forge.Comment) error {
	command, ok := Parse(c.Body)
	known := slices.ContainsFunc(l.taken, func(t ledger.Command) bool { return t.Comment == c.ID })
	if !ok || known {
		return nil
	}
	cmd := ledger.Command{
		Repository: l.inbox.repository, PullRequest: l.Number, Comment: c.ID, Login: c.Author, Account: c.AuthorID,
		Verb: command.Verb, Argument: command.Argument, Head: l.Head, Written: c.Created,
	}
	denied, err := l.inbox.denied(ctx, l.Repository, c)
	if err != nil {
		return err
	}
	again, err := l.recoverTaken(ctx, &cmd)
	if err != nil {
		return err
	}
	unseen, err := l.isUnseen(&cmd)
	switch {
	case err != nil:
		return err
	case denied != "":
		cmd.Head, cmd.Refused = "", denied // it applies to nothing
	case command.Problem != "":
		cmd.Refused = unclear + command.Problem
	case unseen:
		cmd.Refused = "the head was pushed meanwhile; look at its result and write it again"
	case cmd.Head != "" && l.waits(cmd.Verb):
		l.waiting = true
		return nil
	case cmd.Head != "":
		l.resolve(&cmd)
	}
	if again && cmd.Refused != "" {
		cmd.Head = "" // its author got all answers at the time
	}
	if _, err := l.inbox.cfg.Ledger.TakeCommand(ctx, cmd); err != nil {
		return err
	}
	// It is read back with the time at which it was taken, by any process.
	l.taken, err = l.inbox.cfg.Ledger.Commands(ctx, l.inbox.repository, l.Number)
	said := "is followed"
	switch {
	case cmd.Refused != "":
		said = "is refused: " + cmd.Refused
	case cmd.Head == "":
		said = "was about another head"
	}
	l.inbox.cfg.Log(l.Number, fmt.Sprintf("%q of %s %s", command.String(), c.Author, said))
	return err
}

// processLabel stores the command that a label is: a run of the head that the pull request
// had when the label was added. Nobody is answered, since the label shows what was asked.
func (l *poll) processLabel(ctx context.Context) error {
	asked := l.Label
	if asked == nil || slices.ContainsFunc(l.taken, func(t ledger.Command) bool { return t.Comment == asked.ID }) {
		return nil
	}
	now := l.inbox.cfg.Now()
	by := asked.Sender
	denied, err := l.inbox.denied(ctx, l.Repository, forge.Comment{Author: by.Login, AuthorID: by.ID, Bot: by.Bot, Created: now, Updated: now})
	if err != nil {
		return err
	}
	said := "is followed"
	switch {
	case asked.Head != l.Head:
		said = fmt.Sprintf("is ignored: it was added at %.12s, and the head is %.12s", asked.Head, l.Head)
	case denied != "":
		said = "is ignored: " + strings.NewReplacer("its author's", "the sender's", "its author", "the sender").Replace(denied)
	default:
		if _, err := l.inbox.cfg.Ledger.TakeCommand(ctx, ledger.Command{
			Repository: l.inbox.repository, PullRequest: l.Number, Comment: asked.ID, Login: by.Login, Account: by.ID,
			Verb: Run, Head: l.Head, Written: now, Answered: true,
		}); err != nil {
			return err
		}
		l.taken, err = l.inbox.cfg.Ledger.Commands(ctx, l.inbox.repository, l.Number)
	}
	l.inbox.cfg.Log(l.Number, fmt.Sprintf("the label %s of %s %s", forge.RunLabel, by.Login, said))
	return err
}

// recoverTaken reports whether a process with a lost ledger took a command before, and
// restores it: our reaction is still on the comment. It is answered, and it counts from
// the time of writing, since all known results are later. It applies to this head
// unless the head was first seen later; only an approval names its head.
func (l *poll) recoverTaken(ctx context.Context, cmd *ledger.Command) (bool, error) {
	self, err := l.inbox.whoami(ctx)
	if err != nil || self == "" {
		return false, err
	}
	reactions, err := l.inbox.cfg.Client.Reactions(ctx, l.Repository, cmd.Comment, self)
	var refused *forge.DeniedError
	if err != nil && !errors.As(err, &refused) {
		return false, err
	}
	// Others, such as jobs, may write as the same account and react differently.
	signs := []comment.Reaction{comment.ReactionDone, comment.ReactionRefused, comment.ReactionConfused}
	if !slices.ContainsFunc(reactions, func(r string) bool { return slices.Contains(signs, comment.Reaction(r)) }) {
		return false, nil
	}
	cmd.Taken, cmd.Answered = cmd.Written, true
	if cmd.Verb == Approve {
		return true, nil
	}
	since, err := l.since()
	if since.IsZero() || cmd.Written.Before(since) {
		cmd.Head = ""
	}
	return true, err
}

// isUnseen reports whether a command accepts what its author cannot have seen: it was written
// at an earlier head, before this one had a status or, without the permission for statuses,
// before it was known, or before it was the head again.
func (l *poll) isUnseen(c *ledger.Command) (bool, error) {
	seen, known := l.before[l.Head]
	if c.Verb != Accept || c.Head == "" || len(l.before) == 0 || known && len(l.before) == 1 {
		return false, nil
	}
	since, err := l.since()
	if _, denied := errors.AsType[*forge.DeniedError](err); err != nil && !denied {
		return false, err
	}
	if since.IsZero() {
		since = seen
	}
	if l.back.After(since) {
		since = l.back
	}
	// The forge's times are in whole seconds.
	return since.IsZero() || c.Written.Before(since.Truncate(time.Second)), nil
}

// denied returns the reason why a comment is ignored; empty if it counts. Only the
// forge decides about its author's permission.
func (d *Inbox) denied(ctx context.Context, repo forge.Repo, c forge.Comment) (string, error) {
	self, err := d.whoami(ctx)
	if err != nil {
		return "", err
	}
	listed := slices.Contains(d.cfg.Bots, c.AuthorID)
	switch {
	case c.Edited():
		return "the comment was edited: write a new one", nil
	case c.Author == "":
		return "its author's account was deleted", nil
	case strings.EqualFold(c.Author, self):
		return "it is from the account that gavel itself writes as", nil
	case c.Bot && !listed:
		return "it is from a bot that the operator does not list", nil
	case c.Bot:
		return "", nil // a bot is not a collaborator anywhere
	}
	permission, err := d.cfg.Client.Permission(ctx, repo, c.Author)
	var refused *forge.DeniedError
	switch {
	case errors.As(err, &refused):
		return "the permissions of its author could not be read", nil
	case err != nil:
		return "", err
	case !permission.CanWrite():
		return "its author has no write permission", nil
	}
	return "", nil
}

// whoami returns our own account. A job's token cannot read it.
func (d *Inbox) whoami(ctx context.Context) (string, error) {
	d.mu.Lock()
	self, asked := d.self, d.asked
	d.mu.Unlock()
	if asked {
		return self, nil
	}
	login, err := d.cfg.Client.Login(ctx)
	var refused *forge.DeniedError
	if err != nil && !errors.As(err, &refused) {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.self, d.asked = cmp.Or(login, d.cfg.Login), true
	return d.self, nil
}

// answer answers the author of a comment. An answer that the forge refuses permanently
// is not retried: the comment may be gone.
func (l *poll) answer(ctx context.Context, c ledger.Command) error {
	publisher := comment.NewPublisher(comment.PublisherConfig{
		REST: l.inbox.cfg.Client.REST(), Explain: forge.Explain, Owner: l.Repository.Owner, Name: l.Repository.Name, Number: l.Number,
	})
	sign := comment.ReactionDone
	switch {
	case strings.HasPrefix(c.Refused, unclear):
		sign = comment.ReactionConfused
	case c.Refused != "":
		sign = comment.ReactionRefused
	}
	text, err := l.reply(ctx, c)
	if err != nil {
		return err
	}
	ctx = forge.WithWrite(ctx, forge.PendingWrite{Worth: forge.WorthReaction})
	if err = publisher.React(ctx, c.Comment, sign); err == nil && text != "" {
		_, err = publisher.UpsertComment(ctx, func(int) string { return text })
	}
	var refused *forge.DeniedError
	switch {
	case errors.As(err, &refused):
		l.inbox.cfg.Log(l.Number, fmt.Sprintf("comment %d could not be answered: %v", c.Comment, err))
	case err != nil:
		return err
	}
	return l.inbox.cfg.Ledger.AnswerCommand(ctx, l.inbox.repository, c.Comment)
}

// reply returns the comment that answers a command, empty for most. Its marker names
// the answered comment, so that it is written once.
func (l *poll) reply(ctx context.Context, c ledger.Command) (string, error) {
	marker := fmt.Sprintf("<!-- gavel:answer to=%d -->", c.Comment)
	switch {
	case c.Refused != "":
	case c.Verb == Help:
		return marker + "\n" + helpText, nil
	case c.Verb == Explain && c.Head == l.Head && l.report != nil:
		rows := l.rows(c.Cases[0])
		if len(rows) == 0 {
			return "", nil // judged again meanwhile, with another verdict
		}
		row := *rows[0]
		var err error
		if row.Detail == nil {
			row.Detail, err = l.detail(ctx, row)
		}
		row = redact.Apply(row, l.inbox.cfg.Redact)
		web := comment.Options{RepositoryURL: l.inbox.cfg.WebURL + "/" + l.Repository.String()}
		return comment.Explain(l.report, &row, marker, web), err
	}
	return "", nil
}

// detail reads the details that the report omits from the ledger, since few people ask
// for them.
func (l *poll) detail(ctx context.Context, row report.Row) (*report.Detail, error) {
	scope := ledger.Scope{Trust: ledger.Trust{Level: ledger.LevelPull, Repository: l.inbox.cfg.Known, PullRequest: l.Number}}
	decided, err := l.inbox.cfg.Ledger.Decided(ctx, scope, []string{row.Digest})
	d, ok := decided[row.Digest]
	if err != nil || !ok {
		return nil, err
	}
	executions, _, err := l.inbox.cfg.Ledger.Executions(ctx, scope, d.E)
	if err != nil || len(executions) == 0 {
		return report.DetailOf(d.Result, nil), err
	}
	return report.DetailOf(d.Result, &executions[len(executions)-1].Transcript), nil
}

// helpText lists the commands.
const helpText = "What you may write as the first line of a comment, with write permission on this repository:\n\n" +
	"| | |\n|:--|:--|\n" +
	"| `/gavel run` | judge the affected cases of this head that have no verdict |\n" +
	"| `/gavel run support/**` | judge the cases with such keys again, affected or not |\n" +
	"| `/gavel rerun failed` | judge the cases again that failed; `rerun errors` those without a verdict |\n" +
	"| `/gavel cancel` | end the run that is in progress |\n" +
	"| `/gavel approve <sha>` | let this commit run: of a fork, without a `gavel.yaml` at base, or with changed programs |\n" +
	"| `/gavel accept <case> <reason>` | the result is meant: the case does not block this head any more |\n" +
	"| `/gavel accept gavel.yaml <reason>` | a change of a target that is not judged is meant: its cases do not block this head any more |\n" +
	"| `/gavel quarantine <case> <date> <reason>` | the case is out of the gate of this repository until the end of that day, such as 2026-04-01 |\n" +
	"| `/gavel explain <case>` | show everything about a case |\n" +
	"| `/gavel help` | this |\n\n" +
	"Each counts for the head that it was written at; after a push it has to be written again. A comment that was edited is not followed.\n"
