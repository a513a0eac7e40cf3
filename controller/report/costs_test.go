package report_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// taking gives a side of a case an effort: cents, tokens, and a second for each cent, over two
// samples.
func taking(outcomes map[string]*report.Outcome, key string, cents, tokens float64) {
	o := outcomes[key]
	usd := 2 * cents / 100
	o.EffortUSD = &usd
	o.Effort = &verdict.Effort{Samples: 2, Calls: 2, InputTokens: int64(2 * tokens), Latency: time.Duration(2 * cents * float64(time.Second)), Turns: 2, ToolCalls: 4}
}

// asked are cases that the change asks again, with what they took at base and at head in cents.
func asked(base, head []float64) *reporttest.Scenario {
	s := reporttest.New()
	for i := range base {
		key := fmt.Sprintf("math/1/c%02d", i)
		row := s.Add(key, pass(1), pass(1), definition)
		row.BaseDigests.E, row.HeadDigests.E = "base "+key, "head "+key
		taking(s.In.Base, key, base[i], 100*base[i])
		taking(s.In.Head, key, head[i], 100)
	}
	return s
}

// TestCosts: numbers are sums of one sample of each case. The interval is the one of the mean of
// 1.2, 1.4, 1.1 and 1.3: 1.25 ± 3.182446·√(0.0166667/4).
func TestCosts(t *testing.T) {
	s := asked([]float64{1, 1, 1, 1}, []float64{1.2, 1.4, 1.1, 1.3})
	s.Same("sql/1", 3, 1) // which nothing affects
	for i := range 3 {
		taking(s.In.Base, fmt.Sprintf("sql/1/case_%03d", i+1), 50, 1)
	}
	got := report.Compare(s.In).Costs
	if got == nil || got.Cases != 4 {
		t.Fatalf("%+v", got)
	}
	close := func(name string, got *float64, want float64) {
		if got == nil || math.Abs(*got-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	half := 3.182446 * math.Sqrt(.05/3/4)
	close("base", &got.USD.Base, .04)
	close("head", &got.USD.Head, .05)
	close("the rise", got.USD.Rise, .25)
	close("its lower end", got.USD.Low, .25-half)
	close("its upper end", got.USD.High, .25+half)
	close("seconds at head", &got.Seconds.Head, 5)
	close("tokens at base", &got.Tokens.Base, 400)
	close("turns", got.Turns.Rise, 0)
	close("tool calls at head", &got.ToolCalls.Head, 8)
	want := "$0.04 → $0.05 (+25 %, 95 % CI 4.5 % … 46 %); 4.0 → 5.0 s (+25 %, 95 % CI 4.5 % … 46 %)"
	if said := strings.Join(got.Changes(), "; "); said != want {
		t.Errorf("%s\nwant\n%s", said, want)
	}
}

// TestCostsUnknown: a number that is unknown for one case is left out, and not a sum without
// that case.
func TestCostsUnknown(t *testing.T) {
	s := asked([]float64{1, 1, 1, 1}, []float64{2, 2, 2, 2})
	o := s.In.Base["math/1/c02"]
	o.EffortUSD = nil
	o.Effort.Untraced = true
	got := report.Compare(s.In).Costs
	if got.USD != nil || got.ToolCalls != nil || got.Tokens == nil || got.Cases != 4 {
		t.Errorf("%+v", got)
	}
	s = asked([]float64{0, 0, 0, 0}, []float64{2, 2, 2, 2})
	if got := report.Compare(s.In).Costs.USD; got.Rise != nil || got.Head != .08 {
		t.Errorf("of nothing: %+v", got)
	}
	s = asked([]float64{1}, []float64{2})
	s.In.Plan.Rows[0].HeadDigests.E = s.In.Plan.Rows[0].BaseDigests.E // judged again alone
	if got := report.Compare(s.In).Costs; got != nil {
		t.Errorf("judged again: %+v", got)
	}
}

// TestGateCosts: what is proved to be beyond a limit fails, what is proved to be within
// passes, and anything else is undetermined.
func TestGateCosts(t *testing.T) {
	one, more := []float64{1, 1, 1, 1}, []float64{1.2, 1.4, 1.1, 1.3} // 4.5 to 46 % more
	limit := func(most float64) report.GateSettings {
		return report.GateSettings{MaxCostRise: &most}
	}
	unpriced := func(s *reporttest.Scenario) {
		s.In.Head["math/1/c00"].EffortUSD = nil
	}
	for _, tt := range []struct {
		name       string
		base, head []float64
		gate       report.GateSettings
		change     func(*reporttest.Scenario)
		result     string
		says       string
	}{
		{"beyond", one, more, limit(.04), nil, report.GateFail, "cost rose by 25 % (95 % CI 4.5 % … 46 %), max_cost_rise 4 %"},
		{"within", one, more, limit(.5), nil, report.GatePass, "no case regressed"},
		{"open", one, more, limit(.2), nil, report.GateUndetermined, "cost may have risen by more than max_cost_rise 20 %: by 25 % (95 % CI 4.5 % … 46 %)"},
		{"fell", more, one, limit(0), nil, report.GatePass, "no case regressed"},
		{"few", one[:2], more[:2], limit(.5), nil, report.GateUndetermined, "max_cost_rise 50 % is not decided by so few cases: the cost changed by 30 %"},
		{"few among many", one[:1], []float64{1.4}, limit(.5), func(s *reporttest.Scenario) {
			s.Same("sql/1", 40, 1)
			for i := range 40 {
				taking(s.In.Base, fmt.Sprintf("sql/1/case_%03d", i+1), 1, 1)
			}
		}, report.GatePass, "no case regressed"},
		{"alike", one, []float64{2, 2, 2, 2}, limit(.5), nil, report.GateFail, "cost rose by 100 %, max_cost_rise 50 %"},
		{"unknown price", one, more, limit(9), unpriced, report.GateUndetermined, "max_cost_rise 900 % is not decided: not every price is known"},
		{"unknown price without a limit", one, more, report.GateSettings{}, unpriced, report.GatePass, "no case regressed"},
		{"base took nothing", []float64{0, 0, 0}, more[:3], limit(.5), nil, report.GateUndetermined, "max_cost_rise 50 % is not decided: base took nothing"},
		{"notice", one, more, report.GateSettings{MaxCostRise: number(.2), PassUnsure: true}, nil, report.GatePass, "cost may have risen by more than max_cost_rise 20 %"},
		{"time", one, more, report.GateSettings{MaxTimeRise: number(.04)}, nil, report.GateFail, "time rose by 25 %"},
		{"time of another day", one, more, report.GateSettings{MaxTimeRise: number(.04)}, func(s *reporttest.Scenario) {
			s.In.Base["math/1/c00"].Reused = true
		}, report.GateUndetermined, "max_time_rise 4 % is not decided: the time rose by 25 %, and base was measured earlier"},
		{"tokens", []float64{.5, .5, .5}, one[:3], report.GateSettings{MaxTokensRise: number(.5)}, nil, report.GateFail, "tokens rose by 100 %, max_tokens_rise 50 %"},
		{"selected", one, more, report.GateSettings{MaxCostRise: number(.04), Unasked: "only some cases are selected"}, nil, report.GatePass, "max_cost_rise 4 % is not asked, since only some cases are selected"},
	} {
		s := asked(tt.base, tt.head)
		if s.In.Gate = tt.gate; tt.change != nil {
			tt.change(s)
		}
		got := report.Compare(s.In).Gate
		if got.Result != tt.result || !strings.Contains(got.Reason, tt.says) {
			t.Errorf("%s: %s: %s; want %s: %s", tt.name, got.Result, got.Reason, tt.result, tt.says)
		}
	}
}
