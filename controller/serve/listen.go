package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/gavel-evals/gavel/controller/dashboard/access"
)

// connections is how many are open at most. Forges open few, and each costs
// memory before anything is known of it. share is how many of them an address has, so
// that one that opens all it can keeps nobody else away.
const (
	connections = 1000
	share       = 200
)

// Serve does what [Server.Run] does and answers HTTP meanwhile. It returns nil
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
		cancel() // without webhooks and metrics it is not what was asked for
	}()
	err := s.Run(ctx)
	// Deliveries are only hints, so that none has to be waited for.
	err = errors.Join(err, web.Close())
	if broken := <-failed; !errors.Is(broken, http.ErrServerClosed) {
		return broken
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
