package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// longest is GitHub's limit for a body.
	longest = 25 << 20
	// bodyTimeout bounds the arrival of a delivery.
	bodyTimeout = 10 * time.Second
	// largeEvent exceeds any delivery about a pull request; only a push of very many
	// commits is larger.
	largeEvent = 1 << 20
	// eventRoom bounds the bytes of deliveries held at once, without a large
	// delivery's.
	eventRoom = 16 << 20
	// retryAfter is in seconds. Reading a large delivery may take as long.
	retryAfter = "10"
	// leastSecret is the minimum length of a webhook's secret, in bytes.
	leastSecret = 16
)

// A WebhookConfig configures a webhook's senders and receiver.
type WebhookConfig struct {
	// Secrets are the accepted secrets, so that one can be replaced while deliveries
	// with the previous one still arrive. At least one is needed, of 16 bytes or more
	// each.
	Secrets []Token
	// Take receives every hint. It must return at once. Its error is answered with 503,
	// so that the forge shows the delivery as failed.
	Take func(Hint) error
	// Ignored is called for correctly signed but useless deliveries: an unknown event,
	// or an unreadable one. Defaults to nothing.
	Ignored func(delivery, event string, why error)
	// Refused is called for deliveries that nobody signed with a secret, or in another form
	// than JSON: a webhook with the wrong settings, or a stranger. Defaults to nothing.
	Refused func(why string)
}

// A Webhook receives deliveries of GitHub, Gitea and Forgejo over HTTP. It answers 202
// to a hint and to every correctly signed but useless delivery, 401 to a missing or
// wrong signature, 405, 413 and 415 to requests that are not deliveries, and 503 while
// other deliveries use all its memory.
type Webhook struct {
	cfg    WebhookConfig
	intake *intake
}

// NewWebhook refuses a missing or weak secret.
func NewWebhook(cfg WebhookConfig) (*Webhook, error) {
	if len(cfg.Secrets) == 0 {
		return nil, errors.New("webhook: no secret is set; anybody could send deliveries")
	}
	for _, s := range cfg.Secrets {
		if len(s) < leastSecret {
			return nil, fmt.Errorf("webhook: the secret has %d bytes; it must have at least %d", len(s), leastSecret)
		}
	}
	if cfg.Take == nil {
		return nil, errors.New("webhook: WebhookConfig.Take is missing")
	}
	if cfg.Ignored == nil {
		cfg.Ignored = func(string, string, error) {}
	}
	if cfg.Refused == nil {
		cfg.Refused = func(string) {}
	}
	return &Webhook{cfg, newIntake(bounds{longest: longest, large: largeEvent, room: eventRoom})}, nil
}

// ServeHTTP accepts one delivery. It checks the headers before it reads the body,
// and hashes the body while reading.
func (h *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The HTTP server also reads a part of refused bodies. Some connections do not
	// support deadlines; then the server's own apply.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	signature, status := headers(r)
	if status != 0 {
		h.refuse(w, status)
		return
	}
	delivery := clipHeader(r.Header.Get("X-GitHub-Delivery"), r.Header.Get("X-Gitea-Delivery"))
	event := clipHeader(r.Header.Get("X-GitHub-Event"), r.Header.Get("X-Gitea-Event"))
	hint, status, useless := h.receive(r, event, signature)
	if status != 0 {
		h.refuse(w, status)
		return
	}
	if useless != nil {
		h.cfg.Ignored(delivery, event, useless)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	hint.Delivery, hint.Event = delivery, event
	if err := h.cfg.Take(hint); err != nil {
		h.refuse(w, http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// headers returns a delivery's signature, or the status that refuses it before its body
// is read.
func headers(r *http.Request) (signature []byte, status int) {
	if r.Method != http.MethodPost {
		return nil, http.StatusMethodNotAllowed
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, http.StatusUnsupportedMediaType
	}
	if r.ContentLength > longest {
		return nil, http.StatusRequestEntityTooLarge
	}
	// Only SHA-256 counts: the older header can be forged with less effort, and forges
	// send both.
	text, ok := strings.CutPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256=")
	signature, err := hex.DecodeString(text)
	if !ok || err != nil || len(signature) != sha256.Size {
		return nil, http.StatusUnauthorized
	}
	return signature, 0
}

// refuse answers a request that is not accepted.
func (h *Webhook) refuse(w http.ResponseWriter, status int) {
	text := http.StatusText(status)
	switch status {
	case http.StatusUnsupportedMediaType:
		text = "the content type is not application/json"
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusUnauthorized:
		text = "the signature is missing or wrong"
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfter)
		text = "the delivery cannot be taken now"
	}
	if status == http.StatusUnauthorized || status == http.StatusUnsupportedMediaType {
		h.cfg.Refused(text)
	}
	http.Error(w, text, status)
}

// receive reads a body and returns its hint, or the status that refuses it. useless is
// the reason why a correctly signed body gives no hint.
func (h *Webhook) receive(r *http.Request, event string, signature []byte) (hint Hint, status int, useless error) {
	sums := h.sums()
	if !Heard(event) {
		if status := unread(h.intake.pass(r.Body, r.ContentLength, sums)); status != 0 {
			return hint, status, nil
		}
		if !sums.signed(signature) {
			return hint, http.StatusUnauthorized, nil
		}
		if event == "ping" {
			return hint, 0, errors.New("the forge tried the webhook, and it works")
		}
		return hint, 0, fmt.Errorf("the event %.50q is not known", event)
	}
	body, err := h.intake.read(r.Body, r.ContentLength, sums)
	if status := unread(err); status != 0 {
		return hint, status, nil
	}
	defer body.close()
	if !sums.signed(signature) {
		return hint, http.StatusUnauthorized, nil
	}
	hint, err = ParseHint(event, body.bytes())
	return hint, 0, err
}

// unread returns the status for a body that could not be read.
func unread(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errTooLong):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errFull):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// sums are a body's signatures under each of the secrets.
type sums []hash.Hash

func (h *Webhook) sums() sums {
	var all sums
	for _, secret := range h.cfg.Secrets {
		all = append(all, hmac.New(sha256.New, []byte(secret)))
	}
	return all
}

// Write adds to all of them.
func (s sums) Write(data []byte) (int, error) {
	for _, sum := range s {
		_, _ = sum.Write(data) // a hash accepts everything
	}
	return len(data), nil
}

// signed reports whether a signature was made with one of the secrets.
func (s sums) signed(signature []byte) bool {
	return slices.ContainsFunc(s, func(sum hash.Hash) bool { return hmac.Equal(sum.Sum(nil), signature) })
}

// clipHeader returns the first non-empty header, fit for a log.
func clipHeader(values ...string) string {
	const most = 100
	for _, v := range values {
		if v == "" {
			continue
		}
		v = strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return -1
			}
			return r
		}, v)
		return v[:min(len(v), most)]
	}
	return ""
}
