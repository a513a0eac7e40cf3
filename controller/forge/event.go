package forge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/suggest"
)

// Names of the events that start a job.
const (
	EventPullRequest       = "pull_request"
	eventPullRequestTarget = "pull_request_target"
	EventMergeGroup        = "merge_group"
	EventPush              = "push"
	EventIssueComment      = "issue_comment"
)

// ActionClosed is the action when a pull request ends, merged or not.
const ActionClosed = "closed"

var jobEvents = []string{EventPullRequest, eventPullRequestTarget, EventMergeGroup, EventPush, EventIssueComment}

// maxEvent is GitHub's limit for the payload of an event.
const maxEvent = 25 << 20

// An Event is the reason why a CI job runs.
type Event struct {
	// Name is one of the Event constants.
	Name string
	// Action is the change to the pull request or the comment: opened, synchronize,
	// created …; "" for a push. Gitea's synchronized is synchronize here.
	Action string
	Repo   Repo
	// HeadSHA is the commit to judge, BaseSHA the commit to compare it with: the tip of
	// the base branch, or the commit replaced by a push. BaseSHA is "" for a push that
	// created its branch.
	HeadSHA string
	BaseSHA string
	// IsBelow says that BaseSHA is in the history of HeadSHA. No event of a forge says it.
	IsBelow bool
	// Before is the head that a push to a pull request replaced, "" if the payload
	// lacks it.
	Before string
	// HeadRef and BaseRef are branch names without refs/heads/; a pushed tag keeps its
	// refs/tags/. BaseRef of a push is the default branch, or "" if the payload lacks
	// it.
	HeadRef string
	BaseRef string
	// DefaultBranch is the repository's default branch, or "" if the payload lacks it.
	DefaultBranch string
	// Number is the pull request's number, 0 for merge_group, push and a comment on an
	// issue.
	Number int
	// Pull is the pull request at that time, nil for merge_group, push and
	// issue_comment, whose payload has neither commit nor branch.
	Pull *Pull
	// Comment is the text of an issue_comment.
	Comment string
	// Label is the label that asks for a run, nil for other events.
	Label *Labeled
}

// The parts of a payload that are read, for all events.
type wireEvent struct {
	Action     string    `json:"action"`
	Number     int       `json:"number"`
	Repository *wireRepo `json:"repository"`

	PullRequest *wirePull  `json:"pull_request"`
	Label       *wireLabel `json:"label"`
	Sender      wireUser   `json:"sender"`
	MergeGroup  *struct {
		HeadSHA string `json:"head_sha"`
		HeadRef string `json:"head_ref"`
		BaseSHA string `json:"base_sha"`
		BaseRef string `json:"base_ref"`
	} `json:"merge_group"`

	Issue *struct {
		Number int       `json:"number"`
		Pull   *struct{} `json:"pull_request"`
	} `json:"issue"`
	Comment *struct {
		Body string `json:"body"`
	} `json:"comment"`

	Ref     string `json:"ref"`
	Before  string `json:"before"`
	After   string `json:"after"`
	Deleted bool   `json:"deleted"`
}

// ReadEvent reads a CI job's event from the file at GITHUB_EVENT_PATH; eventName is
// GITHUB_EVENT_NAME. It accepts up to 25 MiB. Without an error, the Event's commit ids,
// branch names and repository names are safe in a path or a command, whatever the file
// contains.
func ReadEvent(path, eventName string) (Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return Event{}, fmt.Errorf("read event: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEvent+1))
	if err != nil {
		return Event{}, fmt.Errorf("read event %s: %w", path, err)
	}
	if len(data) > maxEvent {
		return Event{}, fmt.Errorf("read event %s: larger than %d MiB", path, maxEvent>>20)
	}
	event, err := parseEvent(eventName, data)
	if err != nil {
		return Event{}, fmt.Errorf("read event %s from %s: %w", eventName, path, err)
	}
	return event, nil
}

func parseEvent(name string, data []byte) (Event, error) {
	if !slices.Contains(jobEvents, name) {
		return Event{}, errors.New(strings.TrimSpace("it is none of " + strings.Join(jobEvents, ", ") + "; name the pull request instead; " +
			suggest.DidYouMean(name, jobEvents)))
	}
	var wire wireEvent
	if err := json.Unmarshal(data, &wire); err != nil {
		return Event{}, fmt.Errorf("decode: %w", err)
	}
	if wire.Repository == nil {
		return Event{}, errors.New("repository is missing")
	}
	repo, err := ParseRepo(wire.Repository.FullName)
	if err != nil {
		return Event{}, fmt.Errorf("repository.full_name: %w", err)
	}
	event := Event{Name: name, Action: wire.Action, Repo: repo, DefaultBranch: wire.Repository.DefaultBranch}
	if event.DefaultBranch != "" {
		if err := checkRef("repository.default_branch", event.DefaultBranch); err != nil {
			return Event{}, err
		}
	}
	if event.Action == "synchronized" {
		event.Action = "synchronize"
	}
	switch name {
	case EventMergeGroup:
		return wire.mergeGroup(event)
	case EventPush:
		return wire.push(event)
	case EventIssueComment:
		return wire.comment(event)
	}
	return wire.pull(event)
}

// Into turns a push to one of the base branches into an event of a base branch, as a
// push to the default branch is.
func (e Event) Into(branches []string) Event {
	if e.Name == EventPush && slices.Contains(branches, e.HeadRef) {
		e.BaseRef = e.HeadRef
	}
	return e
}

func (w *wireEvent) comment(e Event) (Event, error) {
	switch {
	case w.Comment == nil:
		return Event{}, errors.New("comment is missing")
	case w.Issue == nil || w.Issue.Number <= 0:
		return Event{}, errors.New("issue.number is missing")
	}
	if e.Comment = w.Comment.Body; w.Issue.Pull != nil {
		e.Number = w.Issue.Number
	}
	return e, nil
}

func (w *wireEvent) pull(e Event) (Event, error) {
	if w.PullRequest == nil {
		return Event{}, errors.New("pull_request is missing")
	}
	if w.PullRequest.Number == 0 {
		w.PullRequest.Number = w.Number
	}
	p, err := w.PullRequest.pull()
	if err != nil {
		return Event{}, err
	}
	// A pull request of another repository is not an event of this job, and its fork
	// detection would compare the wrong two.
	if !p.Repo.Same(e.Repo) {
		return Event{}, fmt.Errorf("the pull request is of %s, the event of %s", p.Repo, e.Repo)
	}
	e.HeadSHA, e.HeadRef, e.BaseSHA, e.BaseRef = p.HeadSHA, p.HeadRef, p.BaseSHA, p.BaseRef
	e.Number, e.Pull = p.Number, &p
	e.Label = labeled(e.Action, w.Label, w.Sender, &wireLabeled{p.Number, w.PullRequest.Labels, w.PullRequest.Head, w.PullRequest.Updated})
	if e.Action == "synchronize" && checkSHA("before", w.Before) == nil {
		e.Before = w.Before
	}
	return e, nil
}

func (w *wireEvent) mergeGroup(e Event) (Event, error) {
	g := w.MergeGroup
	if g == nil {
		return Event{}, errors.New("merge_group is missing")
	}
	e.HeadSHA, e.BaseSHA = g.HeadSHA, g.BaseSHA
	e.HeadRef, e.BaseRef = branch(g.HeadRef), branch(g.BaseRef)
	err := errors.Join(
		checkSHA("merge_group.head_sha", e.HeadSHA), checkSHA("merge_group.base_sha", e.BaseSHA),
		checkRef("merge_group.head_ref", e.HeadRef), checkRef("merge_group.base_ref", e.BaseRef),
	)
	if err != nil {
		return Event{}, err
	}
	return e, nil
}

func (w *wireEvent) push(e Event) (Event, error) {
	e.HeadSHA, e.BaseSHA, e.HeadRef = w.After, w.Before, branch(w.Ref)
	if w.Deleted || isZero(e.HeadSHA) {
		return Event{}, fmt.Errorf("the push deletes %.80q, so it has no commit to judge", w.Ref)
	}
	if isZero(e.BaseSHA) {
		e.BaseSHA = ""
	}
	e.BaseRef = e.DefaultBranch
	err := errors.Join(checkSHA("after", e.HeadSHA), checkRef("ref", e.HeadRef))
	if e.BaseSHA != "" {
		err = errors.Join(err, checkSHA("before", e.BaseSHA))
	}
	if err != nil {
		return Event{}, err
	}
	return e, nil
}

// TipEvent returns the event of a branch that is judged without a push, in the form of
// a push; the default branch is compared with itself. defaultBranch may be empty.
func TipEvent(repository, ref, sha, defaultBranch string) (Event, error) {
	repo, err := ParseRepo(repository)
	if err != nil {
		return Event{}, err
	}
	if defaultBranch != "" {
		if err := checkRef("repository.default_branch", defaultBranch); err != nil {
			return Event{}, err
		}
	}
	wire := wireEvent{Ref: ref, After: sha, Repository: &wireRepo{DefaultBranch: defaultBranch}}
	if branch(ref) == defaultBranch {
		wire.Before = sha
	}
	return wire.push(Event{Name: EventPush, Repo: repo, DefaultBranch: defaultBranch})
}

func branch(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

// isZero reports whether sha is a forge's id for "no commit".
func isZero(sha string) bool { return sha != "" && strings.Trim(sha, "0") == "" }
