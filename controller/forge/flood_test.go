package forge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// unreadable is a body that nobody may read.
type unreadable struct{ reads int }

func (u *unreadable) Read([]byte) (int, error) {
	u.reads++
	return 0, errors.New("the body was read")
}

func (u *unreadable) Close() error { return nil }

// TestAbuseHeadersFirst: what the headers alone refuse, costs no byte of a body.
func TestAbuseHeadersFirst(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"another verb", func(r *http.Request) { r.Method = http.MethodPut }, http.StatusMethodNotAllowed},
		{"a form", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, http.StatusUnsupportedMediaType},
		{"too long", func(r *http.Request) { r.ContentLength = longest + 1 }, http.StatusRequestEntityTooLarge},
		{"no signature", func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") }, http.StatusUnauthorized},
		{"SHA-1 only", func(r *http.Request) {
			r.Header.Del("X-Hub-Signature-256")
			r.Header.Set("X-Hub-Signature", "sha1="+strings.Repeat("0", 40))
		}, http.StatusUnauthorized},
		{"half a signature", func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", "sha256=00") }, http.StatusUnauthorized},
		{"no hex", func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("z", 64)) }, http.StatusUnauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hook := newHook(t, nil)
			body := &unreadable{}
			req := httptest.NewRequest(http.MethodPost, "/", body)
			req.ContentLength = 24 << 20
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-GitHub-Event", "push")
			req.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
			tt.change(req)
			rec := httptest.NewRecorder()
			hook.ServeHTTP(rec, req)
			if rec.Code != tt.want || body.reads > 0 {
				t.Errorf("answered %d after %d reads, want %d after none", rec.Code, body.reads, tt.want)
			}
			if _, peak := hook.intake.peaked(); peak != 0 {
				t.Errorf("%d bytes were held", peak)
			}
		})
	}
}

// newHook is a webhook that gives its hints to take, nil for nobody.
func newHook(t *testing.T, take func(Hint) error) *Webhook {
	t.Helper()
	if take == nil {
		take = func(h Hint) error { t.Errorf("a hint %+v", h); return nil }
	}
	hook, err := NewWebhook(WebhookConfig{Secrets: []Token{hookSecret, oldSecret}, Take: take})
	if err != nil {
		t.Fatal(err)
	}
	return hook
}

// A held body has its first part, and the rest when it is let go.
type held struct {
	io.Reader
	part int
	free <-chan struct{}
}

func (h *held) Read(p []byte) (int, error) {
	if h.part <= 0 {
		<-h.free
	} else if len(p) > h.part {
		p = p[:h.part]
	}
	n, err := h.Reader.Read(p)
	h.part -= n
	return n, err
}

// post sends a body under a signature and gives the answer.
func post(ctx context.Context, url, event, signature string, body io.Reader, length int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = length
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-Hub-Signature-256", signature)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp, resp.Body.Close()
}

// TestAbuseAnonymousBodies: of 40 large bodies at once one is read, the others
// are told to come again, and all of them allocate little more than one has. A
// delivery of the forge is taken meanwhile.
func TestAbuseAnonymousBodies(t *testing.T) {
	const posts, size = 40, 24 << 20
	for _, tt := range []struct {
		name   string
		length int64
	}{{"of a declared length", size}, {"of no declared length", -1}} {
		t.Run(tt.name, func(t *testing.T) {
			var taken atomic.Int32
			hook := newHook(t, func(Hint) error { taken.Add(1); return nil })
			server := httptest.NewServer(hook)
			defer server.Close()
			forged := "sha256=" + strings.Repeat("0", 64)
			release := make(chan struct{})
			statuses := make(chan int, posts)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range posts {
				go func() {
					// Each is past what is large before any of them ends.
					body := &held{io.LimitReader(zeros{}, size), 2 << 20, release}
					resp, err := post(t.Context(), server.URL, "push", forged, body, tt.length)
					if err != nil {
						statuses <- 0
						return
					}
					if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
						t.Error("503 without Retry-After")
					}
					statuses <- resp.StatusCode
				}()
			}
			got := map[int]int{}
			for range posts - 1 {
				got[<-statuses]++
			}
			push := `{"ref": "refs/heads/main", ` + ofDemo + `}`
			if resp, err := post(t.Context(), server.URL, "push", sign([]byte(push), hookSecret), strings.NewReader(push), int64(len(push))); err != nil || resp.StatusCode != http.StatusAccepted {
				t.Errorf("a delivery of the forge: %v %v", resp, err)
			}
			close(release)
			got[<-statuses]++
			runtime.ReadMemStats(&after)
			if got[http.StatusServiceUnavailable] != posts-1 || got[http.StatusUnauthorized] != 1 {
				t.Errorf("answered %v", got)
			}
			if now, peak := hook.intake.peaked(); now != 0 || peak > longest+eventRoom {
				t.Errorf("%d bytes are held, and at most were %d", now, peak)
			}
			if total := after.TotalAlloc - before.TotalAlloc; total > 2*size {
				t.Errorf("%d MiB were allocated", total>>20)
			}
			if taken.Load() != 1 {
				t.Errorf("%d hints", taken.Load())
			}
		})
	}
}

// TestAbuseSmallBodies that come slowly are held within the room, and the next
// ones find it again.
func TestAbuseSmallBodies(t *testing.T) {
	hook := newHook(t, nil)
	server := httptest.NewServer(hook)
	defer server.Close()
	// The rest of a refused body is more than the HTTP server waits for.
	const posts, size, part = 60, 1 << 20, 640 << 10
	const fit = eventRoom / part
	forged := "sha256=" + strings.Repeat("0", 64)
	release := make(chan struct{})
	statuses := make(chan int)
	for range posts {
		go func() {
			resp, err := post(t.Context(), server.URL, "push", forged, &held{io.LimitReader(zeros{}, size), part, release}, size)
			if err != nil {
				statuses <- 0
				return
			}
			statuses <- resp.StatusCode
		}()
	}
	got := map[int]int{}
	for range posts - fit - 1 { // one may wait for its first byte
		got[<-statuses]++
	}
	close(release)
	for range fit + 1 {
		got[<-statuses]++
	}
	if full := got[http.StatusServiceUnavailable]; full < posts-fit-1 || got[http.StatusUnauthorized]+full != posts {
		t.Errorf("answered %v", got)
	}
	if now, peak := hook.intake.peaked(); now != 0 || peak > eventRoom {
		t.Errorf("%d bytes are held, and at most were %d", now, peak)
	}
	if resp, err := post(t.Context(), server.URL, "push", forged, strings.NewReader("{}"), 2); err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the next one: %v %v", resp, err)
	}
}

// TestAbuseUnknownEvents are hashed and not held.
func TestAbuseUnknownEvents(t *testing.T) {
	for _, tt := range []struct {
		signature string
		want      int
	}{
		{"sha256=" + strings.Repeat("0", 64), http.StatusUnauthorized},
		{sign([]byte(strings.Repeat("\x00", 9<<20)), oldSecret), http.StatusAccepted},
	} {
		hook := newHook(t, nil)
		req := httptest.NewRequest(http.MethodPost, "/", io.LimitReader(zeros{}, 9<<20))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-GitHub-Event", "star")
		req.Header.Set("X-Hub-Signature-256", tt.signature)
		rec := httptest.NewRecorder()
		hook.ServeHTTP(rec, req)
		if rec.Code != tt.want {
			t.Errorf("answered %d, want %d", rec.Code, tt.want)
		}
		if now, peak := hook.intake.peaked(); now != 0 || peak != chunk {
			t.Errorf("%d bytes are held, and at most were %d", now, peak)
		}
	}
}
