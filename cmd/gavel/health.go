package main

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// serveHealth answers /healthz with 200 and everything else as ready says: 200 for nil on
// /readyz, and 503 with the text of an error. It returns the address that it listens
// on. The caller calls end. The error says that nobody can listen there.
func serveHealth(address string, ready func() error) (at net.Addr, end func(), err error) {
	return handleHealth(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		why := ready()
		switch {
		case r.URL.Path == "/healthz":
			fmt.Fprintln(w, "ok")
		case why != nil:
			http.Error(w, why.Error(), http.StatusServiceUnavailable)
		case r.URL.Path == "/readyz":
			fmt.Fprintln(w, "ready")
		default:
			http.NotFound(w, r)
		}
	}))
}

// handleHealth answers requests with a handler, as [serveHealth] does with its own.
func handleHealth(address string, handler http.Handler) (at net.Addr, end func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	server := &http.Server{
		Handler: handler, MaxHeaderBytes: 32 << 10,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // until it is closed
	}()
	return listener.Addr(), func() { _ = server.Close(); <-ended }, nil
}
