package forge

import (
	"fmt"
	"hash/fnv"
	"slices"
)

// RunLabel is the label that asks for a run of a pull request.
const RunLabel = "gavel:run"

// A Labeled is the event that somebody added [RunLabel] to a pull request. It names no
// commit by itself, so that it can ask for a run and approve nothing.
type Labeled struct {
	// ID is the same for the same event. It is negative, as no comment's is.
	ID int64
	// Sender added the label, when the pull request was at Head.
	Sender User
	Head   string
}

type wireLabel struct {
	Name string `json:"name"`
}

// labeled returns the label of an event of a pull request, nil for all other events.
// Gitea does not say which label was added: there the event counts if the pull request
// has the label.
func labeled(action string, label *wireLabel, sender wireUser, p *wireLabeled) *Labeled {
	isRun := func(l wireLabel) bool { return l.Name == RunLabel }
	switch {
	case p == nil || sender.Login == "" || checkSHA("pull_request.head.sha", p.Head.SHA) != nil:
		return nil
	case action == "labeled" && label != nil && isRun(*label):
	case action == "label_updated" && slices.ContainsFunc(p.Labels, isRun):
	default:
		return nil
	}
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%d %s %d %s", p.Number, p.Head.SHA, sender.ID, p.Updated)
	return &Labeled{ID: -1 - int64(sum.Sum64()>>2), Sender: sender.user(), Head: p.Head.SHA}
}

// A wireLabeled is a pull request in an event about its labels.
type wireLabeled struct {
	Number int         `json:"number"`
	Labels []wireLabel `json:"labels"`
	Head   wireSide    `json:"head"`
	// Updated is a part of the identity of the event.
	Updated string `json:"updated_at"`
}
