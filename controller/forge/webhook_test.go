package forge

import (
	"crypto/hmac"
	sha1sum "crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	hookSecret = "a secret of enough bytes"
	oldSecret  = "the secret of the year before"
)

func sign(body []byte, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// A hooked is a webhook on loopback with what it took.
type hooked struct {
	*httptest.Server
	hints   []Hint
	ignored []string
	refused []string
	fail    error
}

func newHooked(t testing.TB) *hooked {
	t.Helper()
	h := &hooked{}
	hook, err := NewWebhook(WebhookConfig{
		Secrets: []Token{hookSecret, oldSecret},
		Take: func(hint Hint) error {
			h.hints = append(h.hints, hint)
			return h.fail
		},
		Ignored: func(delivery, event string, why error) {
			h.ignored = append(h.ignored, fmt.Sprintf("%s %s: %v", delivery, event, why))
		},
		Refused: func(why string) { h.refused = append(h.refused, why) },
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Server = httptest.NewServer(hook)
	t.Cleanup(h.Close)
	return h
}

// deliver sends a well signed delivery, changed as wanted.
func (h *hooked) deliver(t testing.TB, event, body string, change func(*http.Request)) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", "d-1")
	req.Header.Set("X-Hub-Signature-256", sign([]byte(body), hookSecret))
	if change != nil {
		change(req)
	}
	resp, err := h.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// asked is a commit whose check run somebody wants again.
const asked = "1111111111111111111111111111111111111111"

const ofDemo = `"repository": {"id": 1, "full_name": "octo/demo"}`

// TestPing: the delivery that a forge sends when the hook is made gives no hint, and the log
// does not say that something is wrong.
func TestPing(t *testing.T) {
	h := newHooked(t)
	if status := h.deliver(t, "ping", `{"zen": "x", `+ofDemo+`}`, nil); status != http.StatusAccepted {
		t.Errorf("status %d", status)
	}
	if want := []string{"d-1 ping: the forge tried the webhook, and it works"}; len(h.hints) > 0 || !slices.Equal(h.ignored, want) {
		t.Errorf("hints %v, ignored %q, want %q", h.hints, h.ignored, want)
	}
}

// TestHints reads where each event happened and nothing else of it.
func TestHints(t *testing.T) {
	for _, tt := range []struct {
		event, body string
		want        Hint
	}{
		{"pull_request", `{"action": "opened", "number": 7, ` + ofDemo + `}`, Hint{Repository: 1, Number: 7}},
		{"issue_comment", `{"action": "deleted", "issue": {"number": 7, "pull_request": {}}, ` + ofDemo + `}`, Hint{Repository: 1, Number: 7}},
		{"pull_request", `{"action": "synchronized", "pull_request": {"number": 7, "head": {"repo": null}}, ` + ofDemo + `}`, Hint{Repository: 1, Number: 7}},
		{"issue_comment", `{"action": "created", "issue": {"number": 7, "pull_request": {}}, ` + ofDemo + `}`, Hint{Repository: 1, Number: 7, Comment: true}},
		{"check_run", `{"action": "rerequested", "check_run": {"head_sha": "` + asked + `", "pull_requests": [{"number": 7}]}, ` + ofDemo + `}`,
			Hint{Repository: 1, Rerequested: asked}},
		{"check_suite", `{"action": "rerequested", "check_suite": {"head_sha": "` + asked + `", "head_branch": null}, ` + ofDemo + `}`,
			Hint{Repository: 1, Rerequested: asked}},
		{"issue_comment", `{"action": "created", "is_pull": true, "issue": {"number": 7, "pull_request": {"merged": false, "merged_at": null}},
			"repository": {"id": 1, "full_name": "octo/demo", "owner": {"id": 2, "login": "octo", "username": "octo", "email": ""}}}`, Hint{Repository: 1, Number: 7, Comment: true}},
		{"push", `{"ref": "refs/heads/main", ` + ofDemo + `}`, Hint{Repository: 1, Branch: "main"}},
		{"merge_group", `{"merge_group": {"base_ref": "refs/heads/main", "head_ref": "refs/heads/gh-readonly-queue/main/pr-7"}, ` + ofDemo + `}`,
			Hint{Repository: 1, Branch: "main", Head: "gh-readonly-queue/main/pr-7"}},
		{"installation", `{"action": "deleted"}`, Hint{}},
		{"installation_repositories", `{"action": "added"}`, Hint{}},
	} {
		t.Run(tt.event, func(t *testing.T) {
			h := newHooked(t)
			if got := h.deliver(t, tt.event, tt.body, nil); got != http.StatusAccepted {
				t.Fatalf("answered %d", got)
			}
			tt.want.Delivery, tt.want.Event = "d-1", tt.event
			if diff := cmp.Diff([]Hint{tt.want}, h.hints); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAbuseUselessDeliveries are taken with thanks, so that one of them never
// blocks the others, and nobody is disturbed.
func TestAbuseUselessDeliveries(t *testing.T) {
	for _, tt := range []struct{ name, event, body string }{
		{"an unknown event", "star", `{` + ofDemo + `}`},
		{"no event", "", `{` + ofDemo + `}`},
		{"no JSON", "push", `{`},
		{"null", "push", `null`},
		{"a list", "push", `[]`},
		{"no repository", "push", `{"ref": "refs/heads/main"}`},
		{"a null repository", "pull_request", `{"number": 7, "repository": null}`},
		{"an odd id", "pull_request", `{"number": 7, "repository": {"id": "1"}}`},
		{"a negative id", "pull_request", `{"number": 7, "repository": {"id": -1}}`},
		{"no number", "pull_request", `{` + ofDemo + `}`},
		{"a negative number", "pull_request", `{"number": -7, ` + ofDemo + `}`},
		{"an edited comment", "issue_comment", `{"action": "edited", "issue": {"number": 7, "pull_request": {}}, ` + ofDemo + `}`},
		{"a comment on issues", "issue_comment", `{"issue": {"number": 7, "pull_request": null}, ` + ofDemo + `}`},
		{"a finished check run", "check_run", `{"action": "completed", "check_run": {"pull_requests": [{"number": 7}]}, ` + ofDemo + `}`},
		{"a check run of nothing", "check_run", `{"action": "rerequested", "check_run": {"head_sha": "main"}, ` + ofDemo + `}`},
		{"no check run", "check_run", `{"action": "rerequested", ` + ofDemo + `}`},
		{"no merge group", "merge_group", `{"merge_group": {"base_ref": "refs/heads/main", "head_ref": "refs/heads/topic"}, ` + ofDemo + `}`},
		{"a hostile group", "merge_group", `{"merge_group": {"base_ref": "refs/heads/main", "head_ref": "refs/heads/gh-readonly-queue/main/pr-7 --x"}, ` + ofDemo + `}`},
		{"a hostile branch", "push", `{"ref": "refs/heads/--upload-pack=x", ` + ofDemo + `}`},
		{"a branch with an end", "push", `{"ref": "refs/heads/a\u0000b", ` + ofDemo + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHooked(t)
			if got := h.deliver(t, tt.event, tt.body, nil); got != http.StatusAccepted {
				t.Errorf("answered %d", got)
			}
			if len(h.hints) != 0 || len(h.ignored) != 1 {
				t.Errorf("hints %v, ignored %v", h.hints, h.ignored)
			}
		})
	}
}

// TestAbuseForgedDeliveries has deliveries that are forged, SHA-1-only,
// truncated, oversized, slow and replayed.
func TestAbuseForgedDeliveries(t *testing.T) {
	body := `{"number": 7, ` + ofDemo + `}`
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	weak := hmac.New(sha1sum.New, []byte(hookSecret))
	weak.Write([]byte(body))
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"the secret of before", header("X-Hub-Signature-256", sign([]byte(body), oldSecret)), http.StatusAccepted},
		{"another secret", header("X-Hub-Signature-256", sign([]byte(body), "no secret of ours at all")), http.StatusUnauthorized},
		{"an empty secret", header("X-Hub-Signature-256", sign([]byte(body), "")), http.StatusUnauthorized},
		{"another body", header("X-Hub-Signature-256", sign([]byte(body+" "), hookSecret)), http.StatusUnauthorized},
		{"no signature", func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") }, http.StatusUnauthorized},
		{"no hex", header("X-Hub-Signature-256", "sha256=zz"), http.StatusUnauthorized},
		{"half a signature", header("X-Hub-Signature-256", sign([]byte(body), hookSecret)[:40]), http.StatusUnauthorized},
		{"another algorithm", header("X-Hub-Signature-256", "sha1="+hex.EncodeToString(weak.Sum(nil))), http.StatusUnauthorized},
		{"SHA-1 only", func(r *http.Request) {
			r.Header.Del("X-Hub-Signature-256")
			r.Header.Set("X-Hub-Signature", "sha1="+hex.EncodeToString(weak.Sum(nil)))
		}, http.StatusUnauthorized},
		{"a form", header("Content-Type", "application/x-www-form-urlencoded"), http.StatusUnsupportedMediaType},
		{"no type", func(r *http.Request) { r.Header.Del("Content-Type") }, http.StatusUnsupportedMediaType},
		{"another verb", func(r *http.Request) { r.Method = http.MethodPut }, http.StatusMethodNotAllowed},
		{"oversized", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(io.LimitReader(zeros{}, longest+1)), longest+1
		}, http.StatusRequestEntityTooLarge},
		{"oversized without a length", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(io.LimitReader(zeros{}, longest+1)), -1
		}, http.StatusRequestEntityTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHooked(t)
			if got := h.deliver(t, "pull_request", body, tt.change); got != tt.want {
				t.Errorf("answered %d, want %d", got, tt.want)
			}
			refused := map[int]string{
				http.StatusUnauthorized: "the signature is missing or wrong", http.StatusUnsupportedMediaType: "the content type is not application/json",
			}[tt.want]
			if got := strings.Join(h.refused, "; "); got != refused {
				t.Errorf("refused %q, want %q", got, refused)
			}
			if taken := len(h.hints) > 0; taken != (tt.want == http.StatusAccepted) {
				t.Errorf("hints %v", h.hints)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestAHintThatCannotBeTaken(t *testing.T) {
	h := newHooked(t)
	h.fail = errors.New("the queue is closed")
	if got := h.deliver(t, "pull_request", `{"number": 7, `+ofDemo+`}`, nil); got != http.StatusServiceUnavailable {
		t.Errorf("answered %d", got)
	}
}

// TestAbuseSlowDelivery is cut off, and holds up no other.
func TestAbuseSlowDelivery(t *testing.T) {
	reader, writer := io.Pipe()
	req := httptest.NewRequest(http.MethodPost, "/", reader)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "push")
	req.Header.Set("X-Hub-Signature-256", sign(nil, hookSecret))
	w := &deadlines{ResponseRecorder: httptest.NewRecorder(), reader: reader}
	hook, err := NewWebhook(WebhookConfig{Secrets: []Token{hookSecret}, Take: func(Hint) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = writer.Write([]byte("{")) }() // and no more
	hook.ServeHTTP(w, req)
	if w.Code != http.StatusBadRequest {
		t.Errorf("answered %d", w.Code)
	}
	if left := time.Until(w.until); left <= 0 || left > bodyTimeout {
		t.Errorf("the delivery has %v", left)
	}
}

// deadlines is a connection whose deadline passes at once.
type deadlines struct {
	*httptest.ResponseRecorder
	reader *io.PipeReader
	until  time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.until = at
	return d.reader.CloseWithError(errors.New("the deadline has passed"))
}

func TestWebhookSecrets(t *testing.T) {
	take := func(Hint) error { return nil }
	for _, tt := range []struct {
		name string
		cfg  WebhookConfig
	}{
		{"none", WebhookConfig{Take: take}},
		{"empty", WebhookConfig{Secrets: []Token{""}, Take: take}},
		{"short", WebhookConfig{Secrets: []Token{hookSecret, "short"}, Take: take}},
		{"no take", WebhookConfig{Secrets: []Token{hookSecret}}},
	} {
		if _, err := NewWebhook(tt.cfg); err == nil || strings.Contains(err.Error(), "short secret") {
			t.Errorf("%s: error %v, want one that does not show the secret", tt.name, err)
		}
	}
}
