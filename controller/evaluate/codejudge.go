package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/controller/workspaces"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// codeJudge runs a program that reads a JSON object on stdin and prints {score, hits,
// misses, reasoning, details} (the evalcase format). The score is from 0 to 1. A
// program that fails or prints anything else gives no judgement; an AgentV program that
// prints no JSON is judged by its exit status. results are the results of a composite's
// members, or nil outside a composite.
func codeJudge(ctx context.Context, spec evaluator.CodeJudge, in suiteInput, results []Result) (suiteFinding, error) {
	payload := in.payload(spec.Program, spec.Subject)
	if spec.Form != "" {
		in.agentV(payload, spec.Subject)
	}
	if results != nil {
		payload.put("results", results)
	}
	proxy := in.proxy(spec)
	printed, err := in.start(ctx, spec.Program, payload, proxy)
	if proxy != nil && proxy.Err() != nil {
		err = fmt.Errorf("the model that %s asked: %w", strings.Join(spec.Argv, " "), proxy.Err())
	}
	if f, judged := byExit(spec.Form, printed, err); judged {
		return f, nil
	}
	if err != nil {
		return suiteFinding{}, err
	}
	f, err := readScore(printed, spec.Form)
	if err != nil {
		return suiteFinding{}, fmt.Errorf("%s: %w", strings.Join(spec.Argv, " "), err)
	}
	return f, nil
}

// byExit judges an AgentV program by its exit status alone: 0 scores 1, any other
// status scores 0. judged is false if the program printed JSON, reported an error on
// stderr, or did not exit by itself.
func byExit(form string, printed []byte, err error) (f suiteFinding, judged bool) {
	failure, failed := errors.AsType[*sandbox.Failure](err)
	switch {
	case form == "" || err != nil && !failed:
		return f, false
	case failed && (failure.Status == 0 || strings.TrimSpace(failure.Stderr) != ""):
		return f, false
	case failed:
		printed = failure.Printed
	}
	text := strings.TrimSpace(string(printed))
	if strings.HasPrefix(unfenced(text), "{") || failed && strings.HasPrefix(text, "[") {
		return f, false
	}
	if failed {
		text = cmp.Or(clip(text), failure.Cause)
		return one(0, text, nil, []string{text}), true
	}
	text = cmp.Or(clip(text), "exit status 0")
	return one(1, text, []string{text}, nil), true
}

// A Result is the result of a composite's member, as its aggregator sees it.
type Result struct {
	Name      string              `json:"name"`
	Type      string              `json:"type"`
	Score     float64             `json:"score"`
	Pass      bool                `json:"pass"`
	Reasoning string              `json:"reasoning,omitempty"`
	Criteria  []verdict.Criterion `json:"criteria"`
}

// An agentAssertion is an assertion made by an AgentV 4 program.
type agentAssertion struct {
	Text   string `json:"text"`
	Passed bool   `json:"passed"`
}

// An agentCheck is an assertion made by an AgentV 5 program.
type agentCheck struct {
	Text  string   `json:"text"`
	Pass  *bool    `json:"pass"`
	Score *float64 `json:"score"`
}

// scoreOf computes the score of an AgentV 5 program that printed none: the mean of its
// checks, else its pass, else nil.
func scoreOf(checks []agentCheck, pass *bool) *float64 {
	sum := 0.0
	for _, c := range checks {
		switch {
		case c.Score != nil:
			sum += *c.Score
		case c.Pass != nil && *c.Pass:
			sum++
		}
	}
	switch {
	case len(checks) > 0:
		sum /= float64(len(checks))
	case pass == nil:
		return nil
	case *pass:
		sum = 1
	}
	return &sum
}

// shareOf returns the share of assertions that passed, 0 without any. It is the score
// of an AgentV 4 program that printed none.
func shareOf(assertions []agentAssertion) *float64 {
	sum := 0.0
	for _, a := range assertions {
		if a.Passed {
			sum++
		}
	}
	sum /= max(1, float64(len(assertions)))
	return &sum
}

func readScore(printed []byte, form string) (suiteFinding, error) {
	var got struct {
		Score     *float64        `json:"score"`
		Hits      json.RawMessage `json:"hits"`
		Misses    []string        `json:"misses"`
		Reasoning string          `json:"reasoning"`
		Details   json.RawMessage `json:"details"`
		// Assertions are the hits and misses of AgentV 4.
		Assertions []agentAssertion `json:"assertions"`
		// Pass, Reason and Checks are their counterparts in AgentV 5.
		Pass   *bool        `json:"pass"`
		Reason string       `json:"reason"`
		Checks []agentCheck `json:"checks"`
	}
	if err := StrictJSON(string(printed), &got); err != nil {
		return suiteFinding{}, fmt.Errorf("what it printed cannot be read: %w", err)
	}
	switch {
	case got.Score != nil:
	case form == evaluator.FormAgentV4:
		got.Score = shareOf(got.Assertions)
		if len(got.Assertions) == 0 {
			got.Reasoning = strings.TrimSpace(cmp.Or(got.Reasoning, got.Reason) + " (it printed neither a score nor assertions, which is 0 in AgentV 4)")
		}
	default:
		got.Score = scoreOf(got.Checks, got.Pass)
	}
	for _, c := range got.Checks {
		got.Assertions = append(got.Assertions, agentAssertion{c.Text, c.Pass != nil && *c.Pass})
	}
	got.Reasoning = cmp.Or(got.Reasoning, got.Reason)
	switch {
	case got.Score == nil:
		return suiteFinding{}, errors.New(`what it printed has no number under "score"`)
	case *got.Score < 0 || *got.Score > 1:
		return suiteFinding{}, fmt.Errorf("it printed the score %v, and a score is from 0 to 1", *got.Score)
	}
	var hits []string
	if json.Unmarshal(got.Hits, &hits) != nil {
		hits = nil // for people only
	}
	for _, a := range got.Assertions {
		if a.Passed {
			hits = append(hits, a.Text)
			continue
		}
		got.Misses = append(got.Misses, a.Text)
	}
	f := one(*got.Score, describeMisses(got.Reasoning, got.Misses), hits, got.Misses)
	if details, err := schema.Canonical(got.Details); err == nil && string(details) != "null" {
		f.Criteria[0].Details = details
	}
	return f, nil
}

// run gives a program the conversation and returns its output.
func (in suiteInput) run(ctx context.Context, p evaluator.Program, s evaluator.Subject) ([]byte, error) {
	return in.start(ctx, p, in.payload(p, s), nil)
}

// proxy returns a model proxy for a program that may ask a model, else nil.
func (in suiteInput) proxy(spec evaluator.CodeJudge) *Proxy {
	if spec.MaxCalls == 0 {
		return nil
	}
	role := judge(spec.Target)
	return NewProxy(cmp.Or(spec.Target, string(role)), spec.MaxCalls, func(ctx context.Context, system, question string) (string, error) {
		return in.Reply(ctx, role, system, question)
	})
}

func (in suiteInput) start(ctx context.Context, p evaluator.Program, payload payload, proxy *Proxy) ([]byte, error) {
	if in.Programs == nil {
		return nil, fmt.Errorf("programs are not run here: %s is not started", strings.Join(p.Argv, " "))
	}
	stdin, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("encode what %s reads: %w", strings.Join(p.Argv, " "), err)
	}
	return in.Programs(ctx, Start{Program: p, Stdin: stdin, Sent: in.Case.Drive.Attached(), Proxy: proxy, Workspace: in.workspace()})
}

// workspace returns the target's working folder as the target left it, or nil.
func (in suiteInput) workspace() *workspaces.Session {
	session := workspaces.New(in.Case.Drive.Workspace, in.Case.Drive.Messages)
	session.Keep(in.Transcript.Changes)
	return session
}

// A payload is a program's input. Programs expect either of two naming styles, so each
// name occurs in both.
type payload map[string]any

func (p payload) put(name string, value any) {
	p[name] = value
	words := strings.Split(name, "_")
	for i := 1; i < len(words); i++ {
		words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
	}
	p[strings.Join(words, "")] = value
}

// payload builds a program's input. Unknown values are null.
func (in suiteInput) payload(p evaluator.Program, s evaluator.Subject) payload {
	out := payload{}
	out.put("question", in.question())
	out.put("candidate_answer", in.Answer())
	out.put("input_messages", forms(in.input()))
	out.put("output_messages", forms(in.output()))
	guidelines, files := in.files(p)
	out.put("input_files", files)
	out.put("guideline_files", guidelines)
	out.put("trace_summary", in.trace())
	out.put("expected_outcome", s.ExpectedOutcome)
	out.put("expected_messages", forms(s.ExpectedMessages))
	out.put("reference_answer", s.Reference)
	out.put("note", s.Note)
	var config any
	if p.Config != nil {
		config = p.Config
	}
	out.put("config", config)
	return out
}

// agentV adds the fields that an AgentV 4 code-grader reads.
func (in suiteInput) agentV(p payload, s evaluator.Subject) {
	p["input"], p["output"], p["messages"] = p["input_messages"], in.Answer(), p["output_messages"]
	p["criteria"], p["expected_output"] = s.ExpectedOutcome, s.Reference
	if in.Case.Drive.Workspace != nil {
		p["file_changes"] = in.FileChanges()
	}
	for name, quantity := range map[string]string{"cost_usd": evaluator.CostUSD, "duration_ms": evaluator.DurationMS} {
		p[name] = nil
		if v, err := in.quantity(quantity); err == nil {
			p[name] = v
		}
	}
}

// FileChanges returns the diff of the target's workspace, as git prints it. It is empty
// without changes.
func (in suiteInput) FileChanges() string {
	if in.Transcript.Changes == nil {
		return ""
	}
	return in.Transcript.Changes.Diff
}

// forms converts messages for programs and templates: provider-private data is removed,
// and files are part of the text.
func forms(messages []schema.Message) []schema.Message {
	out := make([]schema.Message, len(messages))
	for i, m := range messages {
		m.Blocks, m.Opaque, m.Reasoning, m.Rest = nil, nil, "", false
		out[i] = m
	}
	return out
}

// files returns the input's files as paths from the program's folder. The format
// separates guidelines from other files.
func (in suiteInput) files(p evaluator.Program) (guidelines, others []string) {
	guidelines, others = []string{}, []string{}
	for _, m := range in.Case.Drive.Messages {
		for _, b := range m.Blocks {
			switch {
			case b.Path == "":
			case evaluator.IsGuideline(b.Path):
				guidelines = append(guidelines, p.Sees(b.Path))
			default:
				others = append(others, p.Sees(b.Path))
			}
		}
	}
	return guidelines, others
}

// trace summarizes the calls, or returns nil if they are unknown.
func (in suiteInput) trace() payload {
	if !in.Transcript.Traced {
		return nil
	}
	names, byName := []string{}, map[string]int{}
	made := Made(in.output())
	for _, c := range made {
		if byName[c.Name] == 0 {
			names = append(names, c.Name)
		}
		byName[c.Name]++
	}
	out := payload{}
	out.put("event_count", len(made))
	out.put("tool_names", names)
	out.put("tool_calls_by_name", byName)
	for name, quantity := range map[string]string{
		"cost_usd": evaluator.CostUSD, "duration_ms": evaluator.DurationMS,
		"input_tokens": evaluator.InputTokens, "output_tokens": evaluator.OutputTokens,
	} {
		var value any
		if v, err := in.quantity(quantity); err == nil {
			value = v
		}
		out.put(name, value)
	}
	return out
}
