package limit

import (
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
)

const (
	// maxPause bounds the wait that a provider may ask for.
	maxPause = 2 * time.Minute
	// growth is the number of replies per slot that open one more slot, and quicken the
	// number of consecutive replies that raise the rate by a twentieth.
	growth  = 4
	quicken = 20
	// memory bounds the time over which a rate is measured.
	memory = time.Minute
)

// pauses are the waits after consecutive refusals if the provider does not name one.
var pauses = clock.Doubling{First: 500 * time.Millisecond, Most: 30 * time.Second}

// A pace is a Limiter's knowledge of its provider's capacity: after a refusal it halves
// the concurrency, sends no faster than calls were answered before, and grows slowly
// from there.
type pace struct {
	// until is the end of the current pause. free is the time of the next call if calls
	// are interval apart; 0 means unlimited.
	until, free time.Time
	interval    time.Duration
	// sent numbers the calls. Calls up to barrier were sent before the last refusal
	// arrived, so their refusals are not new.
	sent, barrier int
	// refusals counts consecutive refusals, replies the calls since the last one.
	refusals, replies int
	// open is the number of open slots among all, opening counts replies towards the
	// next one.
	all, open, opening int
	// answered counts replies since began, for the rate.
	answered float64
	began    time.Time
}

// nextAt returns the time of the next call.
func (p *pace) nextAt() time.Time {
	if p.free.After(p.until) {
		return p.free
	}
	return p.until
}

// send records that a call is sent, and numbers it.
func (p *pace) send(now time.Time) int {
	if p.began.IsZero() {
		p.began = now
	}
	if p.interval > 0 {
		p.free = now.Add(p.interval)
	}
	p.sent++
	return p.sent
}

// observe learns from the outcome of a call. It reports whether a refusal is a new one.
func (p *pace) observe(call int, o Outcome, now time.Time, jitter func() float64) bool {
	wait := min(o.After, maxPause)
	switch {
	case o.Kind == Answered:
		p.reply(call, now)
	case o.Kind == Throttled && call > p.barrier:
		p.refusals++
		if wait <= 0 {
			wait = pauses.Jittered(p.refusals-1, jitter)
		}
		p.slow(now, wait)
		p.pause(now.Add(wait))
		return true
	}
	if wait > 0 {
		p.pause(now.Add(wait))
	}
	return false
}

func (p *pace) pause(until time.Time) {
	if until.After(p.until) {
		p.until = until
	}
}

// slow halves the concurrency, and spaces calls as they were answered, including the
// wait.
func (p *pace) slow(now time.Time, wait time.Duration) {
	if p.answered >= 1 {
		took := now.Add(wait).Sub(p.began)
		p.interval = min(time.Duration(1.1*float64(took)/p.answered), 2*wait)
	}
	p.open = min(max(p.open/2, 1), p.all)
	p.barrier, p.replies, p.opening = p.sent, 0, 0
}

func (p *pace) reply(call int, now time.Time) {
	if p.answered++; now.Sub(p.began) > memory {
		p.answered, p.began = p.answered/2, p.began.Add(now.Sub(p.began)/2)
	}
	if call <= p.barrier {
		return // sent before the refusal
	}
	if p.refusals > 0 {
		p.refusals, p.answered, p.began = 0, 1, p.until
	}
	if p.opening++; p.open < p.all && p.opening >= growth*p.open {
		p.open, p.opening = p.open+1, 0
	}
	if p.replies++; p.replies%quicken == 0 {
		p.interval -= p.interval / 20
	}
}
