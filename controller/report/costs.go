package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Costs compare what the answers took from the agents on both sides. The cases are those
// that a change has asked again and that have a verdict on both sides. Numbers are sums over
// the cases, of one sample each, by the first measurements. A number is null if it is
// unknown for some case, such as a price.
type Costs struct {
	Cases     int         `json:"cases"`
	USD       *CostChange `json:"usd"`
	Tokens    *CostChange `json:"tokens"`
	Seconds   *CostChange `json:"seconds"`
	Turns     *CostChange `json:"turns"`
	ToolCalls *CostChange `json:"tool_calls"`
}

// A CostChange is one of the numbers of both sides.
type CostChange struct {
	Base float64 `json:"base"`
	Head float64 `json:"head"`
	// Rise is head / base − 1; null if base took nothing. Low and High are the ends of its
	// 95 % confidence interval over the cases; null if it cannot be estimated.
	Rise *float64 `json:"rise"`
	Low  *float64 `json:"ci_low"`
	High *float64 `json:"ci_high"`
	// Apart means that base was measured earlier than head in some case.
	Apart bool `json:"apart,omitempty"`
}

// Quantities of Costs that can have a limit.
const (
	quantityUSD = iota
	quantityTokens
	quantitySeconds
)

// took returns one of the quantities of one sample of an outcome; NaN if it is unknown.
func (o *Outcome) took(of func(*Outcome) (sum float64, known bool)) float64 {
	if o == nil || o.Effort == nil || o.Effort.Samples == 0 || o.Result.Verdict == verdict.Error {
		return math.NaN()
	}
	sum, known := of(o)
	if !known {
		return math.NaN()
	}
	return sum / float64(o.Effort.Samples)
}

// quantities are the functions that read the quantities of an outcome with an effort.
var quantities = []func(*Outcome) (sum float64, known bool){
	quantityUSD: func(o *Outcome) (float64, bool) {
		if o.EffortUSD == nil {
			return 0, false
		}
		return *o.EffortUSD, true
	},
	quantityTokens:  func(o *Outcome) (float64, bool) { return float64(o.Effort.InputTokens + o.Effort.OutputTokens), true },
	quantitySeconds: func(o *Outcome) (float64, bool) { return o.Effort.Latency.Seconds(), true },
	func(o *Outcome) (float64, bool) { return float64(o.Effort.Turns), true },
	func(o *Outcome) (float64, bool) { return float64(o.Effort.ToolCalls), !o.Effort.Untraced },
}

// isAskedAgain reports whether the change executes the case differently, and both sides were
// asked.
func (p *pair) isAskedAgain() bool {
	return p.isCompared() && p.plan.HeadDigests.E != p.plan.BaseDigests.E
}

// isCompared reports whether both sides are known to have asked the agent.
func (p *pair) isCompared() bool {
	asked := func(o *Outcome) bool { return o != nil && o.Effort != nil && o.Result.Verdict != verdict.Error }
	return p.plan.Head != nil && p.plan.Base != nil && asked(p.head) && asked(p.base)
}

// costs compares what the cases took; nil if none was asked again.
func costs(pairs []pair) *Costs {
	var asked []pair
	for _, p := range pairs {
		if p.isAskedAgain() {
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return compareCosts(asked)
}

// compareCosts compares what the answers of cases took.
func compareCosts(asked []pair) *Costs {
	all := make([]*CostChange, len(quantities))
	for k := range quantities {
		all[k] = costChange(asked, k)
	}
	return &Costs{Cases: len(asked), USD: all[0], Tokens: all[1], Seconds: all[2], Turns: all[3], ToolCalls: all[4]}
}

// costChange compares a quantity; nil if it is unknown for one of the cases.
func costChange(pairs []pair, quantity int) *CostChange {
	var out CostChange
	parts := make([]stats.Part, len(pairs))
	for i := range pairs {
		p := &pairs[i]
		head, base := p.head.took(quantities[quantity]), p.base.took(quantities[quantity])
		if math.IsNaN(head + base) {
			return nil
		}
		cluster := p.cluster
		if cluster == "" {
			cluster = strconv.Itoa(i)
		}
		parts[i] = stats.Part{Now: head, Before: base, Cluster: cluster}
		out.Head, out.Base = out.Head+head, out.Base+base
		out.Apart = out.Apart || p.base.Reused && !p.head.Reused
	}
	if out.Base == 0 {
		return &out
	}
	interval, ok := stats.Ratio(parts)
	rise, low, high := interval.Mean-1, interval.Low-1, interval.High-1
	out.Rise = &rise
	if ok {
		out.Low, out.High = &low, &high
	}
	return &out
}

// A riseLimit is a limit on how much more the answers may take than at base.
type riseLimit struct {
	name, word string
	quantity   int
	most       *float64
}

// rises are the limits on costs that are set.
func (s *GateSettings) rises() (set []riseLimit) {
	for _, l := range []riseLimit{
		{"max_cost_rise", "cost", quantityUSD, s.MaxCostRise},
		{"max_tokens_rise", "tokens", quantityTokens, s.MaxTokensRise},
		{"max_time_rise", "time", quantitySeconds, s.MaxTimeRise},
	} {
		if l.most != nil {
			set = append(set, l)
		}
	}
	return set
}

// String returns the limit as the settings have it: "max_cost_rise 50 %".
func (l riseLimit) String() string { return l.name + " " + percent(*l.most) }

// percent formats a share: "50 %", "7.5 %", "−3 %".
func percent(share float64) string {
	x := math.Round(share*1000) / 10
	if math.Abs(x) >= 10 {
		x = math.Round(x)
	}
	text := strconv.FormatFloat(math.Abs(x), 'f', -1, 64) + " %"
	if x < 0 {
		return "−" + text
	}
	return text
}

// rises applies the limits on costs. They ask for no call: cases of both sides that are
// known count, those that nothing affects with what they took before. As for max_drop, what
// is proved to be beyond a limit fails, and only what is proved to be within it passes.
func (f *findings) rises(r *Report, pairs []pair, s GateSettings) {
	limits := s.rises()
	if s.Unasked != "" || r.Base == nil || r.Costs == nil || len(limits) == 0 {
		return
	}
	var known []pair
	for _, p := range pairs {
		if p.isCompared() {
			known = append(known, p)
		}
	}
	for _, l := range limits {
		f.rise(costChange(known, l.quantity), l, s)
	}
}

// rise applies one limit.
func (f *findings) rise(c *CostChange, l riseLimit, s GateSettings) {
	open := func(said string) {
		if s.PassUnsure {
			f.unsure = append(f.unsure, said)
		} else {
			f.unknown("%s", said)
		}
	}
	switch {
	case c == nil:
		open(fmt.Sprintf("%s is not decided: not every price is known", l))
	case c.Rise == nil:
		open(fmt.Sprintf("%s is not decided: base took nothing", l))
	case c.Low == nil:
		open(fmt.Sprintf("%s is not decided by so few cases: the %s changed by %s", l, l.word, percent(*c.Rise)))
	case *c.High <= *l.most+1e-9:
	case *c.Low > *l.most+1e-9 && (l.quantity != quantitySeconds || !c.Apart):
		f.failed("%s rose by %s%s, %s", l.word, percent(*c.Rise), c.interval(), l)
	case *c.Low > *l.most+1e-9:
		open(fmt.Sprintf("%s is not decided: the time rose by %s, and base was measured earlier", l, percent(*c.Rise)))
	default:
		open(fmt.Sprintf("%s may have risen by more than %s: by %s%s", l.word, l, percent(*c.Rise), c.interval()))
	}
}

// interval formats the interval of the rise: " (95 % CI 30 % … 80 %)", with a remark if the
// rise may be noise; empty if it is unknown, or nothing varies. Nothing falls by more than all.
func (c *CostChange) interval() string {
	if c.Low == nil || *c.Low == *c.High {
		return ""
	}
	said := fmt.Sprintf(" (95 %% CI %s … %s", percent(max(-1, *c.Low)), percent(*c.High))
	if *c.Low <= 0 && *c.High >= 0 {
		said += ": may be noise"
	}
	return said + ")"
}

// Changes lists in words what the answers take now, for the quantities that differ: "$0.012
// → $0.019 (+54 %, 95 % CI 30 % … 80 %)". Times are only listed from a tenth of a second.
func (c *Costs) Changes() []string {
	if c == nil {
		return nil
	}
	var out []string
	add := func(change *CostChange, format func(float64) string, unit string) {
		if change == nil || change.Base == change.Head {
			return
		}
		said := format(change.Base) + " → " + format(change.Head) + unit
		if change.Rise != nil {
			sign := "+"
			if *change.Rise < 0 {
				sign = ""
			}
			said += " (" + sign + percent(*change.Rise)
			said += strings.Replace(strings.TrimSuffix(change.interval(), ")"), " (", ", ", 1) + ")"
		}
		out = append(out, said)
	}
	whole := func(x float64) string { return textfmt.Int(int64(math.Round(x))) }
	add(c.USD, textfmt.USD, "")
	add(c.Tokens, whole, " tokens")
	if s := c.Seconds; s != nil && max(s.Base, s.Head) >= 0.1 {
		add(s, func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }, " s")
	}
	add(c.Turns, whole, " turns")
	add(c.ToolCalls, whole, " tool calls")
	return out
}
