//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serveAttacks answers requests with the outcome of every attack, and has a child that
// outlives it unless it is ended.
func serveAttacks(w weapon) {
	fmt.Println("a line on stdout")
	_ = exec.Command("sleep", os.Getenv("MARK")).Start()
	http.HandleFunc("/attacks", func(out http.ResponseWriter, _ *http.Request) {
		said := map[string]string{}
		for name, attack := range attacks() {
			said[name] = fmt.Sprint(attack(w))
		}
		_ = json.NewEncoder(out).Encode(said)
	})
	http.HandleFunc("/end", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "the last line")
		os.Exit(3)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
	os.Exit(1)
}

// serving starts the program with its attacks, and returns a client that reaches it.
func serving(ctx context.Context, t *testing.T, box *Box) (*Server, *http.Client, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := armed(t)
	in, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	port, err := FreePort(ctx)
	if err != nil {
		t.Fatal(err)
	}
	mark := fmt.Sprintf("3600.%d%d", os.Getpid(), port)
	shown := *box
	shown.policy.Read = []string{self}
	s, err := shown.Serve(ctx, Program{
		Argv: []string{self, attackArg, "serve"}, Tree: w.Tree, Stdin: in, Env: []string{"PORT=" + strconv.Itoa(port), "MARK=" + mark},
		Limits: Limits{Memory: 1 << 50},
	}, port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for {
		conn, err := s.Dial(ctx)
		if err == nil {
			conn.Close()
			break
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("connect: %v; %v", err, s.Stop("given up"))
		}
		time.Sleep(5 * time.Millisecond)
	}
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return s.Dial(ctx) },
	}}
	t.Cleanup(client.CloseIdleConnections)
	return s, client, mark
}

// TestServe reaches a program that listens, however it is restricted, and ends all of its
// processes.
func TestServe(t *testing.T) {
	for name, box := range modes(t) {
		t.Run(name, func(t *testing.T) {
			s, client, mark := serving(t.Context(), t, box)
			reply, err := client.Get("http://127.0.0.1/attacks")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(reply.Body)
			reply.Body.Close()
			said := map[string]string{}
			if err := errors.Join(err, json.Unmarshal(body, &said)); err != nil {
				t.Fatal(err)
			}
			if box.hasOwnLoopback() {
				if said["listen"] != "<nil>" {
					t.Errorf("listen: %s", said["listen"])
				}
				delete(said, "listen")
				for name, err := range said {
					if err == "<nil>" || err == "" {
						t.Errorf("%s succeeded in the sandbox", name)
					}
				}
			}
			s.Close()
			if left := withArgument(t, mark); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
			if _, err := s.Dial(t.Context()); err == nil {
				t.Error("a closed program was reached")
			}
		})
	}
}

// TestServeEndsWithItsContext ends the program when the context ends.
func TestServeEndsWithItsContext(t *testing.T) {
	for name, box := range modes(t) {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			s, _, mark := serving(ctx, t, box)
			stop()
			<-s.Done()
			if left := withArgument(t, mark); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

// TestAServerThatEnds says how it ended, with what it wrote.
func TestAServerThatEnds(t *testing.T) {
	for name, box := range modes(t) {
		t.Run(name, func(t *testing.T) {
			s, client, _ := serving(t.Context(), t, box)
			if reply, err := client.Get("http://127.0.0.1/end"); err == nil {
				reply.Body.Close()
			}
			err := s.Ended()
			for _, want := range []string{"exit status 3", "a line on stdout", "the last line"} {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("the error is %v, want one with %q", err, want)
				}
			}
		})
	}
}

// TestNobodyElseReachesAServer dials the port of an isolated program from outside.
func TestNobodyElseReachesAServer(t *testing.T) {
	box := isolated(t)
	if !box.hasOwnLoopback() {
		t.Skip("programs have no network namespace of their own here")
	}
	s, _, _ := serving(t.Context(), t, box)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.run.port)))
	if err == nil {
		conn.Close()
		t.Error("another process reached the program")
	}
}

// TestNoNamespaceToServeIn refuses to start a program that listens where it would get
// sockets of this machine.
func TestNoNamespaceToServeIn(t *testing.T) {
	box := boxes(t)["without namespaces"]
	_, err := box.Serve(t.Context(), Program{Argv: []string{"true"}, Tree: t.TempDir()}, 8000)
	if err == nil || !strings.Contains(err.Error(), "network namespace") {
		t.Errorf("the error is %v, want one that says what is missing", err)
	}
}

// TestServeMakesNoFolderInVain removes the scratch folder of a program that ended.
func TestServeMakesNoFolderInVain(t *testing.T) {
	box := isolated(t)
	s, err := box.Serve(t.Context(), Program{Argv: []string{"true"}, Tree: t.TempDir()}, 8000)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ended(); !strings.Contains(fmt.Sprint(err), "it ended") {
		t.Errorf("the error is %v, want that the program ended", err)
	}
	left, err := filepath.Glob(filepath.Join(box.policy.Scratch, "*scratch*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v are left (%v)", left, err)
	}
}
