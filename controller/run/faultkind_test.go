package run

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gavel-evals/gavel/controller/target"
)

// TestMayPass: the transport's and the provider's errors may not come again, and neither
// may replies that cannot be used or that a filter stopped. Complaints about the request
// and programs that are missing come again.
func TestMayPass(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{&target.Error{Retry: true, Status: 503}, true},
		{fmt.Errorf("%w, 4 attempts", &target.Error{Retry: true, Status: 429}), true},
		{&target.Error{Retry: true, Message: "connection refused"}, true},
		{&target.Error{Status: 200, Message: "the reply has no text"}, true},
		{&target.Error{Status: 400, Message: "400 Bad Request: content_filter"}, true},
		{&target.Error{Status: 400, Message: "Azure OpenAI's content management policy"}, true},
		{lateError("target bot timed out after 30s"), true},
		{&target.Error{Status: 400, Message: "unknown field"}, false},
		{&target.Error{Status: 401}, false},
		{&target.Error{Message: "agent.py: no such file"}, false},
		{&target.Error{Retry: true, Err: context.Canceled}, false},
		{errors.New("there is no target bot"), false},
	} {
		if got := mayPass(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}
