package forge

import "fmt"

// A Trust is the trust in a head, and the reason.
type Trust struct {
	// Run allows model calls and programs. Without it a head is only validated and
	// planned.
	Run bool
	// Reason is one line for the status and the log, "" if Run is true.
	Reason string
}

// Trusted decides whether an event's head may spend money and run code. event is the
// event's name, or "" for a pull request named by hand; pull is nil for merge_group and
// push; permission is the author's on the repository.
//
//	event                              head       author        what happens
//	a pull request's                   same repo  write or more run
//	a pull request's                   same repo  less          plan only
//	a pull request's                   same repo  unknown       plan only
//	a pull request's                   same repo  a bot         plan only (no collaborator)
//	a pull request's                   same repo  deleted       plan only
//	a pull request's                   fork       any           plan only
//	a pull request's                   deleted    any           plan only
//	merge_group                        -          -             run: queued by somebody who may merge
//	push                               -          -             run: pushing needs write
//	anything else                      any        any           plan only
//
// The events of a pull request are pull_request, pull_request_target and issue_comment,
// regardless of the comment's author; naming it by hand is the same. Only an attempt
// shows whether the result can be published: GitHub gives pull_request jobs of a fork,
// and those that Dependabot starts, a read-only token; pull_request_target gives a
// writing one, together with the secrets, so a fork is only planned there too. A fork
// stays a fork even if its author may write: others may push to it.
func Trusted(event string, pull *Pull, permission Permission) Trust {
	switch event {
	case EventMergeGroup, EventPush:
		return Trust{Run: true}
	case EventPullRequest, eventPullRequestTarget, EventIssueComment, "":
	default:
		return Trust{Reason: fmt.Sprintf("the event %q is not trusted", event)}
	}
	switch {
	case pull == nil:
		return Trust{Reason: "no pull request is known"}
	case pull.Fork && pull.HeadRepo == Repo{}:
		return Trust{Reason: "the head's repository was deleted"}
	case pull.Fork:
		return Trust{Reason: "the head comes from the fork " + pull.HeadRepo.String()}
	case pull.Author == "":
		return Trust{Reason: "the author's account was deleted"}
	case permission == PermissionUnknown:
		return Trust{Reason: fmt.Sprintf("what %s may do here could not be read", pull.Author)}
	case !permission.CanWrite():
		return Trust{Reason: fmt.Sprintf("%s has no write permission", pull.Author)}
	}
	return Trust{Run: true}
}
