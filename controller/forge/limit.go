package forge

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
)

// The headers of a forge's limits.
const (
	headerRemaining = "X-Ratelimit-Remaining"
	headerReset     = "X-Ratelimit-Reset"
	headerRetry     = "Retry-After"
)

// maxDelay keeps absurd headers from overflowing; no request waits so long.
const maxDelay = 24 * time.Hour

var (
	pauses = clock.Doubling{First: time.Second, Most: maxDelay}
	// blindPauses are GitHub's rule for a secondary limit without a time: at least a
	// minute, then longer.
	blindPauses = clock.Doubling{First: time.Minute, Most: maxDelay}
)

// isLimited reports whether the answer is a primary or secondary rate limit. GitHub
// sends both as 403 or 429; go-github recognizes only the 403, and only by some of
// these signs.
func isLimited(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		return resp.Header.Get(headerRetry) != "" || resp.Header.Get(headerRemaining) == "0" ||
			mentionsLimit(resp)
	}
	return false
}

// mentionsLimit looks for a limit that only the body mentions. The body is in memory
// already and is put back.
func mentionsLimit(resp *http.Response) bool {
	data, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return err == nil && (bytes.Contains(data, []byte("secondary rate limit")) ||
		bytes.Contains(data, []byte("abuse-rate-limits")) || bytes.Contains(data, []byte("secondary-rate-limits")))
}

// delay returns the wait before the next attempt: the forge's own, else twice the
// previous one. Up to a tenth and a second are added, so that jobs which were refused
// together do not return together.
func (t *transport) delay(resp *http.Response, attempt int) time.Duration {
	d := pauses.Pause(attempt - 1)
	if resp != nil {
		if isLimited(resp) {
			d = blindPauses.Pause(attempt - 1)
		}
		if asked, ok := askedDelay(resp, t.cfg.Clock.Now()); ok {
			d = asked
		}
	}
	d = min(max(d, 0), maxDelay)
	return d + time.Duration(t.cfg.Clock.Random()*float64(d/10+time.Second))
}

// askedDelay reads Retry-After (seconds or a date) or, if nothing remains, the time of
// the reset. The forge's own Date is preferred to our clock, which may be wrong.
func askedDelay(resp *http.Response, now time.Time) (time.Duration, bool) {
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		now = date
	}
	if text := resp.Header.Get(headerRetry); text != "" {
		if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
			return time.Duration(seconds) * time.Second, true
		}
		if at, err := http.ParseTime(text); err == nil {
			return at.Sub(now), true
		}
	}
	if resp.Header.Get(headerRemaining) == "0" {
		if unix, err := strconv.ParseInt(resp.Header.Get(headerReset), 10, 64); err == nil {
			return time.Unix(unix, 0).Sub(now), true
		}
	}
	return 0, false
}
