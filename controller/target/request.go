package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// digestedRequest is the part of a request that its digest covers.
type digestedRequest struct {
	System      string           `json:"system,omitempty"`
	Messages    []schema.Message `json:"messages,omitempty"`
	Tools       []schema.Tool    `json:"tools,omitempty"`
	Format      *Format          `json:"format,omitempty"`
	Temperature *float64         `json:"temperature,omitempty"`
	Workspace   string           `json:"workspace,omitempty"`
	Row         json.RawMessage  `json:"row,omitempty"`
}

// Digest is the hex SHA-256 of the content of a request: the canonical JSON, see
// [schema.Canonical], of system, messages, tools without their mocks, format,
// temperature, the digest of the workspace and the row, without the empty ones. It is
// taken before a delimiter is inserted, so that the same question has the same digest
// in every run; [WithDelimiter] keeps it with the request. Recordings hold it: changing
// it makes them useless.
func Digest(req Request) string {
	if req.Digest != "" {
		return req.Digest
	}
	d := digestedRequest{
		System: req.System, Messages: req.Messages, Tools: slices.Clone(req.Tools),
		Format: req.Format, Temperature: req.Temperature, Workspace: req.Workspace.Digest(), Row: req.Row,
	}
	for i := range d.Tools {
		d.Tools[i].Mock = nil
	}
	raw, err := json.Marshal(d)
	if err == nil {
		raw, err = schema.Canonical(raw)
	}
	if err != nil {
		// A schema that is not JSON reaches no provider. Its bytes still distinguish
		// such requests.
		raw = unencodable(d)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// unencodable replaces the canonical form of a request whose schemas
// are not JSON: they are taken as text.
func unencodable(d digestedRequest) []byte {
	quote := func(raw json.RawMessage) json.RawMessage {
		// A string always encodes.
		quoted, _ := json.Marshal(string(raw))
		return quoted
	}
	for i := range d.Tools {
		d.Tools[i].Parameters = quote(d.Tools[i].Parameters)
	}
	if d.Format != nil {
		d.Format = &Format{Name: d.Format.Name, Schema: quote(d.Format.Schema)}
	}
	// The rest cannot fail, except for a temperature that is not a number, which
	// every provider refuses.
	raw, _ := json.Marshal(d)
	return raw
}

// WithDelimiter puts a delimiter in the place of every [Mark] in the system
// prompt and the messages. The request that came in stays as it is.
func WithDelimiter(req Request, delimiter string) Request {
	req.Digest = Digest(req)
	req.System = strings.ReplaceAll(req.System, Mark, delimiter)
	for i, m := range req.Messages {
		if !strings.Contains(m.Content, Mark) {
			continue
		}
		messages := slices.Clone(req.Messages)
		for j := i; j < len(messages); j++ {
			messages[j].Content = strings.ReplaceAll(messages[j].Content, Mark, delimiter)
		}
		req.Messages = messages
		break
	}
	return req
}
