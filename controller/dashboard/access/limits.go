package access

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// ConnectionLimit bounds the open connections of a server. Each address has a share, so
// that none can keep others away. It is safe for concurrent use.
type ConnectionLimit struct {
	// All bounds the total, and Each the share of an address.
	All, Each int
	// Proxied reports whether an address belongs to a proxy, which asks for many people and is
	// bounded by All alone. Defaults to none.
	Proxied func(netip.Addr) bool

	mu   sync.Mutex
	open map[net.Conn]*connection // guarded by mu
	from map[netip.Addr]int       // guarded by mu
	turn int64                    // guarded by mu; counts events
}

type connection struct {
	from netip.Addr
	// shares reports whether it counts towards the share of its address.
	shares bool
	// idle is the turn of its last request; 0 during a request.
	idle int64
}

// ConnState counts a connection; it is the ConnState of a [http.Server]. If there are too
// many, it closes the one that has been idle for the longest time, or the new one if none
// is idle.
func (c *ConnectionLimit) ConnState(conn net.Conn, state http.ConnState) {
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

// enter admits a connection and may close another one for it. The caller holds c.mu.
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
	_ = gone.Close() // no request is sent over it
	c.add(conn, g)
}

// oldest returns the connection that has been idle for the longest time, or nil. The
// caller holds c.mu.
func (c *ConnectionLimit) oldest(of func(*connection) bool) (found net.Conn) {
	for conn, g := range c.open {
		if g.idle > 0 && of(g) && (found == nil || g.idle < c.open[found].idle) {
			found = conn
		}
	}
	return found
}

// add counts a connection. The caller holds c.mu.
func (c *ConnectionLimit) add(conn net.Conn, g *connection) {
	c.open[conn] = g
	if g.shares {
		c.from[g.from]++
	}
}

// leave forgets a connection. The caller holds c.mu.
func (c *ConnectionLimit) leave(conn net.Conn) {
	g := c.open[conn]
	if g == nil {
		return // it is closed already
	}
	delete(c.open, conn)
	if !g.shares {
		return
	}
	if c.from[g.from]--; c.from[g.from] == 0 {
		delete(c.from, g.from)
	}
}

// StreamLimit bounds the open streams of events. Each address has a share. It is safe for
// concurrent use.
type StreamLimit struct {
	// All bounds the total, and Each the share of an address.
	All, Each int
	// Proxied reports whether an address belongs to a proxy, which asks for many people and is
	// bounded by All alone. Defaults to none.
	Proxied func(netip.Addr) bool

	mu   sync.Mutex
	open int                // guarded by mu
	from map[netip.Addr]int // guarded by mu
}

// Enter counts a stream until leave is called. It reports false if there are too many. A
// nil limit admits all.
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

// remoteAddress parses the address of the other end of a connection.
func remoteAddress(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// personAddress returns the address that stands for all addresses of one person: with IPv6,
// everybody has a whole network.
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
