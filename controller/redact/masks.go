package redact

import (
	"maps"
	"strings"
	"sync"
)

// Masks replace texts that look like keys, each always by the same mask. The masks have
// the keys' form, so a case that forbids keys also fails with a mask. They are safe for
// concurrent use.
type Masks struct {
	mu    sync.Mutex
	known map[string]string // maps secrets to masks; guarded by mu
}

// Text masks texts that look like keys.
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

// Masker returns a function that masks keys found in earlier texts; nil if there are
// none.
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
