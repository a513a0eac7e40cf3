package run

import (
	"context"
	"errors"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A simulator is a model that plays the user of one conversation.
type simulator struct {
	// Usage sums the answered calls.
	Usage verdict.Usage

	simulation schema.Simulation
	ask        evaluate.Ask
}

// newSimulator returns a simulator that calls its model by ask.
func newSimulator(simulation schema.Simulation, ask evaluate.Ask) *simulator {
	s := &simulator{simulation: simulation}
	s.ask = func(ctx context.Context, role schema.Role, req target.Request) (target.Reply, error) {
		reply, err := ask(ctx, role, req)
		s.Usage = s.Usage.Add(reply.Usage)
		return reply, err
	}
	return s
}

// A simulatedLine is the simulated user's next message. Done ends the conversation
// after it.
type simulatedLine struct {
	Message string
	Done    bool
}

// Speak returns the user's next message in a conversation, or the first one if it has
// no messages. An opening never ends it: there was no answer yet.
func (s *simulator) Speak(ctx context.Context, messages []schema.Message) (simulatedLine, error) {
	opening := len(messages) == 0
	var said simulatedLine
	err := s.ask.Retry(ctx, schema.Simulator, simulatorRequest(s.simulation, messages), func(text string) error {
		var err error
		if said, err = readLine(text); err != nil {
			return err
		}
		if said.Message == "" && (opening || !said.Done) {
			return errors.New(`its "message" is empty`)
		}
		return nil
	})
	return said, err
}

func readLine(text string) (simulatedLine, error) {
	var got struct {
		Message *string `json:"message"`
		Done    *bool   `json:"done"`
	}
	if err := evaluate.StrictJSON(text, &got); err != nil {
		return simulatedLine{}, err
	}
	if got.Message == nil || got.Done == nil {
		return simulatedLine{}, errors.New(`it lacks "message" or "done"`)
	}
	return simulatedLine{strings.TrimSpace(*got.Message), *got.Done}, nil
}
