package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// A Loopback answers one program's HTTP requests on its loopback interface. An isolated
// program has a private interface: it reaches nothing else, and no other process
// reaches the Handler.
type Loopback struct {
	// Address is a text that nobody else knows or writes. Where the arguments or the
	// environment of the program have it, the program gets the address in its place, such
	// as http://127.0.0.1:40123.
	Address string
	// Handler is called until the program has ended; the contexts of open requests are
	// then cancelled.
	Handler http.Handler
}

// maxConnections bounds a program's simultaneous connections.
const maxConnections = 16

// replaceAddress returns words with a listener's address in the place of a text.
func replaceAddress(words []string, text string, at net.Addr) []string {
	replaced := make([]string, len(words))
	for i, word := range words {
		replaced[i] = strings.ReplaceAll(word, text, "http://"+at.String())
	}
	return replaced
}

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
		ErrorLog:    log.New(io.Discard, "", 0), // the program itself reports errors
	}
	server.Go(func() {
		_ = s.Serve(netutil.LimitListener(listener, maxConnections)) // until it is closed
	})
	return func() {
		cancel()
		_ = s.Close() // connections of an ended program
		server.Wait()
		requests.Wait()
	}
}

// share listens on this machine's loopback interface, for programs that may reach it.
func (r *runningProgram) share(ctx context.Context) (stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for what the program asks: %w", err)
	}
	r.Argv = replaceAddress(r.Argv, r.Loopback.Address, listener.Addr())
	r.Env = replaceAddress(r.Env, r.Loopback.Address, listener.Addr())
	return r.Loopback.serve(ctx, listener), nil
}

// listen answers the program's requests if this process alone can do it.
func (b *Box) listen(ctx context.Context, r *runningProgram) (stop func(), err error) {
	switch {
	case r.Loopback == nil || b.hasOwnLoopback():
		return func() {}, nil
	case !b.sharesLoopback():
		return nil, errors.New("the program may ask a model, which takes a network namespace of its own, and this machine has none; the operator may allow programs the network")
	}
	return r.share(ctx)
}

// sharesLoopback reports whether programs reach this machine's loopback interface.
func (b *Box) sharesLoopback() bool { return b.mode == Off || b.policy.Network || !canRefuseSockets }
