package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// connections is how many are open at most. Forges open few, and each costs
// memory before anything is known of it.
const connections = 1000

// Serve does what [Server.Run] does and answers HTTP meanwhile. It returns nil
// when ctx ends, and closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	web := &http.Server{
		Handler: handler, MaxHeaderBytes: 32 << 10, ConnState: (&crowd{most: connections}).note,
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

// A crowd bounds how many connections are open.
type crowd struct {
	most int64
	open atomic.Int64
}

// note counts a connection, and closes a new one where there are too many.
func (c *crowd) note(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if c.open.Add(1) > c.most {
			_ = conn.Close() // the server then finds it closed
		}
	case http.StateClosed, http.StateHijacked:
		c.open.Add(-1)
	}
}
