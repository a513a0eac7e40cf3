package limit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// A Share is one process's part of a target's limits, so that all processes together
// stay within them.
type Share struct {
	// Slots is the number of calls that may be in flight. Part is the part of the
	// rates, from 0 to 1.
	Slots int
	Part  float64
	// Pause is the time without calls that the provider asked for.
	Pause time.Duration
	// Down is set while another process finds the target down, for Rest.
	Down *Down
	Rest time.Duration
}

// A Usage is a process's use of its share of a target.
type Usage struct {
	// Size is the configured number of calls in flight for all processes together.
	// InFlight is this one's number, and Want its highest demand in the last one to two
	// seconds: a conversation calls its targets in turn, and would wait for a share
	// each time if it gave it up in between.
	Size, InFlight, Want int
	// Replies and Refusals count the ones since the last Usage, without echoes.
	Replies, Refusals int
	// Pause is the time for which the provider wants no call.
	Pause time.Duration
	// Down is set while this process finds the target down, for Rest.
	Down *Down
	Rest time.Duration
}

// A pool is a Limiter's state for sharing with other processes.
type pool struct {
	wanted chan<- struct{}
	// The fields below are guarded by the Limiter's mu. peaks are the highest demand in
	// the period that began at since, and in the previous one.
	replies, refusals int
	peaks             [2]int
	since             time.Time
}

// peakPeriod is the minimum time for which the highest demand counts, and half of the
// maximum.
const peakPeriod = time.Second

// peak records a demand, and returns the highest recent one. The caller holds mu.
func (s *pool) peak(now time.Time, demand int) int {
	switch age := now.Sub(s.since); {
	case age >= 2*peakPeriod:
		s.since, s.peaks = now, [2]int{}
	case age >= peakPeriod:
		s.since, s.peaks = s.since.Add(peakPeriod), [2]int{0, s.peaks[0]}
	}
	s.peaks[0] = max(s.peaks[0], demand)
	return max(s.peaks[0], s.peaks[1])
}

// demand returns the number of calls that would be in flight without limits.
func (l *Limiter) demand() int { return l.slots.entered() + l.turn.entered() + l.turn.queued() }

// share makes the Limiter wait for its first Share.
func (l *Limiter) share(wanted chan<- struct{}) *Limiter {
	l.pooled = &pool{wanted: wanted}
	l.pace.all, l.pace.open = 0, 0
	l.slots.resize(0)
	return l
}

// requestShare records the demand, and requests a Share if there is no room.
func (l *Limiter) requestShare() {
	if l.pooled == nil {
		return
	}
	demand := l.demand()
	l.mu.Lock()
	l.pooled.peak(l.clock.Now(), demand)
	l.mu.Unlock()
	if l.slots.hasRoom() {
		return
	}
	select {
	case l.pooled.wanted <- struct{}{}:
	default: // already requested
	}
}

// Use applies a Share. Calls in flight beyond it are not cancelled.
func (l *Limiter) Use(s Share) {
	now := l.clock.Now()
	l.mu.Lock()
	l.pace.all, l.pace.open, l.pace.opening = s.Slots, s.Slots, 0
	if s.Pause > 0 {
		l.pace.pause(now.Add(min(s.Pause, maxPause)))
	}
	l.mu.Unlock()
	for _, r := range []struct {
		limiter   *rate.Limiter
		perMinute int
	}{{l.requests, l.perMinute.requests}, {l.tokens, l.perMinute.tokens}} {
		if r.limiter != nil {
			part := float64(r.perMinute) * s.Part
			r.limiter.SetLimitAt(now, rate.Limit(part/60))
			r.limiter.SetBurstAt(now, max(int(part/10), 1))
		}
	}
	l.breaker.follow(s.Down, now.Add(s.Rest))
	l.slots.resize(s.Slots)
}

// Slots returns the number of calls that may be in flight in this process now.
func (l *Limiter) Slots() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pace.all
}

// Usage returns the use of the share since the last call of Usage.
func (l *Limiter) Usage() Usage {
	now := l.clock.Now()
	u := Usage{Size: l.size, InFlight: l.slots.entered()}
	demand := l.demand()
	u.Down, u.Rest = l.breaker.found(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	u.Want = l.pooled.peak(now, demand)
	u.Pause = max(l.pace.until.Sub(now), 0)
	u.Replies, u.Refusals = l.pooled.replies, l.pooled.refusals
	l.pooled.replies, l.pooled.refusals = 0, 0
	return u
}

// count counts a reply or a refusal that is not an echo. The caller holds mu.
func (s *pool) count(k Kind, heard bool) {
	switch {
	case s == nil:
	case k == Answered:
		s.replies++
	case k == Throttled && heard:
		s.refusals++
	}
}

// follow applies another process's finding: the endpoint is down until a time, or with
// nil that it no longer is.
func (b *Breaker) follow(d *Down, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case d != nil && b.down == nil:
		b.down, b.until, b.rest, b.followed = &Down{Failures: d.Failures, Last: d.Last}, until, firstRest, true
	case d == nil && b.followed && !b.probing:
		b.down, b.rest, b.followed = nil, 0, false
	default:
		return
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// found returns this process's finding, nil if the endpoint is not down.
func (b *Breaker) found(now time.Time) (*Down, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down == nil || b.followed {
		return nil, 0
	}
	return b.down, max(b.until.Sub(now), 0)
}

// id identifies endpoints in all processes. It contains no text of the configuration.
func (e endpoint) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{e.provider, e.address, e.model, e.key, e.revision}))
	return hex.EncodeToString(sum[:12])
}
