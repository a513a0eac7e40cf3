package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/clock"
)

// hostile is a notice with texts that would mean something in a chat.
func hostile() Notice {
	n := Notice{
		Event: EventDrift, Repository: "octo/demo", Branch: "a|b<!here>", Head: "0123456789abcdef", URL: "https://github.com/octo/demo/commit/0123456?a=1&b=<x>|y",
		Summary: "1 verdict got worse <!channel>",
	}
	n.Add("shop/<@U1>", "see <https://evil.example|here> & [this](https://evil.example) **now**\n<at>all</at>\x1b[31m")
	return n
}

// TestSlack: nothing of a stranger's text mentions people or links.
func TestSlack(t *testing.T) {
	n := hostile()
	body, err := n.Body(FormSlack)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	text := func(kind, text string) any {
		return map[string]any{"type": "section", "text": map[string]any{"type": kind, "text": text}}
	}
	want := map[string]any{
		"text": "Drift in octo/demo a|b&lt;!here&gt; at 0123456", "unfurl_links": false, "unfurl_media": false,
		"blocks": []any{
			text("mrkdwn", "<https://github.com/octo/demo/commit/0123456?a=1&amp;b=%3Cx%3E%7Cy|Drift in octo/demo a/b&lt;!here&gt; at 0123456>"),
			text("plain_text", "1 verdict got worse &lt;!channel&gt;\n• shop/&lt;@U1&gt;: see &lt;https://evil.example|here&gt; &amp; [this](https://evil.example) **now** &lt;at&gt;all&lt;/at&gt;␛[31m"),
		},
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTeams: the texts are runs, in which Markdown and HTML mean nothing.
func TestTeams(t *testing.T) {
	n := hostile()
	body, err := n.Body(FormTeams)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     struct {
				Type    string
				Version string // RichTextBlock is new in 1.2
				Body    []struct {
					Type    string
					Inlines []struct{ Type, Text string }
				}
				Actions []struct{ Type, URL string }
			}
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if got.Attachments[0].Content.Version != "1.2" {
		t.Errorf("the version is %q", got.Attachments[0].Content.Version)
	}
	if got.Type != "message" || len(got.Attachments) != 1 || got.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" || got.Attachments[0].Content.Type != "AdaptiveCard" {
		t.Fatalf("the message is %s", body)
	}
	var texts []string
	for _, block := range got.Attachments[0].Content.Body {
		if block.Type != "RichTextBlock" || len(block.Inlines) != 1 || block.Inlines[0].Type != "TextRun" {
			t.Errorf("a block is %+v, want a RichTextBlock with a TextRun", block)
			continue
		}
		texts = append(texts, block.Inlines[0].Text)
	}
	want := []string{
		"Drift in octo/demo a|b<!here> at 0123456", "1 verdict got worse <!channel>",
		"• shop/<@U1>: see <https://evil.example|here> & [this](https://evil.example) **now** <at>all</at>␛[31m",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if a := got.Attachments[0].Content.Actions; len(a) != 1 || a[0].URL != "https://github.com/octo/demo/commit/0123456?a=1&b=%3Cx%3E%7Cy" {
		t.Errorf("the actions are %+v", a)
	}
}

// TestBounds: a notice has at most ten cases, and counts the others.
func TestBounds(t *testing.T) {
	var n Notice
	for i := range 25 {
		n.Add(fmt.Sprint("case ", i), strings.Repeat("word ", 10_000))
	}
	if len(n.Cases) != MaxCases || n.More != 15 {
		t.Errorf("%d cases and %d more, want 10 and 15", len(n.Cases), n.More)
	}
	for _, form := range []string{"", FormJSON, FormSlack, FormTeams} {
		body, err := n.Body(form)
		if err != nil || len(body) > 5000 || form != FormJSON && form != "" && !strings.Contains(string(body), "and 15 more cases") {
			t.Errorf("the form %q has %d bytes: %v: %s", form, len(body), err, body)
		}
	}
	if _, err := n.Body("xml"); err == nil {
		t.Error("there is a form xml")
	}
}

// TestTitles: a notice begins with its event and its place, in one line.
func TestTitles(t *testing.T) {
	for _, tt := range []struct {
		n    Notice
		want string
	}{
		{Notice{Event: EventRegression, Repository: "octo/demo", PullRequest: 7, Branch: "main", Head: "0123456789"}, "Regression in octo/demo #7 at 0123456"},
		{Notice{Event: EventUndetermined, Repository: "octo/demo", Head: "0123456789"}, "Undetermined in octo/demo at 0123456"},
		{Notice{Event: EventDrift, Repository: "octo/demo", Branch: "a\nb", Head: "0123456789"}, "Drift in octo/demo a b at 0123456"},
	} {
		if got := tt.n.title(); got != tt.want {
			t.Errorf("the title is %q, want %q", got, tt.want)
		}
	}
}

// TestLines: each text of a notice is one bounded line, and a case without a reason has its
// name alone.
func TestLines(t *testing.T) {
	n := Notice{Summary: "one\ntwo"}
	n.Add("a\nb", "")
	n.Add("c", "d\ne")
	if diff := cmp.Diff([]string{"one two", "• a b", "• c: d e"}, n.lines()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSlackTakesIt: a block has at most 3,000 characters, however many become entities.
func TestSlackTakesIt(t *testing.T) {
	var n Notice
	for range MaxCases {
		n.Add(strings.Repeat("<", 200), strings.Repeat("&", 200))
	}
	if got := len([]rune(n.slack().Blocks[1].Text.Text)); got > 3000 || got < 2000 {
		t.Errorf("the block has %d characters, want at most 3000", got)
	}
}

// TestSendEnds with its context, between two attempts.
func TestSendEnds(t *testing.T) {
	sent := 0
	s := &Sender{
		URL:   func(string) (string, error) { return "https://chat.example/", nil },
		Clock: clock.Funcs{SleepFunc: func(context.Context, time.Duration) error { return context.Canceled }},
		Transport: carrier(func(r *http.Request) (*http.Response, error) {
			sent++
			return &http.Response{StatusCode: 503, Body: http.NoBody, Request: r}, nil
		}),
	}
	if err := s.Send(t.Context(), "CHAT", "", Notice{}); err == nil || sent != 1 {
		t.Errorf("%d requests, %v; want one, and an error", sent, err)
	}
}

// A carrier answers requests.
type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// TestSend: an address is https and without a user, no redirect is followed, what may pass is
// tried three times, and no error contains an address.
func TestSend(t *testing.T) {
	const secret = "the-secret-part"
	for _, tt := range []struct {
		name, address string
		answers       []int // 0 is a lost connection
		location      string
		sent          int
		want          string // of the error
	}{
		{name: "taken", address: "https://chat.example/" + secret, answers: []int{200}, sent: 1},
		{name: "taken at last", address: "https://chat.example/" + secret, answers: []int{503, 0, 202}, sent: 3},
		{name: "away", address: "https://chat.example/" + secret, answers: []int{500, 502, 503, 200}, sent: 3, want: "CHAT: the answer is 503"},
		{name: "limited", address: "https://chat.example/" + secret, answers: []int{429, 200}, sent: 2},
		{name: "gone", address: "https://chat.example/" + secret, answers: []int{404, 200}, sent: 1, want: "CHAT: the answer is 404"},
		{name: "lost", address: "https://chat.example/" + secret, answers: []int{0, 0, 0}, sent: 3, want: "CHAT: the connection is lost"},
		{name: "a redirect", address: "https://chat.example/" + secret, answers: []int{307, 200}, location: "https://other.example/", sent: 1, want: "redirect (307)"},
		{name: "http", address: "http://chat.example/" + secret, want: "CHAT does not contain an https address"},
		{name: "a file", address: "file:///" + secret, want: "CHAT does not contain an https address"},
		{name: "a user", address: "https://me:" + secret + "@chat.example/", want: "without a user"},
		{name: "no host", address: "https:///" + secret, want: "CHAT does not contain an https address"},
		{name: "no address", address: "%zz" + secret, want: "CHAT does not contain an https address"},
		{name: "a key", address: secret, want: "CHAT does not contain an https address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sent := 0
			s := &Sender{
				URL:   func(string) (string, error) { return tt.address, nil },
				Clock: clock.Funcs{SleepFunc: func(context.Context, time.Duration) error { return nil }},
				Transport: carrier(func(r *http.Request) (*http.Response, error) {
					sent++
					if until, ok := r.Context().Deadline(); !ok || time.Until(until) > timeout || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
						t.Errorf("the request is %s with %v and ends at %v", r.Method, r.Header, until)
					}
					status := tt.answers[sent-1]
					if status == 0 {
						return nil, errors.New("the connection is lost")
					}
					return &http.Response{StatusCode: status, Header: http.Header{"Location": {tt.location}}, Body: io.NopCloser(strings.NewReader(secret)), Request: r}, nil
				}),
			}
			err := s.Send(t.Context(), "CHAT", FormJSON, Notice{Event: EventRegression})
			if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) || strings.Contains(got, secret) {
				t.Errorf("the error is %v, want one with %q and without the address", err, tt.want)
			}
			if sent != tt.sent {
				t.Errorf("%d requests, want %d", sent, tt.sent)
			}
		})
	}
}

// TestPublicAddressesOnly: a name of the operator that leads into a network is refused
// before anything is sent.
func TestPublicAddressesOnly(t *testing.T) {
	asked := false
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "https://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		s := &Sender{
			URL: func(string) (string, error) { return "https://" + host + ":" + port + "/", nil },
			Clock: clock.Funcs{SleepFunc: func(context.Context, time.Duration) error {
				t.Errorf("%s is tried again", host)
				return nil
			}},
		}
		if err := s.Send(t.Context(), "CHAT", "", Notice{}); !errors.Is(err, errNotPublic) {
			t.Errorf("%s: %v, want %v", host, err, errNotPublic)
		}
	}
	if asked {
		t.Error("a server within the network was asked")
	}
	for _, address := range []string{
		"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "240.0.0.1",
		"::1", "::", "fe80::1", "fd00::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:100.64.0.1", "::ffff:192.0.2.1", "64:ff9b::a00:1", "2002:a00:1::", "fec0::1",
	} {
		if isPublic(netip.MustParseAddr(address)) {
			t.Errorf("%s is taken for public", address)
		}
	}
	for _, address := range []string{"1.1.1.1", "140.82.121.4", "2606:4700::1111", "::ffff:1.1.1.1"} {
		if !isPublic(netip.MustParseAddr(address)) {
			t.Errorf("%s is not taken for public", address)
		}
	}
}
