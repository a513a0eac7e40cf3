package main

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/tracing/tracingtest"
)

// withAnAgent is a repository whose one case is answered at an address.
func withAnAgent(url string) map[string]string {
	return map[string]string{
		"gavel.yaml": fmt.Sprintf(`
version: 1
default_target: bot
targets:
  bot: {provider: http, url: %s, api_key_env: AGENT_KEY}
`, url),
		"test_definitions/talk/domain.json":        `{"id": "talk", "name": "Talk", "evaluator_id": "keyword", "system_prompt": "Be a-word-of-base."}`,
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "a-name", "prompt": "a-word-of-base", "expected": {"keywords": ["hi"]}}`,
	}
}

// TestATraceFromWebhookToCall follows a delivery through the server to the agent,
// which is sent the trace.
func TestATraceFromWebhookToCall(t *testing.T) {
	var mu sync.Mutex
	var told []string // guarded by mu
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, r.Header.Get("Traceparent"))
		fmt.Fprint(w, `{"messages": [{"role": "assistant", "content": "hi a-word-of-the-reply"}]}`)
	}))
	defer agent.Close()
	collector := tracingtest.New(t)
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.env["AGENT_KEY"], j.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "a-secret-of-the-agent", collector.URL
	j.replace(t, withAnAgent(agent.URL), map[string]string{"README.md": "nothing to judge"})
	base, log, end := j.serving(t, operatorsFile(t, j, ""))
	log.await(t, `"repo":"octo/demo#1","duration"`)
	mu.Lock()
	told = nil
	mu.Unlock()
	j.replace(t, withAnAgent(agent.URL+"/"), map[string]string{
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "a-name", "prompt": "a-word-of-head", "expected": {"keywords": ["hi"]}}`,
	})
	if status := deliver(t, base+"/hooks", hookSecret); status != http.StatusAccepted {
		t.Fatalf("a delivery = %d", status)
	}
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if code := end(); code != exitPass {
		t.Fatalf("exit code %d", code)
	}
	spans := map[string]*tracepb.Span{} // by id
	var hook *tracepb.Span
	for _, s := range collector.Spans() {
		spans[string(s.SpanId)] = s
		if s.Name == "webhook" {
			hook = s
		}
		if text := protojson.Format(s); strings.Contains(text, "a-word") || strings.Contains(text, "a-name") || strings.Contains(text, "a-secret") {
			t.Errorf("a span has content of the repository, of a reply or a secret: %s", text)
		}
	}
	if hook == nil {
		t.Fatal("no webhook is in a trace")
	}
	mu.Lock()
	defer mu.Unlock()
	ways := waysBack(t, spans, told)
	want := []string{"call", "case", "judge", "reconcile", "webhook"}
	if !slices.ContainsFunc(ways, func(way []string) bool { return slices.Equal(way, want) }) {
		t.Errorf("the ways back from the calls that the agent was sent %q are %q, want %q", told, ways, want)
	}
	names := map[string]bool{}
	for _, s := range spans {
		if string(s.TraceId) == string(hook.TraceId) {
			names[s.Name] = true
		}
	}
	if !names["plan"] || !names["publish"] {
		t.Errorf("the trace has the steps %v, want one for the plan and one for publishing", names)
	}
}

// waysBack are the names of the steps from each call that an agent was sent to the
// first step of its trace.
func waysBack(t *testing.T, spans map[string]*tracepb.Span, told []string) (ways [][]string) {
	t.Helper()
	for _, parent := range told {
		id, err := hex.DecodeString(strings.Split(parent+"---", "-")[2])
		if err != nil {
			t.Fatal(err)
		}
		var way []string
		for s := spans[string(id)]; s != nil; s = spans[string(s.ParentSpanId)] {
			way = append(way, s.Name)
		}
		ways = append(ways, way)
	}
	return ways
}
