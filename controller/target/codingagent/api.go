package codingagent

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
)

// An API is what an agent asks its model by, in HTTP requests with the method POST.
type API struct {
	// Base is its address by default.
	Base string
	// Asks is the path of requests that a model answers. Counts is the path of requests
	// that cost nothing; empty for none.
	Asks, Counts string
}

var (
	// https://docs.anthropic.com/en/api/messages
	messagesAPI = API{Base: "https://api.anthropic.com", Asks: "/v1/messages", Counts: "/v1/messages/count_tokens"}
	// https://platform.openai.com/docs/api-reference/responses
	responsesAPI = API{Base: "https://api.openai.com/v1", Asks: "/responses"}
)

// API returns the API by which an agent asks a model, at an address that it is given; nil if
// it cannot be given one, and then it needs the network and the key.
func (a Agent) API(model string) *API {
	if a.api == nil {
		return nil
	}
	return a.api(model)
}

// Environment returns what is added to an agent's environment, as NAME=value.
func (a Agent) Environment(s Settings) []string {
	if a.addressed == nil || s.Address == "" {
		return a.env
	}
	return slices.Concat(a.env, a.addressed(s.Address))
}

// Tokens are the tokens of a reply; Input includes cached ones.
type Tokens struct{ Input, Output int64 }

// longestReply bounds what a request can say of its reply: no model writes as much, and sums of
// such numbers stay numbers.
const longestReply = 1 << 24

// MostOutput returns the most tokens that the reply to a request may have; 0 if the request
// does not say.
func MostOutput(request []byte) int64 {
	var fields struct {
		Messages  int64 `json:"max_tokens"`
		Responses int64 `json:"max_output_tokens"`
	}
	if json.Unmarshal(request, &fields) != nil {
		return 0
	}
	return min(max(fields.Messages, fields.Responses, 0), longestReply)
}

// maxEvent bounds what a meter reads at once: an event, or a whole reply.
const maxEvent = 32 << 20

// A Meter is a reply that counts its own tokens while it is read.
type Meter struct {
	body   io.ReadCloser
	ended  func(Tokens, bool)
	stream bool
	line   []byte
	lost   bool // a part of the line
	tokens Tokens
	known  bool
}

// NewMeter returns the body of a reply, which calls ended once, when it is closed: with the
// tokens, and whether the reply told them. stream means that the reply consists of events.
func NewMeter(body io.ReadCloser, stream bool, ended func(tokens Tokens, known bool)) *Meter {
	return &Meter{body: body, stream: stream, ended: ended}
}

// Read reads the body.
func (m *Meter) Read(p []byte) (int, error) {
	n, err := m.body.Read(p)
	rest := p[:n]
	for m.stream {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		m.add(rest[:i])
		m.event()
		rest = rest[i+1:]
	}
	m.add(rest)
	return n, err
}

func (m *Meter) add(part []byte) {
	if m.lost = m.lost || len(m.line)+len(part) > maxEvent; !m.lost {
		m.line = append(m.line, part...)
	}
}

// event reads the tokens of an event, or of a whole reply.
func (m *Meter) event() {
	line, lost := m.line, m.lost
	m.line, m.lost = m.line[:0], false
	line, isData := bytes.CutPrefix(line, []byte("data:"))
	if lost || m.stream && !isData {
		return
	}
	// The Messages API begins a stream with the tokens of the input, and says the output in
	// its last event but one; the Responses API ends one with both.
	var said struct {
		Usage    *usage
		Message  struct{ Usage *usage }
		Response struct{ Usage *usage }
	}
	if json.Unmarshal(line, &said) != nil {
		return
	}
	for _, u := range []*usage{said.Usage, said.Message.Usage, said.Response.Usage} {
		if u != nil {
			m.known = m.known || u != said.Message.Usage
			m.tokens.Input, m.tokens.Output = max(m.tokens.Input, sumOf(u.Input, u.Written, u.Cached)), max(m.tokens.Output, sumOf(u.Output))
		}
	}
}

// sumOf adds up tokens, each of which is a number of some.
func sumOf(tokens ...int64) (sum int64) {
	for _, n := range tokens {
		sum += min(max(n, 0), 1<<40)
	}
	return sum
}

// A usage has the fields of both APIs.
type usage struct {
	Input   int64 `json:"input_tokens"`
	Written int64 `json:"cache_creation_input_tokens"`
	Cached  int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
}

// Close ends the reply.
func (m *Meter) Close() error {
	err := m.body.Close()
	if ended := m.ended; ended != nil {
		m.event()
		m.ended = nil
		ended(m.tokens, m.known)
	}
	return err
}
