package forgetest

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// A Fault is a misbehaviour of the forge for the requests that it matches. The first
// non-zero field of Hang, Hold, Gather, Cut, Half, Short and Status decides.
type Fault struct {
	// Method is the HTTP method. Defaults to any.
	Method string
	// Path is a part of the path. Defaults to any.
	Path string
	// Skip is the number of matching requests answered correctly before.
	Skip int
	// Times is the number of failing requests; negative means all. Defaults to one.
	Times int
	// While reports whether the fault is active. Defaults to always.
	While func() bool

	// Apply executes the request before Cut or Status answers: a lost reply.
	Apply bool
	// Status is the answer, with Header and Body. The body defaults to an error in
	// GitHub's words.
	Status int
	Header map[string]string
	Body   string
	// Cut closes the connection without an answer.
	Cut bool
	// Half answers correctly, but with half of the body as if it were complete.
	Half bool
	// Short announces the whole body, sends half of it and closes the connection.
	Short bool
	// Hang does not answer until the client gives up.
	Hang bool
	// Hold blocks the request, which is then answered correctly.
	Hold func()
	// Gather blocks the requests until so many have arrived, then answers them
	// correctly: two runs that look at the same moment.
	Gather int
}

// Common faults of GitHub.

// TooManyRequests returns the primary limit as a 429 with Retry-After.
func TooManyRequests(retryAfter time.Duration) Fault {
	return Fault{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": strconv.Itoa(int(retryAfter.Seconds()))}}
}

// RateLimit returns the primary limit as a 403: nothing remains until reset.
func RateLimit(reset time.Time) Fault {
	return Fault{Status: http.StatusForbidden, Header: map[string]string{
		"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": strconv.FormatInt(reset.Unix(), 10),
	}, Body: `{"message":"API rate limit exceeded"}`}
}

// SecondaryLimit returns a 403 that only its body explains.
func SecondaryLimit() Fault {
	return Fault{Status: http.StatusForbidden,
		Body: `{"message":"You have exceeded a secondary rate limit.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`}
}

// LostReply applies a request of that method and cuts the connection.
func LostReply(method string) Fault { return Fault{Method: method, Apply: true, Cut: true} }

// On restricts the fault to requests with a method and a part of the path.
func (f Fault) On(method, path string) Fault {
	f.Method, f.Path = method, path
	return f
}

// A fault is an injected Fault with its remaining counts.
type fault struct {
	Fault
	// waiting counts the requests held by Gather; full is closed for them.
	waiting int
	full    chan struct{}
}

// Inject makes the forge misbehave. Faults are tried in order of injection.
func (f *Forge) Inject(what Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if what.Times == 0 {
		what.Times = max(1, what.Gather)
	}
	f.faults = append(f.faults, &fault{Fault: what, full: make(chan struct{})})
}

// Heal ends all faults.
func (f *Forge) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

// hit takes the first fault that is due for r, or nil.
func (f *Forge) hit(r *http.Request) *fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.faults {
		if x.Times == 0 || x.Method != "" && x.Method != r.Method || !strings.Contains(r.URL.Path, x.Path) ||
			x.While != nil && !x.While() {
			continue
		}
		if x.Skip > 0 {
			x.Skip--
			continue
		}
		if x.Times > 0 {
			x.Times--
		}
		if x.waiting++; x.waiting == x.Gather {
			close(x.full)
		}
		return x
	}
	return nil
}

func (x *fault) serve(w http.ResponseWriter, r *http.Request, api http.Handler) {
	if x.Apply {
		api.ServeHTTP(httptest.NewRecorder(), r)
	}
	switch {
	case x.Hang:
		<-r.Context().Done()
	case x.Hold != nil:
		x.Hold()
		api.ServeHTTP(w, r)
	case x.Gather > 0:
		select {
		case <-x.full:
			api.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	case x.Cut:
		// The server recovers from this panic value and closes the connection.
		panic(http.ErrAbortHandler)
	case x.Half, x.Short:
		x.halve(w, r, api)
	default:
		for name, value := range x.Header {
			w.Header().Set(name, value)
		}
		if x.Body == "" {
			refuse(w, x.Status, http.StatusText(x.Status))
			return
		}
		w.WriteHeader(x.Status)
		_, _ = w.Write([]byte(x.Body))
	}
}

// halve sends half of api's answer.
func (x *fault) halve(w http.ResponseWriter, r *http.Request, api http.Handler) {
	said := httptest.NewRecorder()
	api.ServeHTTP(said, r)
	maps.Copy(w.Header(), said.Header())
	body := said.Body.Bytes()
	if x.Short {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(said.Code)
	_, _ = w.Write(body[:len(body)/2])
	if x.Short {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}
