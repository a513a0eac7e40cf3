package cuefile

import (
	"errors"
	"sync"
	"time"
)

const (
	// totalTime bounds all evaluations of one budget, and timeEach is added for each:
	// many times the duration of a usual file, so that any number of usual files
	// succeeds.
	totalTime = 30 * time.Second
	timeEach  = 100 * time.Millisecond
)

// errSpent means that a budget is used up.
var errSpent = errors.New("the evaluations took too long together")

// A Budget bounds the total time of many evaluations: a repository with a thousand
// endless files would take hours. The zero value has nothing to spend; nil is
// unbounded. It is safe for concurrent use.
type Budget struct {
	// Unstarted is called if no child could be started, which is not a file's fault.
	// Set it before the first evaluation; nil ignores it.
	Unstarted func(error)

	each time.Duration
	mu   sync.Mutex
	left time.Duration // guarded by mu
}

// NewBudget returns the budget of one repository's evaluations.
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

// spend subtracts the time of one evaluation, which works for MaxTime at most; more than
// that it waited for a processor.
func (b *Budget) spend(took time.Duration) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += b.each - min(took, MaxTime)
}
