package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// A Loopback answers what one program asks over HTTP on its loopback interface.
// An isolated program has that interface for itself: it reaches nothing else, and
// nobody else reaches the Handler.
type Loopback struct {
	// Variable is the name of the variable of the program's environment that has
	// the address, such as http://127.0.0.1:40123.
	Variable string
	// Handler is called until the program has ended; the contexts of requests that
	// are left then are cancelled.
	Handler http.Handler
}

// maxConnections bounds how many connections a program has at once.
const maxConnections = 16

// addressOf is a variable of an environment with the address of a listener.
func addressOf(variable string, at net.Addr) string { return variable + "=http://" + at.String() }

// serve answers requests until stop is called, which returns after the last one.
func (l *Loopback) serve(ctx context.Context, listener net.Listener) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var requests, server sync.WaitGroup
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			defer requests.Done()
			l.Handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0), // a program says what goes wrong itself
	}
	server.Go(func() {
		_ = s.Serve(netutil.LimitListener(listener, maxConnections)) // until it is closed
	})
	return func() {
		cancel()
		_ = s.Close() // connections of a program that has ended
		server.Wait()
		requests.Wait()
	}
}

// share listens on the loopback interface of this machine, for programs that are
// not kept from it.
func (r *runningProgram) share(ctx context.Context) (stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for what the program asks: %w", err)
	}
	r.Env = append(r.Env, addressOf(r.Loopback.Variable, listener.Addr()))
	return r.Loopback.serve(ctx, listener), nil
}

// listen has what the program asks answered, as far as that is done by this
// process alone.
func (b *Box) listen(ctx context.Context, r *runningProgram) (stop func(), err error) {
	switch {
	case r.Loopback == nil || b.hasOwnLoopback():
		return func() {}, nil
	case !b.sharesLoopback():
		return nil, errors.New("the program may ask a model, which takes a network namespace of its own, and this machine has none; the operator may allow programs the network")
	}
	return r.share(ctx)
}

// sharesLoopback reports whether programs reach the loopback interface of this
// machine.
func (b *Box) sharesLoopback() bool { return b.mode == Off || b.policy.Network || !canRefuseSockets }
