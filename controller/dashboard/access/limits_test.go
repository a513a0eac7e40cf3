package access

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// A server counts its connections, and says of each change that it was noted.
type server struct {
	*testing.T
	*httptest.Server
	noted chan http.ConnState
}

func serving(t *testing.T, c *ConnectionLimit) *server {
	s := &server{T: t, Server: httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
		_, _ = io.WriteString(w, "ok")
	})), noted: make(chan http.ConnState, 100)}
	s.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		c.ConnState(conn, state)
		s.noted <- state
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// await waits for a connection to get into a state.
func (s *server) await(want http.ConnState) {
	s.Helper()
	for state := range s.noted {
		if state == want {
			return
		}
	}
}

// dial opens a connection, and asks for a path if there is one. It reports whether that
// is answered.
func (s *server) dial(path string) (conn net.Conn, answered bool) {
	s.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	if path == "" {
		s.await(http.StateNew)
		return conn, false
	}
	return conn, ask(conn, path)
}

func ask(conn net.Conn, path string) bool {
	_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path) // it may be closed already
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false
	}
	if path != "/stream" {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return err == nil
}

// TestAbuseConnections: the oldest idle connection gives way, and busy ones leave no room
// until they end.
func TestAbuseConnections(t *testing.T) {
	s := serving(t, &ConnectionLimit{All: 3, Each: 3})
	silent, _ := s.dial("")
	idle, _ := s.dial("/")
	s.await(http.StateIdle)
	_, streaming := s.dial("/stream")
	if !streaming {
		t.Fatal("three connections are too many")
	}
	if _, answered := s.dial("/stream"); !answered {
		t.Error("a silent connection keeps another one away")
	}
	if n, err := silent.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("the silent connection is still open")
	}
	last, answered := s.dial("/stream")
	if !answered {
		t.Error("an idle connection keeps another one away")
	}
	if ask(idle, "/") {
		t.Error("the idle connection is still open")
	}
	if _, answered := s.dial("/"); answered {
		t.Error("a connection is opened in spite of three busy ones")
	}
	last.Close()
	s.await(http.StateClosed)
	for {
		if _, answered := s.dial("/"); answered {
			break // the server has seen that the stream ended
		}
	}
}

// A stub is a connection from an address.
type stub struct {
	net.Conn
	from   string
	closed bool
}

func (s *stub) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s.from)) }
func (s *stub) Close() error         { s.closed = true; return nil }

// TestAbuseAnAddress: one that opens all it can has its share, and others are answered.
func TestAbuseAnAddress(t *testing.T) {
	c := &ConnectionLimit{All: 10, Each: 2, Proxied: func(a netip.Addr) bool { return a == netip.MustParseAddr("10.0.0.1") }}
	for _, tt := range []struct {
		from string
		busy bool
		want bool
	}{
		{"192.0.2.1:1", true, true},
		{"192.0.2.1:2", true, true},
		{"192.0.2.1:3", true, false},
		{"[2001:db8::1]:1", true, true},
		{"[2001:db8::2]:1", true, true},
		{"[2001:db8::3]:1", true, false}, // one network is one person's
		{"10.0.0.1:1", true, true},
		{"10.0.0.1:2", true, true},
		{"10.0.0.1:3", true, true},
		{"192.0.2.2:1", false, true},
		{"192.0.2.2:2", true, true},
		{"192.0.2.2:3", true, true}, // the idle one gives way
		{"192.0.2.2:4", true, false},
	} {
		conn := &stub{from: tt.from}
		c.ConnState(conn, http.StateNew)
		if tt.busy && !conn.closed {
			c.ConnState(conn, http.StateActive)
		}
		if conn.closed == tt.want {
			t.Errorf("%s is closed: %v, want %v", tt.from, conn.closed, !tt.want)
		}
		if conn.closed {
			c.ConnState(conn, http.StateClosed) // as the server says of it
		}
	}
	if len(c.open) != 9 || c.from[netip.MustParseAddr("192.0.2.1")] != 2 || c.from[netip.MustParseAddr("192.0.2.2")] != 2 {
		t.Errorf("%d are open, of addresses %v", len(c.open), c.from)
	}
}

// TestStreams of an address and of all are bounded, and end.
func TestStreams(t *testing.T) {
	l := &StreamLimit{All: 4, Each: 2, Proxied: func(a netip.Addr) bool { return a == netip.MustParseAddr("10.0.0.1") }}
	enter := func(from string) (func(), bool) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = from
		return l.Enter(r)
	}
	var leave []func()
	for _, tt := range []struct {
		from string
		want bool
	}{
		{"192.0.2.1:1", true}, {"[::ffff:192.0.2.1]:2", true}, {"192.0.2.1:3", false},
		{"[2001:db8::1]:1", true}, {"10.0.0.1:1", true}, {"192.0.2.2:1", false}, {"10.0.0.1:2", false},
	} {
		end, ok := enter(tt.from)
		if ok != tt.want {
			t.Errorf("a stream from %s: %v, want %v", tt.from, ok, tt.want)
		}
		if ok {
			leave = append(leave, end)
		}
	}
	leave[0]()
	leave[0]() // counts once
	if _, ok := enter("[2001:db8::2]:1"); !ok {
		t.Error("there is no room again")
	}
	if _, ok := enter("[2001:db8::3]:1"); ok {
		t.Error("a network of IPv6 has more than an address")
	}
	var none *StreamLimit
	if end, ok := none.Enter(httptest.NewRequest("GET", "/", nil)); !ok {
		t.Error("no bound refuses a stream")
	} else {
		end()
	}
}
