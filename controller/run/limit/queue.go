package limit

import (
	"context"
	"slices"
	"sync"
)

// A queue admits a number of callers at once, urgent ones first. The runs of the others
// take turns, and the callers of a run come in order: a small run does not wait for a
// large one.
type queue struct {
	mu sync.Mutex
	// in is the number of admitted callers, up to size; waiting are the urgent ones and
	// the others. All are guarded by mu.
	size, in int
	waiting  [2]line
}

// A line has the waiting callers of each run, the next run first. No run is without one.
type line []waitingRun

type waitingRun struct {
	run     any
	callers []chan struct{}
}

func (l *line) add(run any, called chan struct{}) {
	i := slices.IndexFunc(*l, func(w waitingRun) bool { return w.run == run })
	if i < 0 {
		*l = append(*l, waitingRun{run, []chan struct{}{called}})
		return
	}
	(*l)[i].callers = append((*l)[i].callers, called)
}

// next removes the next caller.
func (l *line) next() chan struct{} {
	first := (*l)[0]
	called := first.callers[0]
	*l = (*l)[1:]
	if first.callers = first.callers[1:]; len(first.callers) > 0 {
		*l = append(*l, first)
	}
	return called
}

// remove removes a caller, and reports whether it was waiting.
func (l *line) remove(called chan struct{}) bool {
	for i, w := range *l {
		at := slices.Index(w.callers, called)
		if at < 0 {
			continue
		}
		if (*l)[i].callers = slices.Delete(w.callers, at, at+1); len((*l)[i].callers) == 0 {
			*l = slices.Delete(*l, i, i+1)
		}
		return true
	}
	return false
}

func (l line) len() int {
	n := 0
	for _, w := range l {
		n += len(w.callers)
	}
	return n
}

func newQueue(size int) *queue { return &queue{size: size} }

// enter waits for room as a caller of a run. Unless it returns an error the caller must
// call leave.
func (q *queue) enter(ctx context.Context, run any, urgent bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	waiting := &q.waiting[1]
	if urgent {
		waiting = &q.waiting[0]
	}
	q.mu.Lock()
	if q.in < q.size && len(q.waiting[0])+len(q.waiting[1]) == 0 {
		q.in++
		q.mu.Unlock()
		return nil
	}
	called := make(chan struct{})
	waiting.add(run, called)
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
	if waiting.remove(called) {
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
	return q.waiting[0].len() + q.waiting[1].len()
}

// call admits waiting callers while there is room. The caller holds mu.
func (q *queue) call() {
	for i := range q.waiting {
		for waiting := &q.waiting[i]; q.in < q.size && len(*waiting) > 0; q.in++ {
			close(waiting.next())
		}
	}
}
