package run

import (
	"context"
	"errors"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate/judgecall"
	"github.com/gavel-evals/gavel/controller/run/persona"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A simulator is a model that plays the user of one sample.
type simulator struct {
	sim   schema.Simulation
	ask   judgecall.Caller
	usage verdict.Usage
}

func newSimulator(log *callLog, sim schema.Simulation) (*simulator, error) {
	name, err := log.caseRun.runner.targetName(schema.Simulator)
	if err != nil {
		return nil, err
	}
	u := &simulator{sim: sim}
	u.ask = func(ctx context.Context, role schema.Role, req target.Request) (target.Reply, error) {
		req.Case = log.tc.Key
		reply, err := log.ask(ctx, string(role), name, req)
		u.usage = u.usage.Add(reply.Usage)
		return reply, err
	}
	return u, nil
}

// A line is what the simulated user says next.
type line struct {
	message string
	done    bool
}

// speak gives what the user says next in a conversation, or first where it has
// no messages. An opening is never the end: there was no answer yet.
func (u *simulator) speak(ctx context.Context, messages []schema.Message) (line, error) {
	opening := len(messages) == 0
	var said line
	err := u.ask.Retry(ctx, schema.Simulator, persona.Request(u.sim, messages), func(text string) error {
		var err error
		if said, err = readLine(text); err != nil {
			return err
		}
		if said.message == "" && (opening || !said.done) {
			return errors.New(`its "message" is empty`)
		}
		return nil
	})
	return said, err
}

func readLine(text string) (line, error) {
	var got struct {
		Message *string `json:"message"`
		Done    *bool   `json:"done"`
	}
	if err := judgecall.StrictJSON(text, &got); err != nil {
		return line{}, err
	}
	if got.Message == nil || got.Done == nil {
		return line{}, errors.New(`it lacks "message" or "done"`)
	}
	return line{strings.TrimSpace(*got.Message), *got.Done}, nil
}
