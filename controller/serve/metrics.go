package serve

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gavel-evals/gavel/controller/reconcile"
	"github.com/gavel-evals/gavel/controller/report"
)

// Metrics counts the events of a server for Prometheus. Each has its own registry, so
// that two servers in a process have separate counts. It is safe for concurrent use.
type Metrics struct {
	registry              *prometheus.Registry
	reconciles            *prometheus.HistogramVec
	polls, cases, gates   *prometheus.CounterVec
	calls, tokens, money  prometheus.Counter
	limit                 *prometheus.GaugeVec
	reuse                 prometheus.Gauge
	judged, reused, saved prometheus.Counter
}

// NewMetrics returns metrics with a registry of their own. Every scrape calls depth for
// the number of waiting and running keys.
func NewMetrics(depth func() (waiting, running int)) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		reconciles: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gavel_reconcile_duration_seconds", Help: "How long looking at a pull request or branch took, by how it ended.",
			Buckets: []float64{.1, .5, 1, 5, 15, 60, 300, 900, 3600},
		}, []string{"kind", "outcome"}),
		polls:  counters("gavel_polls_total", "How often repositories were polled.", "outcome"),
		cases:  counters("gavel_cases_total", "Cases of reports, by whether their verdict was made again or reused.", "origin"),
		gates:  counters("gavel_gates_total", "Reports by the result of their gate.", "result"),
		calls:  counter("gavel_calls_total", "Calls of models and agents."),
		tokens: counter("gavel_tokens_total", "Tokens of those calls, input and output."),
		money:  counter("gavel_cost_usd_total", "Price of those calls in dollars, where it is known."),
		saved:  counter("gavel_saved_calls_total", "Calls that reused verdicts took when they were made."),
		limit: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "gavel_forge_rate_limit_remaining", Help: "Requests that the forge has left for a credential, as it said last.",
		}, []string{"credential"}),
	}
	m.judged, m.reused = m.cases.WithLabelValues("judged"), m.cases.WithLabelValues("reused")
	queue := func(state string, pick func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "gavel_queue_depth", Help: "Pull requests and branches that wait or are in progress.", ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return float64(pick()) })
	}
	m.reuse = prometheus.NewGauge(prometheus.GaugeOpts{Name: "gavel_reuse_ratio", Help: "Share of the cases of the last report whose verdict was reused."})
	m.registry.MustRegister(
		m.reconciles, m.polls, m.cases, m.gates, m.calls, m.tokens, m.money, m.saved, m.limit, m.reuse,
		queue("waiting", func() int { n, _ := depth(); return n }),
		queue("running", func() int { _, n := depth(); return n }),
	)
	return m
}

// WorkerCount counts running workers, and waiting cases and those in work.
type WorkerCount struct{ Running, Waiting, Judging int }

// CountWorkers adds workers to every scrape. If count fails, they are left out.
func (m *Metrics) CountWorkers(count func() (WorkerCount, error)) {
	m.registry.MustRegister(&workers{
		count:   count,
		running: prometheus.NewDesc("gavel_workers", "Workers that give signs of life.", nil, nil),
		cases:   prometheus.NewDesc("gavel_worker_cases", "Cases that wait for a worker or are judged by one.", []string{"state"}, nil),
	})
}

type workers struct {
	count          func() (WorkerCount, error)
	running, cases *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (w *workers) Describe(out chan<- *prometheus.Desc) { out <- w.running; out <- w.cases }

// Collect implements [prometheus.Collector].
func (w *workers) Collect(out chan<- prometheus.Metric) {
	n, err := w.count()
	if err != nil {
		return // the other metrics are still of use
	}
	out <- prometheus.MustNewConstMetric(w.running, prometheus.GaugeValue, float64(n.Running))
	out <- prometheus.MustNewConstMetric(w.cases, prometheus.GaugeValue, float64(n.Waiting), "waiting")
	out <- prometheus.MustNewConstMetric(w.cases, prometheus.GaugeValue, float64(n.Judging), "running")
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Done counts a reconciled key.
func (m *Metrics) Done(key Key, took time.Duration, err error) {
	kind := "branch"
	switch key.Kind {
	case PullRequest:
		kind = "pull_request"
	case CheckRerun:
		kind = "commit"
	}
	m.reconciles.WithLabelValues(kind, outcome(err)).Observe(took.Seconds())
}

// outcome returns one of a few words, since each text of an error would otherwise have
// its own series.
func outcome(err error) string {
	var stall *reconcile.Stall
	var wait *reconcile.Wait
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &stall):
		return "stalled"
	case errors.As(err, &wait):
		return "waiting"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "failed"
}

// Polled counts a poll of a repository.
func (m *Metrics) Polled(_ string, err error) {
	word := "done"
	if err != nil {
		word = "failed"
	}
	m.polls.WithLabelValues(word).Inc()
}

// Judged counts the cases, calls and costs of a report.
func (m *Metrics) Judged(r *report.Report) {
	s := r.Summary
	m.gates.WithLabelValues(r.Gate.Result).Inc()
	m.calls.Add(float64(s.Calls))
	m.tokens.Add(float64(s.Tokens))
	if s.CostUSD != nil {
		m.money.Add(*s.CostUSD)
	}
	m.saved.Add(float64(r.Saved.Calls))
	made := s.Run + s.Rejudged + s.Redecided - s.NotRun
	m.judged.Add(float64(made))
	reused := s.Reused - s.NoVerdict
	m.reused.Add(float64(reused))
	if all := made + reused; all > 0 {
		m.reuse.Set(float64(reused) / float64(all))
	}
}

// Transport records the rate limit of a credential from the replies of a forge.
func (m *Metrics) Transport(credential string, inner http.RoundTripper) http.RoundTripper {
	return &noting{inner, m.limit.WithLabelValues(credential)}
}

type noting struct {
	inner http.RoundTripper
	left  prometheus.Gauge
}

// RoundTrip sends the request.
func (n *noting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := n.inner.RoundTrip(req)
	if err == nil {
		if left, err := strconv.ParseFloat(resp.Header.Get("X-Ratelimit-Remaining"), 64); err == nil {
			n.left.Set(left)
		}
	}
	return resp, err
}
