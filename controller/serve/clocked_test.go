package serve_test

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// A clocked transport notes when each write is answered.
type clocked struct {
	inner http.RoundTripper

	mu  sync.Mutex
	all []time.Time // guarded by mu
}

// RoundTrip carries a request.
func (c *clocked) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.inner.RoundTrip(req)
	if req.Method != http.MethodGet {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, time.Now())
	}
	return resp, err
}

// begin forgets the earlier events.
func (c *clocked) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = nil
}

func (c *clocked) times() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}
