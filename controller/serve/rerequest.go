package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/reconcile"
	"github.com/gavel-evals/gavel/controller/review"
)

// rerun makes the requested check runs of a commit again: by the keys that have it as
// their head, else from the stored report. A delivery names the commit; the forge knows
// the check runs. The ledger has the request until it is answered.
func (w *worker) rerun(ctx context.Context, repo *repository, sha string) error {
	wanted, err := w.rerequests(ctx, repo, sha)
	if err != nil {
		return err
	}
	keys, reasons, err := w.headOf(ctx, repo, sha, wanted)
	if err != nil {
		return err
	}
	for _, key := range keys {
		w.loop.AddIfIdle(key)
	}
	if len(keys) > 0 {
		return nil // they answer, see answerRerun
	}
	var errs []error
	for i, r := range wanted {
		errs = append(errs, repo.reviewer.Answer(ctx, r, sha, reasons[i]))
	}
	return w.answered(ctx, repo, sha, next(errors.Join(errs...)))
}

// rerequests asks the forge which check runs of a commit somebody requested again.
// Without the permission to ask there are none.
func (w *worker) rerequests(ctx context.Context, repo *repository, sha string) ([]review.Rerequest, error) {
	if repo.Client == nil || !repo.Client.CanCheck(ctx, repo.name) {
		return nil, nil
	}
	found, err := repo.reviewer.Rerequests(ctx, sha)
	if _, denied := errors.AsType[*forge.DeniedError](err); denied {
		w.cfg.Observer.Log(repo.name.String(), fmt.Sprintf("the check run of %.7s is not made again: %v", sha, err))
		return nil, nil
	}
	return found, err
}

// headOf returns the keys whose head is the commit and whose check runs somebody
// requests again, and for each other request why the commit is not a head.
func (w *worker) headOf(ctx context.Context, repo *repository, sha string, wanted []review.Rerequest) (keys []Key, reasons []string, err error) {
	if len(wanted) == 0 {
		return nil, nil, nil
	}
	tips, err := repo.mirror.Branches(ctx)
	if err != nil {
		return nil, nil, err
	}
	for branch, tip := range tips {
		if tip == sha && repo.follows(branch) {
			keys = append(keys, Key{Repository: repo.id, Kind: Branch, Ref: branch})
		}
	}
	reasons = make([]string, len(wanted))
	for i, r := range wanted {
		key := Key{Repository: repo.id, Kind: PullRequest, Pull: r.Number}
		switch tip := tips[r.Branch]; {
		case r.Number != 0:
			if reasons[i], err = w.passed(ctx, key, sha); err != nil {
				return nil, nil, err
			}
			if reasons[i] == "" {
				keys = append(keys, key)
			}
		case tip != "" && tip != sha:
			reasons[i] = superseded(tip)
		default:
			reasons[i] = "the commit is not the head of a watched branch or pull request"
		}
	}
	return keys, reasons, nil
}

// A judgedHead is a head that was looked at.
type judgedHead struct {
	number int
	// branch is the branch that the commit was pushed to, empty for a pull request.
	branch string
	sha    string
	// cancelled is who ended its run; empty if it was judged.
	cancelled string
}

// answerRerun makes the check run of a head again if a delivery reports that somebody
// requested it. Only then, and after the verdict was published, it asks the forge,
// since the verdict must not wait for it. err is how judging ended, and is returned
// unless this fails, too.
func (w *worker) answerRerun(ctx context.Context, repo *repository, head judgedHead, err error) error {
	if ctx.Err() != nil {
		return err // each sweep comes back to it
	}
	_, requested, failed := w.state.Load(ctx, rerunOf(repo.id, head.sha))
	if failed != nil || !requested {
		return errors.Join(err, failed)
	}
	if err != nil {
		return w.answered(ctx, repo, head.sha, err)
	}
	wanted, failed := w.rerequests(ctx, repo, head.sha)
	if failed != nil {
		return ctx.Err() // each sweep comes back to it
	}
	if len(wanted) > 0 { // else the verdict was new, and its check run is the answer
		err = next(repo.reviewer.Answer(ctx, review.Rerequest{Number: head.number, Branch: head.branch}, head.sha, cmp.Or(head.cancelled, "nothing was judged")))
	}
	return w.answered(ctx, repo, head.sha, err)
}

// answered forgets a request that was answered, or that no further try can answer.
func (w *worker) answered(ctx context.Context, repo *repository, sha string, err error) error {
	if _, stalled := errors.AsType[*reconcile.Stall](err); err != nil && !stalled {
		return err
	}
	return errors.Join(err, w.state.RemovePending(context.WithoutCancel(ctx), rerunOf(repo.id, sha)))
}
