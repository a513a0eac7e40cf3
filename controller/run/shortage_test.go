package run

import "testing"

// TestNumber holds that no amount has an exponent, or the error of a sum.
func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		amount float64
		want   string
	}{
		{0.00003, "0.00003"}, {0.1 + 0.2, "0.3"}, {5, "5"}, {20000000, "20000000"}, {12345678901, "12345678901"},
	} {
		if got := number(tt.amount); got != tt.want {
			t.Errorf("%v is %s, want %s", tt.amount, got, tt.want)
		}
	}
}
