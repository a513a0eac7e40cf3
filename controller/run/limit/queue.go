package limit

import (
	"context"
	"slices"
	"sync"
)

// A queue admits a number of callers at once, the others in order, urgent ones first.
type queue struct {
	mu sync.Mutex
	// in is the number of admitted callers, up to size; waiting are the urgent ones and
	// the others. All are guarded by mu.
	size, in int
	waiting  [2][]chan struct{}
}

func newQueue(size int) *queue { return &queue{size: size} }

// enter waits for room. Unless it returns an error the caller must call leave.
func (q *queue) enter(ctx context.Context, urgent bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line := 1
	if urgent {
		line = 0
	}
	q.mu.Lock()
	if q.in < q.size && len(q.waiting[0])+len(q.waiting[1]) == 0 {
		q.in++
		q.mu.Unlock()
		return nil
	}
	called := make(chan struct{})
	q.waiting[line] = append(q.waiting[line], called)
	q.mu.Unlock()
	select {
	case <-called:
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return nil
	}
	// A slot may become free at the moment when the call is cancelled.
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting[line], called); i >= 0 {
		q.waiting[line] = slices.Delete(q.waiting[line], i, i+1)
		return ctx.Err()
	}
	q.in--
	q.call()
	return ctx.Err()
}

func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.in--
	q.call()
}

// resize changes the size. Callers above it stay admitted.
func (q *queue) resize(size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size = size
	q.call()
}

// hasRoom reports whether the next caller is admitted at once.
func (q *queue) hasRoom() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.in < q.size
}

// entered returns the number of admitted callers.
func (q *queue) entered() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.in
}

// queued returns the number of waiting callers.
func (q *queue) queued() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting[0]) + len(q.waiting[1])
}

// call admits waiting callers while there is room. The caller holds mu.
func (q *queue) call() {
	for line := range q.waiting {
		for q.in < q.size && len(q.waiting[line]) > 0 {
			close(q.waiting[line][0])
			q.waiting[line] = q.waiting[line][1:]
			q.in++
		}
	}
}
