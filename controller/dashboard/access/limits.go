package access

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// ConnectionLimit bounds how many connections a server has open. It is safe for concurrent
// use.
type ConnectionLimit struct {
	// All is how many there are, and Each how many an address has.
	All, Each int
	// Proxied reports whether an address is a proxy's, which asks for many people and is
	// bounded by All alone. Defaults to none.
	Proxied func(netip.Addr) bool

	mu   sync.Mutex
	open map[net.Conn]*connection // guarded by mu
	from map[netip.Addr]int       // guarded by mu
	turn int64                    // guarded by mu; counts what happens
}

// A guest is an open connection.
type connection struct {
	from netip.Addr
	// shares says that it counts for the share of its address.
	shares bool
	// idle is the turn since which nothing is asked over it; 0 while something is.
	idle int64
}

// Note counts a connection; it is a [http.Server.ConnState]. Where there are too many, the one that has been idle for the
// longest time gives way; if none is idle, the new one does.
func (c *ConnectionLimit) Note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	g := c.open[conn]
	switch state {
	case http.StateNew:
		c.enter(conn)
	case http.StateActive:
		if g != nil {
			g.idle = 0
		}
	case http.StateIdle:
		if g != nil {
			g.idle = c.turn
		}
	case http.StateClosed, http.StateHijacked:
		c.leave(conn)
	}
}

// enter lets a connection in, for which another one may have to go. c.mu is held.
func (c *ConnectionLimit) enter(conn net.Conn) {
	if c.open == nil {
		c.open, c.from = map[net.Conn]*connection{}, map[netip.Addr]int{}
	}
	addr := remoteAddress(conn.RemoteAddr().String())
	g := &connection{from: personAddress(addr), shares: c.Proxied == nil || !c.Proxied(addr), idle: c.turn}
	var gone net.Conn
	switch {
	case g.shares && c.from[g.from] >= c.Each:
		gone = c.oldest(func(other *connection) bool { return other.shares && other.from == g.from })
	case len(c.open) >= c.All:
		gone = c.oldest(func(*connection) bool { return true })
	default:
		c.add(conn, g)
		return
	}
	if gone == nil {
		_ = conn.Close() // the server then finds it closed
		return
	}
	c.leave(gone)
	_ = gone.Close() // nothing is asked over it
	c.add(conn, g)
}

// oldest is the connection that has been idle for the longest time; nil for none. c.mu is
// held.
func (c *ConnectionLimit) oldest(of func(*connection) bool) (found net.Conn) {
	for conn, g := range c.open {
		if g.idle > 0 && of(g) && (found == nil || g.idle < c.open[found].idle) {
			found = conn
		}
	}
	return found
}

// add counts a connection. c.mu is held.
func (c *ConnectionLimit) add(conn net.Conn, g *connection) {
	c.open[conn] = g
	if g.shares {
		c.from[g.from]++
	}
}

// leave forgets a connection. c.mu is held.
func (c *ConnectionLimit) leave(conn net.Conn) {
	g := c.open[conn]
	if g == nil {
		return // it was closed before
	}
	delete(c.open, conn)
	if !g.shares {
		return
	}
	if c.from[g.from]--; c.from[g.from] == 0 {
		delete(c.from, g.from)
	}
}

// StreamLimit bounds how many streams of events there are at once. It is safe for concurrent use.
type StreamLimit struct {
	// All is how many there are, and Each how many an address has.
	All, Each int
	// Proxied reports whether an address is a proxy's, which asks for many people and is
	// bounded by All alone. Defaults to none.
	Proxied func(netip.Addr) bool

	mu   sync.Mutex
	open int                // guarded by mu
	from map[netip.Addr]int // guarded by mu
}

// Enter counts a stream until leave. It reports false where there are too many. A nil
// value has no bound.
func (l *StreamLimit) Enter(r *http.Request) (leave func(), ok bool) {
	if l == nil {
		return func() {}, true
	}
	addr := remoteAddress(r.RemoteAddr)
	from := personAddress(addr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.All || l.from[from] >= l.Each && (l.Proxied == nil || !l.Proxied(addr)) {
		return nil, false
	}
	if l.from == nil {
		l.from = map[netip.Addr]int{}
	}
	l.open++
	l.from[from]++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open--
		if l.from[from]--; l.from[from] == 0 {
			delete(l.from, from)
		}
	}), true
}

// remoteAddress is the address of the other end of a connection, by its text.
func remoteAddress(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// person is the address that one person's addresses count as: of IPv6, everybody has a
// whole network.
func personAddress(addr netip.Addr) netip.Addr {
	const network = 64
	if !addr.Is6() {
		return addr
	}
	of, err := addr.Prefix(network)
	if err != nil {
		return addr
	}
	return of.Addr()
}
