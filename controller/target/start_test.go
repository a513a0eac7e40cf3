package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
)

// TestAgentProcess is the agent that the tests of this file start: its last argument is the
// port, and AGENT says how it behaves.
func TestAgentProcess(t *testing.T) {
	how := os.Getenv("AGENT")
	if how == "" {
		t.Skip("it is started by other tests")
	}
	port := os.Args[len(os.Args)-1]
	fmt.Println("a line with", os.Getenv("AGENT_TOKEN"))
	switch how {
	case "ends":
		fmt.Fprintln(os.Stderr, "KeyError: environment variable MODEL_KEY", os.Getenv("AGENT_TOKEN"))
		os.Exit(3)
	case "deaf":
		time.Sleep(time.Hour)
	}
	var looks atomic.Int32
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		if how == "slow" && looks.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/ask", func(w http.ResponseWriter, _ *http.Request) {
		if how == "breaks" {
			fmt.Fprintln(os.Stderr, "the line before it: environment variable MODEL_KEY", os.Getenv("AGENT_TOKEN"))
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if how == "dies" {
			fmt.Fprintln(os.Stderr, "out of words")
			os.Exit(4)
		}
		fmt.Fprintf(w, `{"messages": [{"role": "assistant", "content": "%s after %d looks, PORT %t"}]}`, how, looks.Load(), os.Getenv("PORT") == port)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+port, nil))
	os.Exit(1)
}

// agentTarget is a target whose agent behaves as how says.
func agentTarget(t *testing.T) config.Target {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return config.Target{
		Name: "bot", Provider: config.HTTP, URL: "http://127.0.0.1:{port}/ask", Env: []string{"AGENT", "AGENT_TOKEN"},
		Argv: []string{self, "-test.run=^TestAgentProcess$", "{port}"}, StartTime: 30 * time.Second,
	}
}

// started starts an agent and asks it once.
func started(t *testing.T, cfg config.Target, how string) (Target, Reply, error) {
	t.Helper()
	env := Env{Dir: t.TempDir(), Programs: unboxed(t, t.TempDir()), Lookup: func(name string) (string, bool) {
		value, ok := map[string]string{"AGENT": how, "AGENT_TOKEN": "not-for-errors"}[name]
		return value, ok
	}}
	process, err := Start(t.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Close() })
	env.Process, env.Transport = process, process.Transport()
	bot, err := New(cfg, env)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := bot.Respond(t.Context(), user("Hello"))
	return bot, reply, err
}

// TestStart asks an agent once it is ready: when it listens, or when ready answers.
func TestStart(t *testing.T) {
	for _, tt := range []struct{ ready, how, want string }{
		{"", "answers", "answers after 0 looks, PORT true"},
		{"http://127.0.0.1:{port}/health", "slow", "slow after 3 looks, PORT true"},
	} {
		cfg := agentTarget(t)
		cfg.Ready = tt.ready
		_, reply, err := started(t, cfg, tt.how)
		if err != nil || reply.Messages[0].Content != tt.want {
			t.Errorf("the agent says %+v (%v), want %q", reply.Messages, err, tt.want)
		}
	}
}

// TestStartFails: the reason why an agent does not answer has its last lines without
// secrets, and the repair, and nobody waits for another try.
func TestStartFails(t *testing.T) {
	for _, tt := range []struct {
		how   string
		ready string
		time  time.Duration
		want  []string
	}{
		{"ends", "", 0, []string{"the agent did not start", "exit status 3", "a line with [redacted]", "write env: [MODEL_KEY] at the target"}},
		{"deaf", "", 2 * time.Second, []string{"the agent did not start", "it was not ready within 2s (connect: connection refused)", "a line with [redacted]", "the port that {port} in argv and PORT name", "set timeout below start"}},
		{"answers", "http://127.0.0.1:{port}/nothing", 2 * time.Second, []string{"it was not ready within 2s (ready answers with the status 404)", "correct the path of ready below start"}},
		{"breaks", "", 0, []string{"500 Internal Server Error", "the line before it", "write env: [MODEL_KEY] at the target"}},
		{"dies", "", 0, []string{"the agent has ended", "exit status 4", "out of words"}},
	} {
		t.Run(tt.how, func(t *testing.T) {
			cfg := agentTarget(t)
			cfg.Ready, cfg.StartTime = tt.ready, cmp.Or(tt.time, cfg.StartTime)
			bot, _, err := started(t, cfg, tt.how)
			for range 2 { // each request gets it
				var fault *Error
				if !errors.As(err, &fault) || fault.Retry != (fault.Status == http.StatusInternalServerError) {
					t.Fatalf("the error is %v, want one of the target, which is final unless it runs", err)
				}
				for _, want := range tt.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("the error is %q, want one with %q", err, want)
					}
				}
				if strings.Contains(err.Error(), "not-for-errors") {
					t.Errorf("the error %q has a secret", err)
				}
				_, err = bot.Respond(t.Context(), user("Hello"))
			}
		})
	}
}

// TestStartIsCancelled ends an agent that is not ready when the run is cancelled.
func TestStartIsCancelled(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	_, err := Start(ctx, agentTarget(t), Env{Dir: t.TempDir(), Programs: unboxed(t, t.TempDir()), Lookup: func(string) (string, bool) { return "deaf", true }})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, want the end of the context", err)
	}
}

// TestStartNeedsItsEnvironment refuses an agent whose variable is not set.
func TestStartNeedsItsEnvironment(t *testing.T) {
	_, err := Start(t.Context(), agentTarget(t), Env{Dir: t.TempDir(), Programs: unboxed(t, t.TempDir()), Lookup: func(string) (string, bool) { return "", false }})
	if err == nil || !strings.Contains(err.Error(), "environment variable AGENT (env) is not set") {
		t.Errorf("the error is %v, want one that names the variable", err)
	}
}
