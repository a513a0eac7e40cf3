package review

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A HinderedError is a head without a verdict for a reason that only a push, a change of the
// pull request or of its base branch ends. Statuses and comment show it.
type HinderedError struct {
	// Reason names the cause and the repair.
	Reason string
	cause  error
}

// Error returns the cause.
func (e *HinderedError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *HinderedError) Unwrap() error { return e.cause }

// A hindrance says to people why a head has no verdict. Paths and addresses of the machine
// are for its log alone.
type hindrance struct {
	// why names the cause and the repair, as a status shows it.
	why string
	// isTheirs means that people of the repository can fix it.
	isTheirs bool
	// isFinal means that another look before a push finds the same.
	isFinal bool
}

// hindranceOf returns what people are told about an error.
func (r *Review) hindranceOf(err error) hindrance {
	again := "gavel tries again"
	if r.Turn == nil {
		again = "run the job again"
	}
	if missing, ok := errors.AsType[*gitrepo.MissingRefError](err); ok {
		return missingRef(missing.Ref)
	}
	if behind, ok := errors.AsType[*behindError](err); ok {
		return hindrance{why: fmt.Sprintf("not judged: %v; %s", behind, again)}
	}
	if _, ok := errors.AsType[*gitrepo.AwayError](err); ok {
		return hindrance{why: "not judged: the git server did not answer; " + again}
	}
	if _, ok := errors.AsType[*gitrepo.LostError](err); ok {
		const lost = "not judged: git objects are missing or damaged"
		if r.Turn == nil {
			return hindrance{why: lost + ": check out without a filter and with fetch-depth: 0", isTheirs: true}
		}
		return hindrance{why: lost + "; " + again}
	}
	if limit, ok := errors.AsType[*forge.LimitError](err); ok {
		return hindrance{why: fmt.Sprintf("not judged: the rate limit of the forge is used up until %s UTC; %s", limit.Until.UTC().Format("15:04"), again)}
	}
	if denied, ok := errors.AsType[*forge.DeniedError](err); ok {
		return hindrance{why: "not judged: gavel's credential lacks a permission at the forge: " + textfmt.Line(denied.Permission)}
	}
	if _, ok := errors.AsType[*store.FaultError](err); ok {
		return hindrance{why: "not judged: the ledger cannot be read or written; see the log of gavel's run"}
	}
	switch {
	case errors.Is(err, gitrepo.ErrShallow):
		return hindrance{why: "not judged: the clone is shallow: set fetch-depth: 0 in the checkout of the job", isTheirs: true}
	case errors.Is(err, gitrepo.ErrRefused):
		return hindrance{why: "not judged: the git server refuses gavel's credential, which has to be allowed to read contents"}
	case errors.Is(err, gitrepo.ErrNoRemote):
		return hindrance{why: "not judged: the repository cannot be fetched: it is gone, or gavel's credential may not see it"}
	case errors.Is(err, context.DeadlineExceeded):
		return hindrance{why: "not judged: it took too long; " + again}
	}
	return hindrance{why: "not judged: gavel failed at this head; see the log of its run"}
}

// missingRef is the hindrance of a ref that the remote does not have.
func missingRef(ref string) hindrance {
	if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		why := fmt.Sprintf("not judged: the branch %s is gone: give the pull request another base, or restore it", textfmt.Clip(textfmt.Line(branch), 50))
		return hindrance{why, true, true}
	}
	return hindrance{fmt.Sprintf("not judged: the git server has no %s: push again", textfmt.Clip(textfmt.Line(ref), 50)), true, true}
}

// explain shows in statuses and comment why head has no verdict, and returns the error with
// what the forge refused. A comment that shows an earlier verdict does not outlast it.
func (r *Review) explain(ctx, late context.Context, err error, came judgement) error {
	found := r.hindranceOf(err)
	refused := r.settle(ctx, late, found.why, came)
	if refused == nil {
		refused = r.tell(ctx, late, found.why, found.isTheirs)
	}
	if refused == nil && found.isFinal {
		return &HinderedError{found.why, err}
	}
	return errors.Join(err, refused)
}

// tell writes into the comment of a pull request why head has no verdict. create writes one
// if there is none.
func (r *Review) tell(ctx, late context.Context, why string, create bool) error {
	if r.Client == nil || r.schedule != nil || r.number == 0 || r.queued {
		return nil
	}
	none := report.Report{
		Head: &r.head, NotRunReason: why, Commands: r.commands.Followed,
		Gate: report.Gate{Result: report.GateUndetermined, Reason: why},
	}
	text := r.Text(&none)
	p := publication{
		Repository: r.Known, Number: r.number, Head: r.head, Comment: text(comment.MaxBytes), Verdict: string(none.Gate.Result),
		EditOnly: !create,
	}
	return r.Retry.Do(ctx, func() error { return r.post(late, p, ledger.OutboxItem{}, text) })
}
