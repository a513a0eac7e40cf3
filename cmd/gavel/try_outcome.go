package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// A tryOutcome is the output of --json.
type tryOutcome struct {
	Target   string `json:"target"`
	Provider string `json:"provider"`
	// Request and Response are null without HTTP.
	Request  *sent        `json:"request"`
	Response *got         `json:"response"`
	Read     *readOutcome `json:"read"`
	// LatencyMS and CostUSD are null if unknown.
	LatencyMS *int64   `json:"latency_ms"`
	CostUSD   *float64 `json:"cost_usd"`
	Error     string   `json:"error,omitempty"`
	// Hint is a setting for gavel.yaml, if one is known.
	Hint string `json:"hint,omitempty"`

	priced bool
	// usage is the path of an unread object with numbers of tokens; empty without one.
	usage string
}

// A readOutcome is the part that was read from a reply.
type readOutcome struct {
	Text      string            `json:"text"`
	ToolCalls []schema.ToolCall `json:"tool_calls"` // null if unknown
	Model     string            `json:"model"`
	Revision  string            `json:"revision"`
	End       bool              `json:"end"`
	Input     *int64            `json:"input_tokens"`
	Output    *int64            `json:"output_tokens"`
	Messages  []schema.Message  `json:"messages"`
}

func newOutcome(cfg config.Target, w *wire, reply target.Reply, failed error) tryOutcome {
	o := tryOutcome{Target: cfg.Name, Provider: cfg.Provider, Request: w.sent, Response: w.got, priced: cfg.Price != nil}
	if cfg.Preset != "" {
		o.Provider = cfg.Preset
	}
	if failed != nil {
		o.Error = failed.Error()
		var fault *target.Error
		if errors.As(failed, &fault) {
			o.Hint = fault.Hint
			o.Error = strings.TrimSuffix(o.Error, "; "+fault.Hint)
		}
		return o
	}
	o.Hint = objectHint(cfg, w.got)
	if r := cfg.HTTP.Reply; r != nil && r.Usage == "" && w.got != nil {
		o.usage = target.UsagePath(w.got.Body)
	}
	ms := reply.Latency.Milliseconds()
	o.LatencyMS = &ms
	o.Read = &readOutcome{Model: reply.Model, Revision: reply.Revision, End: reply.End, Messages: reply.Messages}
	if reply.Traced {
		o.Read.ToolCalls = []schema.ToolCall{}
	}
	var said []string
	for _, m := range reply.Messages {
		if m.Role == schema.RoleAssistant && m.Content != "" {
			said = append(said, m.Content)
		}
		o.Read.ToolCalls = append(o.Read.ToolCalls, m.ToolCalls...)
	}
	o.Read.Text = strings.Join(said, "\n")
	if u := reply.Usage; u.InputTokens+u.OutputTokens > 0 {
		o.Read.Input, o.Read.Output = &u.InputTokens, &u.OutputTokens
		if cfg.Price != nil {
			cost := cfg.Price.Cost(u.InputTokens, u.OutputTokens)
			o.CostUSD = &cost
		}
	}
	return o
}

// write prints the outcome for people.
func (o tryOutcome) write(out io.Writer) error {
	var b strings.Builder
	if o.Request != nil {
		fmt.Fprintf(&b, "%s %s\n", o.Request.Method, o.Request.URL)
		section(&b, o.Request.Headers, o.Request.Body)
	}
	if o.Response != nil {
		fmt.Fprintf(&b, "%d %s", o.Response.Status, http.StatusText(o.Response.Status))
		if o.LatencyMS != nil {
			fmt.Fprintf(&b, " after %s", textfmt.Duration(time.Duration(*o.LatencyMS)*time.Millisecond))
		}
		b.WriteString("\n")
		section(&b, o.Response.Headers, o.Response.Body)
	}
	if o.Error != "" {
		fmt.Fprintf(&b, "error: %s\n", plain(o.Error))
	}
	if o.Read != nil {
		o.reading(&b)
	}
	if o.Hint != "" {
		fmt.Fprintf(&b, "    = %s\n", plain(o.Hint))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// reading describes what was read, and how to read more.
func (o tryOutcome) reading(b *strings.Builder) {
	line := func(name, value string) {
		fmt.Fprintf(b, "  %-12s%s\n", name, strings.ReplaceAll(value, "\n", "\n"+strings.Repeat(" ", 14)))
	}
	fmt.Fprintf(b, "read from the reply of the target %s\n", o.Target)
	line("text", plain(o.Read.Text))
	switch {
	case o.Read.ToolCalls == nil:
		line("tool calls", "unknown")
	case len(o.Read.ToolCalls) == 0:
		line("tool calls", "none")
	}
	for _, c := range o.Read.ToolCalls {
		line("tool call", plain(c.Function.Name+" "+c.Function.Arguments))
	}
	if o.Read.Model != "" {
		line("model", plain(o.Read.Model))
	}
	if o.Read.Revision != "" {
		line("revision", plain(o.Read.Revision))
	}
	if o.Read.End {
		line("end", "the conversation is over")
	}
	tokens, cost := "unknown", "unknown, since the reply has no number of tokens"
	if o.usage != "" {
		cost = "unknown; write usage: " + plain(o.usage) + " in reply of the target, where the reply has numbers of tokens"
	}
	if o.Read.Input != nil {
		tokens = fmt.Sprintf("%d in, %d out", *o.Read.Input, *o.Read.Output)
		cost = "unknown; add price: {input: …, output: …} to the target, in US dollars per million tokens"
	}
	if o.CostUSD != nil {
		cost = textfmt.USD(*o.CostUSD)
	}
	line("tokens", tokens)
	if o.Request != nil || o.priced {
		line("cost", cost)
	}
}

// section prints headers and a body, indented.
func section(b *strings.Builder, headers map[string]string, body json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(b, "  %s: %s\n", name, plain(headers[name]))
	}
	var text string
	if json.Unmarshal(body, &text) != nil {
		var indented bytes.Buffer
		if text = string(body); json.Indent(&indented, body, "", "  ") == nil {
			text = indented.String()
		}
	}
	if text != "" && text != "null" {
		b.WriteString("\n  " + strings.ReplaceAll(strings.TrimRight(plain(text), "\n"), "\n", "\n  ") + "\n")
	}
	b.WriteString("\n")
}

// plain removes control characters of a terminal from outside text.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
}
