package tracing

import "sync"

// Causes remember which trace asked first for what is due, until it is done. The zero
// value is ready and safe for concurrent use.
type Causes[K comparable] struct {
	mu sync.Mutex
	of map[K]string // guarded by mu
}

// Note notes the cause of what is due under a key, in the form of [Parent]. A cause
// that is there stays, and an empty one is not noted.
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

// Take removes the cause of a key and returns it for [Tracer.Root], empty where
// there is none.
func (c *Causes[K]) Take(key K) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	parent := c.of[key]
	delete(c.of, key)
	return parent
}
