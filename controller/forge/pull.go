package forge

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A Pull is the state of a pull request at one moment.
type Pull struct {
	Number int
	// Repo is the pull request's repository, and RepoID its id, 0 if the forge does not
	// report it.
	Repo   Repo
	RepoID int64
	// HeadSHA and BaseSHA are full commit ids in lower-case hex. BaseSHA is the tip of
	// the base branch as the forge knows it, not the merge base.
	HeadSHA string
	BaseSHA string
	// HeadRef and BaseRef are branch names without refs/heads/.
	HeadRef string
	BaseRef string
	// HeadRepo is the head's repository; zero if it was deleted.
	HeadRepo Repo
	// Author is the login, "" for a deleted account; AuthorID survives renames.
	Author   string
	AuthorID int64
	// Bot is true for an author that is not a person.
	Bot bool
	// Fork is true unless the head is known to be in Repo itself.
	Fork  bool
	Open  bool
	Draft bool
	// Title is its author's title.
	Title string
	// Private reports whether Repo is private.
	Private bool
	// DefaultBranch is Repo's, without refs/heads/; "" if the forge does not report it.
	DefaultBranch string
}

// The wire types have the common fields of GitHub's API, its events and Gitea. A null
// leaves its field unchanged, so only the two repositories, where null has a meaning,
// are pointers.
type wirePull struct {
	Number int      `json:"number"`
	State  string   `json:"state"`
	Draft  bool     `json:"draft"`
	Title  string   `json:"title"`
	User   wireUser `json:"user"`
	Head   wireSide `json:"head"`
	Base   wireSide `json:"base"`

	Labels  []wireLabel `json:"labels"`
	Updated string      `json:"updated_at"`
}

type wireSide struct {
	SHA  string    `json:"sha"`
	Ref  string    `json:"ref"`
	Repo *wireRepo `json:"repo"`
}

type wireRepo struct {
	ID       int64  `json:"id"`
	FullName string `json:"full_name"`
	Private  bool   `json:"private"`

	DefaultBranch string `json:"default_branch"`
}

func (w wirePull) pull() (Pull, error) {
	if w.Number <= 0 {
		return Pull{}, errors.New("pull_request.number is missing")
	}
	p := Pull{
		Number: w.Number, Author: w.User.Login, AuthorID: w.User.ID, Bot: w.User.user().Bot, Draft: w.Draft, Title: w.Title, Open: w.State == "open",
		HeadSHA: w.Head.SHA, HeadRef: w.Head.Ref, BaseSHA: w.Base.SHA, BaseRef: w.Base.Ref,
	}
	if w.Base.Repo == nil {
		return Pull{}, errors.New("pull_request.base.repo is missing")
	}
	var err error
	if p.Repo, err = ParseRepo(w.Base.Repo.FullName); err != nil {
		return Pull{}, fmt.Errorf("pull_request.base.repo.full_name: %w", err)
	}
	p.RepoID, p.Private, p.DefaultBranch = w.Base.Repo.ID, w.Base.Repo.Private, w.Base.Repo.DefaultBranch
	if p.DefaultBranch != "" {
		if err := checkRef("pull_request.base.repo.default_branch", p.DefaultBranch); err != nil {
			return Pull{}, err
		}
	}
	if w.Head.Repo != nil {
		if p.HeadRepo, err = ParseRepo(w.Head.Repo.FullName); err != nil {
			return Pull{}, fmt.Errorf("pull_request.head.repo.full_name: %w", err)
		}
	}
	p.Fork = isFork(w.Head.Repo, w.Base.Repo, p)
	return p, errors.Join(
		checkSHA("pull_request.head.sha", p.HeadSHA), checkSHA("pull_request.base.sha", p.BaseSHA),
		checkRef("pull_request.head.ref", p.HeadRef), checkRef("pull_request.base.ref", p.BaseRef),
	)
}

// isFork compares ids, which survive renames, or names if there are no ids. The
// repository's own field `fork` means something else: that it is a fork of another one,
// which its own branches are not.
func isFork(head, base *wireRepo, p Pull) bool {
	if head == nil {
		return true
	}
	if head.ID != 0 && base.ID != 0 {
		return head.ID != base.ID
	}
	return !p.HeadRepo.Same(p.Repo)
}

var shaPattern = lazyregexp.New(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

func checkSHA(field, sha string) error {
	if !shaPattern.MatchString(sha) {
		return fmt.Errorf("%s: %.80q is not a commit id", field, sha)
	}
	return nil
}

// checkRef refuses names that git refuses, and names that a command line would read as
// an option. Names come from strangers.
func checkRef(field, ref string) error {
	bad := ref == "" || len(ref) > 1024 || strings.HasPrefix(ref, "-") || strings.Contains(ref, "..") ||
		strings.ContainsAny(ref, " ~^:?*[\\") || strings.ContainsFunc(ref, func(r rune) bool { return r < ' ' || r == 0x7f })
	if bad {
		return fmt.Errorf("%s: %.80q is not a branch name", field, ref)
	}
	return nil
}
