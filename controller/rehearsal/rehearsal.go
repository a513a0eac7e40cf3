// Package rehearsal runs the pipeline over pull requests whose truth only package
// simulation knows: with a repository of two sides, a ledger, and a model that
// answers on the wire.
//
// Most callers want [New] and [Stage.Run]. What the pipeline asks and says must be
// what package confirm asks and says of the same pull request by itself.
package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/confirm/simulation"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/progress"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Stage is a pull request with a ledger and a model.
type Stage struct {
	pull   *simulation.Pull
	cell   simulation.Cell
	cases  []confirm.Case
	book   *ledger.Ledger
	server *httptest.Server
	// AtOnce is how many calls run at once; 0 is one.
	AtOnce int
	// Settings are further lines of gavel.yaml.
	Settings string
	// OnCall, when set, is told the number of each call before it is answered;
	// true leaves it without an answer. Calls do not overlap.
	OnCall func(n int) (drop bool)
	// Observe, when set, receives how the pipeline goes on.
	Observe func(progress.Step)

	mu sync.Mutex
	// The fields below are guarded by mu. past is true while history is made; asked
	// counts the answers to each case and side, and calls all of them.
	past  bool
	asked map[confirm.Request]int
	calls int
}

// New returns the stage of a pull request, whose ledger is in a folder. The caller
// must call Close.
func New(ctx context.Context, pull *simulation.Pull, cell simulation.Cell, dir string) (*Stage, error) {
	book, err := ledger.Open(ctx, ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		return nil, err
	}
	s := &Stage{pull: pull, cell: cell, cases: pull.Cases(), book: book, asked: map[confirm.Request]int{}}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s, nil
}

// Close ends the model and the ledger.
func (s *Stage) Close() error {
	s.server.Close()
	return s.book.Close()
}

// Calls is how many calls were answered, without those that made the history.
func (s *Stage) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// MakeHistory stores as many measurements of base as the cell has. It is called
// once, and first.
func (s *Stage) MakeHistory(ctx context.Context) error {
	s.past = true
	base, err := s.checkout("base")
	if err != nil {
		return err
	}
	for range s.cell.History {
		if _, err := s.execute(ctx, controller.Request{Head: base, Fresh: &plan.Reason{Part: "fresh", Message: "history"}}); err != nil {
			return err
		}
	}
	s.past, s.calls, s.asked = false, 0, map[confirm.Request]int{}
	return nil
}

// Run judges the pull request and returns the report. After an interruption it is
// called again.
func (s *Stage) Run(ctx context.Context) (*report.Report, error) {
	base, err := s.checkout("base")
	if err != nil {
		return nil, err
	}
	head, err := s.checkout("head")
	if err != nil {
		return nil, err
	}
	return s.execute(ctx, controller.Request{
		Head: head, Base: &base,
		Changed: func(context.Context, []string) ([]string, error) { return []string{domainFile}, nil },
	})
}

func (s *Stage) execute(ctx context.Context, req controller.Request) (*report.Report, error) {
	trust := ledger.Trust{Level: ledger.LevelOperator}
	req.ConfigFile, req.Ledger, req.HeadTrust, req.BaseTrust = "gavel.yaml", s.book, trust, trust
	req.LookupEnv = nowhere
	p, err := controller.Prepare(context.WithoutCancel(ctx), req)
	if err != nil {
		return nil, err
	}
	if len(p.Problems) > 0 {
		return nil, fmt.Errorf("the definitions are not valid: %v", p.Problems)
	}
	return p.Execute(ctx, controller.Host{Open: func(t config.Target, _ controller.Checkout) (target.Target, error) {
		return target.New(t, target.Env{Lookup: nowhere})
	}}, controller.RunOptions{Observe: s.Observe})
}

const domainFile = "test_definitions/d/domain.json"

// checkout is the repository at a side, which the prompt names.
func (s *Stage) checkout(side string) (controller.Checkout, error) {
	files := fstest.MapFS{domainFile: {Data: []byte(`{"id": "d", "name": "D", "evaluator_id": "keyword", "system_prompt": "` + side + `"}`)}}
	for i := range s.cell.Cases {
		text := fmt.Sprintf(`{"id": "c%d", "name": "C", "prompt": "%d", "expected": {"keywords": ["yes"]}}`, i, i)
		files[fmt.Sprintf("test_definitions/d/level_1/c%05d.json", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	text := "version: 1\ntargets: {bot: {provider: openai, model: m, base_url: " + strconv.Quote(s.server.URL) + ", concurrency: " + strconv.Itoa(max(1, s.AtOnce)) + "}}\n" + s.Settings
	cfg, problems := config.Parse("gavel.yaml", []byte(text))
	if len(problems) > 0 {
		return controller.Checkout{}, fmt.Errorf("gavel.yaml: %v", problems)
	}
	return controller.Checkout{Commit: strings.Repeat(side[:1], 40), FS: files, Config: cfg}, nil
}

// serve is the model: the truth decides what it says.
func (s *Stage) serve(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []struct{ Role, Content string }
	}
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(raw, &req)
	}
	if err != nil || len(req.Messages) != 2 {
		http.Error(w, "cannot be read", http.StatusBadRequest)
		return
	}
	answer, ok := s.answer(req.Messages[0].Content, req.Messages[1].Content)
	if !ok {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client shows a broken answer
		"model":   "m-1",
		"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": answer}, "finish_reason": "stop"}},
		"usage":   map[string]int{"prompt_tokens": 1, "completion_tokens": 1},
	})
}

// answer is what is said of a case next.
func (s *Stage) answer(side, number string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.OnCall != nil && !s.past && s.OnCall(s.calls) {
		return "", false
	}
	i, err := strconv.Atoi(number)
	if err != nil || i >= len(s.cases) {
		return "", false
	}
	of := confirm.Request{Case: i, Side: confirm.Base}
	if side == confirm.Head.String() {
		of.Side = confirm.Head
	}
	n := s.asked[of]
	s.asked[of]++
	s.calls++
	// No two answers are the same, lest failures look like an outage.
	return fmt.Sprintf("%s, case %d at %s, %d", s.truth(of, n), i, side, n), true
}

// truth is yes where the n-th answer makes the case pass.
func (s *Stage) truth(of confirm.Request, n int) string {
	first, fresh := of.Side == confirm.Head, s.cell.History == 0
	var o confirm.Outcome
	switch c := s.cases[of.Case]; {
	case s.past:
		o = c.Base[n]
	case n == 0 && first:
		o = c.Head
	case n == 0 && fresh:
		o = c.Base[0]
	default:
		of.Ordinal = n
		if first || fresh {
			of.Ordinal--
		}
		o = s.pull.Measure(of)
	}
	if o.Verdict == verdict.Pass {
		return "yes"
	}
	return "no"
}

// nowhere has no variable.
func nowhere(string) (string, bool) { return "", false }
