// Package httpagent describes how an agent behind a URL is asked and how it answers, if
// it does not speak Gavel's own contract: a template for the request's body, paths into
// the reply, and replies that are streams of events.
//
// It sends nothing. Most callers want [New], which gives a [Codec] for a [Format].
package httpagent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// A Format describes the requests and replies of an http target, as gavel.yaml has
// them. The zero value is Gavel's own contract.
type Format struct {
	// Method is POST if it is empty.
	Method string `json:",omitempty"`
	// Headers are sorted by name. A Value may have holes.
	Headers []Header `json:",omitempty"`
	// Query are parameters that are added to the URL, sorted by name. Their values may
	// have holes, see [Holes].
	Query []Parameter `json:",omitempty"`
	// Body is the template of the request, see [Holes]; nil for the contract's.
	Body json.RawMessage `json:",omitempty"`
	// Reply says where the parts of a reply are; nil for the contract's.
	Reply *Paths `json:",omitempty"`
}

// A Header is sent with every request. Its value is Value, or Prefix and the value of
// the environment variable Env.
type Header struct {
	Name   string
	Value  string `json:",omitempty"`
	Env    string `json:",omitempty"`
	Prefix string `json:",omitempty"`
}

// A Parameter is one parameter of a query.
type Parameter struct{ Name, Value string }

// Paths are JSONPath queries by RFC 9535 into a reply, or into each event of one
// that is a stream. All but Text may be empty.
type Paths struct {
	// Text finds the agent's answer.
	Text string
	// ToolCalls finds the tool calls of the turn.
	ToolCalls CallPaths `json:",omitzero"`
	// Usage finds an object with the numbers of tokens.
	Usage string `json:",omitempty"`
	// Model and Revision find the version that answered, End whether the conversation
	// is over.
	Model    string `json:",omitempty"`
	Revision string `json:",omitempty"`
	End      string `json:",omitempty"`
	// Stream is [Deltas] or [Last] and says how the texts of events form the whole
	// text. Defaults to Deltas.
	Stream string `json:",omitempty"`
}

// The values of Stream.
const (
	Deltas = "deltas" // each event adds to the text
	Last   = "last"   // the last event has the whole text
)

// CallPaths find tool calls: Each finds the calls in the reply, and the other paths
// find their parts in each call. They have defaults for the common forms.
type CallPaths struct {
	Each      string
	Name      string `json:",omitempty"`
	Arguments string `json:",omitempty"`
	Result    string `json:",omitempty"`
}

// A Codec writes requests and reads replies in a Format. It is safe for concurrent
// use.
type Codec struct {
	body   any // nil for the contract's
	format Format
	reply  *reader
}

// New checks a Format. The error says what is wrong with its templates or its paths.
func New(f Format) (*Codec, error) {
	c := &Codec{format: f}
	if faults := Faults(f); len(faults) > 0 {
		return nil, fmt.Errorf("%v: %s", faults[0].Where[0], faults[0].Message)
	}
	if f.Body != nil {
		var err error
		if c.body, err = parse(f.Body); err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
	}
	if f.Reply != nil {
		var err error
		if c.reply, err = newReader(*f.Reply); err != nil {
			return nil, fmt.Errorf("reply: %w", err)
		}
	}
	return c, nil
}

// HasBody reports whether requests have their own form of body.
func (c *Codec) HasBody() bool { return c.body != nil }

// Address adds the parameters of the query to a URL. Values are escaped, so that
// they cannot change anything else of it.
func (c *Codec) Address(endpoint string, with Conversation) (string, error) {
	if len(c.format.Query) == 0 {
		return endpoint, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	query := u.Query()
	for _, p := range c.format.Query {
		query.Set(p.Name, with.fill(p.Value))
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// FillHeader fills the holes of headers. Headers without holes stay unchanged.
func (c *Codec) FillHeader(header http.Header, with Conversation) {
	for _, h := range c.format.Headers {
		if hole.MatchString(h.Value) {
			header.Set(h.Name, with.fill(h.Value))
		}
	}
}

// HasReply reports whether replies have their own form.
func (c *Codec) HasReply() bool { return c.reply != nil }
