//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"context"
	"net"
	"runtime"
)

// canRefuseSockets means that programs without the network get no sockets.
const canRefuseSockets = false

// hasOwnLoopback reports whether programs have a loopback interface for themselves.
func (b *Box) hasOwnLoopback() bool { return false }

// handOverConnections is not needed where programs have no loopback interface of their own.
func (r *runningProgram) handOverConnections() (dial func(context.Context) (net.Conn, error), hangUp func(), err error) {
	return nil, func() {}, nil
}

func (b *Box) handOver(context.Context, string) error { return nil }

// room is unknown here.
func room(string) (int64, bool) { return 0, false }

// means are unavailable here.
type means struct{}

// ServeChild reports whether this package started this process, which happens only
// where programs can be restricted.
func ServeChild() bool { return false }

func probe(context.Context, Policy) (means, []string) {
	return means{}, []string{"there is nothing to isolate them with on " + runtime.GOOS + "/" + runtime.GOARCH}
}

// start runs the program to its end and returns its failure, if any.
func (b *Box) start(ctx context.Context, r *runningProgram) string { return startPlain(ctx, r) }

// canHide reports false: files cannot be hidden from programs here.
func (b *Box) canHide() bool { return false }
