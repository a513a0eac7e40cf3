package crashguard

import (
	"context"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// forgotten is how long a head stays suspected if nobody judges it.
const forgotten = 90 * 24 * time.Hour

// A Head is a commit of a repository that is judged for a pull request, or for a branch
// if Pull is 0.
type Head struct {
	Repository int64
	Pull       int
	SHA        string
}

// Notes list in the ledger the heads that are being judged. A process that dies leaves
// its notes, and the next one suspects exactly those heads. They are safe for concurrent
// use.
type Notes struct {
	state *ledger.ServerState
	now   func() time.Time

	mu sync.Mutex
	// The fields below are guarded by mu.
	suspects map[Head]ledger.Suspect
	looking  map[Head]int // how many look at it in this process
}

// openNotes reads the notes of earlier processes.
func openNotes(ctx context.Context, state *ledger.ServerState, now func() time.Time) (*Notes, error) {
	n := &Notes{state: state, now: now, suspects: map[Head]ledger.Suspect{}, looking: map[Head]int{}}
	all, err := state.Suspects(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if now().Sub(s.Noted) > forgotten {
			if err := state.RemoveSuspect(ctx, s); err != nil {
				return nil, err
			}
			continue
		}
		n.suspects[Head{s.Repository, s.Pull, s.SHA}] = s
	}
	return n, nil
}

// write stores the suspicion of a head.
func (n *Notes) write(ctx context.Context, h Head, s ledger.Suspect) error {
	s.Repository, s.Pull, s.SHA, s.Noted = h.Repository, h.Pull, h.SHA, n.now()
	return n.state.AddSuspect(ctx, s)
}

func (n *Notes) remove(ctx context.Context, h Head) error {
	return n.state.RemoveSuspect(ctx, ledger.Suspect{Repository: h.Repository, Pull: h.Pull, SHA: h.SHA})
}

// Begin notes that a head is being judged. If the process dies before end is called, the
// next one suspects the head.
func (n *Notes) Begin(ctx context.Context, h Head) (end func() error, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.write(ctx, h, ledger.Suspect{}); err != nil {
		return nil, err
	}
	n.looking[h]++
	late := context.WithoutCancel(ctx)
	return sync.OnceValue(func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.looking[h]--; n.looking[h] > 0 {
			return nil
		}
		delete(n.looking, h)
		return n.remove(late, h)
	}), nil
}

// Suspected reports whether an earlier process died while it judged a head, how many
// children died of it since, and when the last one did.
func (n *Notes) Suspected(h Head) (suspected bool, ended int, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept, suspected := n.suspects[h]
	return suspected, kept.Ended, kept.At
}

// Count adds a child that died of a head.
func (n *Notes) Count(ctx context.Context, h Head, at time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept := n.suspects[h]
	kept.At = at
	kept.Ended++
	n.suspects[h] = kept
	return n.write(ctx, h, kept)
}

// Forgive begins the count of a head again.
func (n *Notes) Forgive(ctx context.Context, h Head) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.suspects[h] = ledger.Suspect{}
	return n.write(ctx, h, n.suspects[h])
}

// Clear ends the suspicion of a head.
func (n *Notes) Clear(ctx context.Context, h Head) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.suspects, h)
	if n.looking[h] > 0 {
		return nil
	}
	return n.remove(ctx, h)
}
