package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestAbuseManyConnections opens more connections than a server keeps, all of which idle.
// Deliveries arrive in spite of them, and probes are asked at an address of their own.
func TestAbuseManyConnections(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	log, end := j.starting(t, operatorsFile(t, j, "probes: 127.0.0.1:0\n"))
	probes := "http://" + regexp.MustCompile(`"probes":"([^"]+)"`).FindStringSubmatch(log.await(t, `"probes":`))[1]
	base := log.listens(t)
	log.await(t, `"repo":"octo/demo#1","duration"`)
	for i := range 1100 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err = fmt.Fprint(conn, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"); err == nil {
			_, err = http.ReadResponse(bufio.NewReader(conn), nil)
		}
		if err != nil {
			t.Fatalf("connection %d is not answered: %v", i+1, err)
		}
	}
	if status := deliver(t, base+"/hooks", hookSecret); status != http.StatusAccepted {
		t.Errorf("a delivery is answered with %d", status)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if status, body := get(t, probes+path); status != http.StatusOK {
			t.Errorf("%s is %d %s at the address of probes", path, status, body)
		}
		if status, _ := get(t, base+path); status != http.StatusNotFound {
			t.Errorf("%s is %d at the address of strangers", path, status)
		}
	}
	if code := end(); code != exitPass {
		t.Errorf("the server ends with %d", code)
	}
}
