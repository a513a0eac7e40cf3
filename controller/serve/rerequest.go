package serve

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/review"
)

// rerequested makes due whatever a commit was judged for, and has its check run
// completed anew.
func (s *Server) rerequested(repo *repository, h forge.Hint) {
	due := map[Key]bool{}
	for _, number := range append(s.memory.pulls(repo.known, h.Rerequested), h.Number) {
		due[Key{Repository: repo.id, Pull: number}] = number != 0
	}
	due[Key{Repository: repo.id, Branch: h.Branch}] = repo.follows(h.Branch)
	for key, wanted := range due {
		if wanted {
			s.again.Store(key, true)
			s.loop.Add(key)
		}
	}
}

// pulls are the pull requests for which a commit was judged.
func (m *memory) pulls(repository, head string) []int {
	repository = strings.ToLower(repository)
	m.mu.Lock()
	defer m.mu.Unlock()
	var numbers []int
	for p := range m.runs {
		if p.repository == repository && p.head == head && p.number != 0 {
			numbers = append(numbers, p.number)
		}
	}
	return numbers
}

// answer tells a review that somebody asked for its check run. What comes of it
// is told to the function that it gives: an error leaves the wish open.
func (s *Server) answer(key Key, r *review.Review) (done func(error)) {
	if _, asked := s.again.LoadAndDelete(key); !asked {
		return func(error) {}
	}
	r.Rerequested()
	return func(err error) {
		if err != nil {
			s.again.Store(key, true)
		}
	}
}
