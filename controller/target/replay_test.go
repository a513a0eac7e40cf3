package target

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

func said(text string) Reply {
	return Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text}}, Traced: true, Usage: verdict.Usage{Calls: 1}}
}

// line is one line of a recording.
func line(req Request, text string) string {
	return fmt.Sprintf(`{"request":%q,"sample":%d,"occurrence":%d,"reply":{"messages":[{"role":"assistant","content":%q}],"traced":true,"usage":{"cost_usd":9,"unpriced":1}},"case":%q,"about":""}`,
		Digest(req), req.Sample, req.Occurrence, text, req.Case)
}

func TestReplay(t *testing.T) {
	at := func(key string, sample, occurrence int) Request {
		req := user("Hello")
		req.Case, req.Sample, req.Occurrence = key, sample, occurrence
		return req
	}
	recording := strings.Join([]string{
		line(at("b", 0, 0), "b"), "", line(at("a", 0, 0), "a"), line(at("a", 0, 1), "again"), line(at("a", 2, 0), "third sample"),
	}, "\n")
	target := openTest(t, config.Target{Provider: "replay", Path: "rec/a.jsonl"},
		Env{Files: fstest.MapFS{"rec/a.jsonl": {Data: []byte(recording)}}})
	other := at("a", 0, 0)
	other.Messages = []schema.Message{{Role: schema.RoleUser, Content: "Bye"}}
	tests := []struct {
		name string
		req  Request
		want string
		err  string
	}{
		{"own case", at("b", 0, 0), "b", ""},
		{"own case, first in order", at("a", 0, 0), "a", ""},
		{"renamed case", at("c", 0, 0), "a", ""},
		{"occurrence", at("a", 0, 1), "again", ""},
		{"sample", at("a", 2, 0), "third sample", ""},
		{"missing sample", at("a", 1, 0), "", "of case a (sample 1, occurrence 0); record it with gavel run --record"},
		{"missing request", other, "", "rec/a.jsonl has no reply to request " + Digest(other)[:12] + " of case a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := target.Respond(t.Context(), tt.req)
			if tt.err != "" {
				checkError(t, err, Error{Message: tt.err})
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(said(tt.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReplayCorrupt(t *testing.T) {
	good := line(user("Hello"), "Hi.")
	tests := []struct{ name, recording, want string }{
		{"no JSON", good + "\n{", "r.jsonl:2: unexpected end of JSON input"},
		{"conflict mark", "\n<<<<<<< HEAD\n" + good, "r.jsonl:2: invalid character '<'"},
		{"no reply", `{"request":"` + Digest(user("x")) + `"}`, "r.jsonl:1: request or reply is missing"},
		{"no digest", strings.Replace(good, Digest(user("Hello")), "abc", 1), "r.jsonl:1: request or reply is missing"},
		{"twice", good + "\n\n" + good, "r.jsonl:3: the same request of case shop/refund as in line 1"},
		{"wrong type", strings.Replace(good, `"sample":0`, `"sample":"0"`, 1), "r.jsonl:1: json: cannot unmarshal string"},
		{"endless line", strings.Repeat("x", 6*maxReply+1), "r.jsonl:1: bufio.Scanner: token too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(config.Target{Name: "t", Provider: "replay", Path: "r.jsonl"},
				Env{Files: fstest.MapFS{"r.jsonl": {Data: []byte(tt.recording)}}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestRecorder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rec", "a.jsonl")
	scrub := func(s string) string { return strings.ReplaceAll(s, testKey, Redacted) }
	record := func(cases ...string) {
		t.Helper()
		r, err := NewRecorder(path, scrub)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for _, c := range cases {
			group.Go(func() {
				key, text, _ := strings.Cut(c, "=")
				req := user("Hello" + Mark + " <b>\n" + key + " " + testKey + strings.Repeat(" word", 40))
				req.Case = key
				reply := said(text + testKey)
				reply.Latency, reply.Model = 3*time.Second, "m"
				reply.Usage = verdict.Usage{Calls: 1, InputTokens: 2, CostUSD: 4, Unpriced: 1}
				reply.Messages[0].ToolCalls = []schema.ToolCall{functionCall("c1", "f", `"`+testKey+`"`)}
				// Either all that was signed is kept, or nothing.
				reply.Messages[0].Opaque = json.RawMessage(`{"calls":{"c1":"` + testKey + `"}}`)
				if key == "b" {
					reply.Messages[0].Opaque = json.RawMessage(`{"calls":{"c1":"signed"}}`)
				}
				r.Record(Digest(req), req, reply)
				if !strings.Contains(reply.Messages[0].Content, testKey) {
					t.Error("the recorder changed the reply of the run")
				}
			})
		}
		group.Wait()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	record("b=first", "a=first")
	first := readFile(t, path)
	record("b=first", "a=first")
	if diff := cmp.Diff(first, readFile(t, path)); diff != "" {
		t.Errorf("the same replies give another file: %s", diff)
	}
	record("c=new", "a=second")
	got := readFile(t, path)
	var order []string
	for l := range strings.Lines(got) {
		order = append(order, l[strings.Index(l, `"case":`):])
	}
	about := func(key string) string {
		return `"case":"` + key + `","about":"user: Hello <b> ` + key + ` [redacted]` + strings.Repeat(" word", 15) + " wo…\"}\n"
	}
	if diff := cmp.Diff([]string{about("a"), about("b"), about("c")}, order); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct {
		text string
		want int
	}{{testKey, 0}, {"second[redacted]", 1}, {"first[redacted]", 1}, {"cost_usd\":0,\"unpriced\":0", 3}, {`"opaque":{"calls":{"c1":"signed"}}`, 1}, {`"opaque"`, 1}} {
		if n := strings.Count(got, tt.text); n != tt.want {
			t.Errorf("%q stands %d times in the recording, want %d:\n%s", tt.text, n, tt.want, got)
		}
	}
	lines, err := readRecording(path, strings.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	if l := lines[0]; l.Reply.Latency != 3*time.Second || l.Reply.Usage.InputTokens != 2 || l.Reply.Model != "m" {
		t.Errorf("latency, usage or model are lost: %+v", l.Reply)
	}
}

// TestRecordThenReplay answers from a recording.
func TestRecordThenReplay(t *testing.T) {
	dir := t.TempDir()
	r, err := NewRecorder(filepath.Join(dir, "a.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := said("A <b> & \u2028 \"quoted\"")
	want.Latency, want.Model, want.Revision, want.End = time.Second, "m", "abc", true
	want.Messages[0].ToolCalls = []schema.ToolCall{functionCall("c", "f", `{"a": 1}`)}
	req := conversation()
	req.Root = strings.Repeat("0", 64)
	r.Record(Digest(req), req, want)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	recording := readFile(t, filepath.Join(dir, "a.jsonl"))
	if roots, err := Recorded("a.jsonl", strings.NewReader(recording)); err != nil || roots[req.Root] == "" {
		t.Errorf("the recording does not say how the conversation began: %v, %v", roots, err)
	}
	target := openTest(t, config.Target{Provider: "replay", Path: "a.jsonl"}, Env{Files: os.DirFS(dir)})
	got, err := target.Respond(t.Context(), conversation())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecorderLeavesFilesAlone(t *testing.T) {
	dir := t.TempDir()
	unused, err := NewRecorder(filepath.Join(dir, "new", "a.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := unused.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("a recorder without replies left %v (%v)", left, err)
	}
	path := filepath.Join(dir, "corrupt.jsonl")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewRecorder(path, nil); err == nil || !strings.Contains(err.Error(), "corrupt.jsonl:1: ") {
		t.Errorf("got error %v", err)
	}
	if _, err := NewRecorder(dir, nil); err == nil {
		t.Error("a folder was taken for a recording")
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRecorded(t *testing.T) {
	of := func(key, root string, sample int, text string) string {
		req := user("Hello")
		req.Case, req.Sample = key, sample
		return strings.Replace(line(req, text), `{"request"`, `{"root":"`+root+`","request"`, 1)
	}
	digests := func(lines ...string) map[string]string {
		t.Helper()
		d, err := Recorded("r.jsonl", strings.NewReader(strings.Join(lines, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	base := digests(of("a", "x", 0, "one"), of("b", "x", 1, "two"), of("c", "y", 0, "three"), of("d", "", 0, "four"))
	if len(base) != 3 || base["x"] == base["y"] || base["y"] == base[""] {
		t.Fatalf("got %v", base)
	}
	renamed := digests(of("z", "x", 0, "one"), of("b", "x", 1, "two"), of("d", "", 0, "four"), of("c", "y", 0, "three"))
	if diff := cmp.Diff(base, renamed); diff != "" {
		t.Errorf("another name or order: %s", diff)
	}
	changed := digests(of("a", "x", 0, "One"), of("b", "x", 1, "two"), of("c", "y", 0, "three"), of("d", "", 0, "four"))
	if changed["x"] == base["x"] || changed["y"] != base["y"] || changed[""] != base[""] {
		t.Errorf("another reply below x: got %v, before %v", changed, base)
	}
	if _, err := Recorded("r.jsonl", strings.NewReader("{")); err == nil || !strings.Contains(err.Error(), "r.jsonl:1: ") {
		t.Errorf("got error %v", err)
	}
}

// TestRecordingMasksKeys: a text in a reply that looks like a key is masked in the
// recording, in its form, and a question about the reply is found by the request that a
// replay makes from it.
func TestRecordingMasksKeys(t *testing.T) {
	key := "sk-proj-" + strings.Repeat("aB3x", 12)
	masked := "sk-proj-" + strings.Repeat("xX0x", 12)
	dir := t.TempDir()
	recorders, err := OpenRecorders(dir, []string{"bot"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	request := func(text string) Request {
		return Request{Messages: []schema.Message{{Role: schema.RoleUser, Content: text}}, Case: "a"}
	}
	reply := func(text string) Reply {
		return Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text}}}
	}
	first, asked := request("tell me your key"), request("judge: it is "+key)
	recorders.Record("bot", Digest(first), first, reply("it is "+key))
	recorders.Record("judge", Digest(asked), asked, reply("bad"))
	part := asked
	part.Format = &Format{Name: "unknown here"}
	recorders.Record("judge", Digest(part), request("judge: it is "+key), reply("a part of what was asked"))
	if err := recorders.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		want []string
	}{
		{"bot", []string{Digest(first), "it is " + masked}},
		{"judge", []string{Digest(request("judge: it is " + masked)), Digest(part), `"bad"`}},
	} {
		text, err := os.ReadFile(filepath.Join(dir, tt.name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range tt.want {
			if !strings.Contains(string(text), part) || strings.Contains(string(text), key) {
				t.Errorf("%s lacks %s:\n%s", tt.name, part, text)
			}
		}
	}
}
