package cuefile

import (
	"errors"
	"sync"
	"time"
)

const (
	// totalTime is what the evaluations of one budget may take together, and
	// timeEach what each of them adds to that: many times what a usual file
	// takes, so that any number of those comes through.
	totalTime = 30 * time.Second
	timeEach  = 100 * time.Millisecond
)

// errSpent says that a budget is used up.
var errSpent = errors.New("the evaluations took too long together")

// A Budget bounds what many evaluations take together: a repository with a
// thousand files that never end would keep us for hours. The zero value has
// nothing to spend; nil has no bound. It may be used by many goroutines.
type Budget struct {
	// Unstarted is told that no child could be started, which no file is to blame
	// for. It is set before the first evaluation; nil tells nobody.
	Unstarted func(error)

	each time.Duration
	mu   sync.Mutex
	left time.Duration // guarded by mu
}

// NewBudget returns what the evaluations of one repository may take.
func NewBudget() *Budget { return &Budget{each: timeEach, left: totalTime} }

// isSpent reports whether nothing may be evaluated any more.
func (b *Budget) isSpent() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left <= 0
}

// unstarted reports that no child could be started.
func (b *Budget) unstarted(err error) {
	if b != nil && b.Unstarted != nil {
		b.Unstarted(err)
	}
}

// spend takes the time of one evaluation.
func (b *Budget) spend(took time.Duration) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += b.each - took
}
