package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
)

// TestLooserQuarantine: an entry that is new, or ends later.
func TestLooserQuarantine(t *testing.T) {
	const entry = "quarantine: [{case: a/b, until: 2026-04-01, reason: slow}]"
	later := strings.Replace(entry, "04-01", "05-01", 1)
	for _, tt := range []struct{ base, head, want string }{
		{"", entry, "quarantine of a/b until 2026-04-01: slow"},
		{entry, later, "quarantine of a/b until 2026-04-01 → 2026-05-01"},
		{later, entry, ""},
		{entry, "", ""},
	} {
		base, problems := config.Parse("gavel.yaml", []byte("version: 1\n"+tt.base+"\n"))
		head, more := config.Parse("gavel.yaml", []byte("version: 1\n"+tt.head+"\n"))
		if got := strings.Join(base.Looser(head), "; "); got != tt.want || len(problems)+len(more) > 0 {
			t.Errorf("%q → %q: %q %v %v, want %q", tt.base, tt.head, got, problems, more, tt.want)
		}
	}
}

func noiseOf(t *testing.T, text string) (config.Noise, string) {
	t.Helper()
	c, problems := config.Parse("gavel.yaml", []byte("version: 1\n"+text+"\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c.Noise, c.Digest
}

func TestNoise(t *testing.T) {
	silent, without := noiseOf(t, "")
	want := config.Noise{Confirm: "auto", Alpha: 0.05, Over: "push", Samples: 12, History: 14 * 24 * time.Hour, Flaky: "report", Cluster: "case", NewRuns: 3, NewPass: 1}
	if diff := cmp.Diff(want, silent.Defaulted()); diff != "" {
		t.Error(diff)
	}
	set, with := noiseOf(t, "noise: {confirm: off, alpha: 0.01, over: pull_request, samples: 16, history: 7d, nightly: true, flaky: fail, cluster: group, new: {runs: 5, pass: 4}}")
	want = config.Noise{Confirm: "off", Alpha: 0.01, Over: "pull_request", Samples: 16, History: 7 * 24 * time.Hour, Nightly: true, Flaky: "fail", Cluster: "group", NewRuns: 5, NewPass: 4}
	if diff := cmp.Diff(want, set.Defaulted()); diff != "" {
		t.Error(diff)
	}
	if with == without {
		t.Error("noise is not in the digest of the configuration")
	}
}

// TestLooserNoise: what lets more through is named, and nothing else.
func TestLooserNoise(t *testing.T) {
	for _, tt := range []struct{ base, head, want string }{
		{"", "noise: {alpha: 0.05, samples: 12, flaky: report}", ""},
		{"", "noise: {history: 1d, nightly: true}", ""},
		{"noise: {confirm: off}", "", "noise.confirm off → auto"},
		{"", "noise: {confirm: off}", ""},
		{"", "noise: {alpha: 0.01}", "noise.alpha 0.05 → 0.01"},
		{"", "noise: {alpha: 0.1}", ""},
		{"", "noise: {over: pull_request}", "noise.over push → pull_request"},
		{"noise: {over: pull_request}", "", ""},
		{"noise: {samples: 16}", "noise: {samples: 8}", "noise.samples 16 → 8"},
		{"noise: {flaky: fail}", "noise: {flaky: ignore}", "noise.flaky fail → ignore"},
		{"", "noise: {cluster: group}", "noise.cluster case → group"},
		{"noise: {cluster: fixture}", "noise: {cluster: case}", ""},
		{"", "noise: {new: {runs: 5, pass: 4}}", ""},
		{"noise: {new: {runs: 5, pass: 5}}", "", "noise.new 5 of 5 → 1 of 3"},
	} {
		base, _ := noiseOf(t, tt.base)
		head, _ := noiseOf(t, tt.head)
		if got := strings.Join(base.Looser(head), "; "); got != tt.want {
			t.Errorf("%q → %q: %q, want %q", tt.base, tt.head, got, tt.want)
		}
	}
}
