package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
)

// A Finding says whether the server has one of the things that it needs.
type Finding struct {
	// The thing that was tried, such as "statuses: write".
	What string
	// State is one of the State constants.
	State string
	// Message says what is missing and how to repair it, empty if State is [StateOK].
	Message string
}

// States of a Finding. Only a missing item keeps the server from its work.
const (
	StateOK       = "ok"
	StateMissing  = "missing"
	StateUnknown  = "unknown"  // the forge does not report it
	StateOptional = "optional" // missing, with another or a later way to do its work
)

// needs are the permissions for publishing.
var needs = []forge.Need{{Permission: "statuses", Level: "write"}, {Permission: "pull_requests", Level: "write"}}

// events are the events that an App has to receive; otherwise only polling finds them,
// later.
var events = []string{"check_run", "check_suite", "issue_comment", "merge_group", "pull_request", "push"}

// Check tests everything that the care for a repository needs, without writing, and
// returns a finding for each. It continues after a failed check.
func Check(ctx context.Context, repo Repository, tell func(Finding)) {
	url, branches := repo.URL, repo.Branches
	if repo.Client != nil {
		rights, err := repo.Client.Rights(ctx, repo.Name)
		tell(find("metadata: read", err))
		if err != nil {
			return
		}
		said, err := repo.Client.Repository(ctx, repo.Name)
		if err != nil {
			tell(find("the repository", err))
			return
		}
		if said.Archived {
			tell(find("the repository", fmt.Errorf("%w: unarchive it, or remove it from repositories", errArchived)))
			return
		}
		checkRights(rights, repo, tell)
		_, _, err = repo.Client.OpenPulls(ctx, repo.Name, "")
		tell(find("pull-requests: read", refused(err)))
		checkIssue(ctx, repo, tell)
		url = cmp.Or(url, said.CloneURL)
		if len(branches) == 0 {
			branches = []string{said.DefaultBranch}
		}
	}
	for _, branch := range branches {
		mirror := gitrepo.MirrorConfig{URL: url, Token: repo.Token}
		tell(find("contents: read, branch "+branch, gitrepo.Reach(ctx, mirror, "refs/heads/"+branch)))
	}
	if len(branches) == 0 {
		tell(find("branches", errors.New("without a forge its branches have to be listed")))
	}
}

// proposed has the form of the branches that saves on the pages push.
const proposed = "gavel/settings-0123abcd"

// CheckSave tests everything that Save on the pages needs besides [Check], without
// writing: it begins a push, and looks for rules that refuse a new branch. It returns
// nothing about a repository that cannot be read.
func CheckSave(ctx context.Context, repo Repository, tell func(Finding)) {
	if repo.Client == nil {
		tell(Finding{"save on the pages", StateOptional, "the repository has no forge that opens pull requests: its definitions are only shown"})
		return
	}
	rights, err := repo.Client.Rights(ctx, repo.Name)
	if err != nil {
		return
	}
	said, err := repo.Client.Repository(ctx, repo.Name)
	if err != nil || said.Archived {
		return
	}
	need := forge.Need{Permission: "contents", Level: "write"}
	err = rights.Allows(need)
	if err == nil || errors.Is(err, forge.ErrUnreported) {
		err = gitrepo.MayPush(ctx, gitrepo.MirrorConfig{URL: cmp.Or(repo.URL, said.CloneURL), Token: repo.Token})
	}
	found := find(need.String()+", for save on the pages", err)
	if found.State == StateMissing {
		found.Message += "; without it, let nobody edit in pages"
	}
	tell(found)
	// Nobody reports who may pass by a rule.
	if err := repo.Client.NewBranch(ctx, repo.Name, proposed); err != nil {
		tell(Finding{"branches, for save on the pages", StateOptional, err.Error()})
	}
}

// checkRights reports the rights that the credential has by the forge's answer.
func checkRights(rights forge.Rights, repo Repository, tell func(Finding)) {
	wanted := needs
	if repo.DriftIssue != (config.DriftIssue{}) {
		wanted = append(slices.Clone(needs), forge.Need{Permission: "issues", Level: "write"})
	}
	for _, need := range wanted {
		tell(find(need.String(), rights.Allows(need)))
	}
	tell(find("who may write", rights.Asks()))
	if rights.Events == nil {
		return // only an App may write check runs, and has its own events
	}
	checks := forge.Need{Permission: "checks", Level: "write"}
	found := find(checks.String(), rights.Allows(checks))
	if found.State == StateMissing {
		found.State, found.Message = StateOptional, "no check runs, statuses and comment say the same: "+found.Message
	}
	tell(found)
	missing := slices.DeleteFunc(slices.Clone(events), func(e string) bool { return slices.Contains(rights.Events, e) })
	found = Finding{What: "events", State: StateOK}
	if len(missing) > 0 {
		found.State = StateOptional
		found.Message = fmt.Sprintf("the App does not receive %s, which polling finds later: subscribe to them under Permissions & events of the App", strings.Join(missing, ", "))
	}
	tell(found)
}

// checkIssue looks at the issue that gets comments about drift, if there is one.
func checkIssue(ctx context.Context, repo Repository, tell func(Finding)) {
	if repo.DriftIssue.Number == 0 {
		return
	}
	_, err := repo.Client.Comments(ctx, repo.Name, repo.DriftIssue.Number, time.Now())
	if denied, ok := errors.AsType[*forge.DeniedError](err); ok {
		err = fmt.Errorf("%d %s: correct drift_issue, or give the credential issues: read", denied.Status, denied.Message)
	}
	tell(find(fmt.Sprint("issue ", repo.DriftIssue.Number), err))
}

func find(what string, err error) Finding {
	switch {
	case err == nil:
		return Finding{What: what, State: StateOK}
	case errors.Is(err, forge.ErrUnreported):
		return Finding{what, StateUnknown, err.Error()}
	}
	return Finding{what, StateMissing, err.Error()}
}

// refused removes from a refusal the rights that only a workflow can get.
func refused(err error) error {
	if denied, ok := errors.AsType[*forge.DeniedError](err); ok {
		return fmt.Errorf("%d %s: give the credential this permission", denied.Status, denied.Message)
	}
	return err
}
