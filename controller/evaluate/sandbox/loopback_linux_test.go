//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/confine"
)

// ask is the answer to the program that asks.
func ask(url string) string {
	res, err := http.Post(url+"/invoke", "text/plain", strings.NewReader("how many?"))
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body) + errText(err)
}

func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// answering answers requests for as long as the test runs.
func answering(t *testing.T, handle http.HandlerFunc) weapon {
	w := armed(t)
	w.loopback = &Loopback{Address: "an address", Handler: handle}
	return w
}

// modes are a sandbox whose programs have a loopback interface for themselves, and
// those whose programs share this machine's.
func modes(t *testing.T) map[string]*Box {
	t.Helper()
	box := isolated(t)
	networked := *box
	networked.policy.Network = true
	off := *box
	off.mode = Off
	return map[string]*Box{"isolated": box, "with the network": &networked, "off": &off}
}

// TestAnswersAProgram has a program ask over HTTP.
func TestAnswersAProgram(t *testing.T) {
	for name, box := range modes(t) {
		t.Run(name, func(t *testing.T) {
			var asked, path string
			w := answering(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked, path = string(body), r.URL.Path
				_, _ = io.WriteString(w, "three")
			})
			said, err := attack(t.Context(), box, w, "ask")
			if err != nil || said != "three" {
				t.Errorf("the program got %q (%v), want the answer", said, err)
			}
			if asked != "how many?" || path != "/invoke" {
				t.Errorf("%s was asked for %q, want what the program sent", path, asked)
			}
		})
	}
}

// TestAttacksOfAProgramThatAsks has every attack fail for a program with a loopback
// interface, too: that is the only thing that it reaches.
func TestAttacksOfAProgramThatAsks(t *testing.T) {
	box := isolated(t)
	if !box.hasOwnLoopback() {
		t.Skip("programs have no network namespace of their own here")
	}
	w := answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	out, err := attack(t.Context(), box, w, "all")
	said := map[string]string{}
	if err := errors.Join(err, json.Unmarshal([]byte(out), &said)); err != nil {
		t.Fatal(err)
	}
	for name := range attacks() {
		if said[name] == "<nil>" || said[name] == "" {
			t.Errorf("%s succeeded in the sandbox", name)
		}
	}
	for _, name := range []string{"files that are open"} {
		if said, err := attack(t.Context(), box, w, name); err != nil || said != "" {
			t.Errorf("%s: the program says %q (%v), want nothing", name, said, err)
		}
	}
}

// TestNobodyElseReachesTheListener dials the port of the program's own interface
// from outside.
func TestNobodyElseReachesTheListener(t *testing.T) {
	box := isolated(t)
	if !box.hasOwnLoopback() {
		t.Skip("programs have no network namespace of their own here")
	}
	var outside error
	w := answering(t, func(w http.ResponseWriter, r *http.Request) {
		at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		var conn net.Conn
		if conn, outside = new(net.Dialer).DialContext(r.Context(), "tcp", at.String()); outside == nil {
			conn.Close()
		}
	})
	if _, err := attack(t.Context(), box, w, "ask"); err != nil {
		t.Fatal(err)
	}
	if outside == nil {
		t.Error("another process reached the listener of the program")
	}
}

// TestAProgramThatEndsWhileItAsks leaves no request behind.
func TestAProgramThatEndsWhileItAsks(t *testing.T) {
	for name, box := range modes(t) {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			var ended bool
			w := answering(t, func(_ http.ResponseWriter, r *http.Request) {
				stop() // which ends the program
				<-r.Context().Done()
				ended = true
			})
			_, err := attack(ctx, box, w, "hang up")
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v, want that the run was cancelled", err)
			}
			if !ended {
				t.Error("the request goes on after the program")
			}
		})
	}
}

// TestNoNamespaceToListenIn refuses to start a program that would have to get
// sockets of this machine for it.
func TestNoNamespaceToListenIn(t *testing.T) {
	box := boxes(t)["without namespaces"]
	w := answering(t, func(http.ResponseWriter, *http.Request) {})
	_, err := attack(t.Context(), box, w, "ask")
	if err == nil || !strings.Contains(err.Error(), "network namespace") {
		t.Errorf("the error is %v, want one that says what is missing", err)
	}
}

// TestProfileOfAProgramThatAsks gives sockets only to programs that ask.
func TestProfileOfAProgramThatAsks(t *testing.T) {
	for _, tt := range []struct {
		want confine.Profile
		s    spec
	}{
		{confine.Program, spec{}}, {confine.Loopback, spec{Loopback: "x"}}, {confine.Listener, spec{Port: 80}}, {confine.Client, spec{Loopback: "x", Network: true}},
	} {
		if got := tt.s.profile(); got != tt.want {
			t.Errorf("the profile of %+v is %v, want %v", tt.s, got, tt.want)
		}
	}
}
