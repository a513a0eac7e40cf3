package serve

import (
	"context"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/review"
)

// openHeads are the heads of the open pull requests of a repository, as of the last poll
// or look. They are safe for concurrent use.
type openHeads struct {
	mu   sync.Mutex
	head map[int]string // by number; guarded by mu
}

// note records the result of a look, and returns the commit that the pull request left,
// if it left one.
func (o *openHeads) note(number int, head string, open bool) (left []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, there := o.head[number]
	if there && (!open || before != head) {
		left = append(left, before)
	}
	if o.head == nil {
		o.head = map[int]string{}
	}
	delete(o.head, number)
	if open {
		o.head[number] = head
	}
	return left
}

// poll records the result of a poll, and returns the commits that pull requests left.
func (o *openHeads) poll(pulls []forge.Pull) (left []string) {
	now := map[int]string{}
	for _, pull := range pulls {
		now[pull.Number] = pull.HeadSHA
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for number, head := range o.head {
		if now[number] != head {
			left = append(left, head)
		}
	}
	o.head = now
	return left
}

// at returns the pull requests with a head.
func (o *openHeads) at(head string) (numbers []int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for number, sha := range o.head {
		if sha == head {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// sharers tells the reviews of a repository which other pull requests have a commit.
// Every open pull request gets a verdict here.
type sharers struct{ repo *repository }

// Heads asks the forge.
func (s sharers) Heads(ctx context.Context, number int, sha string) (bool, error) {
	return review.Heads(ctx, s.repo.Client, s.repo.name, number, sha)
}

// Expected lists all.
func (s sharers) Expected(sha string) (numbers []int, complete bool) {
	return s.repo.heads.at(sha), true
}

// left makes due the keys that still have a commit after a pull request left it: its
// statuses show that pull request's result.
func (w *worker) left(repo *repository, commits ...string) {
	for _, sha := range commits {
		for _, number := range repo.heads.at(sha) {
			w.loop.AddIfIdle(Key{Repository: repo.id, Kind: PullRequest, Pull: number})
		}
	}
	if tips := repo.polledTips.Load(); tips != nil {
		for branch, tip := range *tips {
			if slices.Contains(commits, tip) {
				w.loop.AddIfIdle(Key{Repository: repo.id, Kind: Branch, Ref: branch})
			}
		}
	}
}
