package tracing

import "sync"

// Causes map open work to the trace that requested it first. The zero value is ready
// and safe for concurrent use.
type Causes[K comparable] struct {
	mu sync.Mutex
	of map[K]string // guarded by mu
}

// Note records the cause of a key's work, in the form of [Parent]. An existing cause
// stays, and an empty one is ignored.
func (c *Causes[K]) Note(key K, parent string) {
	if parent == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[K]string{}
	}
	if _, there := c.of[key]; !there {
		c.of[key] = parent
	}
}

// Take removes the cause of a key and returns it for [Tracer.Root]; empty without one.
func (c *Causes[K]) Take(key K) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	parent := c.of[key]
	delete(c.of, key)
	return parent
}
