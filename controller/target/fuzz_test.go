package target

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// FuzzAgentReply reads what a hostile agent answers: an error, or messages of
// the roles that an agent has, in a form that can be stored and read again.
func FuzzAgentReply(f *testing.F) {
	for _, tt := range agentTurns {
		f.Add([]byte(tt.body))
	}
	f.Add([]byte(`{"messages":[{"role":"assistant","content":[[],null,{"value":null},"x",1]}],"metadata":{"end":"true","revision":7}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, err := commandReply(body)
		if err != nil {
			return
		}
		for _, m := range reply.Messages {
			if m.Role != schema.RoleAssistant && m.Role != schema.RoleTool {
				t.Errorf("role %q", m.Role)
			}
		}
		if diff := cmp.Diff(reply, roundTrip(t, reply)); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzRecording reads a recording that anybody may have edited: an error that
// names a line, or lines that are all found again.
func FuzzRecording(f *testing.F) {
	f.Add([]byte(line(user("Hello"), "Hi.") + "\n\n" + line(user("Bye"), "Bye.")))
	f.Add([]byte(`{"request":1}`))
	f.Fuzz(func(t *testing.T, recording []byte) {
		lines, err := readRecording("r.jsonl", bytes.NewReader(recording))
		if err != nil && !strings.HasPrefix(err.Error(), "r.jsonl:") {
			t.Errorf("error %v names no line", err)
		}
		for _, l := range lines {
			if len(l.Request) != 64 {
				t.Errorf("request %q is not a digest", l.Request)
			}
		}
	})
}
