package target

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

// A protocol says how an API of models takes the settings of gavel.yaml.
type protocol struct {
	// base is the endpoint if the configuration names none, and path is where requests
	// are posted below it.
	base, path string
	// authorize sets the headers that the API asks for. The key may be empty.
	authorize func(h http.Header, key string)
	// own are the fields of a request that Gavel fills in itself or cannot deal
	// with.
	own []string
	// format is the field that asks for JSON, or the object that has it as format next
	// to the fields that may be configured.
	format string
	// renamed parameters are not called as in gavel.yaml.
	renamed map[string]string
}

// A model is the common part of the targets of all model providers.
type model struct {
	wire
	protocol
	// id is the model as its provider names it.
	id  string
	url string
	// parameters are sent unchanged and replace fields with the same name.
	parameters map[string]json.RawMessage
	// siblings holds the parameters in the object that also has the format.
	siblings map[string]any
	// temperature is true if parameters settle it, by a value or by null; unformatted
	// if they keep requests from asking for JSON by a schema.
	temperature, unformatted bool
	// replies is the format of replies if a request asks for none, as it is sent; nil
	// for none.
	replies json.RawMessage
	// ask sends one request.
	ask func(ctx context.Context, req Request) (Reply, error)
}

func newModel(cfg config.Target, env Env, b base, p protocol) (model, error) {
	w, err := newWire(cfg, env, b)
	if err != nil {
		return model{}, err
	}
	m := model{wire: w, protocol: p, id: cfg.Model, parameters: map[string]json.RawMessage{}}
	if m.url, err = belowEndpoint(cmp.Or(cfg.BaseURL, p.base), p.path); err != nil {
		return m, err
	}
	if cfg.Model == "" {
		return m, errors.New("model is not set")
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Parameters)) {
		if err := m.checkParameter(name, bytes.TrimSpace(cfg.Parameters[name])); err != nil {
			return m, err
		}
	}
	return m, nil
}

// checkParameter checks a configured parameter. A null one is not sent, which removes
// the judges' temperature and format for models that refuse them.
func (m *model) checkParameter(name string, raw json.RawMessage) error {
	none := string(raw) == "null"
	if slices.Contains(m.own, name) {
		if none && name == m.format {
			m.unformatted = true
			return nil
		}
		if name == m.format && json.Valid(raw) && raw[0] == '{' {
			m.replies = raw
			return nil
		}
		return fmt.Errorf("parameter %s cannot be configured: it is part of what is tested", name)
	}
	if !json.Valid(raw) {
		return fmt.Errorf("parameter %s is not JSON", name)
	}
	m.temperature = m.temperature || name == "temperature"
	switch {
	case none:
	case name == m.format:
		return m.takeSiblings(raw)
	default:
		m.parameters[cmp.Or(m.renamed[name], name)] = raw
	}
	return nil
}

// takeSiblings keeps the fields of a parameter next to the format.
func (m *model) takeSiblings(raw json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("parameter %s is not an object", m.format)
	}
	m.siblings = map[string]any{}
	for name, value := range fields {
		switch {
		case name != "format":
			m.siblings[name] = value
		case string(value) != "null":
			return fmt.Errorf("parameter %s.format cannot be configured: it is part of what is tested", m.format)
		default:
			m.unformatted = true
		}
	}
	return nil
}

// withFormat returns the configured fields of the object that has the format, and the
// format.
func (m *model) withFormat(format wireSchema) map[string]any {
	fields := maps.Clone(m.siblings)
	if fields == nil {
		fields = map[string]any{}
	}
	fields["format"] = format
	return fields
}

// formatFor returns the reply format of a request; nil if there is none.
func (m *model) formatFor(req Request) *Format {
	if m.unformatted {
		return nil
	}
	return req.Format
}

// heat returns the temperature to send in addition to the parameters; nil for none.
func (m *model) heat(req Request) *float64 {
	if m.temperature {
		return nil
	}
	return req.Temperature
}

// post sends a request with so much more [Request.Room] and decodes the reply, whose body
// it returns as well. The error is an *Error.
func (m *model) post(ctx context.Context, room int, request, reply any) ([]byte, error) {
	body, err := encodeRequest(request, m.parameters, room)
	if err != nil {
		return nil, m.unsendable(err)
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, m.unsendable(err)
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "application/json")
	post.Header.Set("User-Agent", "gavel")
	m.authorize(post.Header, string(m.key))
	_, body, err = m.exchange(post)
	if err != nil {
		return nil, err
	}
	if err := decodeReply(body, reply); err != nil {
		return nil, m.fail(Error{
			Message: "the reply is not what " + m.id + " should send; is base_url right? " + err.Error(),
		})
	}
	return body, nil
}

// Respond sends one request. The reply is one assistant message.
func (m *model) Respond(ctx context.Context, req Request) (Reply, error) {
	start := m.now()
	reply, err := m.ask(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	reply.Traced = true
	reply.Usage.Calls = 1
	reply.Latency = m.now().Sub(start)
	return reply, nil
}

// unsendable returns the error of a request that does not fit into the protocol.
func (m *model) unsendable(err error) error {
	return m.fail(Error{Message: "the request cannot be sent: " + err.Error()})
}

// An answer has the parts that the replies of all APIs have in common.
type answer struct {
	text, refusal string
	// thinking has the model's first thoughts, if the provider sends them.
	thinking string
	calls    []schema.ToolCall
	// hosted are the items about tools that the vendor ran.
	hosted []json.RawMessage
	// isAbsent means that the reply has null in the place of a text.
	isAbsent bool
	// cut names what stopped the model before its end, such as content_filter.
	cut string
}

// message turns an answer into the message of a reply. A refusal is an ordinary answer
// if free text was asked for, since tests may well ask for one; if JSON was asked for
// there is none.
func (m *model) message(req Request, a answer) ([]schema.Message, error) {
	if a.refusal != "" && req.Format != nil {
		return nil, m.fail(Error{Message: "the model refused: " + a.refusal})
	}
	content := cmp.Or(a.text, a.refusal)
	if content == "" && len(a.calls) == 0 {
		// Gemini puts a detail behind a colon.
		why, _, _ := strings.Cut(a.cut, ":")
		switch why {
		case "content_filter":
			return nil, m.fail(Error{Message: "the provider's content filter held the answer back"})
		case "function_call_filter":
			return nil, m.fail(Error{Retry: true, Message: "the model made a call that its provider cannot read: " + a.cut})
		}
		if a.isAbsent && finishReason(looseText(a.cut)) != "length" { // else it is an answer that was cut off
			return nil, m.fail(Error{Message: errNull("the reply").Error()})
		}
	}
	for i := range a.calls {
		a.calls[i].ID = cmp.Or(a.calls[i].ID, callID(req, i))
	}
	return []schema.Message{{Role: schema.RoleAssistant, Content: content, ToolCalls: a.calls, Reasoning: a.thinking}}, nil
}

// callID names a tool call that came without an id, unique in the conversation
// and the same in every run.
func callID(req Request, i int) string {
	return "call_" + strconv.Itoa(len(req.Messages)) + "_" + strconv.Itoa(i)
}

// functionCall returns a call that a text or a reply describes.
func functionCall[S ~string](id, name, arguments S) schema.ToolCall {
	return schema.ToolCall{ID: string(id), Type: "function", Function: schema.FunctionCall{Name: string(name), Arguments: string(arguments)}}
}
