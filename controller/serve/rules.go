package serve

import (
	"context"
	"errors"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
)

// rules makes open pull requests due whose verdicts follow other rules than the current
// ones at the tip of a branch. They need no call if the measurements are known. Heads
// without any rules, such as one that is too large, are due when rules change; a head
// that is being judged is handled by [worker.rulesOf].
func (w *worker) rules(ctx context.Context, repo *repository, branch string) (err error) {
	pulls := repo.open.Load()
	if pulls == nil || len(*pulls) == 0 {
		return nil
	}
	git, commits, err := repo.fetchTip(ctx, branch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, git.Close()) }()
	digest, err := review.RulesDigest(git, commits[0], repo.ConfigFile)
	if err != nil {
		return err
	}
	last, looked := repo.digests.Swap(branch, digest)
	for _, pull := range *pulls {
		decides, err := repo.reviewer.RulesOf(pull.BaseRef, repo.said.DefaultBranch)
		if err != nil {
			return err
		}
		by := w.reports.judgedBy(reportKey{repo.ledgerName, pull.Number, pull.HeadSHA})
		if decides == branch && by != digest && (by != "" || looked && last != digest) {
			w.loop.Add(Key{Repository: repo.id, Kind: PullRequest, Pull: pull.Number})
		}
	}
	return nil
}

// rulesOf makes the rules due that a report followed, if the last look saw other ones:
// they may have changed in the meantime.
func (w *worker) rulesOf(repository int64, r *report.Report) {
	repo := w.registry.repo(repository)
	if repo == nil || r.Rules == nil {
		return
	}
	if last, looked := repo.digests.Load(r.Rules.Branch); looked && last != r.Rules.Digest {
		w.loop.Add(Key{Repository: repository, Kind: Rules, Ref: r.Rules.Branch})
	}
}
