package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/target"
)

// A wire carries requests and keeps the last one with its reply.
type wire struct {
	base http.RoundTripper
	hide func(string) string
	sent *sent
	got  *got
}

// A sent is a request as sent.
type sent struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

// A got is a reply as received.
type got struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

// most bounds the part of a reply that is read. A target reads less.
const most = 16 << 20

// RoundTrip keeps both bodies.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	w.sent = &sent{req.Method, w.address(req.URL), w.headers(req.Header), wireDocument(body)}
	resp, err := w.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, most))
	w.got = &got{resp.StatusCode, w.headers(resp.Header), wireDocument(data)}
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// address formats a URL without a password.
func (w *wire) address(u *url.URL) string { return w.hide(u.Redacted()) }

// headers joins headers by name. Credentials are never shown.
func (w *wire) headers(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := w.hide(strings.Join(h[name], ", "))
		switch name {
		case "Authorization", "Proxy-Authorization":
			scheme, rest, _ := strings.Cut(value, " ")
			if value = target.Redacted; rest != "" {
				value = scheme + " " + target.Redacted
			}
		case "Api-Key", "X-Api-Key", "Cookie", "Set-Cookie":
			value = target.Redacted
		}
		out[name] = value
	}
	return out
}

// wireDocument converts a body to JSON: unchanged, or as a string.
func wireDocument(body []byte) json.RawMessage {
	if len(body) == 0 {
		return json.RawMessage("null")
	}
	if json.Valid(body) {
		return bytes.TrimSpace(body)
	}
	text := string(body)
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage("null") // a string always encodes
	}
	return raw
}
