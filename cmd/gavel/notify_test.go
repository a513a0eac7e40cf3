package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/reporters/notify"
)

// A chat records the notices that it gets, by address.
type chat struct {
	mu  sync.Mutex
	got []string // guarded by mu
}

func (c *chat) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, req.URL.String()+" "+string(body))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// heard returns the notices so far.
func (c *chat) heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.got...)
}

// chatAddress is the address in the variable CHAT.
const chatAddress = "https://chat.example/the-secret-of-the-base"

// told returns the events and cases of the notices so far, each of which went to CHAT.
func (c *chat) told(t *testing.T) (all []string) {
	t.Helper()
	for _, one := range c.heard() {
		address, body, _ := strings.Cut(one, " ")
		var said notify.Notice
		if err := json.Unmarshal([]byte(body), &said); err != nil || address != chatAddress {
			t.Errorf("%s was sent to %s: %v", body, address, err)
		}
		words := []string{said.Event}
		for _, c := range said.Cases {
			words = append(words, c.Key)
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

// notified is a gavel.yaml with notices to a variable.
func notified(variable, on string) string {
	return usual("notify: [{url_env: " + variable + ", on: [" + on + "]}]\n")
}

// TestNotices: a regression is notified once at every door with a forge, to the addresses
// of the base branch's gavel.yaml alone, and a pass is not.
func TestNotices(t *testing.T) {
	broken := map[string]string{at("a"): asks("a", "say nothing", "a!"), "gavel.yaml": notified("OTHER", "regression")}
	for _, tt := range []struct {
		name string
		s    scenario
		want *notify.Notice
	}{
		{"a regression", scenario{base: shopOf("a b", map[string]string{"gavel.yaml": notified("CHAT", "regression")}), head: broken, answer: echo}, &notify.Notice{
			Event: "regression", Repository: "octo/demo", PullRequest: 1, Summary: "1 case regressed",
			Cases: []notify.Case{{Key: key("a")}},
		}},
		{"only another event is notified", scenario{base: shopOf("a b", map[string]string{"gavel.yaml": notified("CHAT", "drift, undetermined")}), head: broken, answer: echo}, nil},
		{"base notifies nobody", scenario{base: shopOf("a b", nil), head: broken, answer: echo}, nil},
		{"a stranger's head", scenario{base: shopOf("a b", map[string]string{"gavel.yaml": notified("CHAT", "regression, undetermined")}), head: broken, answer: echo, stranger: true}, nil},
	} {
		for _, d := range columns {
			if !d.onForge() || d.door() == "workers" && tt.s.stranger {
				continue
			}
			t.Run(tt.name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				c := newPassage(t, tt.s, d)
				heard := c.chat
				c.d.pass(c)
				if d.door() == "pr" {
					c.run(t) // the same head again
				}
				if tt.want == nil {
					if got := heard.heard(); len(got) > 0 {
						t.Errorf("notified: %q", got)
					}
					return
				}
				got := heard.heard()
				if len(got) != 1 {
					t.Fatalf("%d notices, want one: %q", len(got), got)
				}
				address, body, _ := strings.Cut(got[0], " ")
				if address != chatAddress {
					t.Errorf("it went to %s", address)
				}
				var said notify.Notice
				if err := json.Unmarshal([]byte(body), &said); err != nil {
					t.Fatal(err)
				}
				if said.Head != c.head || !strings.Contains(said.Summary, tt.want.Summary) || len(said.Cases) != 1 || said.Cases[0].Reason == "" || !strings.HasSuffix(said.URL, "/1") {
					t.Errorf("the notice is %s", body)
				}
				said.Head, said.Summary, said.Cases[0].Reason, said.URL = "", tt.want.Summary, "", ""
				if diff := cmp.Diff(*tt.want, said); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}

// TestNoticesAreListed: a server sends to no variable that its operator does not list, and
// its log names the variable and never an address.
func TestNoticesAreListed(t *testing.T) {
	c := newPassage(t, scenario{base: shopOf("a b", map[string]string{"gavel.yaml": notified("CHAT", "regression")}), head: map[string]string{at("a"): asks("a", "say nothing", "a!")}, answer: echo}, columns[4])
	heard := &chat{}
	c.notices, c.lines = heard, "notify: [OTHER]\n"
	log, end := c.starting(t, c.operators())
	c.announce(log.listens(t))
	line := log.await(t, "was not delivered")
	if !strings.Contains(line, "CHAT is not in the notify of the operator's file") || strings.Contains(line, "chat.example") {
		t.Errorf("the log says %s", line)
	}
	go c.drain(log)
	end()
	if got := heard.heard(); len(got) > 0 {
		t.Errorf("notified: %q", got)
	}
}
