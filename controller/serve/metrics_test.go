package serve_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/reconcile"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/serve"
)

// TestScrape demands each metric by name, with the value that it should have.
func TestScrape(t *testing.T) {
	forge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Ratelimit-Remaining", "4711")
	}))
	defer forge.Close()
	m := serve.NewMetrics(func() (int, int) { return 3, 2 })
	pull := serve.Key{Repository: 1, Kind: serve.PullRequest, Pull: 7}
	m.Done(pull, time.Second, nil)
	m.Done(pull, time.Second, &reconcile.Stall{Err: errors.New("no")})
	m.Done(pull, time.Second, &reconcile.Wait{})
	m.Done(pull, time.Second, context.Canceled)
	m.Done(serve.Key{Repository: 1, Kind: serve.Branch, Ref: "main"}, time.Second, errors.New("500"))
	m.Polled("octo/demo", nil)
	m.Polled("octo/demo", errors.New("500"))
	cost := 0.25
	m.Judged(&report.Report{
		Summary: report.Summary{Run: 3, NotRun: 2, Rejudged: 1, Redecided: 1, Reused: 11, NoVerdict: 2, Calls: 5, Tokens: 600, CostUSD: &cost},
		Gate:    report.Gate{Result: report.GateFail}, Saved: report.Saved{Calls: 40},
	})
	client := http.Client{Transport: m.Transport("bot", http.DefaultTransport)}
	if resp, err := client.Get(forge.URL); err != nil {
		t.Fatal(err)
	} else if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	data, err := io.ReadAll(rec.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	has := map[string]bool{}
	for _, line := range lines {
		has[line] = true
	}
	for _, want := range []string{
		`gavel_reconcile_duration_seconds_count{kind="pull_request",outcome="done"} 1`,
		`gavel_reconcile_duration_seconds_sum{kind="pull_request",outcome="done"} 1`,
		`gavel_reconcile_duration_seconds_count{kind="pull_request",outcome="stalled"} 1`,
		`gavel_reconcile_duration_seconds_count{kind="pull_request",outcome="waiting"} 1`,
		`gavel_reconcile_duration_seconds_count{kind="pull_request",outcome="cancelled"} 1`,
		`gavel_reconcile_duration_seconds_count{kind="branch",outcome="failed"} 1`,
		`gavel_queue_depth{state="waiting"} 3`,
		`gavel_queue_depth{state="running"} 2`,
		`gavel_polls_total{outcome="done"} 1`,
		`gavel_polls_total{outcome="failed"} 1`,
		`gavel_cases_total{origin="judged"} 3`,
		`gavel_cases_total{origin="reused"} 9`,
		`gavel_reuse_ratio 0.75`,
		`gavel_gates_total{result="fail"} 1`,
		`gavel_calls_total 5`,
		`gavel_tokens_total 600`,
		`gavel_cost_usd_total 0.25`,
		`gavel_saved_calls_total 40`,
		`gavel_forge_rate_limit_remaining{credential="bot"} 4711`,
	} {
		if !has[want] {
			t.Errorf("no line %q", want)
		}
	}
	if t.Failed() {
		t.Log(string(data))
	}
}
