package target

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

// A subject is a provider under the conformance test: how to open a target that says
// "Hi." to "Hello", one that never answers, and one that fails with the credential in
// its message. The latter two are nil if they are impossible.
type subject struct {
	good, stuck, leaky func(t *testing.T) Target
	// traced reports whether the good target's tool calls are known.
	traced bool
}

func subjects() map[string]subject {
	overHTTP := func(cfg config.Target, handler http.HandlerFunc) func(t *testing.T) Target {
		return func(t *testing.T) Target {
			srv, env := serve(t, handler)
			cfg.URL, cfg.BaseURL, cfg.APIKeyEnv, cfg.Model = srv.URL, srv.URL, testKeyEnv, "small-1"
			return openTest(t, cfg, env)
		}
	}
	stuck := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		<-r.Context().Done()
	}
	leaky := status(400, complains("you sent Bearer "+testKey))
	sh := func(script string) func(t *testing.T) Target {
		return func(t *testing.T) Target { return shell(t, script, testKeyEnv) }
	}
	model := config.Target{Provider: "openai"}
	responses := config.Target{Provider: "openai", API: "responses"}
	gemini := config.Target{Provider: "gemini"}
	claude := config.Target{Provider: "anthropic"}
	agent := config.Target{Provider: "http"}
	return map[string]subject{
		"openai chat":      {overHTTP(model, status(200, chatReply)), overHTTP(model, stuck), overHTTP(model, leaky), true},
		"openai responses": {overHTTP(responses, status(200, responsesReply)), overHTTP(responses, stuck), overHTTP(responses, leaky), true},
		"gemini":           {overHTTP(gemini, status(200, geminiReply)), overHTTP(gemini, stuck), overHTTP(gemini, leaky), true},
		"anthropic":        {overHTTP(claude, status(200, anthropicReply)), overHTTP(claude, stuck), overHTTP(claude, leaky), true},
		"http":             {overHTTP(agent, status(200, agentHi)), overHTTP(agent, stuck), overHTTP(agent, leaky), true},
		"command":          {sh(`cat >/dev/null; echo Hi.`), sh(`sleep 600`), sh(`echo "key $` + testKeyEnv + `" >&2; exit 3`), false},
		"mock": {good: func(t *testing.T) Target {
			return openTest(t, config.Target{Provider: "mock", Replies: []config.MockReply{{Match: "^Hello$", Reply: "Hi."}}}, Env{})
		}, traced: true},
		"replay": {good: func(t *testing.T) Target {
			line := `{"request":"` + Digest(user("Hello")) + `","sample":0,"occurrence":0,"reply":{"messages":[{"role":"assistant","content":"Hi."}],"traced":true,"usage":{"calls":1}},"case":"shop/refund","about":"user: Hello"}`
			return openTest(t, config.Target{Provider: "replay", Path: "rec.jsonl"}, Env{Files: fstest.MapFS{"rec.jsonl": {Data: []byte(line)}}})
		}, traced: true},
	}
}

// TestConformance holds what every target must do.
func TestConformance(t *testing.T) {
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) {
			t.Run("answers", func(t *testing.T) { conformAnswer(t, s) })
			t.Run("concurrent use", func(t *testing.T) { conformConcurrent(t, s.good(t)) })
			t.Run("context that is over", func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				checkCancelled(t, s.good(t), ctx)
			})
			if s.stuck != nil {
				t.Run("cancelled call", func(t *testing.T) { conformCancel(t, s.stuck(t)) })
			}
			if s.stuck != nil {
				t.Run("call out of time", func(t *testing.T) { conformTimeout(t, s.stuck(t)) })
			}
			if s.leaky != nil {
				t.Run("no secret in errors", func(t *testing.T) { conformSecret(t, s.leaky(t)) })
			}
		})
	}
}

func conformAnswer(t *testing.T, s subject) {
	reply, err := s.good(t).Respond(t.Context(), user("Hello"))
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.Message{{Role: schema.RoleAssistant, Content: "Hi."}}
	if diff := cmp.Diff(want, reply.Messages); diff != "" {
		t.Error(diff)
	}
	if reply.Usage.Calls != 1 || reply.Usage.CostUSD != 0 || reply.Usage.Unpriced != 0 {
		t.Errorf("usage %+v, want one call without a price", reply.Usage)
	}
	if reply.Traced != s.traced {
		t.Errorf("traced %v, want %v", reply.Traced, s.traced)
	}
}

func conformConcurrent(t *testing.T, target Target) {
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			reply, err := target.Respond(t.Context(), user("Hello"))
			if err != nil {
				t.Error(err)
				return
			}
			// A reply belongs to who got it.
			reply.Messages[0].Content += " changed"
			if reply.Messages[0].Content != "Hi. changed" {
				t.Errorf("got %q", reply.Messages[0].Content)
			}
		})
	}
	group.Wait()
}

// conformCancel ends the context of a call that would never end by itself: the
// test hangs when the target does not give up.
func conformCancel(t *testing.T, target Target) {
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(20*time.Millisecond, cancel)
	defer timer.Stop()
	checkCancelled(t, target, ctx)
}

// conformTimeout returns a call that would never end an end.
func conformTimeout(t *testing.T, target Target) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := target.Respond(ctx, user("Hello"))
	var fault *Error
	if !errors.As(err, &fault) || !errors.Is(err, context.DeadlineExceeded) || !fault.Retry {
		t.Errorf("got %v, want an *Error of a deadline that may be retried", err)
	}
}

func checkCancelled(t *testing.T, target Target, ctx context.Context) {
	t.Helper()
	_, err := target.Respond(ctx, user("Hello"))
	var fault *Error
	if !errors.As(err, &fault) || !errors.Is(err, context.Canceled) || fault.Retry {
		t.Errorf("got %v, want a final *Error of a cancelled context", err)
	}
}

func conformSecret(t *testing.T, target Target) {
	_, err := target.Respond(t.Context(), user("Hello"))
	var fault *Error
	if !errors.As(err, &fault) || fault.Retry {
		t.Fatalf("got %v, want a final *Error", err)
	}
	if strings.Contains(err.Error(), testKey) || !strings.Contains(err.Error(), Redacted) {
		t.Errorf("got %q", err)
	}
	if fault.Err != nil {
		t.Errorf("the unscrubbed cause is within reach: %v", fault.Err)
	}
}

func TestNew(t *testing.T) {
	tests := []struct {
		name string
		cfg  config.Target
		env  Env
		want string
	}{
		{"provider", config.Target{Provider: "open-ai"}, Env{}, "open target t: there is no provider \"open-ai\"; did you mean `openai`?"},
		{"anthropic without model", config.Target{Provider: "anthropic"}, Env{}, "model is not set"},
		{"anthropic without key", config.Target{Provider: "anthropic", Model: "m", APIKeyEnv: "UNSET"}, Env{}, "environment variable UNSET"},
		{"anthropic, own field", config.Target{Provider: "anthropic", Model: "m", Parameters: raw("system", `"x"`)}, Env{}, "parameter system cannot be configured"},
		{"anthropic, format", config.Target{Provider: "anthropic", Model: "m", Parameters: raw("output_config", `{"format":{}}`)}, Env{}, "output_config.format cannot be configured"},
		{"gemini without model", config.Target{Provider: "gemini"}, Env{}, "model is not set"},
		{"gemini, own field", config.Target{Provider: "gemini", Model: "m", Parameters: raw("response_format", `[]`)}, Env{}, "parameter response_format cannot be configured"},
		{"no provider", config.Target{}, Env{}, `there is no provider ""`},
		{"http without url", config.Target{Provider: "http"}, Env{}, "url is not an http or https URL"},
		{"http without key", config.Target{Provider: "http", URL: "http://h", APIKeyEnv: "UNSET"}, Env{}, "environment variable UNSET"},
		{"template without commit", config.Target{Provider: "http", URLTemplate: "http://{sha}.h"}, Env{PullRequest: "7"}, "url_template has {sha}, but there is not a commit"},
		{"template without pull request", config.Target{Provider: "http", URLTemplate: "http://{pr}.h"}, Env{}, "{pr}"},
		{"command without a sandbox", config.Target{Provider: "command", Argv: []string{"sh"}}, Env{Dir: "."}, "there is no sandbox"},
		{"command without argv", config.Target{Provider: "command"}, Env{Dir: "."}, "argv is empty"},
		{"command without folder", config.Target{Provider: "command", Argv: []string{"sh"}}, Env{}, "no folder"},
		{"command without variable", config.Target{Provider: "command", Argv: []string{"sh"}, Env: []string{"UNSET"}}, Env{Dir: "."}, "environment variable UNSET (env) is not set"},
		{"command not on the path", config.Target{Provider: "command", Argv: []string{"gavel-no-such-program"}}, Env{Dir: "."}, "no program gavel-no-such-program in /usr/local/bin:/usr/bin:/bin"},
		{"command not in the folder", config.Target{Provider: "command", Argv: []string{"./planner"}}, Env{Dir: "."}, "argv: ./planner is not there"},
		{"mock without replies", config.Target{Provider: "mock"}, Env{}, "replies is empty"},
		{"mock with a bad pattern", config.Target{Provider: "mock", Replies: []config.MockReply{{}, {Match: "(a"}}}, Env{}, "replies[1].match: "},
		{"replay without path", config.Target{Provider: "replay"}, Env{Files: fstest.MapFS{}}, "path is not set"},
		{"replay without repository", config.Target{Provider: "replay", Path: "a"}, Env{}, "no repository"},
		{"replay without file", config.Target{Provider: "replay", Path: "./rec/a.jsonl"}, Env{Files: fstest.MapFS{}}, "recording rec/a.jsonl does not exist; gavel run --record writes it"},
		{"replay outside", config.Target{Provider: "replay", Path: "../a"}, Env{Files: os.DirFS(filepath.Join(t.TempDir(), "x"))}, "recording: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Name = "t"
			if tt.name != "command without a sandbox" {
				tt.env.Programs = unboxed(t, "")
			}
			_, err := New(tt.cfg, tt.env)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestLatency is the time from sending to the last byte, by the clock that is
// handed in.
func TestLatency(t *testing.T) {
	srv, env := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body := agentHi
		switch r.URL.Path {
		case "/v1/chat/completions":
			body = chatReply
		case "/v1/messages":
			body = anthropicReply
		}
		io.WriteString(w, body)
	})
	now := clock()
	env.Now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	env.Dir, env.Programs = t.TempDir(), unboxed(t, t.TempDir())
	for _, cfg := range []config.Target{
		{Provider: "openai", Model: "m", BaseURL: srv.URL + "/v1"},
		{Provider: "anthropic", Model: "m", BaseURL: srv.URL},
		{Provider: "http", URL: srv.URL},
		{Provider: "command", Argv: []string{"echo", "Hi."}},
	} {
		reply, err := openTest(t, cfg, env).Respond(t.Context(), user("Hello"))
		if err != nil {
			t.Fatal(err)
		}
		if reply.Latency != time.Second {
			t.Errorf("%s: latency %s, want 1s", cfg.Provider, reply.Latency)
		}
	}
}

// TestAMockSaysOtherwiseAgain holds that further measurements get other replies, in
// turn, and that the first one is always the same.
func TestAMockSaysOtherwiseAgain(t *testing.T) {
	cfg := config.Target{Provider: config.Mock, Replies: []config.MockReply{{Reply: "first", Again: []string{"second", "third"}}}}
	m := openTest(t, cfg, Env{})
	for again, want := range []string{"first", "second", "third", "second"} {
		reply, err := m.Respond(t.Context(), Request{Again: again})
		if err != nil || reply.Messages[0].Content != want {
			t.Errorf("measurement %d is answered with %v, %v, want %q", again, reply.Messages, err, want)
		}
	}
	if cfg.Deterministic() {
		t.Error("a mock with further replies counts as deterministic")
	}
	cfg.Replies[0].Again = nil
	if !cfg.Deterministic() {
		t.Error("a mock with one reply does not count as deterministic")
	}
}
