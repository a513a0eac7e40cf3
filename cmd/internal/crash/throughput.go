package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

// measure prints how long 1, 2 and 4 workers take for the same conversations with
// models that take 200 ms, as ratios of one run of this command.
func (t *trial) measure(ctx context.Context) (err error) {
	database, err := postgrestest.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	t.server.latency = 200 * time.Millisecond
	var one float64
	for _, workers := range []int{1, 2, 4} {
		took, err := t.judgedBy(ctx, database, workers)
		if err != nil {
			return err
		}
		rate := float64(t.cases) / took.Seconds()
		if workers == 1 {
			one = rate
		}
		fmt.Fprintf(t.out, "%d workers: %d conversations in %.1f s, %.2f times the rate of one\n", workers, t.cases, took.Seconds(), rate/one)
	}
	return nil
}

// judgedBy lets this many workers judge, and returns how long they took from the first
// call. All of them wait for cases before the server queues any.
func (t *trial) judgedBy(ctx context.Context, database *postgrestest.Server, workers int) (took time.Duration, err error) {
	p := t.placeWith(fmt.Sprint("by-", workers), 64*workers)
	r, err := newSpread(p, p.served(), database)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	before := t.server.received()
	for range workers {
		if err := r.add(ctx, places); err != nil {
			return 0, err
		}
	}
	for _, w := range r.workers {
		select {
		case <-w.ready:
		case err := <-w.ended:
			return 0, fmt.Errorf("gavel worker ended unexpectedly: %w; the end of the log: %s", err, r.log.tail())
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	if r.controller, err = r.begin(ctx, r.line...); err != nil {
		return 0, err
	}
	t.server.until(before+1, ctx.Done())
	start := time.Now()
	err = until(ctx, func() bool { return verdict.MatchString(r.log.String()) }, r.controller.ended)
	if err != nil {
		return 0, fmt.Errorf("%w; the end of the log: %s", err, r.log.tail())
	}
	return time.Since(start), nil
}
