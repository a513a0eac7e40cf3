package postgrestest

import (
	"errors"
	"net"
	"net/url"
	"sync"
	"testing"
)

// A Proxy is between a process and its database, and fails as a network does.
type Proxy struct {
	listener net.Listener
	socket   string

	mu     sync.Mutex
	cut    bool          // guarded by mu; see Cut
	silent chan struct{} // closed by Silence
	quiet  sync.Once
	conns  []net.Conn // guarded by mu
}

// Proxy listens on a loopback address until the test ends.
func (s *Server) Proxy(tb testing.TB) *Proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require(tb, err)
	p := &Proxy{listener: listener, socket: s.Socket(), silent: make(chan struct{})}
	var group sync.WaitGroup
	group.Go(func() { p.accept(&group) })
	tb.Cleanup(func() {
		_ = listener.Close()
		p.Silence()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		group.Wait()
	})
	return p
}

// URL is the address of a database of the server by way of the proxy.
func (p *Proxy) URL(tb testing.TB, database string) string {
	tb.Helper()
	u, err := url.Parse(database)
	require(tb, err)
	u.Host, u.RawQuery = p.listener.Addr().String(), url.Values{"sslmode": {"disable"}}.Encode()
	return u.String()
}

// Cut closes a connection in place of the next answer of the server, which has done by
// then what it was asked for.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
}

// Silence forwards nothing from now on, and closes no connection, as when a machine loses
// its power.
func (p *Proxy) Silence() { p.quiet.Do(func() { close(p.silent) }) }

func (p *Proxy) accept(group *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		group.Go(func() { p.forward(server, client, func() bool { return false }) })
		group.Go(func() { p.forward(client, server, p.cuts) })
	}
}

// cuts reports whether the answer at hand is the one to be lost.
func (p *Proxy) cuts() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut := p.cut
	p.cut = false
	return cut
}

// forward copies until one side closes or lost reports true, and then closes both.
func (p *Proxy) forward(to, from net.Conn, lost func() bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-p.silent:
			return
		default:
		}
		if err == nil && lost() {
			err = errors.New("lost")
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			_ = errors.Join(to.Close(), from.Close())
			return
		}
	}
}
