package main

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// serveHealth answers /healthz with 200 and /readyz by the result of ready: 200 for
// nil, and 503 with the text of an error. It returns its address. The caller calls end.
// The error means that the address is unavailable.
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

// handleHealth serves a handler in the same way as [serveHealth].
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
