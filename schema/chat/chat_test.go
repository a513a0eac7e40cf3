package chat_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
	"github.com/gavel-evals/gavel/schema/template"
)

var png = []byte("\x89PNG\r\n\x1a\n and more")

// plain fills nothing in.
func plain(s string) (string, error) { return s, nil }

// TestRenderKeepsTheForm: a chat and an object of JSON are the same whatever a variable
// holds, in each form in which they are written. A text that only looks like one of
// them is refused.
func TestRenderKeepsTheForm(t *testing.T) {
	const hostile = "two\nlines, a \"quote\", c:\\temp: {x} # no"
	engine := template.Engine{}
	fill := func(s string) (string, error) {
		raw, err := json.Marshal(hostile)
		if err != nil {
			return "", err
		}
		return engine.Fill(template.Variables{"x": raw, "l": json.RawMessage(`["a"]`)}, s)
	}
	chatOf := func(system, user string) chat.Prompt {
		return chat.Prompt{System: system, Messages: []schema.Message{{Role: "user", Content: user}}}
	}
	user := func(s string) chat.Prompt { return chatOf("", s) }
	for _, tt := range []struct {
		name string
		text chat.Template
		want chat.Prompt
		err  string
	}{
		{"JSON", chat.Template{Text: `[{"role":"system","content":"S"},{"role":"user","content":"{{x}}"}]`}, chatOf("S", hostile), ""},
		{"JSON with a prefix", chat.Template{Prefix: "P", Text: ` [{"role":"system","content":"S"},{"role":"user","content":"{{x}}"}]`, Suffix: "S"}, chatOf("S", hostile), ""},
		{"YAML", chat.Template{Text: "- role: system\n  content: S\n- role: user\n  content: {{x}}\n"}, chatOf("S", hostile), ""},
		{"YAML with quotes and blocks", chat.Template{Text: "- role: system\n  content: \"S {{ x }}\"\n- role: user\n  content: |\n    A {{x}}\n"}, chatOf("S "+hostile, "A "+hostile+"\n"), ""},
		{"YAML that a template makes", chat.Template{Text: "{% for y in l %}- role: user\n  content: {{y}}\n{% endfor %}"}, user("a"), ""},
		{"JSON that a template makes", chat.Template{Text: `[{% for y in l %}{"role": "user", "content": {{ x | dump }}}{% endfor %}]`}, user(hostile), ""},
		{"an object", chat.Template{Text: `{"q": "{{x}}", "{{k}}": [1, "a<b"]}`}, user("{\n  \"q\": \"two\\nlines, a \\\"quote\\\", c:\\\\temp: {x} # no\",\n  \"{{k}}\": [\n    1,\n    \"a<b\"\n  ]\n}"), ""},
		{"a text", chat.Template{Prefix: "P ", Text: "{{x}}", Suffix: " S"}, user("P " + hostile + " S"), ""},
		{"brackets of a text", chat.Template{Text: "[INST] {{x}} [/INST]"}, chat.Prompt{}, "the prompt looks like JSON, and is none once its variables are filled in: invalid character 'I' looking for beginning of value"},
		{"brackets of a text that an agent takes", chat.Template{Text: "[INST] {{x}} [/INST]", Lenient: true}, user("[INST] " + hostile + " [/INST]"), ""},
		{"a brace of a text", chat.Template{Text: "{name} said {{x}}"}, chat.Prompt{}, "the prompt looks like JSON, and is none once its variables are filled in: invalid character 'n' looking for beginning of object key string"},
		{"a text that a variable begins", chat.Template{Text: "{{l | dump}} said {{x}}"}, user("[\"a\"] said " + hostile), ""},
		{"a broken list", chat.Template{Text: `[{% for y in l %}{"role": "user", "content": "{{ x }}"}{% endfor %}]`}, chat.Prompt{}, "the prompt looks like JSON, and is none once its variables are filled in: invalid character '\\n' in string literal"},
		{"a broken object", chat.Template{Text: `{"q": {{x}}}`}, chat.Prompt{}, "the prompt looks like JSON, and is none once its variables are filled in: invalid character 'w' in literal true (expecting 'r')"},
		{"a broken object that an agent takes", chat.Template{Text: `{{ "{" }}{{l[0]}}}`, Lenient: true}, user("{a}"), ""},
		{"JSON in a text", chat.Template{Text: `{{l | dump}} {{ "{" }}`}, user(`["a"] {`), ""},
		{"two objects that variables are", chat.Template{Text: `{{l | dump}} {{l | dump}}`}, user(`["a"] ["a"]`), ""},
		{"broken YAML", chat.Template{Text: "- role: user\n  content: {% if x %}\"a{% endif %}\n"}, chat.Prompt{}, "the prompt begins as a chat in YAML, and is none once its variables are filled in"},
	} {
		got, err := chat.Render(tt.text, fill)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || said != tt.err {
			t.Errorf("%s: error %q, want %q; (-want +got):\n%s", tt.name, said, tt.err, diff)
		}
	}
}

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
		{"a list of numbers", "[1, 2]", chat.Prompt{Messages: []schema.Message{{Role: "user", Content: "[\n  1,\n  2\n]"}}}, "[\n  1,\n  2\n]"},
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
		got, err := chat.Render(chat.Template{Text: tt.text}, plain)
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

// TestNotSent are chats that need unsupported features.
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
		_, err := chat.Render(chat.Template{Text: tt.text}, plain)
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
