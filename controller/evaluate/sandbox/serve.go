package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// A Server is a program that listens until it is closed.
type Server struct {
	box  *Box
	run  *runningProgram
	stop context.CancelCauseFunc
	// done is closed when every process of the program has ended; cause is then set.
	done  chan struct{}
	cause string
	dial  func(ctx context.Context) (net.Conn, error)
}

// errClosed is why a program ends that is closed.
var errClosed = errors.New("it was closed")

// Serve starts a program that listens on a port of 127.0.0.1, and returns without waiting
// for it to do so. An isolated program without the network listens on a private interface,
// which only [Server.Dial] reaches. Limits.Time and Limits.Output do not apply. The caller
// calls Close; the program also ends with ctx.
func (b *Box) Serve(ctx context.Context, p Program, port int) (*Server, error) {
	if !b.hasOwnLoopback() && !b.sharesLoopback() {
		return nil, errors.New("the program listens, which takes a network namespace of its own, and this machine has none; the operator may allow programs the network")
	}
	p.port = port
	r, err := b.prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := b.missed(r); err != nil {
		r.close()
		return nil, err
	}
	s := &Server{box: b, run: r, done: make(chan struct{})}
	s.dial = func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	hangUp := func() {}
	if b.hasOwnLoopback() {
		if s.dial, hangUp, err = r.handOverConnections(); err != nil {
			r.close()
			return nil, err
		}
	}
	limited, stop := context.WithCancelCause(ctx)
	s.stop, r.stop = stop, stop
	go func() {
		defer close(s.done)
		defer r.close()
		defer hangUp()
		s.cause = b.start(limited, r)
		if cause := context.Cause(limited); cause != nil {
			s.cause = cause.Error()
		}
		stop(nil)
	}()
	return s, nil
}

// Dial connects to the program. It fails while the program does not listen.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	select {
	case <-s.done:
		return nil, s.Ended()
	default:
		return s.dial(ctx)
	}
}

// Done is closed when every process of the program has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Ended waits for the program's end and returns how it ended, with the last lines of its
// output: a [*Failure], or an [*UnseenError] if it looked for an invisible file.
func (s *Server) Ended() error {
	<-s.done
	if err := s.box.missed(s.run); err != nil {
		return err
	}
	cause := s.cause
	if cause == "" {
		cause = "it ended"
	}
	return s.box.failure(s.run, cause)
}

// Explained returns a failure of the program that still runs, with its last lines.
func (s *Server) Explained(cause string) *Failure { return s.box.failure(s.run, cause) }

// Stop ends the program for a reason, and returns as [Server.Ended] does.
func (s *Server) Stop(why string) error {
	s.stop(errors.New(why))
	return s.Ended()
}

// Close ends the program. Every process of it has ended when Close returns.
func (s *Server) Close() {
	s.stop(errClosed)
	<-s.done
}

// FreePort returns a port of 127.0.0.1 on which nobody listens.
func FreePort(ctx context.Context) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	_, text, err := net.SplitHostPort(listener.Addr().String())
	if err := errors.Join(err, listener.Close()); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return strconv.Atoi(text)
}
