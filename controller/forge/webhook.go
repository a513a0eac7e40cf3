package forge

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	// bodyTimeout is how long a delivery may take to arrive.
	bodyTimeout = 10 * time.Second
	// leastSecret is the least length of a webhook's secret, in bytes.
	leastSecret = 16
)

// A Hint says that something happened. It is not believed: whoever takes it
// reads the live state, so that a hint that is forged, lost, late or repeated
// costs no more than that.
type Hint struct {
	// Delivery is the forge's id of the message, for logs.
	Delivery string
	Event    string
	// Repository is the numeric id, which survives renames; 0 where the event
	// concerns an installation and with it every repository.
	Repository int64
	// Number is a pull request's, 0 where the event concerns a branch.
	Number int
	// Comment is true where all that happened is that somebody wrote one.
	Comment bool
	// Branch was pushed to or is about to be merged into; without refs/heads/.
	Branch string
	// Head is the branch of a merge group, see [Queued]; empty for other events.
	Head string
	// Rerequested is the commit whose check runs somebody asked for anew; empty for
	// other events, of which it is told without Number and Branch.
	Rerequested string
}

// A WebhookConfig says who may send and who takes the hints.
type WebhookConfig struct {
	// Secrets are accepted, so that one can be replaced while deliveries with
	// the one before are still under way. There must be one, of at least 16
	// bytes each.
	Secrets []Token
	// Take is given every hint. It must return at once. An error is answered
	// with 503, so that the forge shows the delivery as failed.
	Take func(Hint) error
	// Ignored is told of deliveries that are well signed and of no use: an
	// event that is not known, or one that cannot be read. Defaults to nobody.
	Ignored func(delivery, event string, why error)
}

// A Webhook takes deliveries of GitHub, Gitea and Forgejo over HTTP. It answers
// 202 to a hint and to every well signed delivery that is of no use, 401 to a
// signature that is missing or wrong, 405, 413 and 415 to what is no delivery.
type Webhook struct{ cfg WebhookConfig }

// NewWebhook refuses a secret that is missing or can be guessed.
func NewWebhook(cfg WebhookConfig) (*Webhook, error) {
	if len(cfg.Secrets) == 0 {
		return nil, errors.New("webhook: there is no secret; anybody could send")
	}
	for _, s := range cfg.Secrets {
		if len(s) < leastSecret {
			return nil, fmt.Errorf("webhook: the secret has %d bytes; it must have at least %d", len(s), leastSecret)
		}
	}
	if cfg.Take == nil {
		return nil, errors.New("webhook: nobody takes the hints")
	}
	if cfg.Ignored == nil {
		cfg.Ignored = func(string, string, error) {}
	}
	return &Webhook{cfg}, nil
}

// ServeHTTP takes one delivery.
func (h *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, status := read(w, r)
	if status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	// Only SHA-256 counts: the older header can be forged with less effort, and
	// forges send both.
	if !h.signed(body, r.Header.Get("X-Hub-Signature-256")) {
		http.Error(w, "the signature is missing or wrong", http.StatusUnauthorized)
		return
	}
	delivery := clipHeader(r.Header.Get("X-GitHub-Delivery"), r.Header.Get("X-Gitea-Delivery"))
	event := clipHeader(r.Header.Get("X-GitHub-Event"), r.Header.Get("X-Gitea-Event"))
	hint, err := parseHint(event, body)
	hint.Delivery, hint.Event = delivery, event
	switch {
	case err != nil:
		h.cfg.Ignored(delivery, event, err)
	default:
		if err := h.cfg.Take(hint); err != nil {
			http.Error(w, "the hint could not be taken", http.StatusServiceUnavailable)
			return
		}
	}
	w.WriteHeader(http.StatusAccepted)
}

// read gives the body of a delivery, or the status that refuses it.
func read(w http.ResponseWriter, r *http.Request) ([]byte, int) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, http.StatusMethodNotAllowed
	}
	if r.ContentLength > maxEvent {
		return nil, http.StatusRequestEntityTooLarge
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, http.StatusUnsupportedMediaType
	}
	// Not every connection has deadlines; then the server's own hold.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge
	case err != nil:
		return nil, http.StatusBadRequest
	}
	return body, 0
}

// signed reports whether a signature was made with one of the secrets.
func (h *Webhook) signed(body []byte, signature string) bool {
	text, ok := strings.CutPrefix(signature, "sha256=")
	given, err := hex.DecodeString(text)
	if !ok || err != nil {
		return false
	}
	for _, secret := range h.cfg.Secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		if hmac.Equal(mac.Sum(nil), given) {
			return true
		}
	}
	return false
}

// clipHeader is the first header that is there, fit for a log.
func clipHeader(values ...string) string {
	const most = 100
	for _, v := range values {
		if v == "" {
			continue
		}
		v = printable(v)
		return v[:min(len(v), most)]
	}
	return ""
}

// A wireHint is what the events have in common that say where something
// happened.
type wireHint struct {
	Number      int       `json:"number"`
	Repository  *wireRepo `json:"repository"`
	PullRequest *struct {
		Number int `json:"number"`
	} `json:"pull_request"`
	Issue *struct {
		Number      int             `json:"number"`
		PullRequest json.RawMessage `json:"pull_request"`
	} `json:"issue"`
	MergeGroup *struct {
		BaseRef string `json:"base_ref"`
		HeadRef string `json:"head_ref"`
	} `json:"merge_group"`
	CheckRun   *wireCheck `json:"check_run"`
	CheckSuite *wireCheck `json:"check_suite"`
	Ref        string     `json:"ref"`
	Action     string     `json:"action"`
}

// A wireCheck is what check runs and the suites that they are in have in common.
type wireCheck struct {
	HeadSHA string `json:"head_sha"`
}

// parseHint says where an event happened. An error means that it is of no use.
func parseHint(event string, body []byte) (Hint, error) {
	var wire wireHint
	if err := json.Unmarshal(body, &wire); err != nil {
		return Hint{}, fmt.Errorf("decode: %w", err)
	}
	if event == "installation" || event == "installation_repositories" {
		return Hint{}, nil
	}
	if wire.Repository == nil || wire.Repository.ID <= 0 {
		return Hint{}, errors.New("repository.id is missing")
	}
	hint := Hint{Repository: wire.Repository.ID}
	switch event {
	case EventPullRequest:
		hint.Number = wire.Number
		if hint.Number == 0 && wire.PullRequest != nil {
			hint.Number = wire.PullRequest.Number
		}
	case "issue_comment":
		// A comment on an issue that is no pull request says null or nothing.
		if wire.Issue == nil || len(wire.Issue.PullRequest) == 0 || string(wire.Issue.PullRequest) == "null" {
			return Hint{}, errors.New("the comment is on no pull request")
		}
		if wire.Action == "edited" {
			return Hint{}, errors.New("a comment that is edited asks for nothing")
		}
		hint.Number, hint.Comment = wire.Issue.Number, wire.Action == "created"
	case "check_run", "check_suite":
		return wire.rerequested(hint)
	case EventMergeGroup:
		if wire.MergeGroup != nil {
			hint.Branch, hint.Head = branch(wire.MergeGroup.BaseRef), branch(wire.MergeGroup.HeadRef)
		}
		// Only what nobody else can push to is trusted as a group.
		if _, ok := Queued(hint.Head); !ok {
			return Hint{}, errors.New("merge_group.head_ref names no merge group")
		}
	case EventPush:
		hint.Branch = branch(wire.Ref)
	default:
		return Hint{}, fmt.Errorf("the event %.50q is not known", event)
	}
	if hint.Branch != "" {
		return hint, errors.Join(checkRef("ref", hint.Branch), checkRef("head_ref", cmp.Or(hint.Head, hint.Branch)))
	}
	if hint.Number <= 0 {
		return Hint{}, errors.New("neither a pull request nor a branch is named")
	}
	return hint, nil
}
