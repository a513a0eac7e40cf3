package report_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/power"
	"github.com/gavel-evals/gavel/controller/report"
)

func TestSeen(t *testing.T) {
	for _, tt := range []struct {
		is   *power.Statement
		want string
	}{
		{nil, ""},
		{&power.Statement{Cases: 12, Broken: .999, Halved: .166, Fall: .834, Units: 12, Needed: 7},
			"would have shown one case of 12 that always fails in over 99 %, one that passes half as often in 17 %, and a fall of all by 0.10 in 83 %"},
		{&power.Statement{Cases: 6, Broken: .99, Halved: .5, Units: 6, Needed: 7},
			"would have shown one case of 6 that always fails in 99 %, one that passes half as often in 50 %; the mean of so few cases is not tested"},
		{&power.Statement{Cases: 1, Broken: .99, Halved: .004, Units: 1, Needed: 7},
			"would have shown if the case always failed in 99 %, and if it passed half as often in under 1 %; the mean of so few cases is not tested"},
	} {
		if got := report.Seen(tt.is); got != tt.want {
			t.Errorf("%s\nwant\n%s", got, tt.want)
		}
	}
}

// TestMinPower: a green that could have seen too little is undetermined, and a chance that
// was not computed decides nothing.
func TestMinPower(t *testing.T) {
	little := config.MinPower{Broken: number(.95), Fall: number(.5)}
	for _, tt := range []struct {
		name   string
		is     *power.Statement
		least  config.MinPower
		result string
		says   string
	}{
		{"enough", &power.Statement{Cases: 20, Broken: .95, Fall: .5}, little, report.GatePass, "no case regressed"},
		{"too little", &power.Statement{Cases: 20, Broken: .94, Fall: .6}, little, report.GateUndetermined, "one case that always fails would have been seen in 94 %, min_power broken is 0.95"},
		{"not asked for", &power.Statement{Cases: 20}, config.MinPower{}, report.GatePass, "no case regressed"},
		{"not computed", nil, little, report.GatePass, "no case regressed"},
		{"without chance", &power.Statement{}, little, report.GatePass, "no case regressed"},
	} {
		s := varying()
		s.In.Noise.Power, s.In.Gate = tt.is, report.GateSettings{MinPower: tt.least}
		got := report.Compare(s.In)
		if got.Gate.Result != tt.result || !strings.Contains(got.Gate.Reason, tt.says) {
			t.Errorf("%s: %s: %s; want %s: %s", tt.name, got.Gate.Result, got.Gate.Reason, tt.result, tt.says)
		}
	}
}
