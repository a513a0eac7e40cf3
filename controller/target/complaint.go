package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A complaint is an error message of a provider.
type complaint struct {
	Message string
	// Wait is how long it asks to wait; 0 if it does not.
	Wait time.Duration
	// Spent is true for a quota that does not come back by waiting.
	Spent bool
}

// readComplaint reads a provider's error message; a body in an unknown form is the
// message itself. The time to wait may be in the headers, which win, or in the body.
func readComplaint(header http.Header, body []byte, now time.Time) complaint {
	c := read(body)
	if wait := retryAfter(header, now); wait > 0 {
		c.Wait = wait
	}
	return c
}

// Advice says what to check in gavel.yaml, and is added to a reply with this status:
// to correct the address if nothing is there, and how to ask less often after too many
// requests. A missing model is another mistake, and fewer requests do not restore
// a spent quota.
func (c complaint) Advice(status int, place string) string {
	switch {
	case status == http.StatusTooManyRequests && !c.Spent:
		return "lower `concurrency`, or set `requests_per_minute` at the target"
	case (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) && !strings.Contains(strings.ToLower(c.Message), "model"):
		return "is " + place + " right?"
	}
	return ""
}

// unreached returns the cause of a request that no server answered, without its
// address.
func unreached(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok {
		err = dial.Err
	}
	return err
}

func read(body []byte) complaint {
	var form struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	// Google's errors are in a list.
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	if json.Unmarshal(body, &form) != nil {
		if text := strings.TrimSpace(string(body)); isPage("", text) {
			return complaint{Message: title(text)}
		}
		return complaint{Message: string(bytes.TrimSpace(body))}
	}
	var inner struct {
		Message string   `json:"message"`
		Code    any      `json:"code"`
		Details []detail `json:"details"`
	}
	// An error of another form leaves the message as it is.
	_ = json.Unmarshal(form.Error, &inner)
	if inner.Message == "" {
		return complaint{Message: cmp.Or(plain(form.Error), form.Message, plain(form.Detail), string(body))}
	}
	c := complaint{Message: inner.Message, Spent: inner.Code == "insufficient_quota"}
	for _, d := range inner.Details {
		d.add(&c)
	}
	return c
}

// A detail is Google's addition to the message, where other providers use headers: a
// google.rpc.RetryInfo or a google.rpc.QuotaFailure.
type detail struct {
	RetryDelay string `json:"retryDelay"`
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"`
}

func (d detail) add(c *complaint) {
	if d.RetryDelay != "" {
		c.Wait = limited(parseWait(d.RetryDelay))
	}
	for _, v := range d.Violations {
		c.Spent = c.Spent || strings.Contains(v.QuotaID, "PerDay")
	}
}

// maxAfter bounds how long a provider may ask to wait.
const maxAfter = 24 * time.Hour

// retryAfter returns how long the headers ask to wait; 0 if they do not. Retry-After
// wins; without it the resets of exhausted limits count.
func retryAfter(h http.Header, now time.Time) time.Duration {
	var wait time.Duration
	switch ms, s := h.Get("Retry-After-Ms"), h.Get("Retry-After"); {
	case ms != "":
		wait = parseWait(ms + "ms")
	case s != "":
		wait = parseWait(s)
		if at, err := http.ParseTime(s); err == nil {
			wait = at.Sub(now)
		}
	default:
		for _, limit := range []string{"Requests", "Tokens"} {
			if h.Get("X-Ratelimit-Remaining-"+limit) == "0" {
				wait = max(wait, parseWait(h.Get("X-Ratelimit-Reset-"+limit)))
			}
		}
	}
	return limited(wait)
}

func limited(wait time.Duration) time.Duration { return min(max(wait, 0), maxAfter) }

// parseWait reads a number of seconds or a duration such as 6m0s; 0 if it is
// neither.
func parseWait(s string) time.Duration {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		// Compared first, since a number that does not fit a Duration converts to an
		// arbitrary one.
		return time.Duration(min(n, maxAfter.Seconds()) * float64(time.Second))
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0
	}
	return d
}

// plain returns the text of a JSON string, nothing for null or no value, and else the
// JSON unchanged.
func plain(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
