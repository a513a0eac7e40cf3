package redact

import (
	"maps"
	"strings"
	"sync"
)

// Masks replace what looks like a key, each time by the same mask. They have its form,
// so that a case which forbids keys fails with the mask, too. They are safe for
// concurrent use.
type Masks struct {
	mu    sync.Mutex
	known map[string]string // from the secret to its mask; guarded by mu
}

// Text masks what looks like a key in a text.
func (m *Masks) Text(text string) string {
	masked, found := Masked(text)
	if len(found) > 0 {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.known == nil {
			m.known = map[string]string{}
		}
		maps.Copy(m.known, found)
	}
	return masked
}

// Masker returns a function that masks what was masked before in other texts; nil if
// that is nothing.
func (m *Masks) Masker() func(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) == 0 {
		return nil
	}
	known := maps.Clone(m.known)
	return func(text string) string {
		for secret, mask := range known {
			text = strings.ReplaceAll(text, secret, mask)
		}
		return text
	}
}
