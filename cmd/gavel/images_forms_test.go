package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// dot is a PNG of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// imageFiles are prompts with an image in each supported form: promptfoo's in the form
// of OpenAI's APIs and of Anthropic's, with the address filled in, and AgentV's 4 and
// 5.
var imageFiles = map[string]string{
	"gavel.yaml": `version: 1
definitions: [test_definitions]
targets:
  chat: {provider: openai, model: m, base_url: "SERVER/v1"}
  claude: {provider: anthropic, model: m, base_url: "SERVER"}
  blind: {provider: openai, model: m, base_url: "SERVER/v1", accepts_images: false}
default_target: chat
`,
	"test_definitions/promptfooconfig.yaml": `prompts:
- file://url.json
- file://anthropic.json
- [{role: system, content: Look}, {role: user, content: [{type: input_text, text: 'What is {{q}}'}, {type: input_image, image_url: 'data:image/png;base64,{{dot}}'}]}]
providers: [chat, claude, blind]
tests:
- {description: x, vars: {q: it, dot: ` + dot + `}, assert: [{type: equals, value: seen}]}
`,
	"test_definitions/url.json":       `[{"role": "user", "content": [{"type": "text", "text": "What is {{q}}"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,{{dot}}", "detail": "low"}}]}]`,
	"test_definitions/anthropic.json": `[{"role": "user", "content": [{"type": "text", "text": "What is {{q}}"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "{{dot}}"}}]}]`,
	"test_definitions/four.eval.yaml": `tests:
- id: four
  input: [{role: user, content: [{type: text, value: What is it}, {type: image, value: "data:image/png;base64,` + dot + `"}]}]
  assertions: [{type: equals, value: seen}]
`,
	"test_definitions/five.eval.yaml": `prompts: ['{{ input }}']
providers: [chat, claude]
tests:
- id: five
  vars: {input: [{role: user, content: [{type: text, value: What is it}, {type: image, value: "data:image/png;base64,` + dot + `"}]}]}
  assert: [{type: equals, value: seen}]
`,
}

// TestImagesReachModels holds that an image of a prompt is in the request to a model, in the
// form of its API. A target that takes no images is not asked.
func TestImagesReachModels(t *testing.T) {
	var mu sync.Mutex
	sent := map[string][]string{} // the content of the user, by the path
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var said struct {
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		if err != nil || json.Unmarshal(body, &said) != nil {
			http.Error(w, "not a request", http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		last := said.Messages[len(said.Messages)-1]
		sent[r.URL.Path] = append(sent[r.URL.Path], string(last.Content))
		if strings.HasSuffix(r.URL.Path, "/messages") {
			_, _ = io.WriteString(w, `{"model": "m", "content": [{"type": "text", "text": "seen"}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}`)
			return
		}
		_, _ = io.WriteString(w, `{"model": "m", "choices": [{"message": {"role": "assistant", "content": "seen"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}`)
	}))
	t.Cleanup(server.Close)
	dir, files := t.TempDir(), map[string]string{}
	for name, text := range imageFiles {
		files[name] = strings.ReplaceAll(text, "SERVER", server.URL)
	}
	gittest.Init(t, dir, "master")
	gittest.Commit(t, dir, files)
	stdout, stderr, _ := withModelKey(t, dir, "run", "--json")
	var run struct {
		Cases []struct {
			Key, Target, Verdict string
			Reasons              []struct{ Message string }
			Error                string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &run); err != nil {
		t.Fatalf("the run prints no JSON (%v):\n%s%s", err, stdout, stderr)
	}
	counted := map[string]int{}
	for _, c := range run.Cases {
		counted[c.Target+" "+c.Verdict]++
		if c.Verdict == "skipped" && c.Reasons[0].Message != "it needs a target that takes images" {
			t.Errorf("%s is skipped: %s", c.Key, c.Reasons[0].Message)
		}
	}
	if diff := cmp.Diff(map[string]int{"chat pass": 5, "claude pass": 4, "blind skipped": 3}, counted); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s\n%s", diff, stderr)
	}
	for _, tt := range []struct{ path, want string }{
		{"/v1/chat/completions", `[{"type":"text","text":"What is it"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + dot + `"}}]`},
		{"/v1/messages", `[{"type":"text","text":"What is it"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + dot + `"}}]`},
	} {
		got := slices.Compact(slices.Sorted(slices.Values(sent[tt.path])))
		if len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s is sent %q, want %q each time", tt.path, got, tt.want)
		}
	}
}
