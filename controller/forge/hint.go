package forge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// A Hint reports an event. It is not trusted: the receiver reads the live state, so a
// hint that is forged, lost, late or repeated only costs that.
type Hint struct {
	// Delivery is the forge's id of the message, for logs.
	Delivery string
	// Trace is the traceparent of the step that received the message, or empty.
	Trace string
	Event string
	// Repository is the numeric id, which survives renames; 0 if the event concerns an
	// installation and with it every repository.
	Repository int64
	// Number is a pull request's, 0 if the event concerns a branch.
	Number int
	// Label is the label that asks for a run, nil for other events.
	Label *Labeled
	// Comment is true if the event is only a new comment.
	Comment bool
	// Branch was pushed to or is about to be merged into; without refs/heads/.
	Branch string
	// Head is the branch of a merge group, see [Queued]; empty for other events.
	Head string
	// Rerequested is the commit whose check runs were re-requested; empty for other
	// events. Such a hint has neither Number nor Branch.
	Rerequested string
}

// A wireHint has the fields of all events that give their place.
type wireHint struct {
	Number      int          `json:"number"`
	Repository  *wireRepo    `json:"repository"`
	PullRequest *wireLabeled `json:"pull_request"`
	Label       *wireLabel   `json:"label"`
	Sender      wireUser     `json:"sender"`
	Issue       *struct {
		Number      int             `json:"number"`
		PullRequest json.RawMessage `json:"pull_request"`
	} `json:"issue"`
	MergeGroup *struct {
		BaseRef string `json:"base_ref"`
		HeadRef string `json:"head_ref"`
	} `json:"merge_group"`
	CheckRun   *wireCheck `json:"check_run"`
	CheckSuite *wireCheck `json:"check_suite"`
	Ref        string     `json:"ref"`
	Action     string     `json:"action"`
}

// A wireCheck has the common fields of check runs and check suites.
type wireCheck struct {
	HeadSHA string `json:"head_sha"`
}

// Heard reports whether events of a name become hints.
func Heard(event string) bool {
	switch event {
	case "installation", "installation_repositories", "issue_comment", "check_run", "check_suite", EventPullRequest, EventMergeGroup, EventPush:
		return true
	}
	return false
}

// ParseHint returns the place of an event. An error means that the event is useless.
func ParseHint(event string, body []byte) (Hint, error) {
	var wire wireHint
	if err := json.Unmarshal(body, &wire); err != nil {
		return Hint{}, fmt.Errorf("decode: %w", err)
	}
	if event == "installation" || event == "installation_repositories" {
		return Hint{}, nil
	}
	if wire.Repository == nil || wire.Repository.ID <= 0 {
		return Hint{}, errors.New("repository.id is missing")
	}
	hint := Hint{Repository: wire.Repository.ID}
	switch event {
	case EventPullRequest:
		hint.Number = wire.Number
		if hint.Number == 0 && wire.PullRequest != nil {
			hint.Number = wire.PullRequest.Number
		}
		hint.Label = labeled(wire.Action, wire.Label, wire.Sender, wire.PullRequest)
	case "issue_comment":
		// For a comment on an issue, pull_request is null or missing.
		if wire.Issue == nil || len(wire.Issue.PullRequest) == 0 || string(wire.Issue.PullRequest) == "null" {
			return Hint{}, errors.New("the comment is on no pull request")
		}
		if wire.Action == "edited" {
			return Hint{}, errors.New("a comment that is edited asks for nothing")
		}
		hint.Number, hint.Comment = wire.Issue.Number, wire.Action == "created"
	case "check_run", "check_suite":
		return wire.rerequested(hint)
	case EventMergeGroup:
		if wire.MergeGroup != nil {
			hint.Branch, hint.Head = branch(wire.MergeGroup.BaseRef), branch(wire.MergeGroup.HeadRef)
		}
		// Only a branch that nobody else can push to is trusted as a group.
		if _, ok := Queued(hint.Head); !ok {
			return Hint{}, errors.New("merge_group.head_ref names no merge group")
		}
	case EventPush:
		hint.Branch = branch(wire.Ref)
	}
	if hint.Branch != "" {
		return hint, errors.Join(checkRef("ref", hint.Branch), checkRef("head_ref", cmp.Or(hint.Head, hint.Branch)))
	}
	if hint.Number <= 0 {
		return Hint{}, errors.New("neither a pull request nor a branch is named")
	}
	return hint, nil
}
