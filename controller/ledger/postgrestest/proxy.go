package postgrestest

import (
	"errors"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// A Proxy is between a process and its database, and fails as a network does.
type Proxy struct {
	listener net.Listener
	socket   string

	mu     sync.Mutex
	moved  *sync.Cond
	cut    bool          // guarded by mu; see Cut
	silent bool          // guarded by mu; see Silence
	delay  time.Duration // guarded by mu; see Delay
	conns  []net.Conn    // guarded by mu
}

// Proxy listens on a loopback address until the test ends.
func (s *Server) Proxy(tb testing.TB) *Proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require(tb, err)
	p := &Proxy{listener: listener, socket: s.Socket()}
	p.moved = sync.NewCond(&p.mu)
	var group sync.WaitGroup
	group.Go(func() { p.accept(&group) })
	tb.Cleanup(func() {
		_ = listener.Close()
		p.Resume()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		group.Wait()
	})
	return p
}

// URL returns the address of a database of the server through the proxy.
func (p *Proxy) URL(tb testing.TB, database string) string {
	tb.Helper()
	u, err := url.Parse(database)
	require(tb, err)
	u.Host, u.RawQuery = p.listener.Addr().String(), url.Values{"sslmode": {"disable"}}.Encode()
	return u.String()
}

// Cut closes a connection in place of the server's next answer, when the server has
// already done its work.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
}

// IsCutting reports whether no answer has come since Cut.
func (p *Proxy) IsCutting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// Delay makes each answer of the server take longer by d from now on. Requests still
// reach it at once.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Silence forwards nothing from now on, and closes no connection, as when a machine loses
// its network.
func (p *Proxy) Silence() { p.quiet(true) }

// Resume forwards again, beginning with the data that was held back.
func (p *Proxy) Resume() { p.quiet(false) }

func (p *Proxy) quiet(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = silent
	p.moved.Broadcast()
}

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
		group.Go(func() { p.forward(server, client, false) })
		group.Go(func() { p.forward(client, server, true) })
	}
}

// pass waits while nothing is forwarded, and reports whether the current data is an
// answer that is to be lost.
func (p *Proxy) pass(answer bool) (lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.delay; answer && d > 0 {
		p.mu.Unlock()
		time.Sleep(d)
		p.mu.Lock()
	}
	for p.silent {
		p.moved.Wait()
	}
	lost = p.cut && answer
	p.cut = p.cut && !lost
	return lost
}

// forward copies answers or requests until one side closes, and then closes both.
func (p *Proxy) forward(to, from net.Conn, answers bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if p.pass(answers && n > 0) {
			err = errLost
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

var errLost = errors.New("the answer is lost")
