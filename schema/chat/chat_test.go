package chat_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
	"github.com/gavel-evals/gavel/schema/template"
)

var png = []byte("\x89PNG\r\n\x1a\n and more")

// TestRead has prompts in the forms of the APIs of models.
func TestRead(t *testing.T) {
	uri := "data:image/png;base64," + base64.StdEncoding.EncodeToString(png)
	shown := schema.Block{Type: "image", Data: png, Media: "image/png"}
	with := func(parts string) string { return `[{"role": "user", "content": [` + parts + `]}]` }
	for _, tt := range []struct {
		name, text string
		want       chat.Prompt
		told       string
	}{
		{"a text", "Hi [1]", chat.Prompt{Messages: []schema.Message{{Role: "user", Content: "Hi [1]"}}}, "Hi [1]"},
		{"a list of numbers", "[1, 2]", chat.Prompt{Messages: []schema.Message{{Role: "user", Content: "[1, 2]"}}}, "[1, 2]"},
		{"a chat", `[{"role": "system", "content": "a"}, {"role": "system", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}, {"role": "system", "content": "e"}]`,
			chat.Prompt{System: "a\n\nb", Messages: []schema.Message{{Role: "user", Content: "c"}, {Role: "assistant", Content: "d"}, {Role: "system", Content: "e"}}},
			`[{"role":"system","content":"a\n\nb"},{"role":"user","content":"c"},{"role":"assistant","content":"d"},{"role":"system","content":"e"}]`},
		{"text parts", with(`{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}`), chat.Prompt{Messages: []schema.Message{{Role: "user", Content: "a\nb"}}}, "a\nb"},
		{"an image of Chat Completions", with(fmt.Sprintf(`{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": %q, "detail": "low"}}`, uri)),
			chat.Prompt{Messages: []schema.Message{{Role: "user", Content: "a", Blocks: []schema.Block{{Type: "text", Text: "a"}, shown}}}}, "a"},
		{"an image of Responses", with(fmt.Sprintf(`{"type": "input_image", "image_url": %q}`, uri)), chat.Prompt{Messages: []schema.Message{{Role: "user", Blocks: []schema.Block{shown}}}}, ""},
		{"an image of Anthropic", with(fmt.Sprintf(`{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": %q}}, {"type": "text", "text": "b"}`, base64.StdEncoding.EncodeToString(png))),
			chat.Prompt{Messages: []schema.Message{{Role: "user", Content: "b", Blocks: []schema.Block{shown, {Type: "text", Text: "b"}}}}}, "b"},
	} {
		got, err := chat.Read(tt.text)
		if err != nil {
			t.Errorf("%s is not read: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got.Text() != tt.told {
			t.Errorf("%s: functions are told %s, want %s", tt.name, got.Text(), tt.told)
		}
	}
}

// TestNotSent are chats that need what is not read.
func TestNotSent(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`[{"role": "tool", "content": "a"}]`, `a message of the role "tool"`},
		{`[{"role": "system", "content": "a"}]`, "a message besides the system prompt"},
		{`[{"role": "user", "content": 1}]`, "a message whose content is not a text"},
		{`[{"role": "user", "content": [{"type": "input_audio"}]}]`, `content of the type "input_audio" in a prompt`},
		{`[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://h/a.png"}}]}]`, "an image of a prompt as a data: URI, in place of the address https://h/a.png"},
		{`[{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://h/a.png"}}]}]`, "an image of a prompt as a data: URI, in place of the address https://h/a.png"},
		{`[{"role": "user", "content": [{"type": "image_url", "image_url": "data:image/png;base64,AAAA"}]}]`, "an image of a prompt that is a PNG, JPEG, GIF or WebP in base64"},
		{`[{"role": "assistant", "content": [{"type": "image_url", "image_url": "data:image/png;base64,` + base64.StdEncoding.EncodeToString(png) + `"}]}]`, `an image in a message of the role "assistant", which models take from the user only`},
	} {
		_, err := chat.Read(tt.text)
		if need, ok := errors.AsType[*template.NeedError](err); !ok || need.What != tt.want {
			t.Errorf("%s: error %v, want %s", tt.text, err, tt.want)
		}
	}
}

// TestFilled fills variables into texts and into the address of an image.
func TestFilled(t *testing.T) {
	fill := func(s string) (string, error) {
		if s == "{{image}}" {
			return "data:image/png;base64," + base64.StdEncoding.EncodeToString(png), nil
		}
		return "filled " + s, nil
	}
	got, err := chat.Filled([]chat.Message{{Role: "user", Content: []byte(`[{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "{{image}}"}}]`)}}, fill)
	if err != nil || !got.Shows() || got.Messages[0].Content != "filled a" || got.Size() != 2*len("filled a")+len(png) {
		t.Errorf("%+v of %d bytes, %v", got, got.Size(), err)
	}
}
