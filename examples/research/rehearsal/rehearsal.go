// Package rehearsal runs the pipeline over pull requests whose truth only package
// simulation knows: with a repository of two sides, a ledger, and a model that answers
// on the wire.
//
// Most callers want [New] and [Stage.Run]. The pipeline must make the same requests and
// decisions as package confirm alone for the same pull request.
package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/examples/research/simulation"
)

// A Stage is a pull request with a ledger and a model.
type Stage struct {
	pull  *simulation.Pull
	cell  simulation.Cell
	cases []confirm.Case
	store *ledger.Ledger
	// server is the model; nil if another process has it, at url.
	server *httptest.Server
	url    string
	// AtOnce is how many calls run at once; 0 is one.
	AtOnce int
	// Settings are further lines of gavel.yaml.
	Settings string
	// Spoil, when set, is called before each answer: an outage answers with its text if
	// there is one, and with an error if its status is not 0. The next call gets the
	// answer that this one would have got. Calls do not overlap.
	Spoil func(of confirm.Request) (text string, status int)
	// Observe, when set, receives the progress of the pipeline.
	Observe func(controller.Progress)

	mu sync.Mutex
	// The fields below are guarded by mu. onCall is the function of OnCall; past is
	// true while history is made; asked counts the answers to each case and side, and
	// given has all of them.
	onCall func(n int) (drop bool)
	past   bool
	asked  map[confirm.Request]int
	given  []answer
	// spoiled counts the calls that an outage answered.
	spoiled int
}

// An answer is the model's reply to a request. No two have the same text.
type answer struct {
	of   confirm.Request
	text string
}

// New returns the stage of a pull request, whose ledger is in a folder. The caller
// must call Close.
func New(ctx context.Context, pull *simulation.Pull, cell simulation.Cell, dir string) (*Stage, error) {
	s, err := Join(ctx, "", cell, dir)
	if err != nil {
		return nil, err
	}
	s.pull, s.cases, s.asked = pull, pull.Cases(), map[confirm.Request]int{}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.url = s.server.URL
	return s, nil
}

// Join returns a stage with another process's model, see [Stage.URL]. The caller must
// call Close.
func Join(ctx context.Context, url string, cell simulation.Cell, dir string) (*Stage, error) {
	store, err := ledger.Open(ctx, ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		return nil, err
	}
	return &Stage{cell: cell, store: store, url: url}, nil
}

// URL returns the address of the model.
func (s *Stage) URL() string { return s.url }

// Close ends the model and the ledger.
func (s *Stage) Close() error {
	if s.server != nil {
		s.server.Close()
	}
	return s.store.Close()
}

// Calls returns how many calls were answered, without those for the history and those
// that an outage spoiled.
func (s *Stage) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.given)
}

// Spoiled returns how many calls an outage answered.
func (s *Stage) Spoiled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spoiled
}

// Lose takes back the answers that a process did not store before it was killed: the
// same ones will be given again. It returns their number. An answer may be stored
// before an earlier one.
func (s *Stage) Lose(ctx context.Context) (int, error) {
	var stored strings.Builder
	err := s.store.Export(ctx, func(entry json.RawMessage) error {
		stored.Write(entry)
		return nil
	})
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := len(s.given)
	s.given = slices.DeleteFunc(s.given, func(a answer) bool {
		isLost := !strings.Contains(stored.String(), a.text)
		if isLost {
			s.asked[a.of]--
		}
		return isLost
	})
	return all - len(s.given), nil
}

// MakeHistory stores as many measurements of base as the cell has. It is called
// once, and first.
func (s *Stage) MakeHistory(ctx context.Context) error {
	s.mu.Lock()
	s.past = true
	s.mu.Unlock()
	base, err := s.checkout("base")
	if err != nil {
		return err
	}
	for range s.cell.History {
		if _, err := s.execute(ctx, controller.Request{Head: base, Fresh: &plan.Reason{Part: "fresh", Message: "history"}}); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past, s.given, s.asked = false, nil, map[confirm.Request]int{}
	return nil
}

// OnCall calls a function with the number of each call before its answer; if it returns
// true, the call gets no answer. Calls do not overlap.
func (s *Stage) OnCall(tell func(n int) (drop bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onCall = tell
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
	req.ConfigFile, req.Ledger, req.HeadTrust, req.BaseTrust = "gavel.yaml", s.store, trust, trust
	req.LookupEnv = nowhere
	p, err := controller.Prepare(context.WithoutCancel(ctx), req)
	if err != nil {
		return nil, err
	}
	if len(p.Problems) > 0 {
		return nil, fmt.Errorf("the definitions are not valid: %v", p.Problems)
	}
	return p.Execute(ctx, controller.Opener(func(t config.Target, _ controller.Checkout) (target.Target, error) {
		return target.New(t, target.Env{Lookup: nowhere})
	}), controller.RunOptions{Observe: s.Observe})
}

const domainFile = "test_definitions/d/domain.json"

// checkout returns the repository at a side, which the prompt names.
func (s *Stage) checkout(side string) (controller.Checkout, error) {
	files := fstest.MapFS{domainFile: {Data: []byte(`{"id": "d", "name": "D", "evaluator_id": "keyword", "system_prompt": "` + side + `"}`)}}
	for i := range s.cell.Cases {
		text := fmt.Sprintf(`{"id": "c%d", "name": "C", "prompt": "%d", "expected": {"keywords": ["yes"]}}`, i, i)
		files[fmt.Sprintf("test_definitions/d/level_1/c%05d.json", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	text := "version: 1\ntargets: {bot: {provider: openai, model: m, base_url: " + strconv.Quote(s.url) + ", concurrency: " + strconv.Itoa(max(1, s.AtOnce)) + "}}\n" + s.Settings
	cfg, problems := config.Parse("gavel.yaml", []byte(text))
	if len(problems) > 0 {
		return controller.Checkout{}, fmt.Errorf("gavel.yaml: %v", problems)
	}
	return controller.Checkout{Commit: strings.Repeat(side[:1], 40), FS: files, Config: cfg}, nil
}

// serve is the model: the truth decides its answers.
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
	text, status, ok := s.answer(req.Messages[0].Content, req.Messages[1].Content)
	switch {
	case !ok:
		<-r.Context().Done()
		return
	case status != 0:
		w.Header().Set("Retry-After-Ms", "10")
		http.Error(w, text, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client shows a broken answer
		"model":   "m-1",
		"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": text}, "finish_reason": "stop"}},
		"usage":   map[string]int{"prompt_tokens": 1, "completion_tokens": 1},
	})
}

// answer returns the next reply for a case; false if there is none. A status other than
// 0 is an error.
func (s *Stage) answer(side, number string) (text string, status int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onCall != nil && !s.past && s.onCall(len(s.given)) {
		return "", 0, false
	}
	i, err := strconv.Atoi(number)
	if err != nil || i >= len(s.cases) {
		return "", 0, false
	}
	of := confirm.Request{Case: i, Side: confirm.Base}
	if side == confirm.Head.String() {
		of.Side = confirm.Head
	}
	n := s.asked[of]
	if s.Spoil != nil && !s.past {
		of.Ordinal = n
		if text, status := s.Spoil(of); text != "" {
			s.spoiled++
			return text, status, true
		}
		of.Ordinal = 0
	}
	s.asked[of]++
	when := "now"
	if s.past {
		when = "before"
	}
	// No two answers are the same, lest failures look like an outage.
	text = fmt.Sprintf("%s, case %d at %s, %s, answer %d.", s.truth(of, n), i, side, when, n)
	s.given = append(s.given, answer{of, text})
	return text, 0, true
}

// truth returns "yes" if the n-th answer makes the case pass.
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
