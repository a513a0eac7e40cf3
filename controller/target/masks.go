package target

import (
	"maps"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/redact"
)

// masks replace, in recordings that people commit, what looks like a key in a
// reply. They have its form, so that a case which forbids keys fails in a replay,
// too. They are safe for concurrent use.
type masks struct {
	mu    sync.Mutex
	known map[string]string // from the secret to its mask; guarded by mu
}

// reply masks a text of a reply.
func (m *masks) reply(text string) string {
	masked, found := redact.Masked(text)
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

// digest is that of the request which a replay makes, whose earlier replies are
// masked. A request that is not known as a whole keeps its own.
func (m *masks) digest(own string, req Request) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) == 0 || Digest(req) != own {
		return own
	}
	return Digest(redact.In(req, func(text string) string {
		for secret, mask := range m.known {
			text = strings.ReplaceAll(text, secret, mask)
		}
		return text
	}))
}
