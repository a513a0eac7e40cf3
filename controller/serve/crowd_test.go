package serve

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAbuseConnections past a bound are closed, and there is room again when
// others end.
func TestAbuseConnections(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	server := httptest.NewUnstartedServer(handler)
	closed := make(chan struct{}, 10)
	crowd := &crowd{most: 2}
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		crowd.note(conn, state)
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	// ask sends a request over a connection of its own.
	ask := func() (net.Conn, bool) {
		t.Helper()
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // it may be closed already
		n, _ := conn.Read(make([]byte, 1))
		return conn, n > 0
	}
	for i, want := range []bool{true, true, false} {
		conn, answered := ask()
		defer conn.Close()
		if answered != want {
			t.Errorf("connection %d is answered: %v, want %v", i+1, answered, want)
		}
	}
	<-closed // the third
	server.CloseClientConnections()
	<-closed
	<-closed
	if conn, answered := ask(); !answered {
		t.Error("there is no room again")
	} else {
		conn.Close()
	}
}
