package evaluate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/javascript/interpreter"
)

// measured is the measurement of an evaluator; a fault fails the test.
func measured(ctx context.Context, tb testing.TB, ev schema.Evaluator, in evaluate.Input) verdict.Measurement {
	tb.Helper()
	m, err := evaluate.Measure(ctx, ev, in)
	if err != nil {
		tb.Fatalf("Measure returned the fault %v, want none", err)
	}
	return m
}

// preferred is the measurement of a comparison; a fault fails the test.
func preferred(t *testing.T, spec evaluator.Comparison, in evaluate.Input, alternative *verdict.Transcript) verdict.Measurement {
	t.Helper()
	m, err := evaluate.Prefer(t.Context(), spec, in, alternative)
	if err != nil {
		t.Fatalf("Prefer returned the fault %v, want none", err)
	}
	return m
}

func TestMain(m *testing.M) {
	if sqlexec.ServeChild() || interpreter.ServeChild() || cueeval.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// A script is a model that answers in turn and keeps what it was asked.
type script struct {
	replies []string
	err     error // after the last reply
	asked   []target.Request
	roles   []schema.Role
}

func (s *script) ask(_ context.Context, role schema.Role, req target.Request) (target.Reply, error) {
	s.asked, s.roles = append(s.asked, req), append(s.roles, role)
	i := len(s.asked) - 1
	if i >= len(s.replies) {
		err := s.err
		if err == nil {
			err = errors.New("one call more than expected")
		}
		return target.Reply{}, err
	}
	return target.Reply{
		Messages: []schema.Message{{Role: schema.RoleAssistant, Content: s.replies[i]}},
		Usage:    verdict.Usage{Calls: 1, InputTokens: 10, OutputTokens: 1},
	}, nil
}

// input is a conversation of one question and one reply.
func input(question, reply string, s *script) evaluate.Input {
	return evaluate.Input{
		Case: &schema.Case{Drive: schema.Drive{Messages: []schema.Message{{Role: schema.RoleUser, Content: question}}}},
		Transcript: &verdict.Transcript{Traced: true, Messages: []schema.Message{
			{Role: schema.RoleUser, Content: question}, {Role: schema.RoleAssistant, Content: reply},
		}},
		Ask: s.ask,
	}
}

func measure(t *testing.T, spec schema.Spec, reply string, s *script) verdict.Measurement {
	t.Helper()
	m := measured(t.Context(), t, schema.Evaluator{Name: "main", Weight: 1, Spec: spec}, input("What is it?", reply, s))
	if m.Evaluator != "main" {
		t.Errorf("the measurement is of %q", m.Evaluator)
	}
	if m.Error == "" && len(m.Criteria) == 0 {
		t.Error("neither criteria nor an error")
	}
	return m
}

// score is the mean of the criteria, 0 when a veto is violated.
func score(t *testing.T, spec schema.Spec, m verdict.Measurement) float64 {
	t.Helper()
	res := verdict.Decide([]schema.Evaluator{{Weight: 1, Spec: spec}}, []verdict.Sample{{Measurements: []verdict.Measurement{m}}})
	if res.Score == nil {
		t.Fatalf("no score: %s", res.Reason)
	}
	return *res.Score
}

// fails checks that nothing could be measured, for the wanted reason.
func fails(t *testing.T, m verdict.Measurement, want string) {
	t.Helper()
	if m.Error == "" || !strings.Contains(m.Error, want) {
		t.Errorf("error %q (criteria %v), want one with %q", m.Error, m.Criteria, want)
	}
	if m.Error != "" && len(m.Criteria) > 0 {
		t.Errorf("an error has the criteria %v", m.Criteria)
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

type unknownSpec struct{ evaluator.Keyword }

func TestMeasureErrors(t *testing.T) {
	fails(t, measure(t, unknownSpec{}, "x", &script{}), "not known")
	fails(t, measure(t, nil, "x", &script{}), "not known")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := measured(ctx, t, schema.Evaluator{Spec: evaluator.Keyword{Keywords: []string{"x"}}}, input("q", "x", &script{}))
	fails(t, m, context.Canceled.Error())
}

// The calls that were answered are paid for even when the next one fails.
func TestMeasureKeepsUsageOfFailedDialogue(t *testing.T) {
	s := &script{replies: []string{"nonsense", "nonsense"}, err: errors.New("connection reset")}
	m := measure(t, evaluator.Prompt{Template: "{response}"}, "hello", s)
	fails(t, m, "connection reset")
	if diff := cmp.Diff(verdict.Usage{Calls: 2, InputTokens: 20, OutputTokens: 2}, m.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if m.Answered != "nonsense" || m.Asked == "" {
		t.Errorf("last exchange %q, %q", m.Asked, m.Answered)
	}
}
