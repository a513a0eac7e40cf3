package controller_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
)

// A benchModel answers every chat completion after its latency.
type benchModel struct {
	*httptest.Server
	latency time.Duration
	calls   atomic.Int64
	// asked is the time of the first call since it was 0, in nanoseconds.
	asked atomic.Int64
}

func newBenchModel(b *testing.B, latency time.Duration) *benchModel {
	m := &benchModel{latency: latency}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.calls.Add(1)
		m.asked.CompareAndSwap(0, time.Now().UnixNano())
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client sees it too
		}
		time.Sleep(m.latency)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop",`+
			`"message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13}}`,
			"the number of: "+strings.ReplaceAll(string(body), `"`, ""))
	}))
	b.Cleanup(m.Close)
	return m
}

// A benchRun is a folder of cases with a ledger next to it.
type benchRun struct {
	dir, store string
	config     *config.Config
}

// execute does the work of gavel run: load, plan, run, store, report.
func (r benchRun) execute(b *testing.B) *report.Report {
	b.Helper()
	store, err := ledger.Open(b.Context(), ledger.Config{Path: r.store})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	prepared, err := controller.Prepare(b.Context(), controller.Request{
		Head:   controller.Checkout{Commit: controller.Worktree, FS: os.DirFS(r.dir), Config: r.config, Dir: r.dir},
		Ledger: store, HeadTrust: ledger.Trust{Level: ledger.LevelOperator}, ConfigFile: "gavel.yaml",
		LookupEnv: nowhere,
	})
	if err != nil {
		b.Fatal(err)
	}
	transport := target.Transport()
	defer transport.CloseIdleConnections()
	host := controller.Opener(func(t config.Target, s controller.Checkout) (target.Target, error) {
		return target.New(t, target.Env{Files: s.FS, Transport: transport})
	})
	report, err := prepared.Execute(b.Context(), host, controller.RunOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return report
}

// BenchmarkRun judges 1,000 cases of one prompt, 20 at a time, by a server that
// speaks a provider's protocol on loopback: with an empty ledger at no latency
// and at 50 ms, unchanged, and with one case changed. It also reports how long the first
// call waits for the plan.
func BenchmarkRun(b *testing.B) {
	const n = 1000
	for _, tt := range []struct {
		name    string
		latency time.Duration
	}{{"first", 0}, {"first-50ms", 50 * time.Millisecond}, {"unchanged", 0}, {"one-changed", 0}} {
		b.Run(tt.name, func(b *testing.B) {
			model := newBenchModel(b, tt.latency)
			r := benchRun{dir: b.TempDir(), store: filepath.Join(b.TempDir(), "ledger.db")}
			var problems any
			r.config, problems = config.Parse("gavel.yaml", fmt.Appendf(nil, "version: 1\ntargets: {bot: {provider: openai, model: m, base_url: %q, concurrency: 20}}\n", model.URL+"/v1"))
			if len(r.config.Targets) != 1 {
				b.Fatal(problems)
			}
			writeBench(b, r.dir, "domain.json", `{"id": "d0", "name": "D", "evaluator_id": "keyword"}`)
			for i := range n {
				writeBench(b, r.dir, fmt.Sprintf("level_1/test_%d.json", i), benchTest(i, "is"))
			}
			want := int64(n)
			if tt.name == "unchanged" || tt.name == "one-changed" {
				r.execute(b)
				want = 0
			}
			var waited time.Duration
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				switch tt.name {
				case "one-changed":
					writeBench(b, r.dir, "level_1/test_7.json", benchTest(7, fmt.Sprint("is, said ", i)))
					want = 1
				case "first", "first-50ms":
					if err := os.RemoveAll(filepath.Dir(r.store)); err != nil {
						b.Fatal(err)
					}
				}
				before, began := model.calls.Load(), time.Now()
				model.asked.Store(0)
				b.StartTimer()
				report := r.execute(b)
				if want > 0 {
					waited += time.Unix(0, model.asked.Load()).Sub(began)
				}
				if made := model.calls.Load() - before; made != want || report.Summary.Cases != n || report.Summary.Pass != n {
					b.Fatalf("%d calls, want %d: %+v", made, want, report.Summary)
				}
			}
			b.ReportMetric(float64(waited.Milliseconds())/float64(b.N), "ms-to-call")
		})
	}
}

func writeBench(b *testing.B, dir, name, text string) {
	b.Helper()
	file := filepath.Join(dir, "test_definitions/d0", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}
