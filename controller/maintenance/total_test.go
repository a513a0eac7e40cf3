package maintenance

import "testing"

// TestAmounts name the known part of a cost, as the page of costs does.
func TestAmounts(t *testing.T) {
	usd := 0.0011
	for _, tt := range []struct {
		runs []*float64
		want string
	}{
		{nil, "0 calls, $0"},
		{[]*float64{&usd}, "1 call, $0.0011"},
		{[]*float64{nil}, "1 call, price unknown"},
		{[]*float64{nil, &usd, nil}, "3 calls, at least $0.0011"},
	} {
		var sum Amount
		for _, run := range tt.runs {
			sum.add(1, run)
		}
		if got := sum.String(); got != tt.want {
			t.Errorf("%d runs cost %q, want %q", len(tt.runs), got, tt.want)
		}
	}
}
