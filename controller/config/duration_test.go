package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		text string
		want time.Duration
	}{
		{"90d", 90 * day}, {"1d", day}, {"0d", 0}, {"1.5d", 36 * time.Hour}, {"1d12h", 36 * time.Hour}, {"2d1h30m", 49*time.Hour + 30*time.Minute},
		{"720h", 30 * day}, {"60s", time.Minute}, {"1ns", 1}, {"0", 0}, {"-5m", -5 * time.Minute},
	} {
		if got, err := config.ParseDuration(tt.text); err != nil || got != tt.want {
			t.Errorf("%q is %v, want %v (%v)", tt.text, got, tt.want, err)
		}
	}
	for _, text := range []string{
		"", "d", "90", "90 d", "d90", "-1d", "+1d", "1d2d", "1d-2h", "1D", "1e3d", "infd", "nand", "0x1d", "1_0d", "106752d", "999999999999d", "106751d1000h", "1w", "ninety d",
	} {
		if got, err := config.ParseDuration(text); err == nil || !strings.Contains(err.Error(), "90d") {
			t.Errorf("%q is %v (%v)", text, got, err)
		}
	}
}
