package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/target/httpagent"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// httpForm is how an http target's requests and replies are written.
type httpForm struct {
	Method  string                `json:"method"`
	Headers map[string]headerForm `json:"headers"`
	Body    json.RawMessage       `json:"body"`
	Query   map[string]string     `json:"query"`
	Reply   *replyForm            `json:"reply"`
}

// headerForm is a text, or the name of the variable that holds it.
type headerForm struct{ httpagent.Header }

// UnmarshalJSON reads either form.
func (h *headerForm) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &h.Value)
	}
	return json.Unmarshal(raw, &struct {
		Env    *string `json:"value_env"`
		Prefix *string `json:"prefix"`
	}{&h.Env, &h.Prefix})
}

// replyForm is the path of the text, or several paths.
type replyForm struct{ httpagent.Paths }

// UnmarshalJSON reads either form.
func (r *replyForm) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &r.Text)
	}
	var form struct {
		Text      string    `json:"text"`
		ToolCalls callsForm `json:"tool_calls"`
		Usage     string    `json:"usage"`
		Model     string    `json:"model"`
		Revision  string    `json:"revision"`
		End       string    `json:"end"`
		Stream    string    `json:"stream"`
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		return err
	}
	r.Paths = httpagent.Paths{
		Text: form.Text, ToolCalls: form.ToolCalls.CallPaths, Usage: form.Usage, Model: form.Model,
		Revision: form.Revision, End: form.End, Stream: form.Stream,
	}
	return nil
}

// callsForm is the path of each call, or that and the paths of its parts.
type callsForm struct{ httpagent.CallPaths }

// UnmarshalJSON reads either form.
func (c *callsForm) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &c.Each)
	}
	return json.Unmarshal(raw, &struct {
		Each, Name, Arguments, Result *string
	}{&c.Each, &c.Name, &c.Arguments, &c.Result})
}

// format is the value of the form.
func (f httpForm) format() httpagent.Format {
	out := httpagent.Format{Method: f.Method, Body: f.Body}
	for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
		h := f.Headers[name].Header
		h.Name = http.CanonicalHeaderKey(name)
		out.Headers = append(out.Headers, h)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Query)) {
		out.Query = append(out.Query, httpagent.Parameter{Name: name, Value: f.Query[name]})
	}
	if f.Reply != nil {
		out.Reply = &f.Reply.Paths
	}
	return out
}

// Variables returns the environment variables that must hold a credential: the one in
// api_key_env, and those in headers.
func (t Target) Variables() []string {
	var names []string
	if t.APIKeyEnv != "" {
		names = append(names, t.APIKeyEnv)
	}
	for _, h := range t.HTTP.Headers {
		if h.Env != "" {
			names = append(names, h.Env)
		}
	}
	return names
}

// properties are the parts of the format that enter the execution digest: everything
// except the values of variables and their names.
func properties(f httpagent.Format) map[string]string {
	out := map[string]string{"method": f.Method}
	if f.Body != nil {
		out["body"] = canonical(f.Body)
	}
	if f.Reply != nil {
		out["reply"] = encode(f.Reply)
	}
	for _, p := range f.Query {
		out["query "+p.Name] = p.Value
	}
	for _, h := range f.Headers {
		out["header "+h.Name] = cmp.Or(h.Value, h.Prefix+"…")
	}
	return out
}

// format checks the requests and replies of an http target.
func (k *checker) format(t Target) {
	at := func(path ...any) []any { return append([]any{"targets", t.Name}, path...) }
	for _, name := range k.Doc.Keys(at("headers")...) {
		k.header(t, name, at("headers", name))
	}
	for _, p := range t.HTTP.Query {
		if !strings.Contains(p.Value, "{{") && slices.Contains(secretParameters, strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(p.Name))) {
			k.Fail("literal-secret", fmt.Sprintf("the parameter %s would put a secret into the repository", p.Name),
				"send it as a header whose value an environment variable holds: headers: {Authorization: {value_env: AGENT_KEY}}", at("query", p.Name)...)
		}
	}
	for _, fault := range httpagent.Faults(t.HTTP) {
		hint := cmp.Or(fault.Hint, suggest.DidYouMean(fault.Name, httpagent.Holes), "there are {{"+strings.Join(httpagent.Holes, "}}, {{")+"}}")
		where := at(fault.Where...)
		if fault.Where[0] == "headers" {
			where = at("headers", k.written(t, fault.Where[1]))
		}
		k.Fail("bad-template", fmt.Sprintf("`%v`: %s", fault.Where[0], fault.Message), hint, where...)
	}
	k.reply(t, at)
}

// written returns the name of a header as it is written in the file.
func (k *checker) written(t Target, canonical any) any {
	for _, name := range k.Doc.Keys("targets", t.Name, "headers") {
		if http.CanonicalHeaderKey(name) == canonical {
			return name
		}
	}
	return canonical
}

// reply checks the paths into a reply.
func (k *checker) reply(t Target, at func(...any) []any) {
	paths := t.HTTP.Reply
	if paths == nil {
		return
	}
	where := func(field ...any) []any {
		if path := at(append([]any{"reply"}, field...)...); k.Doc.Has(path...) {
			return path
		}
		return at("reply")
	}
	calls := []any{"tool_calls"}
	if k.Doc.IsObject(at("reply", "tool_calls")...) {
		calls = append(calls, "each")
	}
	for _, p := range []struct {
		text  string
		field []any
	}{
		{paths.Text, []any{"text"}}, {paths.Usage, []any{"usage"}}, {paths.Model, []any{"model"}}, {paths.Revision, []any{"revision"}},
		{paths.End, []any{"end"}}, {paths.ToolCalls.Each, calls}, {paths.ToolCalls.Name, []any{"tool_calls", "name"}},
		{paths.ToolCalls.Arguments, []any{"tool_calls", "arguments"}}, {paths.ToolCalls.Result, []any{"tool_calls", "result"}},
	} {
		if err := httpagent.CheckPath(p.text); err != nil {
			k.Fail("bad-path", fmt.Sprintf("%q is not a JSONPath: %s", p.text, err), "write it as RFC 9535 has it, such as $.output.text or $.messages[-1].content", where(p.field...)...)
		}
	}
	if paths.Text == "" {
		k.Fail("missing-field", "`reply` does not say where the agent's text is", "add text: $.output, say", at("reply")...)
	}
	if (t.Revision == RevisionReply || t.Revision == RevisionAny) && paths.Revision == "" {
		k.Fail("missing-field", "`revision: reply` needs the place of the revision in the reply", "add revision: $.version, say, to reply", at("revision")...)
	}
}

// ownHeaders are set by the sender of a request.
var ownHeaders = []string{"Connection", "Content-Length", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// secretHeaders are parts of names of headers that carry credentials.
var secretHeaders = []string{"auth", "key", "token", "secret", "cookie", "password", "credential"}

// secretParameters are names of parameters that carry credentials, without the
// hyphens and underscores in them.
var secretParameters = []string{"key", "apikey", "accesskey", "token", "accesstoken", "apitoken", "secret", "clientsecret", "password", "sig", "signature"}

// header checks one header. No message shows a value.
func (k *checker) header(t Target, name string, at []any) {
	canonical := http.CanonicalHeaderKey(name)
	i := slices.IndexFunc(t.HTTP.Headers, func(h httpagent.Header) bool { return h.Name == canonical })
	if i < 0 {
		return
	}
	h := t.HTTP.Headers[i]
	same := 0
	for _, other := range t.HTTP.Headers {
		if other.Name == canonical {
			same++
		}
	}
	lower := strings.ToLower(name)
	switch {
	case !validName(name):
		k.Fail("bad-header", fmt.Sprintf("%q is not the name of a header", name), "write letters, digits and hyphens, such as X-Team", at...)
	case slices.Contains(ownHeaders, canonical):
		k.Fail("bad-header", fmt.Sprintf("the header %s follows from the request itself", canonical), "remove it", at...)
	case same > 1:
		k.Fail("duplicate-key", fmt.Sprintf("the header %s is set twice", canonical), "remove one of them", at...)
	case canonical == "Authorization" && t.APIKeyEnv != "":
		k.Fail("ambiguous-field", "`api_key_env` and the header Authorization both say what authorizes the request", "remove one of them", at...)
	case strings.ContainsFunc(h.Value+h.Prefix, func(r rune) bool { return r < ' ' || r == 0x7f }):
		k.Fail("bad-header", "the value of a header is one line", "remove the line break", at...)
	case h.Value != "" && slices.ContainsFunc(secretHeaders, func(part string) bool { return strings.Contains(lower, part) }):
		k.Fail("literal-secret", fmt.Sprintf("the header %s would put a secret into the repository", canonical),
			fmt.Sprintf(`name the environment variable that holds it: %s: {value_env: AGENT_KEY}, or {value_env: AGENT_KEY, prefix: "Bearer "}`, canonical), at...)
	}
	if k.Doc.IsObject(at...) {
		k.variable(h.Env, append(slices.Clip(at), "value_env")...)
	}
}

// validName reports whether a text is a token of RFC 9110.
func validName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
