package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Noise says how a difference between base and head is distinguished from noise. Fields
// are zero if the file does not set them, see [Noise.Defaulted].
type Noise struct {
	// Confirm is auto or off.
	Confirm string
	// Alpha is the chance of a false alarm.
	Alpha float64
	// Over is push or pull_request: what Alpha is the chance for.
	Over string
	// Samples is how often a case is measured again at head at most.
	Samples int
	// History is how far back stored results of base count.
	History time.Duration
	// Nightly makes scheduled runs take further samples.
	Nightly bool
	// Flaky is report, ignore or fail.
	Flaky string
	// Cluster is case, fixture or group: which cases count as one, since they fail together.
	Cluster string
	// NewRuns and NewPass say how many runs a new case gets, and how many of them it
	// has to pass.
	NewRuns, NewPass int
}

// The values of Noise.Confirm, Noise.Over, Noise.Flaky and Noise.Cluster.
const (
	ConfirmAuto = "auto"
	ConfirmOff  = "off"

	OverPush        = "push"
	OverPullRequest = "pull_request"

	FlakyReport = "report"
	FlakyIgnore = "ignore"
	FlakyFail   = "fail"

	ClusterCase    = "case"
	ClusterFixture = "fixture"
	ClusterGroup   = "group"
)

// Defaulted returns the settings with defaults for those that are not set.
func (n Noise) Defaulted() Noise {
	n.Confirm, n.Flaky = cmp.Or(n.Confirm, ConfirmAuto), cmp.Or(n.Flaky, FlakyReport)
	n.Cluster, n.Over = cmp.Or(n.Cluster, ClusterCase), cmp.Or(n.Over, OverPush)
	n.Alpha, n.Samples = cmp.Or(n.Alpha, 0.05), cmp.Or(n.Samples, 12)
	n.History = cmp.Or(n.History, 14*day)
	n.NewRuns, n.NewPass = cmp.Or(n.NewRuns, 3), cmp.Or(n.NewPass, 1)
	return n
}

// noiseForm is noise as it is written.
type noiseForm struct {
	Confirm string   `json:"confirm"`
	Alpha   float64  `json:"alpha"`
	Over    string   `json:"over"`
	Samples int      `json:"samples"`
	History duration `json:"history"`
	Nightly bool     `json:"nightly"`
	Flaky   string   `json:"flaky"`
	Cluster string   `json:"cluster"`
	New     struct {
		Runs int `json:"runs"`
		Pass int `json:"pass"`
	} `json:"new"`
}

func (f noiseForm) value() Noise {
	return Noise{f.Confirm, f.Alpha, f.Over, f.Samples, time.Duration(f.History), f.Nightly, f.Flaky, f.Cluster, f.New.Runs, f.New.Pass}
}

// noise refuses mistakes that the schema cannot find.
func (k *checker) noise() {
	k.duration("noise", "history")
	if n := k.config.Noise; n.NewPass > n.NewRuns {
		k.Fail("out-of-range", fmt.Sprintf("`pass` is %d of %d runs; a new case cannot pass more runs than it has", n.NewPass, n.NewRuns),
			fmt.Sprintf("write pass: %d or less, or more runs", n.NewRuns), "noise", "new", "pass")
	}
}

// Looser names every setting by which head lets more through than base: more counts as
// noise, or less has to hold.
func (n Noise) Looser(head Noise) []string {
	base := n.Defaulted()
	head = head.Defaulted()
	var out []string
	add := func(looser bool, name string, was, is any) {
		if looser {
			out = append(out, fmt.Sprintf("noise.%s %v → %v", name, was, is))
		}
	}
	add(base.Confirm == ConfirmOff && head.Confirm != ConfirmOff, "confirm", base.Confirm, head.Confirm)
	add(head.Alpha < base.Alpha, "alpha", base.Alpha, head.Alpha)
	add(base.Over == OverPush && head.Over == OverPullRequest, "over", base.Over, head.Over)
	add(head.Samples < base.Samples, "samples", base.Samples, head.Samples)
	add(base.Flaky == FlakyFail && head.Flaky != FlakyFail, "flaky", base.Flaky, head.Flaky)
	width := func(n Noise) int { return slices.Index([]string{ClusterCase, ClusterFixture, ClusterGroup}, n.Cluster) }
	add(width(head) > width(base), "cluster", base.Cluster, head.Cluster)
	share := func(n Noise) float64 { return float64(n.NewPass) / float64(n.NewRuns) }
	rule := func(n Noise) string { return fmt.Sprintf("%d of %d", n.NewPass, n.NewRuns) }
	add(share(head) < share(base) || share(head) == share(base) && head.NewRuns < base.NewRuns, "new", rule(base), rule(head))
	return out
}
