package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard/access"
)

// connections is how many are open at most. Forges open few, and each costs memory
// before anything is known about it. share is how many of them an address has, so that
// an address with many open connections keeps no other away.
const (
	connections = 1000
	share       = 200
)

// Serve does the work of [Server.Run] and answers HTTP at the same time. It returns nil
// when ctx ends, and closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	web := &http.Server{
		Handler: handler, MaxHeaderBytes: 32 << 10, ConnState: (&access.ConnectionLimit{All: connections, Each: share, Proxied: s.cfg.Proxied}).ConnState,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
	}
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		failed <- web.Serve(listener)
		cancel() // without webhooks and metrics it is incomplete
	}()
	err := s.Run(ctx)
	// Deliveries are only hints, so the end need not wait for them.
	err = errors.Join(err, web.Close())
	if broken := <-failed; !errors.Is(broken, http.ErrServerClosed) {
		return broken
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
